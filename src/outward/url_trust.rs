//! Where a URL comes from, and which addresses it may therefore lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Who chose a URL, and so the address that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlTrust {
    /// The operator wrote it. It may lead into their own network. A *name* in it leads neither
    /// to this machine nor to link-local addresses, even if another party changes the name's address; an address
    /// in it is meant.
    Configured,
    /// Another party did: a server or a document of the network. It could have the gate ask what only
    /// the gate can reach.
    Found(PrivateAddresses),
}

/// Whether what others name may be in a private network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateAddresses {
    /// Public addresses only.
    Refused,
    /// This machine and private networks too: the operator permits them. Never link-local
    /// addresses and those of clouds' own metadata.
    Allowed,
}

/// Why a URL is not asked. Quotes nothing of it: others chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlRejection {
    #[error("it is not `https`")]
    Plain,
    #[error("it is no URL of a server, or holds a user name")]
    Odd,
    #[error("it leads to an address that is not a public one")]
    Address,
}

/// The name that is not looked up.
pub(super) const LOCALHOST: &str = "localhost";

impl UrlTrust {
    /// Whether it may be asked as far as it says itself: scheme, and an address in place of a name.
    pub fn check(self, url: &Url) -> Result<(), UrlRejection> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRejection::Odd);
        }
        let (may_be_meant, is_loopback) = match url.host() {
            None => return Err(UrlRejection::Odd),
            Some(Host::Domain(LOCALHOST)) => (self != Self::Found(PrivateAddresses::Refused), true),
            // As Unix resolvers read it, `localhost.` and what is below it may be this machine; it is
            // looked up, and refused by its address.
            Some(Host::Domain(_)) => (true, false),
            Some(Host::Ipv4(it)) => (self.may_name(it.into()), it.is_loopback()),
            Some(Host::Ipv6(it)) => (self.may_name(it.into()), it.is_loopback()),
        };
        if !may_be_meant {
            return Err(UrlRejection::Address);
        }
        match url.scheme() {
            "https" => Ok(()),
            "http" if is_loopback => Ok(()),
            _ => Err(UrlRejection::Plain),
        }
    }

    /// Whether an address may stand in a URL.
    fn may_name(self, address: IpAddr) -> bool {
        match self {
            Self::Configured => true,
            Self::Found(_) => self.may_lead_to(address),
        }
    }

    /// Whether a name may lead to this address.
    pub fn may_lead_to(self, address: IpAddr) -> bool {
        let address = seen(address);
        match self {
            Self::Configured => is_host(address) && !address.is_loopback(),
            Self::Found(PrivateAddresses::Allowed) => is_host(address) && !is_metadata(address),
            Self::Found(PrivateAddresses::Refused) => match address {
                IpAddr::V4(it) => is_public_4(it) && !is_metadata(address),
                IpAddr::V6(it) => is_public_6(it),
            },
        }
    }
}

/// The address that is reached in the end: some of IPv6 stand for one of IPv4.
fn seen(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address.to_canonical() else {
        return address.to_canonical();
    };
    let four = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match six.segments() {
        // NAT64 (RFC 6052), where networks without IPv4 see all of it; 6to4 (RFC 3056).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => four(high, low),
        // IPv4-compatible, out of use; `::` and `::1` are not of them.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => four(high, low),
        _ => IpAddr::V6(six),
    }
}

/// One machine somewhere, that is not only the next one on the cable.
fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => {
            let is_this_network = it.octets().first() == Some(&0);
            !(it.is_link_local() || it.is_multicast() || it.is_broadcast() || is_this_network)
        }
        IpAddr::V6(it) => !(it.is_unicast_link_local() || it.is_multicast() || it.is_unspecified()),
    }
}

/// Where clouds answer their own machines, besides the link-local 169.254.169.254.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        // Azure, which has a public address for it; Alibaba Cloud.
        IpAddr::V4(it) => matches!(it.octets(), [168, 63, 129, 16] | [100, 100, 100, 200]),
        // AWS.
        IpAddr::V6(it) => it.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    }
}

/// The IANA registry of special addresses (RFC 6890 and later), as far as others cannot reach them.
fn is_public_4(address: Ipv4Addr) -> bool {
    !(address.is_loopback()
        || address.is_private()
        || address.is_documentation()
        || !is_host(address.into())
        || matches!(
            address.octets(),
            // Shared by carriers (RFC 6598); protocols; 6to4 relays; measurements; reserved.
            [100, 64..=127, _, _]
                | [192, 0, 0, _]
                | [192, 88, 99, _]
                | [198, 18 | 19, _, _]
                | [240..=255, _, _, _]
        ))
}

/// Global unicast (2000::/3) but for what is set apart in it.
fn is_public_6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Protocols, Teredo among them; documentation, twice.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a name of each kind may lead to: written by the operator, found where private addresses
    /// are allowed, found.
    const ADDRESSES: &[(&str, [bool; 3])] = &[
        ("93.184.215.14", [true, true, true]),
        ("2606:4700::1111", [true, true, true]),
        ("64:ff9b::5db8:d70e", [true, true, true]),
        // Networks of one's own.
        ("10.0.0.7", [true, true, false]),
        ("172.16.0.1", [true, true, false]),
        ("172.31.255.255", [true, true, false]),
        ("172.32.0.1", [true, true, true]),
        ("192.168.1.1", [true, true, false]),
        ("100.64.0.1", [true, true, false]),
        ("100.127.255.255", [true, true, false]),
        ("100.128.0.1", [true, true, true]),
        ("fd00::1", [true, true, false]),
        ("fc00::1", [true, true, false]),
        ("::ffff:10.0.0.7", [true, true, false]),
        ("64:ff9b::a00:7", [true, true, false]),
        ("2002:a00:7::1", [true, true, false]),
        ("::10.0.0.7", [true, true, false]),
        // Set apart.
        ("192.0.0.8", [true, true, false]),
        ("192.0.2.1", [true, true, false]),
        ("198.18.0.1", [true, true, false]),
        ("198.51.100.1", [true, true, false]),
        ("203.0.113.1", [true, true, false]),
        ("240.0.0.1", [true, true, false]),
        ("2001:db8::1", [true, true, false]),
        ("2001::1", [true, true, false]),
        ("3fff::1", [true, true, false]),
        ("fec0::1", [true, true, false]),
        ("4000::1", [true, true, false]),
        // This machine.
        ("127.0.0.1", [false, true, false]),
        ("127.8.8.8", [false, true, false]),
        ("::1", [false, true, false]),
        ("::ffff:127.0.0.1", [false, true, false]),
        ("64:ff9b::7f00:1", [false, true, false]),
        ("2002:7f00:1::1", [false, true, false]),
        // Metadata of clouds.
        ("169.254.169.254", [false, false, false]),
        ("::ffff:169.254.169.254", [false, false, false]),
        ("64:ff9b::a9fe:a9fe", [false, false, false]),
        ("168.63.129.16", [true, false, false]),
        ("100.100.100.200", [true, false, false]),
        ("fd00:ec2::254", [true, false, false]),
        // Link-local, broadcast, unspecified.
        ("169.254.0.1", [false, false, false]),
        ("fe80::1", [false, false, false]),
        ("224.0.0.1", [false, false, false]),
        ("255.255.255.255", [false, false, false]),
        ("ff02::1", [false, false, false]),
        ("0.0.0.0", [false, false, false]),
        ("0.1.2.3", [false, false, false]),
        ("::", [false, false, false]),
    ];

    const KINDS: [UrlTrust; 3] = [
        UrlTrust::Configured,
        UrlTrust::Found(PrivateAddresses::Allowed),
        UrlTrust::Found(PrivateAddresses::Refused),
    ];

    #[test]
    fn a_name_leads_only_where_whoever_chose_it_may_send_the_gate() {
        for (address, expected) in ADDRESSES {
            let found = KINDS.map(|whence| whence.may_lead_to(address.parse().unwrap()));
            assert_eq!(found, *expected, "{address}");
        }
    }

    #[test]
    fn an_address_in_a_url_of_others_is_one_that_a_name_could_lead_to() {
        for (address, [_, allowed, public]) in ADDRESSES {
            let address: IpAddr = address.parse().unwrap();
            let url = match address {
                IpAddr::V4(it) => format!("https://{it}/a"),
                IpAddr::V6(it) => format!("https://[{it}]/a"),
            };
            let url = Url::parse(&url).unwrap();
            let found = KINDS.map(|whence| whence.check(&url).is_ok());
            assert_eq!(found, [true, *allowed, *public], "{url}");
        }
    }

    #[test]
    fn a_url_of_others_is_encrypted_and_names_no_user() {
        let check = |url: &str, expected: [Result<(), UrlRejection>; 3]| {
            let url = Url::parse(url).unwrap();
            assert_eq!(KINDS.map(|whence| whence.check(&url)), expected, "{url}");
        };
        let (plain, odd, address) = (
            UrlRejection::Plain,
            UrlRejection::Odd,
            UrlRejection::Address,
        );
        check("https://login.example/", [Ok(()); 3]);
        check("http://login.example/", [Err(plain); 3]);
        check("ftp://login.example/", [Err(plain); 3]);
        check("https://user@login.example/", [Err(odd); 3]);
        check("https://:word@login.example/", [Err(odd); 3]);
        check("http://localhost/", [Ok(()), Ok(()), Err(address)]);
        check("https://LOCALHOST:8443/", [Ok(()), Ok(()), Err(address)]);
        check("http://127.0.0.1/", [Ok(()), Ok(()), Err(address)]);
        check("http://0x7f.1/", [Ok(()), Ok(()), Err(address)]);
        check("http://[::1]/", [Ok(()), Ok(()), Err(address)]);
        check("http://10.0.0.1/", [Err(plain), Err(plain), Err(address)]);
        // Looked up, and refused by what it leads to.
        check("https://localhost./", [Ok(()); 3]);
    }
}
