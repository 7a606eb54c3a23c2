//! Places of a server's own scheme, where no standard says what a host, a port or an escape is to it.

use super::{Location, OF_THE_WEB, Realm};

impl Location {
    /// The scheme, and the host without its port, of what is neither a file nor of the web.
    fn own(&self) -> Option<(&str, &str)> {
        let Realm::Uri(scheme, host) = &self.realm else {
            return None;
        };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let with_port = host.rsplit_once(':').filter(|(_, port)| is_port(port));
        let host = with_port.map_or(host.as_str(), |(host, _)| host);
        (!OF_THE_WEB.contains(&scheme.as_str())).then_some((scheme, host))
    }

    /// What everything of its host, or its machine, lies in.
    pub(in crate::policy) fn top(&self) -> Self {
        Self {
            realm: self.realm.clone(),
            parts: Vec::new(),
        }
    }

    pub(in crate::policy) fn own_scheme(&self) -> Option<&str> {
        self.own().map(|(scheme, _)| scheme)
    }

    /// Whether a server that reads no host or no port could find here what is there: one of both has no
    /// host, or they differ in their ports alone.
    pub(in crate::policy) fn could_be_of(&self, other: &Self) -> bool {
        let (Some((scheme, host)), Some((other_scheme, other_host))) = (self.own(), other.own())
        else {
            return false;
        };
        let is_otherwise = host.is_empty() != other_host.is_empty()
            || host == other_host && self.realm != other.realm;
        scheme == other_scheme && is_otherwise
    }

    /// Whether a name in it holds what ends a path where it is not escaped.
    pub(in crate::policy) fn holds_delimiters(&self) -> bool {
        let (names, _) = self.names();
        names.iter().any(|name| name.contains(['?', '#']))
    }
}
