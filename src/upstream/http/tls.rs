//! TLS 1.2 or 1.3, with strict validation by rustls, and certificates that are named themselves.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::named::NamedOrUsual;
use super::settings::{HttpClientError, HttpSettings};

/// What the client believes of the server itself: see [`client_tls`]. A certificate in the file that
/// has no name is that server's, whatever it is called.
pub(super) fn config(settings: &HttpSettings) -> Result<ClientConfig, HttpClientError> {
    let host = settings.url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let nameless = ServerName::try_from(host.to_owned()).ok();
    of(settings.url.scheme(), settings.ca_file.as_deref(), nameless)
}

/// TLS to a server: the authorities of the system, those in a file, and servers that show a certificate
/// of the file itself. No key log, no client certificate. No authority is asked for where there is no
/// TLS.
pub fn client_tls(url: &Url, ca_file: Option<&Path>) -> Result<ClientConfig, HttpClientError> {
    of(url.scheme(), ca_file, None)
}

/// The same to a server of another protocol, always with TLS.
pub fn other_tls(ca_file: Option<&Path>) -> Result<ClientConfig, HttpClientError> {
    let mut config = of("https", ca_file, None)?;
    config.alpn_protocols.clear();
    Ok(config)
}

fn of(
    scheme: &str,
    ca_file: Option<&Path>,
    nameless: Option<ServerName<'static>>,
) -> Result<ClientConfig, HttpClientError> {
    let setup = |error: &dyn std::error::Error| HttpClientError::Setup {
        cause: error.to_string(),
    };
    let mut roots = RootCertStore::empty();
    let mut named = Vec::new();
    if scheme == "https" {
        let found = add_those_of_the_system(&mut roots);
        match ca_file {
            Some(path) => named = add_named(&mut roots, path)?,
            None => found?,
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| setup(&error))?;
    let builder = if named.is_empty() {
        builder.with_root_certificates(roots)
    } else {
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| setup(&error))?;
        let verifier = Arc::new(NamedOrUsual {
            usual,
            named,
            nameless,
        });
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// An authority in the file that cannot be used is an error: half of what was named is not what was
/// meant.
fn add_named(
    roots: &mut RootCertStore,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, HttpClientError> {
    let refused = |cause: String| HttpClientError::Authorities {
        path: path.to_owned(),
        cause,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| refused(format!("cannot be read: {}", told(&error))))?;
    let mut named = Vec::new();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| refused(told(&error)))?;
        roots
            .add(certificate.clone())
            .map_err(|error| refused(format!("a certificate cannot be used: {error}")))?;
        named.push(certificate);
    }
    if named.is_empty() {
        return Err(refused(NO_CERTIFICATE.to_owned()));
    }
    Ok(named)
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
