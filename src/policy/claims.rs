//! What a token claims of an agent, as far as the configuration names it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::suggest::{did_you_mean, list};

/// The type of a claim. The configuration and policies write it alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimType {
    String,
    Long,
    Bool,
    /// A set of strings.
    Strings,
}

/// What a token claims under one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClaimValue {
    String(String),
    Long(i64),
    Bool(bool),
    /// In one order, each once.
    Strings(Vec<String>),
}

/// The claims of one agent, by the names of the configuration. A claim that the token lacks is not
/// among them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Claims(Arc<BTreeMap<String, ClaimValue>>);

/// What the configuration of a gate says of claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfiguredClaims {
    pub types: BTreeMap<String, ClaimType>,
    pub grants: TokenGrants,
}

/// What tokens grant by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenGrants {
    #[default]
    Nothing,
    /// No configuration says.
    Unknown,
    /// A claim holds capabilities.
    Capabilities,
}

/// A claim that the configuration does not name, or names with another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimMismatch {
    pub message: String,
    pub help: String,
}

impl ClaimType {
    pub const ALL: [Self; 4] = [Self::String, Self::Long, Self::Bool, Self::Strings];

    /// As the configuration and policies write it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Long => "long",
            Self::Bool => "bool",
            Self::Strings => "strings",
        }
    }

    /// What a token must hold, in words.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Long => "a whole number of 64 bits",
            Self::Bool => "a boolean",
            Self::Strings => "a list of strings",
        }
    }
}

impl ClaimValue {
    /// A set of strings.
    pub fn set(mut items: Vec<String>) -> Self {
        items.sort_unstable();
        items.dedup();
        Self::Strings(items)
    }

    pub const fn claim_type(&self) -> ClaimType {
        match self {
            Self::String(_) => ClaimType::String,
            Self::Long(_) => ClaimType::Long,
            Self::Bool(_) => ClaimType::Bool,
            Self::Strings(_) => ClaimType::Strings,
        }
    }
}

impl Claims {
    /// In the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ClaimValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl FromIterator<(String, ClaimValue)> for Claims {
    fn from_iter<I: IntoIterator<Item = (String, ClaimValue)>>(claims: I) -> Self {
        Self(Arc::new(claims.into_iter().collect()))
    }
}

impl ConfiguredClaims {
    /// Why no token grants a capability, if none does.
    pub fn ungranted(&self) -> Option<ClaimMismatch> {
        (self.grants == TokenGrants::Nothing).then(|| ClaimMismatch {
            message: "under this configuration no token grants a capability".to_owned(),
            help: "name a claim in `listen.auth.capabilities_claim`, or grant the capability in \
                   `agents.toml`"
                .to_owned(),
        })
    }

    /// What is wrong with a claim of this name and, where it is known, of this type.
    pub fn mismatch(&self, name: &str, used: Option<ClaimType>) -> Option<ClaimMismatch> {
        let shown = name.escape_debug();
        let Some(configured) = self.types.get(name) else {
            let known = || self.types.keys().map(String::as_str);
            let help = match did_you_mean(name, known()) {
                Some(question) => question,
                None if self.types.is_empty() => {
                    "name it in `listen.auth.claims` of the configuration".to_owned()
                }
                None => format!(
                    "`listen.auth.claims` of the configuration names {}",
                    list(known())
                ),
            };
            return Some(ClaimMismatch {
                message: format!("the configuration names no claim `{shown}`"),
                help,
            });
        };
        let used = used.filter(|used| used != configured)?;
        Some(ClaimMismatch {
            message: format!(
                "the claim `{shown}` is `{}`, not `{}`",
                configured.word(),
                used.word()
            ),
            help: "`listen.auth.claims` of the configuration says so".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_of_another_name_or_type_is_told_with_what_is_configured() {
        let types = [("tools", ClaimType::Strings), ("tier", ClaimType::String)];
        let types = types.map(|(name, of)| (name.to_owned(), of)).into();
        let configured = ConfiguredClaims {
            types,
            ..ConfiguredClaims::default()
        };
        let check = |name: &str, used, expected: Option<(&str, &str)>| {
            let found = configured.mismatch(name, used);
            let found = found.as_ref();
            let found = found.map(|it| (it.message.as_str(), it.help.as_str()));
            assert_eq!(found, expected, "{name}");
        };
        check("tools", Some(ClaimType::Strings), None);
        check("tools", None, None);
        check(
            "tolls",
            None,
            Some((
                "the configuration names no claim `tolls`",
                "did you mean `tools`?",
            )),
        );
        check(
            "project",
            None,
            Some((
                "the configuration names no claim `project`",
                "`listen.auth.claims` of the configuration names `tier`, `tools`",
            )),
        );
        check(
            "tier",
            Some(ClaimType::Long),
            Some((
                "the claim `tier` is `string`, not `long`",
                "`listen.auth.claims` of the configuration says so",
            )),
        );
        let without = ConfiguredClaims::default();
        let found = without.mismatch("tools", None).unwrap();
        assert!(found.help.contains("name it in `listen.auth.claims`"));
    }
}
