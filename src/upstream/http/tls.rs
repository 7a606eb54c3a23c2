//! TLS 1.2 or 1.3, with strict validation by rustls alone.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::settings::{HttpClientError, HttpSettings};

/// No verifier of our own, no key log, no client certificate.
pub(super) fn config(settings: &HttpSettings) -> Result<ClientConfig, HttpClientError> {
    let roots = match &settings.ca_file {
        Some(path) => named(path)?,
        None if settings.url.scheme() == "https" => of_the_system()?,
        None => RootCertStore::empty(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| HttpClientError::Setup {
            cause: error.to_string(),
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// An authority in the file that cannot be used is an error: half of what was named is not what was
/// meant.
fn named(path: &Path) -> Result<RootCertStore, HttpClientError> {
    let refused = |cause: String| HttpClientError::Authorities {
        path: path.to_owned(),
        cause,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| refused(format!("cannot be read: {}", told(&error))))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| refused(told(&error)))?;
        roots
            .add(certificate)
            .map_err(|error| refused(format!("a certificate cannot be used: {error}")))?;
    }
    if roots.is_empty() {
        return Err(refused("has no certificate in PEM".to_owned()));
    }
    Ok(roots)
}

/// Unlike a file that was named, what a system trusts may hold some that nobody can read.
fn of_the_system() -> Result<RootCertStore, HttpClientError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let cause = found.errors.first();
        let cause = cause.map_or_else(String::new, |error| format!(": {error}"));
        return Err(HttpClientError::NoAuthorities { cause });
    }
    Ok(roots)
}

/// In words of ours where the library's name its types.
fn told(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(cause) => cause.to_string(),
        rustls::pki_types::pem::Error::NoItemsFound => "has no certificate in PEM".to_owned(),
        _ => "is not valid PEM".to_owned(),
    }
}
