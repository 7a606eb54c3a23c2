//! The start of a process whose network is proxied: two descriptors change hands on the way.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use tokio::io::Interest;
use tokio::process::{ChildStdin, Command};

use super::handover;
use crate::egress::Proxy;

/// The gate's end of what its launcher has as standard input.
#[derive(Debug)]
pub(super) struct Proxied {
    launcher: UnixStream,
    /// What the server will have as its own.
    stdin: std::process::ChildStdin,
}

impl Proxied {
    /// Gives the launcher a socket in place of standard input. The server's own lies in it already.
    pub(super) fn prepare(command: &mut Command) -> io::Result<Self> {
        let (gate, launcher) = UnixStream::pair()?;
        let (read, write) = io::pipe()?;
        handover::send(&gate, &read)?;
        command.stdin(OwnedFd::from(launcher));
        Ok(Self {
            launcher: gate,
            stdin: OwnedFd::from(write).into(),
        })
    }

    /// What the server reads, and what serves its connections.
    pub(super) fn started(
        self,
        proxy: Proxy,
    ) -> io::Result<(ChildStdin, impl Future<Output = ()> + Send + 'static)> {
        let Self { launcher, stdin } = self;
        let stdin = ChildStdin::from_std(stdin)?;
        launcher.set_nonblocking(true)?;
        let launcher = tokio::net::UnixStream::from_std(launcher)?;
        let serving = async move {
            let Err(cause) = serve(launcher, proxy).await;
            // The launcher tells itself why there is no network.
            let is_ended = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
            if !is_ended.contains(&cause.kind()) {
                tracing::error!("the egress proxy has ended: {cause}");
            }
        };
        Ok((stdin, serving))
    }
}

async fn serve(launcher: tokio::net::UnixStream, proxy: Proxy) -> io::Result<Infallible> {
    let receive = || handover::receive(&launcher);
    let listener = launcher.async_io(Interest::READABLE, receive).await?;
    // Nothing more is said.
    drop(launcher);
    proxy.serve(listener.into()).await
}
