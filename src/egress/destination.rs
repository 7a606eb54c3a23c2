//! Hosts and ports that a server may connect to: exact ones, each written in one way only.

use std::fmt;
use std::net::IpAddr;

use url::Host;

use crate::outward::{PrivateAddresses, UrlTrust};

/// One host and one port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    /// A name in lower case, or an address as URLs have it: `[::1]`.
    host: String,
    port: u16,
}

/// Why a text is no destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    #[error("holds a wildcard")]
    Wildcard,
    #[error("expected `host:port`, without a scheme, a path or a user name")]
    Odd,
    #[error("names no port")]
    NoPort,
    #[error("the port is not one of 1 to 65535")]
    Port,
    #[error("is no name of a host in ASCII")]
    Name,
    #[error("is another spelling of an address")]
    Spelling,
    #[error("is not the address of one machine, or is where clouds answer their own machines")]
    Address,
}

/// Bytes of the longest name (RFC 1035 §2.3.4).
const MAX_NAME: usize = 253;

impl Destination {
    /// Reads `host:port`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(text: &str) -> Result<Self, DestinationError> {
        Self::read_or(text, None)
    }

    /// The same, where the port may be left out because a scheme has one.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(super) fn read_or(text: &str, port: Option<u16>) -> Result<Self, DestinationError> {
        if text.contains('*') {
            return Err(DestinationError::Wildcard);
        }
        if text.contains(['/', '@', '?', '#', '\\', '%']) || text.contains(char::is_whitespace) {
            return Err(DestinationError::Odd);
        }
        let (host, port) = match text.rsplit_once(':') {
            // The last colon of an address in brackets is part of it.
            Some((host, digits)) if !digits.ends_with(']') => (host, read_port(digits)?),
            Some(_) | None => (text, port.ok_or(DestinationError::NoPort)?),
        };
        let host = read_host(&host.to_ascii_lowercase())?;
        Ok(Self { host, port })
    }

    /// A name, or an address as URLs have it.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, where it is none of a name's.
    pub(super) fn address(&self) -> Option<IpAddr> {
        let bare = self.host.strip_prefix('[');
        let bare = bare.and_then(|host| host.strip_suffix(']'));
        bare.unwrap_or(&self.host).parse().ok()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn read_port(digits: &str) -> Result<u16, DestinationError> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits
        .parse()
        .ok()
        .filter(|_| is_plain)
        .ok_or(DestinationError::Port)
}

/// Resolvers take `0x7f.1` and `2130706433` for `127.0.0.1`: what is not written as URLs have it is
/// refused, so that two readers see one host.
fn read_host(text: &str) -> Result<String, DestinationError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
    if text.is_empty() || text.len() > MAX_NAME || !text.bytes().all(is_plain) {
        return Err(DestinationError::Name);
    }
    let host = Host::parse(text).map_err(|_| DestinationError::Name)?;
    let address = match &host {
        Host::Domain(name) if name.split('.').all(is_label) => None,
        Host::Domain(_) => return Err(DestinationError::Name),
        Host::Ipv4(it) => Some(IpAddr::V4(*it)),
        Host::Ipv6(it) => Some(IpAddr::V6(*it)),
    };
    if host.to_string() != text {
        return Err(DestinationError::Spelling);
    }
    // Never link-local: there is where clouds hand out credentials.
    let leads = UrlTrust::Found(PrivateAddresses::Allowed);
    if address.is_some_and(|address| !leads.may_lead_to(address)) {
        return Err(DestinationError::Address);
    }
    Ok(host.to_string())
}

/// RFC 1035 §2.3.4, with the underscore that names of services have. An empty one, as behind a last dot,
/// is none.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
}

/// What the operator lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Destinations(Vec<Destination>);

impl Destinations {
    pub fn new(listed: Vec<Destination>) -> Self {
        Self(listed)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Destination> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn list(&self, asked: &Destination) -> bool {
        self.0.contains(asked)
    }

    /// Whether a listed name may lead to this address: a public one, or one that is listed as well.
    pub(super) fn may_lead_to(&self, address: IpAddr, port: u16) -> bool {
        let is_public = UrlTrust::Found(PrivateAddresses::Refused).may_lead_to(address);
        let is_listed = |it: &Destination| {
            let listed = it.address().map(|address| address.to_canonical());
            it.port == port && listed == Some(address.to_canonical())
        };
        is_public || self.0.iter().any(is_listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_one_host_and_one_port_in_one_spelling() {
        use DestinationError::{Address, Name, NoPort, Odd, Port, Spelling, Wildcard};
        let check = |text: &str, expected: Result<&str, DestinationError>| {
            let read = Destination::read(text).map(|it| it.to_string());
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        };
        for same in [
            "api.example.com:443",
            "localhost:8080",
            "_dns.internal:1",
            "127.0.0.1:65535",
            "10.0.0.7:5432",
            "[::1]:443",
            "[2001:db8::1]:80",
        ] {
            check(same, Ok(same));
        }
        check("API.Example.com:443", Ok("api.example.com:443"));
        for text in ["*.example.com:443", "*", "api.example.com:*"] {
            check(text, Err(Wildcard));
        }
        for text in [
            "https://api.example.com",
            "a.example/x:1",
            "me@a.example:1",
            "a .example:1",
            "a%2eexample:1",
        ] {
            check(text, Err(Odd));
        }
        for text in ["api.example.com", "[::1]", "127.0.0.1"] {
            check(text, Err(NoPort));
        }
        for text in [
            "a.example:0",
            "a.example:65536",
            "a.example:",
            "a.example:+1",
            "a.example:01",
            "a.example:https",
        ] {
            check(text, Err(Port));
        }
        let long = format!("{}.example:1", "a".repeat(64));
        for text in [
            ":443",
            "bücher.example:443",
            "a..example:443",
            "a.example.:443",
            "-a.example:443",
            "::1:443",
            "[::1:443",
            &long,
        ] {
            check(text, Err(Name));
        }
        for text in ["0x7f.1:80", "2130706433:80", "127.1:80", "[0:0::1]:80"] {
            check(text, Err(Spelling));
        }
        for text in [
            "169.254.169.254:80",
            "0.0.0.0:80",
            "[fe80::1]:80",
            "224.0.0.1:80",
        ] {
            check(text, Err(Address));
        }
    }

    #[test]
    fn a_name_leads_to_public_addresses_and_to_listed_ones() {
        let listed = ["db.example:5432", "10.0.0.7:5432", "[::1]:80"];
        let listed = listed.map(|text| Destination::read(text).unwrap());
        let listed = Destinations::new(listed.into());
        let check = |address: &str, port, expected: bool| {
            let may = listed.may_lead_to(address.parse().unwrap(), port);
            assert_eq!(may, expected, "{address}:{port}");
        };
        check("93.184.215.14", 5432, true);
        check("10.0.0.7", 5432, true);
        check("::ffff:10.0.0.7", 5432, true);
        check("::1", 80, true);
        check("10.0.0.7", 443, false);
        check("10.0.0.8", 5432, false);
        check("127.0.0.1", 80, false);
        check("169.254.169.254", 80, false);
        check("100.64.0.1", 80, false);
        check("fd00::1", 80, false);
    }
}
