//! Where a syslog server is.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use url::Host;

/// The transport, and the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyslogAddress {
    /// A datagram socket of this machine.
    Unix(PathBuf),
    /// RFC 5426.
    Udp(SyslogHost),
    /// RFC 6587, with octet counting.
    Tcp(SyslogHost),
    /// RFC 5425.
    Tls(SyslogHost),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyslogHost {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl SyslogAddress {
    /// Reads `unix:/dev/log` or `udp://host:514`, also with `tcp` and `tls`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Self::Unix(path))
            } else {
                Err("does not name a socket by its absolute path")
            };
        }
        let (scheme, place) = text.split_once("://").ok_or(NO_TRANSPORT)?;
        match scheme {
            "udp" => SyslogHost::parse(place, 514).map(Self::Udp),
            "tcp" => SyslogHost::parse(place, 601).map(Self::Tcp),
            "tls" => SyslogHost::parse(place, 6514).map(Self::Tls),
            _ => Err(NO_TRANSPORT),
        }
    }

    /// Whether records stay on this machine, or cross the network encrypted.
    pub fn is_private(&self) -> bool {
        match self {
            Self::Unix(_) | Self::Tls(_) => true,
            Self::Udp(host) | Self::Tcp(host) => host.is_loopback(),
        }
    }
}

const NO_TRANSPORT: &str = "does not begin with `unix:/`, `udp://`, `tcp://` or `tls://`";

impl SyslogHost {
    fn parse(text: &str, usual_port: u16) -> Result<Self, &'static str> {
        let is_port = |port: &str| !port.contains(']');
        let (host, port) = match text.rsplit_once(':').filter(|(_, port)| is_port(port)) {
            Some((host, port)) => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (host, port.ok_or("has no valid port")?)
            }
            None => (text, usual_port),
        };
        let host = Host::parse(host).map_err(|_| "has no valid host")?;
        Ok(Self { host, port })
    }

    /// Whether it is this machine, whatever resolvers say.
    fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }

    /// Asks the resolver, unless the address is known.
    pub(super) fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let known = |addresses: &[IpAddr]| {
            let sockets = addresses
                .iter()
                .map(|address| SocketAddr::new(*address, self.port));
            Ok(sockets.collect())
        };
        match &self.host {
            Host::Ipv4(address) => known(&[(*address).into()]),
            Host::Ipv6(address) => known(&[(*address).into()]),
            Host::Domain(name) if name == "localhost" => {
                known(&[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Host::Domain(name) => Ok((name.as_str(), self.port).to_socket_addrs()?.collect()),
        }
    }
}

impl fmt::Display for SyslogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Udp(host) => write!(f, "udp://{host}"),
            Self::Tcp(host) => write!(f, "tcp://{host}"),
            Self::Tls(host) => write!(f, "tls://{host}"),
        }
    }
}

impl fmt::Display for SyslogHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_transport_and_a_place_and_nothing_else() {
        let check = |text: &str, expected: Result<(&str, bool), &str>| {
            let read = SyslogAddress::parse(text);
            let read = read.map(|address| (address.to_string(), address.is_private()));
            let expected = expected.map(|(shown, private)| (shown.to_owned(), private));
            assert_eq!(read, expected, "{text}");
        };
        check("unix:/dev/log", Ok(("unix:/dev/log", true)));
        check("udp://127.0.0.1:514", Ok(("udp://127.0.0.1:514", true)));
        check("udp://localhost", Ok(("udp://localhost:514", true)));
        check("tcp://[::1]", Ok(("tcp://[::1]:601", true)));
        check("tcp://[::1]:80", Ok(("tcp://[::1]:80", true)));
        check("tcp://127.1:80", Ok(("tcp://127.0.0.1:80", true)));
        check("udp://10.0.0.1", Ok(("udp://10.0.0.1:514", false)));
        check(
            "tcp://log.Example.com",
            Ok(("tcp://log.example.com:601", false)),
        );
        check(
            "tcp://localhost.example.com",
            Ok(("tcp://localhost.example.com:601", false)),
        );
        check(
            "tls://log.example.com",
            Ok(("tls://log.example.com:6514", true)),
        );
        check(
            "unix:dev/log",
            Err("does not name a socket by its absolute path"),
        );
        check("/dev/log", Err(NO_TRANSPORT));
        check("http://log.example.com", Err(NO_TRANSPORT));
        check("udp://", Err("has no valid host"));
        check("udp://:514", Err("has no valid host"));
        check("udp://user@host:514", Err("has no valid host"));
        check("udp://host/path", Err("has no valid host"));
        check("udp://host:514/", Err("has no valid port"));
        check("udp://host:0", Err("has no valid port"));
        check("udp://host:65536", Err("has no valid port"));
        check("udp://host:", Err("has no valid port"));
    }
}
