//! Parses the command line, sends diagnostics to stderr, and does what was asked.

use std::process::ExitCode;

use mcp_protector::cli;

fn main() -> ExitCode {
    // The launcher comes before everything else: it must not have a second thread, nor print.
    if let Some(launch) = cli::launch_request() {
        return launch.run();
    }
    cli::log_to_stderr();
    match cli::args::parse(std::env::args_os()) {
        Ok(typed) => cli::run(typed).into(),
        Err(nothing) => {
            // Help that nobody can read is no failure of the command.
            let _ = nothing.message.print();
            nothing.exit.into()
        }
    }
}
