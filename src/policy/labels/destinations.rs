//! Where a call would send what it is given, and which of these places the host approves.

use std::borrow::Cow;

use super::super::message_facts::{Arguments, Targets};
use super::ToolLabels;
use super::hosts::{host_in, host_named};
use super::targets::texts_at;

/// Stands for a destination that cannot be read. No approved destination is spelled so.
pub const UNREADABLE_DESTINATION: &str = "?";

/// The most destinations of a call that are looked at.
const MOST_DESTINATIONS: usize = 256;

/// The most bytes of one.
const MAX_DESTINATION: usize = 1024;

/// What the host says of an argument that names a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The JSON pointer of the argument, with `*` as in other labels.
    pub pointer: String,
    pub syntax: DestinationSyntax,
    pub approved: Vec<ApprovedDestination>,
}

/// How an argument names a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DestinationSyntax {
    /// By a URL, of which the host counts.
    Url,
    /// By a host.
    Host,
    /// As it is written.
    Text,
}

/// A destination that needs no question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovedDestination {
    Exact(String),
    /// Every mail address of a domain, in lower case. Subdomains are others.
    MailDomain(String),
}

impl DestinationSyntax {
    /// The destination in one spelling.
    fn read(self, text: &str) -> Option<Cow<'_, str>> {
        match self {
            Self::Url => host_in(text).map(Cow::Owned),
            Self::Host => host_named(text).map(Cow::Owned),
            Self::Text => Some(Cow::Borrowed(text)),
        }
    }
}

impl ApprovedDestination {
    /// `*@corp.example`, or a destination as it is written. `None` for another `*`.
    pub fn of(text: &str, syntax: DestinationSyntax) -> Option<Self> {
        match (syntax, text.strip_prefix("*@")) {
            (DestinationSyntax::Text, Some(domain)) => {
                let is_domain = is_plain(domain, ".-") && domain.contains('.');
                is_domain.then(|| Self::MailDomain(domain.to_ascii_lowercase()))
            }
            _ if text.is_empty() || text == UNREADABLE_DESTINATION || text.contains('*') => None,
            (DestinationSyntax::Text, None) => Some(Self::Exact(text.to_owned())),
            (DestinationSyntax::Url | DestinationSyntax::Host, _) => {
                host_named(text).map(Self::Exact)
            }
        }
    }

    fn approves(&self, destination: &str) -> bool {
        match self {
            Self::Exact(known) => known == destination,
            // One plain address: neither a name beside it nor a second one.
            Self::MailDomain(domain) => destination.split_once('@').is_some_and(|(local, of)| {
                is_plain(local, "._+-")
                    && !local.starts_with('-')
                    && of.eq_ignore_ascii_case(domain)
            }),
        }
    }
}

/// ASCII letters, digits and these.
fn is_plain(text: &str, others: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

impl ToolLabels {
    /// Where the arguments would send something. It is approved if they name a destination, and all that they
    /// name are approved.
    pub(super) fn find_destinations(&self, targets: &mut Targets, arguments: &Arguments<'_>) {
        let unreadable = || UNREADABLE_DESTINATION.to_owned();
        targets.approved = true;
        let texts = self.destinations.iter().flat_map(|known| {
            let texts = texts_at(arguments, &known.pointer).into_iter();
            texts.map(move |text| (known, text))
        });
        for (read, (known, text)) in texts.enumerate() {
            let text =
                text.filter(|text| read < MOST_DESTINATIONS && text.len() <= MAX_DESTINATION);
            let destination = text.as_deref().and_then(|text| known.syntax.read(text));
            let is_approved = destination.as_deref().is_some_and(|destination| {
                known.approved.iter().any(|it| it.approves(destination))
            });
            targets.approved &= is_approved;
            let destination = destination.map_or_else(unreadable, Cow::into_owned);
            targets.destinations.push(destination);
            if read >= MOST_DESTINATIONS {
                break;
            }
        }
        targets.destinations.sort();
        targets.destinations.dedup();
        targets.approved &= !targets.destinations.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Leaf;

    fn mail() -> ToolLabels {
        let destination = |pointer: &str, syntax, approved: &[&str]| Destination {
            pointer: pointer.to_owned(),
            syntax,
            approved: approved
                .iter()
                .map(|text| ApprovedDestination::of(text, syntax).unwrap())
                .collect(),
        };
        let corp = ["*@corp.example", "ada@home.example"];
        ToolLabels {
            destinations: vec![
                destination("/to", DestinationSyntax::Text, &corp),
                destination("/cc/*", DestinationSyntax::Text, &corp),
                destination("/page", DestinationSyntax::Url, &["docs.example.com"]),
                destination("/host", DestinationSyntax::Host, &["docs.example.com"]),
            ],
            ..ToolLabels::default()
        }
    }

    #[test]
    fn a_call_is_approved_if_it_names_destinations_and_all_are_approved() {
        let check = |arguments: &[(&str, &str)], expected: bool| {
            let leaf = |text: &str| Leaf::String(Cow::Owned(text.to_owned()));
            let leaves = arguments.iter();
            let leaves = leaves.map(|(name, text)| ((*name).to_owned(), leaf(text)));
            let mut targets = Targets::default();
            mail().find_destinations(&mut targets, &Arguments(leaves.collect()));
            assert_eq!(targets.approved, expected, "{arguments:?}: {targets:?}");
        };
        check(&[("/to", "ben@corp.example")], true);
        check(&[("/to", "Ben.B+x@CORP.example")], true);
        check(&[("/to", "ada@home.example")], true);
        check(
            &[("/to", "ben@corp.example"), ("/text", "eve@evil.example")],
            true,
        );
        check(&[("/page", "https://DOCS.example.com/a?b=c")], true);
        check(&[("/host", "docs.example.com.")], true);
        // None is named.
        check(&[], false);
        check(&[("/text", "ben@corp.example")], false);
        for other in [
            "ben@home.example",
            "eve@evil.example",
            "ben@sub.corp.example",
            "ben@corp.example.evil.example",
            "eve@evil.example,ben@corp.example",
            "eve@evil.example ben@corp.example",
            "\"eve@evil.example\"@corp.example",
            "ben@corp.example\n",
            "ben@corp.example>",
            "Ben <ben@corp.example>",
            "@corp.example",
            "*@corp.example",
            "eve%evil.example@corp.example",
            "-oQ@corp.example",
            "ben@c\u{43e}rp.example",
            "",
        ] {
            check(&[("/to", other)], false);
            check(&[("/to", "ben@corp.example"), ("/cc/0", other)], false);
        }
        check(
            &[("/page", "https://docs.example.com@evil.example/")],
            false,
        );
        check(&[("/page", "docs.example.com")], false);
        check(&[("/host", "evil.example")], false);
    }

    #[test]
    fn of_too_many_destinations_one_is_unreadable() {
        let leaf = || Leaf::String(Cow::Borrowed("ben@corp.example"));
        let check = |count: usize, expected: bool| {
            let leaves = (0..count).map(|at| (format!("/cc/{at}"), leaf()));
            let mut targets = Targets::default();
            mail().find_destinations(&mut targets, &Arguments(leaves.collect()));
            assert_eq!(targets.approved, expected, "{count}");
        };
        check(MOST_DESTINATIONS, true);
        check(MOST_DESTINATIONS + 1, false);
    }

    #[test]
    fn a_star_stands_for_the_addresses_of_a_domain_alone() {
        use DestinationSyntax::{Host, Text, Url};
        let check = |text: &str, syntax, is_known: bool| {
            let known = ApprovedDestination::of(text, syntax);
            assert_eq!(known.is_some(), is_known, "{text} {syntax:?}");
        };
        check("*@corp.example", Text, true);
        check("GB29NWBK60161331926819", Text, true);
        check("docs.example.com", Host, true);
        for other in [
            "",
            "*",
            "*@",
            "*@corp",
            "*@*.corp.example",
            "a*@corp.example",
            "*.corp.example",
            "?",
        ] {
            check(other, Text, false);
        }
        check("*@corp.example", Host, false);
        check("*.corp.example", Host, false);
        check("docs.example.com", Url, true);
        check("https://docs.example.com/", Url, false);
    }
}
