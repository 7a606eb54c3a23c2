//! Reading values that name places in a network: addresses, URLs, hosts, origins.

use std::net::{IpAddr, Ipv4Addr};

use url::{Host, Url};

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};

impl<'t> ConfigSection<'_, 't> {
    /// An address to listen at.
    pub(super) fn address(&mut self, key: &'static str) -> Option<IpAddr> {
        let text = self.string(key)?;
        if text == "localhost" {
            return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let address = text.parse().ok();
        if address.is_none() {
            let help = "`127.0.0.1` or `::1` for this machine alone, `0.0.0.0` or `::` for all \
                        its addresses";
            let reason = ConfigReason::Invalid("expected an IP address, or `localhost`");
            self.refuse(key, reason, Some(help));
        }
        address
    }

    /// A port to listen at.
    pub(super) fn port(&mut self, key: &'static str) -> Option<u16> {
        let port = self.count(key, &(0..=u64::from(u16::MAX)))?;
        u16::try_from(port).ok()
    }

    /// A URL that is asked for with nothing but TLS to trust, or one of this machine.
    pub(super) fn trusted_url(&mut self, key: &'static str) -> Option<Url> {
        let text = self.secret_url(key)?;
        let url = web_url(&text).and_then(|url| {
            if url.scheme() == "https" || is_loopback(&url) {
                Ok(url)
            } else {
                Err(ConfigReason::Invalid("is not `https`"))
            }
        });
        match url {
            Ok(url) => Some(url),
            Err(reason) => {
                let help = "as in `\"https://login.example.com/keys\"`; `http` only for \
                            `localhost` and loopback addresses";
                self.refuse(key, reason, Some(help));
                None
            }
        }
    }

    /// Texts that each stand for themselves, read by `read`; what is equal counts once.
    pub(super) fn each<T: PartialEq>(
        &mut self,
        key: &'static str,
        help: &str,
        mut read: impl FnMut(&mut Self, &ConfigField<'t>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.secret_items(key, help)?;
        let mut values = Vec::new();
        for item in &items {
            let Some(value) = read(self, item) else {
                continue;
            };
            if values.contains(&value) {
                self.tell(item, ConfigReason::Suspicious("listed twice"), None);
            } else {
                values.push(value);
            }
        }
        Some(values)
    }

    /// The text of an item, read by a function that knows nothing of files.
    pub(super) fn read_item<T>(
        &mut self,
        item: &ConfigField<'t>,
        help: &str,
        read: impl FnOnce(&str) -> Result<T, ConfigReason>,
    ) -> Option<T> {
        let text = self.text(item)?.value;
        // What stands before an `@` may be a password.
        if !text.contains('@') {
            self.show(item);
        }
        match read(&text) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.tell(item, reason, Some(help));
                None
            }
        }
    }
}

/// An `http` or `https` URL without credentials and fragment. Stricter than what browsers accept:
/// they drop spaces and turn backslashes, and two readers could see two servers.
pub(super) fn web_url(text: &str) -> Result<Url, ConfigReason> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    if !is_web || text.contains(odd) {
        return Err(ConfigReason::Invalid("expected an `https` URL"));
    }
    let url = Url::parse(text).map_err(|_| ConfigReason::Invalid("is not a valid URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        Err(ConfigReason::Invalid("holds a user name or a password"))
    } else if url.fragment().is_some() {
        Err(ConfigReason::Invalid("has a fragment"))
    } else {
        Ok(url)
    }
}

/// Whether a URL names this machine, whatever resolvers say. Other names than `localhost` may
/// resolve to anything.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// `name` or `name:port`, as `Host` says it, in lower case.
pub(super) fn host(text: &str) -> Result<String, ConfigReason> {
    if text.contains('*') {
        return Err(ConfigReason::Invalid("holds a wildcard"));
    }
    let expected = ConfigReason::Invalid("expected `host` or `host:port`");
    let text = text.to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
    if !text.chars().all(is_plain) {
        return Err(expected);
    }
    let Ok(url) = Url::parse(&format!("http://{text}/")) else {
        return Err(expected);
    };
    let name = url.host_str().unwrap_or_default();
    let port = text.strip_prefix(name);
    let has_port = |rest: &str| rest.strip_prefix(':').is_some_and(is_port);
    if port.is_some_and(|rest| rest.is_empty() || has_port(rest)) {
        Ok(text)
    } else {
        // `0x7f.1` is `127.0.0.1` for some readers.
        Err(expected)
    }
}

/// `scheme://host[:port]`, as browsers write it in `Origin`.
pub(super) fn origin(text: &str) -> Result<String, ConfigReason> {
    if text == "null" {
        return Err(ConfigReason::Invalid(
            "is what pages without an origin of their own say, any of them",
        ));
    }
    if text.contains('*') {
        return Err(ConfigReason::Invalid("holds a wildcard"));
    }
    let expected = ConfigReason::Invalid("expected `scheme://host` or `scheme://host:port`");
    let Some((scheme, authority)) = text.split_once("://") else {
        return Err(expected);
    };
    let scheme = scheme.to_ascii_lowercase();
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_lowercase()) || !scheme.chars().all(is_scheme) {
        return Err(expected);
    }
    let authority = host(authority).map_err(|_| expected)?;
    let own_port = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
    Ok(format!("{scheme}://{authority}"))
}

fn is_port(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && !text.starts_with('0') && text.parse::<u16>().is_ok()
}
