//! The protocol library's client, speaking to a program over its standard streams.

use std::process::{Command, Stdio};

use tokio::process::{ChildStdin, ChildStdout};

/// Starts the program. It ends by itself when the client closes its input, and is reaped then.
pub(crate) fn speaks_to(command: Command) -> (ChildStdout, ChildStdin) {
    let mut child = tokio::process::Command::from(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    tokio::spawn(async move { child.wait().await });
    streams
}
