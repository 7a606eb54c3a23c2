//! The host that a request is for.

use hyper::Uri;
use hyper::http::uri::Authority;

/// The authority of the `Host` field, if it is a host with or without a port (RFC 9112 §3.2, RFC 3986
/// §3.2.3) and the request line names no other one. Host and port come back as the client wrote them.
pub fn named_host(field: &str, uri: &Uri) -> Option<Authority> {
    let host: Authority = field.parse().ok()?;
    let same = uri.authority().is_none_or(|named| *named == host);
    let has_user = host.as_str().contains('@');
    (same && !has_user && has_valid_port(&host)).then_some(host)
}

/// The parser of `Authority` takes anything behind the colon.
fn has_valid_port(host: &Authority) -> bool {
    let Some(rest) = host.as_str().strip_prefix(host.host()) else {
        return false;
    };
    match rest.strip_prefix(':') {
        None => rest.is_empty(),
        // An empty port means the default one.
        Some("") => true,
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_no_port_or_one_that_exists() {
        let good = [
            "name",
            "name:",
            "name:0",
            "name:80",
            "name:65535",
            "127.0.0.1:99",
            "[::1]",
            "[::1]:99",
        ];
        let bad = [
            "",
            "name:x",
            "name:-1",
            "name:+1",
            "name:99999",
            "name:65536",
            "name:80:80",
            "[::1]:x",
            "[::1]99",
            "user@name",
            "name/",
        ];
        let uri = Uri::from_static("/mcp");
        for host in good {
            assert!(named_host(host, &uri).is_some(), "{host}");
        }
        for host in bad {
            assert!(named_host(host, &uri).is_none(), "{host}");
        }
    }
}
