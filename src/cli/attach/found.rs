//! Finds the gate of a user and a configuration, or starts it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::agent::local::{Answer, Place, PlaceError, PlaceLock, greeting};
use crate::cli::exit::Exit;

/// How long a gate may take to start, and to answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often a gate may be about to end that was found.
const ROUNDS: usize = 5;

/// How often is looked whether it is there.
const LOOK: Duration = Duration::from_millis(20);

/// A log is begun anew by a start that finds it larger than that.
const LONG_LOG: u64 = 1024 * 1024;

/// As much of what a gate said that did not start is repeated.
const SAID_BYTES: u64 = 32 * 1024;

/// There is no gate to attach to.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotAttached {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("the gate refuses: {0}")]
    Refused(String),
    #[error("the gate cannot be started: {0}")]
    Start(io::Error),
    #[error("the gate did not start ({status}):\n{said}")]
    Ended { status: ExitStatus, said: String },
    #[error("the gate cannot be reached: {0}")]
    Connect(io::Error),
    #[error(
        "the gate cannot be reached within a minute; `{0}` may say why. Perhaps `listen.transport` is not \"local\""
    )]
    Late(PathBuf),
    #[error("the gate does not answer: perhaps too many agents are attached")]
    Silent,
}

impl NotAttached {
    pub(super) fn exit(&self) -> Exit {
        let invalid = i32::from(Exit::Invalid.code());
        match self {
            Self::Place(_) | Self::Refused(_) => Exit::Invalid,
            Self::Ended { status, .. } if status.code() == Some(invalid) => Exit::Invalid,
            Self::Start(_)
            | Self::Ended { .. }
            | Self::Connect(_)
            | Self::Late(_)
            | Self::Silent => Exit::Unrecoverable,
        }
    }
}

/// A gate that has accepted an agent of this server, and its log.
pub(super) async fn gate(
    server: &str,
    config: PathBuf,
) -> Result<(UnixStream, PathBuf), NotAttached> {
    let place = Place::of(&config)?;
    for _ in 0..ROUNDS {
        let mut stream = connect(&place, &config).await?;
        let answered = timeout(PATIENCE, ask(&mut stream, server)).await;
        match answered.map_err(|_late| NotAttached::Silent)? {
            Some(Answer::Accepted) => return Ok((stream, place.log())),
            Some(Answer::Refused(why)) => return Err(NotAttached::Refused(why)),
            None => sleep(LOOK).await,
        }
    }
    Err(NotAttached::Late(place.log()))
}

/// `None` if it has gone before.
async fn ask(stream: &mut UnixStream, server: &str) -> Option<Answer> {
    stream.write_all(greeting(server).as_bytes()).await.ok()?;
    let line = Answer::line(stream).await.ok()??;
    Answer::of(&line)
}

/// The gate that listens, or one that is started: by one of all who wait for it.
async fn connect(place: &Place, config: &Path) -> Result<UnixStream, NotAttached> {
    let found = async {
        loop {
            if let Some(stream) = listening(place).await? {
                return Ok::<_, NotAttached>(SharedGate::Listens(stream));
            }
            if let Some(lock) = place.start_lock().map_err(NotAttached::Start)? {
                return Ok(SharedGate::Absent(lock));
            }
            sleep(LOOK).await;
        }
    };
    let late = |_| NotAttached::Late(place.log());
    match timeout(2 * PATIENCE, found).await.map_err(late)?? {
        SharedGate::Listens(stream) => Ok(stream),
        SharedGate::Absent(_lock) => match listening(place).await? {
            // Another has started it meanwhile.
            Some(stream) => Ok(stream),
            None => start(place, config).await,
        },
    }
}

/// What is at the place.
enum SharedGate {
    Listens(UnixStream),
    Absent(PlaceLock),
}

/// `None` if no gate listens.
async fn listening(place: &Place) -> Result<Option<UnixStream>, NotAttached> {
    loop {
        let cause = match UnixStream::connect(place.socket()).await {
            Ok(stream) => return Ok(Some(stream)),
            Err(cause) => cause,
        };
        let kind = cause.kind();
        if [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused].contains(&kind) {
            return Ok(None);
        }
        // More wait than it can hold.
        if kind != io::ErrorKind::WouldBlock {
            return Err(NotAttached::Connect(cause));
        }
        sleep(LOOK).await;
    }
}

async fn start(place: &Place, config: &Path) -> Result<UnixStream, NotAttached> {
    let (mut log, before) = log(place).map_err(NotAttached::Start)?;
    let mut gate = spawn(config, &log).map_err(NotAttached::Start)?;
    let listens = async {
        loop {
            if let Some(stream) = listening(place).await? {
                return Ok(stream);
            }
            sleep(LOOK).await;
        }
    };
    let started = tokio::select! {
        stream = listens => Some(stream),
        ended = gate.wait() => {
            let status = ended.map_err(NotAttached::Start)?;
            let said = said(&mut log, before);
            return Err(NotAttached::Ended { status, said });
        }
        () = sleep(PATIENCE) => None,
    };
    if let Some(stream) = started {
        return stream;
    }
    // A half-started gate must not listen when no agent waits for it any more.
    let _ = gate.kill().await;
    Err(NotAttached::Late(place.log()))
}

/// The log, and how long it is.
fn log(place: &Place) -> io::Result<(File, u64)> {
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .mode(0o600)
        .open(place.log())?;
    if log.metadata()?.len() > LONG_LOG {
        log.set_len(0)?;
    }
    let before = log.seek(SeekFrom::End(0))?;
    Ok((log, before))
}

/// A gate that outlives the process that starts it: in a process group of its own, so that what ends an agent with
/// all that it has started leaves the gate to the others. (A session of its own would need code between
/// fork and exec, which is unsafe.) It begins in the directory of its configuration, since that of an agent
/// may hold what servers must not find.
fn spawn(config: &Path, log: &File) -> io::Result<Child> {
    let config = std::fs::canonicalize(config)?;
    let mut gate = Command::new(std::env::current_exe()?);
    gate.args(["proxy", "--config"])
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.try_clone()?)
        .process_group(0);
    if let Some(directory) = config.parent() {
        gate.current_dir(directory);
    }
    gate.spawn()
}

/// What was written to the log since.
fn said(log: &mut File, before: u64) -> String {
    let mut said = Vec::new();
    // What cannot be read is left out: the exit code remains.
    let _ = log
        .seek(SeekFrom::Start(before))
        .and_then(|_| log.take(SAID_BYTES).read_to_end(&mut said));
    String::from_utf8_lossy(&said).trim_end().to_owned()
}
