//! TLS 1.2 or 1.3, with strict validation by rustls alone.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::settings::{HttpClientError, HttpSettings};

/// What the client believes: see [`client_tls`].
pub(super) fn config(settings: &HttpSettings) -> Result<ClientConfig, HttpClientError> {
    client_tls(&settings.url, settings.ca_file.as_deref())
}

/// TLS to a server: the authorities of the system, and those in a file. No verifier of our own, no key
/// log, no client certificate. No authority is asked for where there is no TLS.
pub fn client_tls(url: &Url, ca_file: Option<&Path>) -> Result<ClientConfig, HttpClientError> {
    let mut roots = RootCertStore::empty();
    if url.scheme() == "https" {
        let found = add_those_of_the_system(&mut roots);
        match ca_file {
            Some(path) => add_named(&mut roots, path)?,
            None => found?,
        }
    }
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
fn add_named(roots: &mut RootCertStore, path: &Path) -> Result<(), HttpClientError> {
    let refused = |cause: String| HttpClientError::Authorities {
        path: path.to_owned(),
        cause,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| refused(format!("cannot be read: {}", told(&error))))?;
    let mut count = 0_usize;
    for certificate in certificates {
        count += 1;
        let certificate = certificate.map_err(|error| refused(told(&error)))?;
        roots
            .add(certificate)
            .map_err(|error| refused(format!("a certificate cannot be used: {error}")))?;
    }
    if count == 0 {
        return Err(refused(NO_CERTIFICATE.to_owned()));
    }
    Ok(())
}

/// Unlike a file that was named, what a system trusts may hold some that nobody can read.
fn add_those_of_the_system(roots: &mut RootCertStore) -> Result<(), HttpClientError> {
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let cause = found.errors.first();
        let cause = cause.map_or_else(String::new, |error| format!(": {error}"));
        return Err(HttpClientError::NoAuthorities { cause });
    }
    Ok(())
}

/// In words of ours where the library's name its types.
fn told(error: &pem::Error) -> String {
    if let pem::Error::Io(cause) = error {
        cause.to_string()
    } else if matches!(error, pem::Error::NoItemsFound) {
        NO_CERTIFICATE.to_owned()
    } else {
        "is not valid PEM".to_owned()
    }
}

const NO_CERTIFICATE: &str = "has no certificate in PEM";
