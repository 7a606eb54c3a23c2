//! Which URLs are spoken to.

use url::Url;

use crate::upstream::http::{HttpClient, HttpClientError, HttpSettings, PlainHttp};

fn settings(url: &str) -> HttpSettings {
    HttpSettings::new("test", Url::parse(url).unwrap())
}

#[tokio::test]
async fn plain_http_is_for_loopback_addresses_only_unless_it_is_allowed() {
    let check = |url: &str, fine: bool| {
        let mut settings = settings(url);
        let refused = HttpClient::new(&settings).err();
        assert_eq!(refused.is_none(), fine, "{url}: {refused:?}");
        if !fine {
            assert!(
                matches!(refused, Some(HttpClientError::PlainHttp { .. })),
                "{url}: {refused:?}"
            );
            settings.plain_http = PlainHttp::Allowed;
            assert!(HttpClient::new(&settings).is_ok(), "{url}");
        }
    };
    check("http://127.0.0.1:8080/mcp", true);
    check("http://127.8.9.1/mcp", true);
    check("http://0x7f.1/mcp", true);
    check("http://[::1]:8080/mcp", true);
    check("http://localhost/mcp", true);
    check("http://LOCALHOST:3000/mcp", true);
    check("http://localhost./mcp", false);
    check("http://a.localhost/mcp", false);
    check("http://localhost.example/mcp", false);
    check("http://127.0.0.1.example/mcp", false);
    check("http://0.0.0.0/mcp", false);
    check("http://[::ffff:127.0.0.1]/mcp", false);
    check("http://[::]/mcp", false);
    check("http://10.0.0.1/mcp", false);
    check("http://example.com/mcp", false);
}

#[tokio::test]
async fn a_url_that_leads_nowhere_or_tells_too_much_is_refused() {
    let check = |url: &str, message: &str| {
        let error = HttpClient::new(&settings(url)).unwrap_err();
        assert!(error.to_string().contains(message), "{url}: {error}");
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
    };
    check("ftp://example.com/", "`ftp`");
    check("ws://localhost/", "`ws`");
    check("file:///etc/passwd", "`file`");
    check("http://u:s3cr3t@localhost/", "password");
    check("http://s3cr3t@localhost/", "password");
    check("http://localhost/#s3cr3t", "fragment");
}

#[tokio::test]
async fn a_file_of_authorities_that_says_nothing_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let check = |name: &str, text: Option<&str>| {
        let path = directory.path().join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let mut settings = settings("https://localhost/mcp");
        settings.ca_file = Some(path);
        let error = HttpClient::new(&settings).unwrap_err();
        assert!(
            matches!(error, HttpClientError::Authorities { .. }),
            "{name}: {error:?}"
        );
        assert!(error.to_string().contains(name), "{error}");
    };
    check("missing.pem", None);
    check("empty.pem", Some(""));
    check("text.pem", Some("no certificate here"));
    check(
        "broken.pem",
        Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    );
    check("cut.pem", Some("-----BEGIN CERTIFICATE-----\nAAAA\n"));
    check(
        "key.pem",
        Some("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
    );
}
