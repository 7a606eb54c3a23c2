//! The two steps on Linux.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_current_process_group,
    kill_process, set_child_subreaper, set_parent_process_death_signal, wait,
};
use rustix::stdio::{dup2_stdin, dup2_stdout, stdin};
use rustix::thread::set_name;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::arguments::Launch;
use crate::cli::memory;
use crate::upstream::launcher::{self, Step};
use crate::upstream::sandbox::{self, Network, Sandbox};
use crate::upstream::{handover, open_files};

/// Does not end the supervisor: it first looks whether the gate is really dead.
const PARENT_DIED: Signal = Signal::USR1;

pub(super) fn run(launch: &Launch) -> ExitCode {
    // Another server of the same user could else take over what supervises this one.
    if let Err(error) = memory::deny_to_others() {
        return cannot_start(&error);
    }
    let done = match launch.step {
        Step::Supervise => supervise(launch),
        Step::Execute => return execute(launch),
        Step::TryNetwork => sandbox::enter().map(|_listener| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| cannot_start(&error))
}

fn execute(launch: &Launch) -> ExitCode {
    let sandbox = match launch.sandbox.sandbox().map_err(io::Error::other) {
        Ok(sandbox) => sandbox,
        Err(error) => return cannot_start(&error),
    };
    if let Some(sandbox) = &sandbox
        && sandbox.network == Network::Proxied
        && let Err(error) = enter_network()
    {
        return cannot_start(&error);
    }
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    if let Err(error) = bound
        .map_err(io::Error::from)
        .and_then(|()| parent_lives(launch))
    {
        return cannot_start(&error);
    }
    let Some((program, arguments)) = launch.command.split_first() else {
        return cannot_start(&io::ErrorKind::InvalidInput.into());
    };
    // The last thing before the server: from here on we may not do much more than it.
    match memory::give_up_looking().and_then(|()| confine(sandbox.as_ref())) {
        Ok(confined) => {
            let error = Command::new(program).args(arguments).exec();
            let is_kept = error.kind() == io::ErrorKind::PermissionDenied;
            if confined == Confined::Yes && is_kept {
                let help = "the sandbox lets it, or what it is read by, not be executed: name its \
                            directory in `upstream.sandbox.execute`";
                return cannot_start(&io::Error::other(format!("{error}; {help}")));
            }
            cannot_start(&error)
        }
        Err(error) => cannot_start(&error),
    }
}

const UNCONFINED: &str = "this server is not confined as `upstream.sandbox` says";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Confined {
    Yes,
    No,
}

/// Gives the gate the listener of a network in which there is nothing else. Standard input is a socket to
/// the gate until then, and the server's own from then on.
fn enter_network() -> io::Result<()> {
    let listener = sandbox::enter()?;
    let gate = stdin();
    handover::send(gate, &listener)?;
    Ok(dup2_stdin(&handover::receive(gate)?)?)
}

/// Where it fails there may be half a sandbox around us, so that nothing may follow but the end.
fn confine(sandbox: Option<&Sandbox>) -> io::Result<Confined> {
    match sandbox {
        None => Ok(Confined::No),
        Some(sandbox) => {
            let lacks = sandbox::confine(sandbox).map_err(io::Error::other)?;
            if let Some(lacks) = lacks {
                // What the server says is in the gate's log, and it says this before all else.
                writeln!(io::stderr(), "{UNCONFINED}: {lacks}")?;
            }
            Ok(Confined::Yes)
        }
    }
}

fn supervise(launch: &Launch) -> io::Result<ExitCode> {
    close_inherited();
    if let Some(before) = launch.open_files {
        open_files::give_back(before);
    }
    set_child_subreaper(Some(getpid()))?;
    // Told apart from the gate in a list of processes; nothing depends on it.
    let _ = set_name(c"mcp-launch");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        // Before the server starts: a signal without a handler would end us and not the server.
        let mut signals = Supervised::new()?;
        // The signal comes as well when only the thread that started us ends: not before somebody
        // looks whether it was the gate. A parent that died before this is found by the check after it.
        set_parent_process_death_signal(Some(PARENT_DIED))?;
        parent_lives(launch)?;
        let server = start_executor(launch)?;
        detach_streams();
        let ended = signals.until_the_end(launch, server).await;
        let killed = end_descendants(server);
        Ok(ExitCode::from(ended.or(killed).unwrap_or(u8::MAX)))
    })
}

/// The server's process, as far as the supervisor knows it.
struct Supervised {
    child: Signals,
    parent_died: Signals,
    sweep: Signals,
    /// For the group, and so for the server; here only so that they do not end the supervisor.
    _others: [Signals; 5],
}

impl Supervised {
    fn new() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            parent_died: signal(SignalKind::from_raw(PARENT_DIED.as_raw()))?,
            sweep: signal(SignalKind::quit())?,
            _others: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::user_defined2())?,
                signal(SignalKind::alarm())?,
            ],
        })
    }

    /// Reaps until the server has ended, and returns its exit code; or until it has to be ended.
    async fn until_the_end(&mut self, launch: &Launch, server: Pid) -> Option<u8> {
        loop {
            tokio::select! {
                _ = self.child.recv() => {
                    let code = reap_ended(server);
                    if code.is_some() {
                        return code;
                    }
                }
                _ = self.sweep.recv() => return None,
                _ = self.parent_died.recv() => {
                    if parent_lives(launch).is_err() {
                        return None;
                    }
                }
            }
        }
    }
}

fn start_executor(launch: &Launch) -> io::Result<Pid> {
    let child = Command::new("/proc/self/exe")
        .arg0("mcp-protector")
        .args(launcher::arguments(
            Step::Execute,
            std::process::id(),
            &launch.sandbox,
        ))
        .args(&launch.command)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(io::ErrorKind::Other.into())
}

/// The supervisor must not hold the server's pipes: the gate would not see that they were closed.
fn detach_streams() {
    if let Ok(null) = fs::File::options().read(true).write(true).open("/dev/null") {
        // Failing only delays what the gate sees until the server's end.
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
    }
}

/// Closes what the gate itself was given beyond stdin, stdout and stderr and knows nothing of:
/// everything that our own code opens is closed on `exec`.
fn close_inherited() {
    let open = fs::read_dir("/proc/self/fd").map(|entries| {
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
            .collect::<Vec<_>>()
    });
    for descriptor in open.unwrap_or_else(|_| (3..1024).collect()) {
        if descriptor > 2 {
            // The one that listed the directory is closed already.
            let _ = nix::unistd::close(descriptor);
        }
    }
}

fn parent_lives(launch: &Launch) -> io::Result<()> {
    if getppid().map(Pid::as_raw_nonzero).map(i32::from) == Some(launch.parent) {
        Ok(())
    } else {
        Err(io::Error::other("the gate is gone"))
    }
}

/// Collects everyone who has ended; the server's exit code if it was among them.
fn reap_ended(server: Pid) -> Option<u8> {
    let mut code = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == server {
            code = exit_code(status);
        }
    }
    code
}

/// Kills whatever descends from us, generation by generation: who loses a parent becomes our child.
///
/// INVARIANT: only this thread reaps, so the number of a child cannot change hands in between.
fn end_descendants(server: Pid) -> Option<u8> {
    let mut code = None;
    for _ in 0..MAX_GENERATIONS {
        for child in children() {
            // Fails for a program with other rights than ours; then its end is waited for.
            let _ = kill_process(child, Signal::KILL);
        }
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == server => code = exit_code(status),
            Err(Errno::CHILD) => return code,
            Ok(_) | Err(_) => {}
        }
        code = reap_ended(server).or(code);
    }
    // A process forks faster than we can list. This ends the whole group, ourselves with it.
    let _ = kill_current_process_group(Signal::KILL);
    code
}

/// Enough for the widest and deepest honest server; a bound for the others.
const MAX_GENERATIONS: u32 = 10_000;

/// Our children, of whom all belong to the main thread: there is no other.
fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero();
    let listed = fs::read_to_string(format!("/proc/self/task/{own}/children"));
    let Ok(listed) = listed else {
        // A kernel without that list: the group, and ourselves with it, is the next best.
        let _ = kill_current_process_group(Signal::KILL);
        return Vec::new();
    };
    listed
        .split_ascii_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

fn exit_code(status: WaitStatus) -> Option<u8> {
    let code = status
        .exit_status()
        .or_else(|| Some(status.terminating_signal()?.saturating_add(128)));
    code.and_then(|code| u8::try_from(code).ok())
}

fn cannot_start(error: &io::Error) -> ExitCode {
    // If this fails, there is no reader.
    let _ = writeln!(io::stderr(), "{}{error}", launcher::CANNOT_START);
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
        launcher::NOT_FOUND
    } else {
        launcher::NOT_EXECUTABLE
    })
}
