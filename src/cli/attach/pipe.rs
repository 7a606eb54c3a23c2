//! Bytes between standard streams and the gate, which no one here looks at.

use std::io;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use tokio::net::UnixStream;
use tracing::error;

use crate::agent::stdio;
use crate::cli::exit::Exit;
use crate::shutdown::Shutdown;

/// Why it is over.
enum Over {
    /// The agent has closed its end, and the gate has answered what it had asked.
    Agent,
    Gate(io::Result<()>),
    Signal,
}

/// Passes bytes on until one side has gone, or a signal comes.
pub(super) async fn run(gate: UnixStream, log: &Path) -> Exit {
    let shutdown = match Shutdown::listen(std::time::Duration::ZERO) {
        Ok(shutdown) => shutdown,
        Err(cause) => {
            error!("cannot listen for signals: {cause}");
            return Exit::Unrecoverable;
        }
    };
    let over = tokio::select! {
        over = both_ways(gate) => over,
        _ = shutdown.requested() => Over::Signal,
    };
    let log = log.display();
    match over {
        Over::Agent | Over::Signal => Exit::Success,
        Over::Gate(Ok(())) => {
            error!("the gate has ended this session; `{log}` says why");
            Exit::Unrecoverable
        }
        Over::Gate(Err(cause)) => {
            error!("the gate has gone ({cause}); `{log}` may say why");
            Exit::Unrecoverable
        }
    }
}

/// Each way has its own buffer of a few kilobytes, and waits while the other side does not read.
async fn both_ways(gate: UnixStream) -> Over {
    let (mut input, mut output) = stdio::bytes();
    let (mut from_gate, mut to_gate) = gate.into_split();
    let sending = async {
        let sent = copy(&mut input, &mut to_gate).await;
        // The gate answers what it has got, and then closes its end.
        let _ = to_gate.shutdown().await;
        sent
    };
    let receiving = async {
        let mut agent_has_gone = None;
        let mut buffer = vec![0; 16 * 1024];
        let end = loop {
            match from_gate.read(&mut buffer).await {
                Ok(0) => break Ok(()),
                Ok(count) => {
                    let read = buffer.get(..count).unwrap_or_default();
                    let written = output.write_all(read).await;
                    if let Err(cause) = and_flushed(written, &mut output).await {
                        agent_has_gone = Some(cause);
                        break Ok(());
                    }
                }
                Err(cause) => break Err(cause),
            }
        };
        match agent_has_gone {
            Some(_) => Over::Agent,
            None => Over::Gate(end),
        }
    };
    tokio::pin!(receiving);
    tokio::select! {
        biased;
        over = &mut receiving => over,
        sent = sending => match (sent, receiving.await) {
            (Ok(_), Over::Gate(Ok(()))) => Over::Agent,
            // It could not be told all.
            (Err(cause), Over::Gate(Ok(()))) => Over::Gate(Err(cause)),
            (_, over) => over,
        }
    }
}

async fn and_flushed(
    written: io::Result<()>,
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    written?;
    output.flush().await
}
