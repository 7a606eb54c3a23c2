//! Roles and teams that a fixture gives its agents, and that nothing else knows.
//!
//! A test may well have a stranger whose role means nothing; what is all but the name of a known one
//! is a slip, and the test would pass or fail for no reason that its author sees.

use std::collections::BTreeSet;

use toml::Spanned;

use super::errors::FixtureProblem;
use super::fixture::Fixture;
use super::suggest;
use crate::policy::PolicySnapshot;

/// What an agent belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Role,
    Team,
}

/// Shorter names are all close to each other.
const SHORTEST: usize = 4;

impl Group {
    const fn word(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Team => "team",
        }
    }

    /// As policies name it.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Role => "Mcp::Role::\"",
            Self::Team => "Mcp::Team::\"",
        }
    }
}

/// Names that are slips of known ones.
pub(super) fn misspelt(
    fixture: &Fixture,
    groups: &[(Group, Spanned<String>)],
    snapshot: &PolicySnapshot,
) -> Vec<FixtureProblem> {
    let problem = |(group, name): &(Group, Spanned<String>)| {
        let written = name.get_ref();
        if written.chars().count() < SHORTEST || is_named(written, snapshot) {
            return None;
        }
        let known = known(*group, snapshot);
        let nearest = suggest::nearest(written, known.iter().map(String::as_str))?;
        let word = group.word();
        let message = format!("no agent has the {word} `{written}`, and no policy names it");
        let help = format!(
            "did you mean `{nearest}`? a {word} that is to mean nothing has a name that is not all \
             but another's"
        );
        let problem = FixtureProblem::new("test::unknown_group", message);
        Some(problem.at(&fixture.source, name.span()).with_help(help))
    };
    groups.iter().filter_map(problem).collect()
}

/// Whether it stands anywhere in policies or labels as a word, in whatever language.
fn is_named(name: &str, snapshot: &PolicySnapshot) -> bool {
    let of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    snapshot.sources().iter().any(|source| {
        source.text.match_indices(name).any(|(at, found)| {
            let before = source.text.get(..at).unwrap_or_default();
            let after = source.text.get(at + found.len()..).unwrap_or_default();
            !before.ends_with(of_word) && !after.starts_with(of_word)
        })
    })
}

/// Those that labels give, and those that policies in Cedar name.
fn known(group: Group, snapshot: &PolicySnapshot) -> BTreeSet<String> {
    let labels = snapshot.labels();
    let mut known = BTreeSet::new();
    for agent in labels.agents.values() {
        let of_agent = match group {
            Group::Role => &agent.roles,
            Group::Team => &agent.teams,
        };
        known.extend(of_agent.iter().cloned());
    }
    if group == Group::Role {
        known.extend(labels.roles.keys().cloned());
    }
    for source in snapshot.sources() {
        let named = source.text.split(group.prefix()).skip(1);
        let named = named.filter_map(|rest| rest.split('"').next());
        known.extend(named.map(str::to_owned));
    }
    known
}
