//! Certificates that a server shows as its own and that the configuration names, byte for byte.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Believes what the usual verifier does. Beyond that a server may show a certificate that is named
/// itself, though it is an authority's, as `openssl req -x509` makes it; or though it has no name, if
/// one is expected by the configuration. All else that is wrong with it stays wrong.
#[derive(Debug)]
pub(super) struct NamedOrUsual {
    pub(super) usual: Arc<WebPkiServerVerifier>,
    pub(super) named: Vec<CertificateDer<'static>>,
    /// For whom one without any name may stand.
    pub(super) nameless: Option<ServerName<'static>>,
}

/// What the usual verifier says of an authority's, once it has found that it is in force.
const AUTHORITY: &str = "CaUsedAsEndEntity";

impl NamedOrUsual {
    /// Whether nothing is wrong but that it has no name, and its server needs none.
    fn needs_no_name(&self, cause: &Error, server: &ServerName<'_>) -> bool {
        let is_nameless = matches!(
            cause,
            Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. })
                if presented.is_empty()
        );
        is_nameless && self.nameless.as_ref() == Some(server)
    }
}

impl ServerCertVerifier for NamedOrUsual {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let usual =
            self.usual
                .verify_server_cert(end_entity, intermediates, server, ocsp_response, now);
        let Err(cause) = usual else {
            return usual;
        };
        if !self.named.iter().any(|named| named == end_entity) {
            return Err(cause);
        }
        let for_it = if is_of_an_authority(&cause) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server)
        } else {
            Err(cause)
        };
        match for_it {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(cause) if self.needs_no_name(&cause, server) => Ok(ServerCertVerified::assertion()),
            Err(cause) => Err(cause),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

fn is_of_an_authority(cause: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(cause)) = cause else {
        return false;
    };
    cause.to_string() == AUTHORITY
}
