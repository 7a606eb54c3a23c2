//! Parses the command line, sends diagnostics to stderr, and does what was asked.

use std::alloc::System;
use std::process::ExitCode;
use std::time::Duration;

use cap::Cap;
use mcp_protector::cli;

/// Counts what is allocated, for `limits.max_memory`. It has no bound of its own: the program would abort
/// at it.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// How long the last diagnostics may take to be written.
const PATIENCE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    // Before anything secret is read, and before anything is started that could read it.
    if let Err(exit) = cli::memory::close() {
        return exit.into();
    }
    // The launcher comes before everything else: it must not have a second thread, nor print.
    if let Some(launch) = cli::launch_request() {
        return launch.run();
    }
    let typed = cli::args::parse(std::env::args_os());
    let diagnostics = cli::log_to_stderr(typed.as_ref().ok());
    let exit = match typed {
        Ok(typed) => cli::run(typed, || ALLOCATOR.allocated()).into(),
        Err(nothing) => {
            // Unwritten help is no failure of the command.
            let _ = nothing.message.print();
            nothing.exit.into()
        }
    };
    if let Some(diagnostics) = diagnostics {
        diagnostics.flush(PATIENCE);
    }
    exit
}
