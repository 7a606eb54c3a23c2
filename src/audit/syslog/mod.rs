//! Records as messages of syslog (RFC 5424), for a collector on this machine or on the network.
//!
//! Syslog has no acknowledgements: what was handed to a connection that then breaks may be lost. A receiver
//! sees that by `seq`, and the file has all records.

mod address;
mod datagrams;
mod message;
mod stream;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;

pub use address::{SyslogAddress, SyslogHost};
use datagrams::Datagrams;
pub use message::Facility;
use message::MessageFormat;
use stream::Stream;

use super::Follower;

/// Follows the record, and sends each line as one message.
#[derive(Debug)]
pub struct Syslog {
    name: Arc<str>,
    format: MessageFormat,
    transport: Transport,
}

#[derive(Debug)]
enum Transport {
    Datagrams(Datagrams),
    Stream(Box<Stream>),
}

/// What a datagram carries over any network: 65,487 bytes over IPv6, without the longest header.
const LONGEST_IN_DATAGRAM: usize = 65_000;

impl Syslog {
    /// Connects to nothing yet. `tls`, which says what authorities are believed, is called for `tls://` alone.
    ///
    /// # Errors
    /// That of `tls`.
    pub fn new<E>(
        address: SyslogAddress,
        facility: Facility,
        tls: impl FnOnce() -> Result<ClientConfig, E>,
    ) -> Result<Self, E> {
        Ok(Self {
            name: format!("the syslog server `{address}`").into(),
            format: MessageFormat::of_this_process(facility),
            transport: match address {
                SyslogAddress::Unix(path) => Transport::Datagrams(Datagrams::unix(path)),
                SyslogAddress::Udp(host) => Transport::Datagrams(Datagrams::udp(host)),
                SyslogAddress::Tcp(host) => Transport::Stream(Box::new(Stream::plain(host))),
                SyslogAddress::Tls(host) => {
                    Transport::Stream(Box::new(Stream::tls(host, Arc::new(tls()?))))
                }
            },
        })
    }
}

impl Follower for Syslog {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    fn longest_line(&self) -> usize {
        match self.transport {
            Transport::Datagrams(_) => LONGEST_IN_DATAGRAM,
            Transport::Stream(_) => usize::MAX,
        }
    }

    fn deliver(&mut self, lines: &[u8]) -> io::Result<()> {
        match &mut self.transport {
            Transport::Datagrams(datagrams) => datagrams.send(lines, &self.format),
            Transport::Stream(stream) => stream.send(lines, &self.format),
        }
    }
}
