//! `listen.auth.claims` and `listen.auth.capabilities_claim`: what policies learn from agents' tokens.

use toml::de::DeValue;

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};
use crate::identity::{ClaimPath, NamedClaim};
use crate::policy::ClaimType;

/// The most claims.
const MOST: usize = 32;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;

/// What is different in each token of one agent.
const OF_ONE_TOKEN: [&str; 4] = ["exp", "nbf", "iat", "jti"];

const HELP: &str =
    "as in `tools = \"strings\"`, or `tools = { claim = \"/mcp/tools\", type = \"strings\" }`";

/// The claims that policies may look at, by the names that the author chooses.
pub(super) fn named(mut section: ConfigSection<'_, '_>) -> Vec<NamedClaim> {
    let fields = section.entries();
    if fields.len() > MOST {
        section.refuse_section(ConfigReason::ExceedsMaximum, "at most 32 claims");
    }
    let read = |field| one(&mut section, field);
    fields.iter().filter_map(read).collect()
}

/// The claim of a key of its own.
pub(super) fn path(section: &mut ConfigSection<'_, '_>, key: &'static str) -> Option<ClaimPath> {
    let field = section.take_shown(key)?;
    path_in(section, &field)
}

fn one<'t>(all: &mut ConfigSection<'_, 't>, field: &ConfigField<'t>) -> Option<NamedClaim> {
    let types = ClaimType::ALL.map(|of| (of.word(), of));
    if !is_name(field.key) {
        let reason = ConfigReason::Invalid("expected a name in front of the type");
        let help = "a name has 1 to 64 letters, digits, `_` and `-`; for a claim of another name \
                    write `name = { claim = \"…\", type = \"…\" }`";
        all.tell(field, reason, Some(help));
        return None;
    }
    let (path, claim_type) = match field.value {
        DeValue::String(_) => {
            let path = ClaimPath::read(field.key);
            (path, all.one_of_in(field, &types))
        }
        DeValue::Table(_) => {
            let mut section = all.table_in(field)?;
            let path = match section.take_shown("claim") {
                Some(claim) => path_in(&mut section, &claim),
                None => ClaimPath::read(field.key),
            };
            let claim_type = section.one_of("type", &types);
            if !section.has("type") {
                section.require("type", ConfigReason::Required, HELP);
            }
            section.finish();
            (path, claim_type)
        }
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => {
            all.wrong_type(field, "a type, or a table with it", Some(HELP));
            return None;
        }
    };
    let path = path?;
    if OF_ONE_TOKEN.contains(&path.claim()) {
        let reason = ConfigReason::Invalid("is different in each token of an agent");
        let help = "a conversation ends when a claim changes, so that this one would end it with each \
                    new token";
        all.tell(field, reason, Some(help));
        return None;
    }
    Some(NamedClaim {
        name: field.key.to_owned(),
        path,
        claim_type: claim_type?,
    })
}

fn path_in<'t>(section: &mut ConfigSection<'_, 't>, field: &ConfigField<'t>) -> Option<ClaimPath> {
    section.show(field);
    let text = section.text(field)?.value;
    let path = ClaimPath::read(&text).filter(|_| !text.chars().any(char::is_control));
    if path.is_none() {
        let reason = ConfigReason::Invalid("expected the name of a claim, or a JSON pointer to it");
        let help =
            "as in `permissions`, or `/realm_access/roles` for `roles` inside of `realm_access`";
        section.tell(field, reason, Some(help));
    }
    path
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits)
}
