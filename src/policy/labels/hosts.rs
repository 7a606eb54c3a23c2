//! Hosts, spelled in one way.

use std::net::IpAddr;

use url::{Host, Url};

/// What stands in `touch.hosts` for something that should name a host and does not.
///
/// It is no host name, so that no list of hosts that a policy permits contains it.
pub const UNREADABLE_HOST: &str = "?";

/// As the WHATWG URL standard reads it, which is how clients of HTTP do: lower case, Punycode,
/// addresses in one spelling.
///
/// `None` for what other readers of URLs (RFC 3986) find another host in: they do not take `\` for
/// `/`, and do not drop white space, as that standard does.
pub fn host_in(text: &str) -> Option<String> {
    let ambiguous = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    if text.contains(ambiguous) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    Some(spelled(&url.host()?.to_owned()))
}

/// What names a host by itself, in the same spelling.
pub fn host_named(text: &str) -> Option<String> {
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
