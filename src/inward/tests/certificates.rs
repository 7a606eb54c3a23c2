//! Which files of a listener's TLS can be used.

use std::path::Path;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use crate::inward::TlsFiles;

const DAY: i64 = 24 * 60 * 60;

/// The first second of 2030.
const NOW: i64 = 1_893_456_000;

struct Pair {
    certificate: String,
    key: String,
}

/// Valid in the first ten days of 2030.
fn pair() -> Pair {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2030, 1, 11);
    Pair {
        certificate: params.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

fn files(directory: &Path, client_ca: Option<&str>) -> TlsFiles {
    TlsFiles {
        certificate: directory.join("cert.pem"),
        key: directory.join("key.pem"),
        client_ca: client_ca.map(|name| directory.join(name)),
    }
}

/// The end of what these files make, or what is said of them.
fn made(certificate: &str, key: &str, client_ca: Option<&str>, now: i64) -> Result<i64, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("cert.pem"), certificate).unwrap();
    std::fs::write(path.join("key.pem"), key).unwrap();
    if let Some(text) = client_ca {
        std::fs::write(path.join("ca.pem"), text).unwrap();
    }
    let files = files(path, client_ca.map(|_| "ca.pem"));
    let texts = files.read().map_err(|fault| fault.to_string())?;
    let certificates = texts.certificates(now);
    let told = certificates.map(|it| it.valid_until);
    told.map_err(|fault| fault.to_string())
}

#[test]
fn a_certificate_with_its_key_can_be_used_while_it_is_valid() {
    let Pair { certificate, key } = pair();
    let until = NOW + 10 * DAY;
    let both = format!("{certificate}{}", pair().certificate);
    for authorities in [None, Some(certificate.as_str()), Some(both.as_str())] {
        for now in [NOW, until] {
            assert_eq!(made(&certificate, &key, authorities, now), Ok(until));
        }
    }
    // Others that follow, such as those of authorities, and texts between them.
    assert_eq!(made(&format!("# mine\n{both}"), &key, None, NOW), Ok(until));
}

#[test]
fn files_that_cannot_be_used_are_refused_by_key_cause_and_remedy() {
    let Pair { certificate, key } = pair();
    let check = |texts: (&str, &str, Option<&str>), now: i64, key: &str, cause: &str| {
        let (certificate, private, client_ca) = texts;
        let told = made(certificate, private, client_ca, now).unwrap_err();
        let start = format!("`listen.tls.{key}`: `");
        assert!(told.starts_with(&start) && told.contains(cause), "{told}");
        assert!(told.contains("; "), "a remedy: {told}");
        assert!(!told.contains("BEGIN"), "{told}");
    };
    let good = (certificate.as_str(), key.as_str());
    let with = |certificate, key| (certificate, key, None);
    let cut = certificate.replace("-----END CERTIFICATE-----", "");
    let odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let (cert_file, key_file) = ("cert_file", "key_file");
    for text in ["", "nothing", good.1] {
        check(with(text, good.1), NOW, cert_file, "no certificate in PEM");
    }
    check(with(&cut, good.1), NOW, cert_file, "not valid PEM");
    let broken = certificate.replace("\nMII", "\n!!!");
    check(with(&broken, good.1), NOW, cert_file, "not valid PEM");
    check(with(odd, good.1), NOW, cert_file, "cannot be read");
    for text in ["", "nothing", good.0] {
        check(with(good.0, text), NOW, key_file, "no private key in PEM");
    }
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    check(with(good.0, locked), NOW, key_file, "no private key in PEM");
    let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    check(with(good.0, broken), NOW, key_file, "cannot be used");
    let other = pair().key;
    check(
        with(good.0, &other),
        NOW,
        key_file,
        "not the key of the certificate",
    );
    let (late, early) = (NOW + 10 * DAY + 1, NOW - 1);
    check(with(good.0, good.1), late, cert_file, "has expired on");
    check(with(good.0, good.1), early, cert_file, "not valid before");
    for (text, cause) in [("", "no certificate"), (odd, "cannot be used")] {
        check((good.0, good.1, Some(text)), NOW, "client_ca_file", cause);
    }
}

#[test]
fn files_that_cannot_be_read_are_refused_by_key_and_cause() {
    let Pair { certificate, key } = pair();
    let large = "a".repeat(1024 * 1024 + 1);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    let told = |client_ca| {
        let fault = files(path, client_ca).read().unwrap_err();
        fault.to_string()
    };
    assert!(told(None).contains("cert_file`: `"), "{}", told(None));
    write("cert.pem", &certificate);
    assert!(told(None).contains("key_file`: `"), "{}", told(None));
    write("key.pem", &key);
    assert!(files(path, None).read().is_ok());
    assert!(told(Some("ca.pem")).contains("client_ca_file`: `"));
    assert!(told(Some(".")).contains("not a regular file"));
    write("ca.pem", &large);
    assert!(told(Some("ca.pem")).contains("larger than 1 MiB"));
}
