//! Hosts, spelled in one way.

use std::net::{IpAddr, Ipv6Addr};

use url::{Host, Url};

/// What stands in `targets.hosts` for something that should name a host and does not.
///
/// It is no host name, so that no list of hosts that a policy permits contains it.
pub const UNREADABLE_HOST: &str = "?";

/// Bytes of a URL that is read.
const MAX_URL_BYTES: usize = 16 * 1024;

/// Bytes of a host. One of 253 letters, as DNS has it, may be escaped.
const MAX_HOST_BYTES: usize = 1024;

/// As the WHATWG URL standard reads it, which is how clients of HTTP do: lower case, Punycode,
/// addresses in one spelling.
///
/// `None` for what other readers of URLs (RFC 3986) find another host in: they do not take `\` for
/// `/`, and do not drop white space, as that standard does.
pub fn host_in(text: &str) -> Option<String> {
    let ambiguous = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    if text.len() > MAX_URL_BYTES || text.contains(ambiguous) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    Some(spelled(&url.host()?.to_owned()))
}

/// The host of a page that a user may be sent to: over HTTPS, without a name or password that could
/// pass for the host.
pub fn page_host(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once("://")?;
    let host = host_in(text)?;
    let url = Url::parse(text).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    let is_https = scheme.eq_ignore_ascii_case("https");
    (is_https && is_plain).then_some(host)
}

/// What names a host by itself, in the same spelling. An address of IPv6 may stand without brackets: only
/// URLs need them.
pub fn host_named(text: &str) -> Option<String> {
    if text.len() > MAX_HOST_BYTES {
        return None;
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(spelled(&Host::Ipv6(address)));
    }
    Some(spelled(&Host::parse(text).ok()?))
}

/// An IPv4 address in IPv6 is the IPv4 address, which filters would miss; a name without the dot of
/// the root.
fn spelled(host: &Host<String>) -> String {
    match host {
        // Of schemes that the standard does not know, names come as they are written.
        Host::Domain(name) => {
            let name = name.to_ascii_lowercase();
            name.strip_suffix('.').unwrap_or(&name).to_owned()
        }
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => IpAddr::V6(*address).to_canonical().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_brackets() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(host_named(text).as_deref(), expected, "{text}");
        };
        check("2001:db8::1", Some("2001:db8::1"));
        check("2001:DB8:0:0::1", Some("2001:db8::1"));
        check("[2001:db8::1]", Some("2001:db8::1"));
        check("::1", Some("::1"));
        check("[::1]", Some("::1"));
        check("::ffff:10.0.0.1", Some("10.0.0.1"));
        check("10.0.0.1", Some("10.0.0.1"));
        // A zone is another network for each machine, and ports belong to no host.
        check("fe80::1%eth0", None);
        check("::1]", None);
        check("[::1]:80", None);
        check("2001:db8::1::", None);
        check(&"a".repeat(MAX_HOST_BYTES + 1), None);
    }

    #[test]
    fn the_host_of_a_page_has_one_spelling_and_nothing_passes_for_it() {
        for (url, host) in [
            ("https://login.example.com/a?b#c", Some("login.example.com")),
            (
                "https://LOGIN.Example.com.:8443/",
                Some("login.example.com"),
            ),
            ("HTTPS://login.example.com", Some("login.example.com")),
            ("https://\u{430}pple.com/", Some("xn--pple-43d.com")),
            ("https://[::ffff:127.0.0.1]/", Some("127.0.0.1")),
            ("https://0x7f.1/", Some("127.0.0.1")),
            ("https://login.example.com@evil.example/", None),
            ("https://a:b@evil.example/", None),
            ("https://login.example.com\\@evil.example/", None),
            ("http://login.example.com/", None),
            ("http://localhost/", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("https:login.example.com", None),
            ("https:/login.example.com", None),
            ("https:// login.example.com/", None),
            ("//login.example.com/", None),
            ("", None),
        ] {
            assert_eq!(page_host(url).as_deref(), host, "{url}");
        }
    }
}
