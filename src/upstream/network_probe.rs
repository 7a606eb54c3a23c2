//! Whether the network of a server can be proxied here, before one is started.

#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use super::launcher::{self, Step};
#[cfg(target_os = "linux")]
use super::sandbox;
use super::sandbox::SandboxError;
use super::settings::Launcher;

/// Whether the network of a server can be proxied here. Found out until it can, by processes that end with
/// it.
///
/// # Errors
/// Why not.
#[cfg(target_os = "linux")]
pub fn try_network(launcher: &Launcher) -> Result<(), SandboxError> {
    static WORKS: OnceLock<()> = OnceLock::new();
    if WORKS.get().is_none() {
        // What keeps it from working may pass.
        tried(launcher)?;
        let _ = WORKS.set(());
    }
    Ok(())
}

/// Whether the network of a server can be proxied here.
///
/// # Errors
/// It cannot.
#[cfg(not(target_os = "linux"))]
pub fn try_network(_launcher: &Launcher) -> Result<(), SandboxError> {
    Err(SandboxError::Absent)
}

#[cfg(target_os = "linux")]
fn tried(by: &Launcher) -> Result<(), SandboxError> {
    let program = by.program().ok_or(SandboxError::NoLauncher)?;
    let own = launcher::arguments(
        Step::TryNetwork,
        std::process::id(),
        &sandbox::Arguments::default(),
    );
    // No command is executed; there has to be one.
    let tried = Command::new(program)
        // Servers of the same user may read the environment of a process that has left its namespace.
        .env_clear()
        .args(own)
        .arg("true")
        .stdin(Stdio::null())
        .output();
    let told = match tried {
        Ok(tried) if tried.status.success() => return Ok(()),
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).into_owned(),
        Err(cause) => cause.to_string(),
    };
    let why = told.trim();
    let why = why.strip_prefix(launcher::CANNOT_START).unwrap_or(why);
    Err(SandboxError::Network(why.escape_debug().to_string()))
}
