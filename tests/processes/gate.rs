//! A gate without a policy: our stdin to a server, the server's output to our stdout. The process
//! tests start it, and kill it.

#![expect(clippy::unwrap_used, reason = "a panic is the report of a test")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the tests read both"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mcp_protector::agent::stdio::{self, AgentInput, AgentWriter};
use mcp_protector::cli::launch::Launch;
use mcp_protector::shutdown::{Shutdown, ShutdownCause};
use mcp_protector::upstream::sandbox::{Access, Network, Place, Sandbox, Strength};
use mcp_protector::upstream::{
    Backoff, ChildEvents, ChildProcess, ChildSender, Event, Launcher, Settings, StopLadder,
};
use tokio::io::{AsyncBufReadExt, BufReader};

#[derive(Parser)]
enum Program {
    Launch(Launch),
    Gate(Gate),
}

#[derive(clap::Args)]
struct Gate {
    /// A variable of the server, `NAME=value`.
    #[arg(long)]
    env: Vec<String>,
    /// Confine the server, and let it read this.
    #[arg(long)]
    read: Option<PathBuf>,
    /// Where it is confined: its network, `none` or `proxied`.
    #[arg(long, default_value = "none")]
    network: String,
    /// Where it is confined: as far as possible.
    #[arg(long)]
    best_effort: bool,
    /// Start the server directly.
    #[arg(long)]
    without_launcher: bool,
    /// Milliseconds that the server gets for each step of its end.
    #[arg(long, default_value_t = 300)]
    patience: u64,
    /// Print to stdout what does not belong there.
    #[arg(long)]
    stray: bool,
    #[arg(last = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    match Program::parse() {
        Program::Launch(launch) => launch.run(),
        Program::Gate(gate) => {
            tracing_subscriber::fmt()
                .with_writer(std::io::stderr)
                .with_ansi(false)
                .init();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = runtime.unwrap();
            let code = runtime.block_on(gate.run());
            // Drops the tasks, and does not wait for a thread that reads from a terminal.
            runtime.shutdown_background();
            ExitCode::from(code)
        }
    }
}

impl Gate {
    async fn run(self) -> u8 {
        let mut settings = Settings::new("fixture", self.command);
        for variable in &self.env {
            let (name, value) = variable.split_once('=').unwrap();
            settings.env.insert(name.to_owned(), value.into());
        }
        if self.without_launcher {
            settings.launcher = Launcher::Absent;
        }
        settings.sandbox = self.read.map(|path| Sandbox {
            places: vec![Place {
                setting: "upstream.sandbox.read[0]".to_owned(),
                access: Access::Read,
                path,
            }],
            strength: if self.best_effort {
                Strength::BestEffort
            } else {
                Strength::Required
            },
            network: match self.network.as_str() {
                "proxied" => Network::Proxied,
                _ => Network::Absent,
            },
            ..Sandbox::default()
        });
        settings.backoff = Backoff {
            first: Duration::from_millis(10),
            ..Backoff::default()
        };
        let patience = Duration::from_millis(self.patience);
        settings.stop = StopLadder {
            after_close: patience,
            after_terminate: patience,
        };
        let shutdown = Shutdown::listen(Duration::from_secs(2) + 2 * patience).unwrap();
        let (sender, events) = match ChildProcess::start(settings) {
            Ok(halves) => halves,
            Err(error) => {
                eprintln!("{error}");
                return 2;
            }
        };
        let (input, writer) = stdio::open(1024 * 1024);
        if self.stray {
            println!("stray");
        }
        tokio::spawn(from_agent(input, sender.clone(), shutdown.clone()));
        let from_server = tokio::spawn(from_server(events, writer.clone(), shutdown.clone()));
        let cause = shutdown.requested().await;
        tokio::select! {
            () = sender.stop() => {}
            () = shutdown.forced() => sender.kill().await,
        }
        tokio::select! {
            _ = from_server => {}
            // The agent does not read, so what the server said last cannot be told.
            () = shutdown.forced() => {}
        }
        let _ = writer.close(Duration::from_secs(1)).await;
        if cause == ShutdownCause::UpstreamGone {
            2
        } else {
            0
        }
    }
}

async fn from_agent(input: AgentInput, sender: ChildSender, shutdown: Shutdown) {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let _ = sender.send(line).await;
    }
    shutdown.request(ShutdownCause::AgentGone);
}

async fn from_server(mut events: ChildEvents, writer: AgentWriter, shutdown: Shutdown) {
    loop {
        match events.next().await {
            Event::Line(line) => {
                let line = String::from_utf8_lossy(line).into_owned();
                let _ = writer.send(line).await;
            }
            Event::GaveUp { reason } => {
                eprintln!("{reason}");
                return shutdown.request(ShutdownCause::UpstreamGone);
            }
            event @ (Event::Unread(_)
            | Event::Answered(..)
            | Event::Died { .. }
            | Event::Restarted) => {
                eprintln!("{event:?}");
            }
        }
    }
}
