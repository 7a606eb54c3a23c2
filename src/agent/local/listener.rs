//! The socket of a gate.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tokio::net::{UnixListener, UnixStream};

use super::place::{Place, PlaceLock, own_uid};

/// Listens for agents of one user. Dropping it removes the socket.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// The user whose processes are agents.
    uid: u32,
}

/// A user other than the gate's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stranger {
    #[error("a process of another user (uid {0}) connected")]
    Other(u32),
    #[error("the system does not say whose process connected: {0}")]
    Unknown(String),
}

impl Listener {
    /// Listens there, in place of a gate that has died. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn bind(place: &Place, _lock: &PlaceLock) -> io::Result<Self> {
        let path = place.socket();
        // INVARIANT: the holder of the lock is the only gate, so no gate uses what is there.
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
        let socket = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Self {
            socket,
            path,
            uid: own_uid(),
        })
    }

    /// The next who comes. Cancel-safe.
    ///
    /// # Errors
    /// When the system gives no connection.
    pub async fn accept(&self) -> io::Result<Result<UnixStream, Stranger>> {
        let (stream, _) = self.socket.accept().await?;
        Ok(match stream.peer_cred() {
            Ok(peer) if peer.uid() == self.uid => Ok(stream),
            Ok(peer) => Err(Stranger::Other(peer.uid())),
            Err(cause) => Err(Stranger::Unknown(cause.to_string())),
        })
    }

    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // One that is left behind is replaced by the next gate.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn processes_of_other_users_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sock");
        let check = async |uid: u32, expected: Option<Stranger>| {
            let listener = Listener {
                socket: UnixListener::bind(&path).unwrap(),
                path: path.clone(),
                uid,
            };
            let _agent = UnixStream::connect(&path).await.unwrap();
            let came = listener.accept().await.unwrap();
            assert_eq!(came.err(), expected, "{uid}");
        };
        check(own_uid(), None).await;
        check(own_uid() + 1, Some(Stranger::Other(own_uid()))).await;
        assert!(!path.exists());
    }
}
