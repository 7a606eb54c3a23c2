//! TLS of a listener: handshakes with the certificate that is in force.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::{Error, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificates::Certificates;
use super::patient::Patient;

/// The TLS of a listener. Clones are the same.
#[derive(Clone)]
pub struct Tls(Arc<ArcSwap<ServerConfig>>);

/// A connection after its handshake.
#[derive(Debug)]
pub struct TlsSocket(pub(super) Box<TlsStream<Patient>>);

/// Why there is no handshake. Quotes nothing of the peer's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeFault {
    #[error("the connection ended before anything came")]
    Silent,
    #[error("what came is not TLS: use `https`")]
    Plain,
    #[error("the TLS handshake took too long")]
    Late,
    #[error("the client ended the TLS handshake")]
    Gone,
    #[error("the TLS handshake failed: {0}")]
    Failed(&'static str),
    #[error("the client's certificate is refused: {0}")]
    Client(&'static str),
}

/// The first byte of a handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

impl Tls {
    pub fn new(certificates: &Certificates) -> Self {
        let config = Arc::clone(&certificates.config);
        Self(Arc::new(ArcSwap::new(config)))
    }

    /// Handshakes that begin from now on use these.
    pub fn replace(&self, certificates: &Certificates) {
        self.0.store(Arc::clone(&certificates.config));
    }

    /// One handshake.
    ///
    /// # Errors
    /// The reason, and for a peer that speaks no TLS its socket, of which nothing was read.
    pub async fn accept(
        &self,
        socket: TcpStream,
        deadline: Duration,
        write_deadline: Duration,
    ) -> Result<TlsSocket, (HandshakeFault, Option<TcpStream>)> {
        let shaking = async {
            match first_byte(&socket).await {
                Ok(None) | Err(_) => return Err((HandshakeFault::Silent, None)),
                Ok(Some(HANDSHAKE)) => {}
                Ok(Some(_)) => return Err((HandshakeFault::Plain, Some(socket))),
            }
            let acceptor = TlsAcceptor::from(self.0.load_full());
            let accepted = acceptor.accept(Patient::new(socket, write_deadline)).await;
            accepted
                .map(|stream| TlsSocket(Box::new(stream)))
                .map_err(|error| (HandshakeFault::of(&error), None))
        };
        let late = Err((HandshakeFault::Late, None));
        Box::pin(timeout(deadline, shaking)).await.unwrap_or(late)
    }
}

async fn first_byte(socket: &TcpStream) -> io::Result<Option<u8>> {
    let mut first = [0];
    let count = socket.peek(&mut first).await?;
    Ok(first.first().copied().filter(|_| count > 0))
}

impl HandshakeFault {
    /// A stable word for records.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Client(_) => "client_certificate",
            Self::Silent | Self::Plain | Self::Late | Self::Gone | Self::Failed(_) => "tls_failed",
        }
    }

    fn of(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
        let Some(cause) = inner else {
            return Self::Gone;
        };
        if matches!(cause, Error::NoCertificatesPresented) {
            Self::Client("it shows none")
        } else if let Error::InvalidCertificate(cause) = cause {
            Self::Client(certificate_fault(cause))
        } else if matches!(cause, Error::PeerIncompatible(_)) {
            Self::Failed(
                "the client has no version or cipher in common; TLS 1.2 or newer is needed",
            )
        } else if matches!(cause, Error::NoApplicationProtocol) {
            Self::Failed("the client does not offer HTTP/1.1")
        } else if matches!(cause, Error::AlertReceived(_)) {
            Self::Failed("the client refuses it; does it trust the authority of the certificate?")
        } else if matches!(cause, Error::InvalidMessage(_)) {
            Self::Failed("what came is not TLS")
        } else {
            Self::Failed("the client broke the protocol")
        }
    }
}

fn certificate_fault(cause: &rustls::CertificateError) -> &'static str {
    use rustls::CertificateError as Cause;
    if matches!(cause, Cause::Expired | Cause::ExpiredContext { .. }) {
        "it has expired"
    } else if matches!(cause, Cause::NotValidYet | Cause::NotValidYetContext { .. }) {
        "it is not valid yet"
    } else if matches!(cause, Cause::UnknownIssuer) {
        "no authority of `listen.tls.client_ca_file` has issued it"
    } else if matches!(
        cause,
        Cause::InvalidPurpose | Cause::InvalidPurposeContext { .. }
    ) {
        "it is not for clients"
    } else {
        "it is not valid"
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
