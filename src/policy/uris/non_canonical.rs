//! What of a URI readers disagree on.

use std::fmt;

use url::Url;

use super::{settled, user_of};
use crate::policy::location::has_scheme;

/// The first part of a URI without a spelling of its own that could be to blame for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonCanonicalUri {
    NoText,
    Scheme,
    Characters,
    Fragment,
    User,
    Host,
    Query,
    Path,
    /// In a scheme of which the host says something.
    Otherwise,
}

impl NonCanonicalUri {
    /// Of a text that is none.
    pub fn of(text: &str) -> Self {
        if text.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
            return Self::Characters;
        }
        let Some((scheme, rest)) = text.split_once(':').filter(|_| has_scheme(text)) else {
            return Self::Scheme;
        };
        if rest.contains('#') {
            return Self::Fragment;
        }
        let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
        let is_file = scheme.eq_ignore_ascii_case("file");
        let authority = before_query.strip_prefix("//").unwrap_or_default();
        let authority = authority.split('/').next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((_, host)) => (Some(user_of(authority)), host),
            None => (None, authority),
        };
        let is_plain = |user: Option<(&str, &str)>| user.is_some_and(|(_, after)| after == host);
        let host_is_known = Url::parse(&format!("{scheme}://{host}/"))
            .is_ok_and(|url| !is_file || matches!(url.host_str(), None | Some("localhost")));
        let host_is_plain = host.is_ascii() && !host.contains('%') && !host.ends_with('.');
        let host_is_clear = authority.is_empty() || (host_is_known && host_is_plain);
        if user.is_some_and(|user| !is_plain(user) || has_known_scheme(scheme)) {
            Self::User
        } else if !host_is_clear {
            Self::Host
        } else if settled(query).is_none() || (is_file && text.contains('?')) {
            Self::Query
        } else {
            Self::Path
        }
    }
}

/// Whether a name before the host is a credential to those who read it.
fn has_known_scheme(scheme: &str) -> bool {
    Url::parse(&format!("{scheme}://host/")).is_ok_and(|url| url.is_special())
}

impl fmt::Display for NonCanonicalUri {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoText => "it is no text",
            Self::Scheme => "it has no scheme",
            Self::Characters => "it has blanks, backslashes or control characters",
            Self::Fragment => "it has a fragment (`#`)",
            Self::User => "a name or a password stands before its host",
            Self::Host => "its host",
            Self::Query => "its query",
            Self::Path => "its path",
            Self::Otherwise => {
                "resources of its scheme are labelled, and it has no host where they have one, a port, or \
                 an escaped `?` or `#`"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{canonical_template, canonical_uri};

    #[test]
    fn what_readers_disagree_on_is_named() {
        let check = |text: &str, expected: NonCanonicalUri| {
            assert_eq!(canonical_uri(text), None, "{text}");
            assert_eq!(NonCanonicalUri::of(text), expected, "{text}");
        };
        check("", NonCanonicalUri::Scheme);
        check("/srv/a", NonCanonicalUri::Scheme);
        check("a/b:c", NonCanonicalUri::Scheme);
        check("notes://team/a b", NonCanonicalUri::Characters);
        check("notes://team\\a", NonCanonicalUri::Characters);
        check("notes://team/a#b", NonCanonicalUri::Fragment);
        check("notes:a#", NonCanonicalUri::Fragment);
        check("https://x.org@evil.com/a", NonCanonicalUri::User);
        check("notes://me:word@team/a", NonCanonicalUri::User);
        check("notes://bücher/a", NonCanonicalUri::Host);
        check("notes://me@bücher/a", NonCanonicalUri::Host);
        check("notes://te%61m/a", NonCanonicalUri::Host);
        check("notes://team./a", NonCanonicalUri::Host);
        check("file://host/share/a", NonCanonicalUri::Host);
        check("https://a b/", NonCanonicalUri::Characters);
        check("notes://team/a?b%zz", NonCanonicalUri::Query);
        check("file:///srv/a?b", NonCanonicalUri::Query);
        check("file:///../etc/passwd", NonCanonicalUri::Path);
        check("notes://team/a//b", NonCanonicalUri::Path);
        check("notes://team/%252e%252e/a", NonCanonicalUri::Path);
        check("notes:///a/../../b", NonCanonicalUri::Path);
        check("https:/x.org/a", NonCanonicalUri::Path);
    }

    #[test]
    fn what_a_template_has_of_it_is_named_too() {
        let check = |text: &str, expected: NonCanonicalUri| {
            assert_eq!(canonical_template(text), None, "{text}");
            assert_eq!(NonCanonicalUri::of(text), expected, "{text}");
        };
        check("notes://team/{a}#b", NonCanonicalUri::Fragment);
        check("notes://bücher/{a}", NonCanonicalUri::Host);
        check("notes://team/../{a}", NonCanonicalUri::Path);
    }
}
