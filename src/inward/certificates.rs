//! The files of a listener's TLS, and what they mean.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{InconsistentKeys, RootCertStore, ServerConfig};
use secrecy::zeroize::Zeroizing;

use super::validity::{seconds, validity};

/// The files, all of them PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and behind it those of authorities between it and a root.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The authorities of clients, if these must show a certificate.
    pub client_ca: Option<PathBuf>,
}

/// One of the files, by the key of the configuration that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsFile {
    Certificate,
    Key,
    ClientCa,
}

/// What the files hold. Two readings can be compared.
#[derive(PartialEq, Eq)]
pub struct TlsTexts {
    files: TlsFiles,
    certificate: Zeroizing<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
    client_ca: Option<Zeroizing<Vec<u8>>>,
}

/// A certificate with its key, fit to be shown.
#[derive(Debug, Clone)]
pub struct Certificates {
    pub(super) config: Arc<ServerConfig>,
    /// The last second of the certificate, since 1970.
    pub valid_until: i64,
}

/// Why files cannot be used; quotes nothing of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: `{}`: {cause}; {remedy}", .file.key(), .path.display())]
pub struct TlsFault {
    file: TlsFile,
    path: PathBuf,
    cause: String,
    remedy: &'static str,
}

/// Bytes of one file.
const MAX_FILE: usize = 1024 * 1024;

const READABLE: &str = "make it a file that the gate's user can read, or name another";
const CERTIFICATE: &str = "name a file that begins with the gate's certificate in PEM";
const KEY: &str = "name a file with the certificate's private key in PEM, without a passphrase";
const AUTHORITIES: &str = "name a file with certificates of authorities in PEM";
const RENEW: &str = "renew it, and check the clock of this machine";

impl TlsFile {
    pub fn key(self) -> &'static str {
        match self {
            Self::Certificate => "listen.tls.cert_file",
            Self::Key => "listen.tls.key_file",
            Self::ClientCa => "listen.tls.client_ca_file",
        }
    }
}

impl TlsFiles {
    /// Those that there are.
    pub fn each(&self) -> impl Iterator<Item = (TlsFile, &Path)> {
        let named = [
            (TlsFile::Certificate, Some(&self.certificate)),
            (TlsFile::Key, Some(&self.key)),
            (TlsFile::ClientCa, self.client_ca.as_ref()),
        ];
        let named = named.into_iter();
        named.filter_map(|(file, path)| Some((file, path?.as_path())))
    }

    /// Reads all of them; blocks.
    pub fn read(&self) -> Result<TlsTexts, TlsFault> {
        let read = |file, path| read(path).map_err(|cause| self.fault(file, cause, READABLE));
        let client_ca = self.client_ca.as_ref();
        let client_ca = client_ca.map(|path| read(TlsFile::ClientCa, path));
        Ok(TlsTexts {
            files: self.clone(),
            certificate: read(TlsFile::Certificate, &self.certificate)?,
            key: read(TlsFile::Key, &self.key)?,
            client_ca: client_ca.transpose()?,
        })
    }

    fn fault(&self, file: TlsFile, cause: String, remedy: &'static str) -> TlsFault {
        let path = self.each().find(|(each, _)| *each == file);
        TlsFault {
            file,
            path: path.map(|(_, path)| path.to_owned()).unwrap_or_default(),
            cause,
            remedy,
        }
    }
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let file = File::open(path).map_err(unreadable)?;
    // A pipe would wait for a writer.
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let most = u64::try_from(MAX_FILE).unwrap_or(u64::MAX);
    if found.len() > most {
        return Err("is larger than 1 MiB".to_owned());
    }
    let size = usize::try_from(found.len()).unwrap_or(MAX_FILE);
    // Room for all of it beforehand: a buffer that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(size.saturating_add(1)));
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}

impl TlsTexts {
    /// What they mean at this time, in seconds since 1970.
    pub fn certificates(&self, now: i64) -> Result<Certificates, TlsFault> {
        let chain = certificates(&self.certificate)
            .map_err(|cause| self.fault(TlsFile::Certificate, cause, CERTIFICATE))?;
        let valid_until = self.validity(&chain, now)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| {
            let cause = told(&error, "has no private key in PEM that the gate can read");
            self.fault(TlsFile::Key, cause, KEY)
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = self.config(chain, key, provider)?;
        Ok(Certificates {
            config: Arc::new(config),
            valid_until,
        })
    }

    /// The last second of the first certificate, which is the gate's own.
    fn validity(&self, chain: &[CertificateDer<'_>], now: i64) -> Result<i64, TlsFault> {
        let fault =
            |cause: &str, remedy| self.fault(TlsFile::Certificate, cause.to_owned(), remedy);
        let own = chain.first().map(AsRef::as_ref).unwrap_or_default();
        let [from, until] = validity(own)
            .map_err(|_| fault("its first certificate cannot be read", CERTIFICATE))?;
        if now > seconds(until) {
            let cause = format!("the certificate has expired on {until}Z");
            return Err(fault(&cause, RENEW));
        }
        if now < seconds(from) {
            let cause = format!("the certificate is not valid before {from}Z");
            return Err(fault(&cause, RENEW));
        }
        Ok(seconds(until))
    }

    fn config(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        provider: Arc<CryptoProvider>,
    ) -> Result<ServerConfig, TlsFault> {
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|error| self.fault(TlsFile::Certificate, error.to_string(), CERTIFICATE))?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let fault = |cause| self.fault(TlsFile::ClientCa, cause, AUTHORITIES);
                let roots = authorities_in(authorities).map_err(fault)?;
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| fault(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            let cause = if error == InconsistentKeys::KeyMismatch.into() {
                "is not the key of the certificate".to_owned()
            } else {
                format!("the certificate and the key cannot be used: {error}")
            };
            self.fault(TlsFile::Key, cause, KEY)
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if self.client_ca.is_some() {
            // A resumed session would not show the certificate again.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(config)
    }

    fn fault(&self, file: TlsFile, cause: String, remedy: &'static str) -> TlsFault {
        self.files.fault(file, cause, remedy)
    }
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(found) if found.is_empty() => Err(NO_CERTIFICATE.to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(told(&error, NO_CERTIFICATE)),
    }
}

/// An authority in the file that cannot be used is an error: half of what was named is not what was meant.
fn authorities_in(text: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(text)? {
        roots
            .add(certificate)
            .map_err(|error| format!("a certificate cannot be used: {error}"))?;
    }
    Ok(roots)
}

/// In words of ours where the library's name its types.
fn told(error: &pem::Error, nothing: &str) -> String {
    if matches!(error, pem::Error::NoItemsFound) {
        nothing.to_owned()
    } else {
        "is not valid PEM".to_owned()
    }
}

const NO_CERTIFICATE: &str = "has no certificate in PEM";

impl fmt::Debug for TlsTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsTexts")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
