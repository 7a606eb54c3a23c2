//! From settings to a command that can be started: argv, environment, launcher.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::egress;
use crate::secret;

use super::network_probe;
use super::sandbox::{self, Access, Network, Place, Sandbox, SandboxError};
use super::settings::{Launcher, Settings};
use super::start_error::StartError;

/// The command for one start. Looks at the file system each time: programs are replaced while
/// gates run.
pub(super) fn build(settings: &Settings) -> Result<Command, StartError> {
    let (program, arguments) = settings.command.split_first().ok_or(StartError::Empty)?;
    let environment = environment(settings)?;
    let runs_in = settings.own_directory.as_deref();
    let runs_in = runs_in.or(settings.cwd.as_deref());
    if let Some(cwd) = runs_in.filter(|cwd| !cwd.is_dir()) {
        return Err(StartError::NoDirectory {
            directory: cwd.display().to_string(),
        });
    }
    if let Some(cwd) = runs_in.filter(|cwd| cwd.has_root() && !cwd.is_absolute()) {
        return Err(StartError::NoDrive {
            directory: cwd.display().to_string(),
        });
    }
    let path = environment
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, path)| path.as_os_str());
    let file = check_program(program, path, settings.cwd.as_deref())?;
    let program = match &settings.own_directory {
        Some(_) => std::path::absolute(&file).map_err(|cause| refused(settings, &cause))?,
        None => program.into(),
    };
    let sandbox = settings.sandbox.as_ref();
    let sandbox = sandbox
        .map(|sandbox| confined(sandbox, &settings.launcher, file))
        .transpose()?;

    let mut command = launched(&settings.launcher, &program, sandbox.as_ref())?;
    command
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(cwd) = runs_in {
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

/// The sandbox in which the program itself is found: whoever named it wants it executed.
fn confined(
    sandbox: &Sandbox,
    launcher: &Launcher,
    program: PathBuf,
) -> Result<Sandbox, StartError> {
    if *launcher == Launcher::Absent {
        return Err(StartError::Sandbox(vec![SandboxError::NoLauncher]));
    }
    let mut sandbox = sandbox.clone();
    sandbox.places.push(Place {
        setting: "upstream.command".to_owned(),
        access: Access::Execute,
        path: program,
    });
    sandbox::check(&sandbox).map_err(StartError::Sandbox)?;
    if sandbox.network == Network::Proxied {
        let tried = network_probe::try_network(launcher);
        tried.map_err(|problem| StartError::Sandbox(vec![problem]))?;
    }
    Ok(sandbox)
}

#[cfg(target_os = "linux")]
fn launched(
    launcher: &Launcher,
    program: &Path,
    sandbox: Option<&Sandbox>,
) -> Result<Command, StartError> {
    let Some(launcher) = launcher.program() else {
        return Ok(Command::new(program));
    };
    if !launcher.exists() {
        return Err(StartError::NoLauncher {
            launcher: launcher.display().to_string(),
        });
    }
    let mut command = Command::new(launcher);
    let sandbox = sandbox::Arguments::of(sandbox);
    let supervise = super::launcher::Step::Supervise;
    let own = super::launcher::arguments(supervise, std::process::id(), &sandbox);
    command.arg0("mcp-protector").args(own).arg(program);
    Ok(command)
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the launcher can be missing on Linux"
)]
fn launched(
    _launcher: &Launcher,
    program: &Path,
    _sandbox: Option<&Sandbox>,
) -> Result<Command, StartError> {
    Ok(Command::new(program))
}

fn environment(settings: &Settings) -> Result<Vec<(OsString, OsString)>, StartError> {
    let inherited = settings.inherit.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        // An exported shell function, which a shell further down would run (CVE-2014-6271).
        (!value.as_encoded_bytes().starts_with(b"()")).then(|| (OsString::from(name), value))
    });
    let named = settings
        .env
        .iter()
        .map(|(name, value)| (OsString::from(name), secret::variable(value)));
    if let Some(name) = settings
        .env
        .keys()
        .find(|name| name.is_empty() || name.contains(['=', '\0']))
    {
        return Err(StartError::VariableName {
            name: name.escape_debug().to_string(),
        });
    }
    let network = settings.sandbox.as_ref().map(|it| &it.network);
    let proxied = (network == Some(&Network::Proxied)).then(egress::variables);
    let proxied = proxied.into_iter().flatten();
    let proxied = proxied.map(|(name, value)| (name.into(), value.into()));
    Ok(inherited.chain(named).chain(proxied).collect())
}

/// The file of the program. Says beforehand, and better than an error number could, that a command
/// cannot be started.
#[cfg(unix)]
fn check_program(
    program: &str,
    path: Option<&OsStr>,
    cwd: Option<&Path>,
) -> Result<PathBuf, StartError> {
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
            Ok(file)
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
    files
        .find(|file| executable(file))
        .ok_or_else(|| not_found(format!(" in PATH `{}`", path.display())))
}

/// The search for `PATHEXT` is left to the operating system.
#[cfg(not(unix))]
fn check_program(
    program: &str,
    _path: Option<&OsStr>,
    _cwd: Option<&Path>,
) -> Result<PathBuf, StartError> {
    Ok(program.into())
}
