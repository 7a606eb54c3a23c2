//! From settings to a command that can be started: argv, environment, launcher.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use secrecy::ExposeSecret;
use tokio::process::Command;

use super::child_process::Settings;

/// Variables that a server gets from our own environment unless the configuration says otherwise.
///
/// The list of the official SDKs (`DEFAULT_INHERITED_ENV_VARS` in Python and TypeScript), and what a
/// program needs to find its language, its time zone and a place for temporary files. Nothing that
/// makes a loader, an interpreter or a shell run other code (`LD_PRELOAD`, `NODE_OPTIONS`,
/// `PYTHONPATH`, `BASH_ENV`), and no credentials.
#[cfg(not(windows))]
pub const DEFAULT_INHERITED: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];

/// Variables that a server gets from our own environment unless the configuration says otherwise.
///
/// The list of the official SDKs (`DEFAULT_INHERITED_ENV_VARS` in Python and TypeScript).
#[cfg(windows)]
pub const DEFAULT_INHERITED: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// What stands between the gate and the server, so that nothing survives a killed gate.
///
/// Only used on Linux; elsewhere the server is always started directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// This very program, which must hand its `launch` subcommand to [`crate::cli::launch`].
    Own,
    /// Another program with that subcommand.
    Program(PathBuf),
    /// None: a gate that is killed by force leaves its server to notice the closed stdin.
    Absent,
}

/// Why a server cannot be started. Restarting would not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("`upstream.command` is empty")]
    Empty,
    #[error("`upstream.command`: `{program}` was not found{place}")]
    NotFound { program: String, place: String },
    #[error("`upstream.command`: `{program}` is not an executable file")]
    NotExecutable { program: String },
    #[error("`upstream.command`: `{program}` cannot be started: {cause}")]
    Refused { program: String, cause: String },
    #[error("the launcher `{launcher}` is not there; is `/proc` mounted?")]
    NoLauncher { launcher: String },
    #[error("`upstream.cwd`: `{directory}` is not a directory")]
    NoDirectory { directory: String },
    #[error("`upstream.env`: `{name}` cannot be the name of a variable")]
    VariableName { name: String },
}

/// The command for one start. Looks at the file system each time: programs are replaced while
/// gates run.
pub(super) fn build(settings: &Settings) -> Result<Command, StartError> {
    let (program, arguments) = settings.command.split_first().ok_or(StartError::Empty)?;
    let environment = environment(settings)?;
    if let Some(cwd) = settings.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        return Err(StartError::NoDirectory {
            directory: cwd.display().to_string(),
        });
    }
    let path = environment
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, path)| path.as_os_str());
    check_program(program, path, settings.cwd.as_deref())?;

    let mut command = launched(&settings.launcher, program)?;
    command
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(cwd) = &settings.cwd {
        command.current_dir(cwd);
    }
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

/// The error for a command that the operating system refused to start.
pub(super) fn refused(settings: &Settings, cause: &io::Error) -> StartError {
    let program = settings.command.first().cloned().unwrap_or_default();
    StartError::Refused {
        program,
        cause: cause.to_string(),
    }
}

#[cfg(target_os = "linux")]
fn launched(launcher: &Launcher, program: &str) -> Result<Command, StartError> {
    let launcher = match launcher {
        // Names the running program even after its file was replaced by an update.
        Launcher::Own => Path::new("/proc/self/exe"),
        Launcher::Program(path) => path,
        Launcher::Absent => return Ok(Command::new(program)),
    };
    if !launcher.exists() {
        return Err(StartError::NoLauncher {
            launcher: launcher.display().to_string(),
        });
    }
    let mut command = Command::new(launcher);
    let own = super::launcher::arguments(super::launcher::Step::Supervise, std::process::id());
    command.arg0("mcp-protector").args(own).arg(program);
    Ok(command)
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the launcher can be missing on Linux"
)]
fn launched(_launcher: &Launcher, program: &str) -> Result<Command, StartError> {
    Ok(Command::new(program))
}

fn environment(settings: &Settings) -> Result<Vec<(OsString, OsString)>, StartError> {
    let inherited = settings.inherit.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        // An exported shell function, which a shell further down would run (CVE-2014-6271).
        (!value.as_encoded_bytes().starts_with(b"()")).then(|| (OsString::from(name), value))
    });
    let named = settings.env.iter().map(|(name, value)| {
        // The one place where the server's secrets are exposed.
        (OsString::from(name), OsString::from(value.expose_secret()))
    });
    if let Some(name) = settings
        .env
        .keys()
        .find(|name| name.is_empty() || name.contains(['=', '\0']))
    {
        return Err(StartError::VariableName {
            name: name.escape_debug().to_string(),
        });
    }
    Ok(inherited.chain(named).collect())
}

/// Says beforehand, and better than an error number could, that a command cannot be started.
#[cfg(unix)]
fn check_program(
    program: &str,
    path: Option<&OsStr>,
    cwd: Option<&Path>,
) -> Result<(), StartError> {
    let executable = |file: &Path| {
        file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let not_found = |place: String| StartError::NotFound {
        program: program.to_owned(),
        place,
    };
    if program.contains('/') {
        // As the kernel resolves it: from the directory in which the server will run.
        let file = cwd.map_or_else(|| PathBuf::from(program), |cwd| cwd.join(program));
        return if executable(&file) {
            Ok(())
        } else if file.exists() {
            Err(StartError::NotExecutable {
                program: program.to_owned(),
            })
        } else {
            Err(not_found(String::new()))
        };
    }
    let path = path.ok_or_else(|| not_found(": the server has no PATH".to_owned()))?;
    let mut files = std::env::split_paths(path).map(|directory| directory.join(program));
    if files.any(|file| executable(&file)) {
        Ok(())
    } else {
        Err(not_found(format!(" in PATH `{}`", path.display())))
    }
}

/// The search for `PATHEXT` is left to the operating system.
#[cfg(not(unix))]
fn check_program(
    _program: &str,
    _path: Option<&OsStr>,
    _cwd: Option<&Path>,
) -> Result<(), StartError> {
    Ok(())
}
