//! The claims that a fixture gives its agents.

use std::sync::Arc;

use miette::NamedSource;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::{FixtureErrors, FixtureProblem, FixtureSource};
use super::printable::with_places_kept;
use super::read_start::no_table;
use super::section::FixtureSection;
use super::table::{FixtureReader, FixtureTable, FixtureValue, in_order, plain};
use crate::policy::{ClaimMismatch, ClaimType, ClaimValue, Claims, ConfiguredClaims};

/// A claim as it is written.
pub(super) struct WrittenClaim {
    name: Spanned<String>,
    claim_type: ClaimType,
}

/// `claims` of an agent.
pub(super) fn of_agent(agent: &FixtureTable<'_>, written: &mut Vec<WrittenClaim>) -> Claims {
    let table = agent.any_table("claims").map(in_order).unwrap_or_default();
    let claims = table.into_iter().filter_map(|(name, field)| {
        let value = value(agent.reading, field)?;
        let (place, name) = (name.span(), name.get_ref().to_string());
        written.push(WrittenClaim {
            name: Spanned::new(place, name.clone()),
            claim_type: value.claim_type(),
        });
        Some((name, value))
    });
    claims.collect()
}

/// Claims that no token can have under the configuration that judges.
pub(super) fn mismatched(
    source: &FixtureSource,
    written: &[WrittenClaim],
    configured: Option<&ConfiguredClaims>,
) -> Vec<FixtureProblem> {
    let problem = |WrittenClaim { name, claim_type }: &WrittenClaim| {
        let mismatch = configured?.mismatch(name.get_ref(), Some(*claim_type));
        let ClaimMismatch { message, help } = mismatch?;
        let problem = FixtureProblem::new("test::claim", message);
        Some(problem.at(source, name.span()).with_help(help))
    };
    written.iter().filter_map(problem).collect()
}

/// A capability of a token where the configuration that judges lets tokens grant none.
pub(super) fn ungranted(
    source: &FixtureSource,
    capabilities: &[Spanned<String>],
    configured: Option<&ConfiguredClaims>,
) -> Option<FixtureProblem> {
    let first = capabilities.first()?;
    let ClaimMismatch { message, help } = configured?.ungranted()?;
    let problem = FixtureProblem::new("test::claim", message);
    Some(problem.at(source, first.span()).with_help(help))
}

/// The same of capabilities that are said on the command line.
///
/// # Errors
/// If there are any, and tokens grant none.
pub fn check_granted(
    capabilities: &[String],
    configured: Option<&ConfiguredClaims>,
) -> Result<(), FixtureErrors> {
    let configured = configured.filter(|_| !capabilities.is_empty());
    let Some(ClaimMismatch { message, help }) = configured.and_then(ConfiguredClaims::ungranted)
    else {
        return Ok(());
    };
    let message = format!("`--capability`: {message}");
    let problem = FixtureProblem::new("test::claim", message).with_help(help);
    Err(FixtureErrors {
        problems: vec![problem],
    })
}

/// Claims as an agent of a fixture has them: a TOML table.
///
/// # Errors
/// Everything that is wrong with them, at once.
pub fn read_claims(
    table: Option<&str>,
    configured: Option<&ConfiguredClaims>,
) -> Result<Claims, FixtureErrors> {
    let Some(table) = table else {
        return Ok(Claims::default());
    };
    if let Some(problem) = no_table("claims", table) {
        let problems = vec![problem];
        return Err(FixtureErrors { problems });
    }
    let text = format!("claims = {table}\n");
    let (table, errors) = DeTable::parse_recoverable(&text);
    let source = NamedSource::new("options", Arc::from(with_places_kept(&text)));
    let reading = FixtureReader::new(source.clone(), errors);
    let mut written = Vec::new();
    let claims = {
        let agent = FixtureTable::new(&reading, FixtureSection::Agent, 0..0, table.get_ref());
        of_agent(&agent, &mut written)
    };
    let (mut problems, _) = reading.finish();
    problems.extend(mismatched(&source, &written, configured));
    if problems.is_empty() {
        Ok(claims)
    } else {
        Err(FixtureErrors { problems })
    }
}

fn value(reading: &FixtureReader, field: &FixtureValue<'_>) -> Option<ClaimValue> {
    match field.get_ref() {
        DeValue::String(text) => Some(ClaimValue::String(text.clone().into_owned())),
        DeValue::Integer(_) => reading.integer(field).map(ClaimValue::Long),
        DeValue::Boolean(value) => Some(ClaimValue::Bool(*value)),
        DeValue::Array(_) => reading.texts(field).map(plain).map(ClaimValue::set),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => {
            let expected = "a string, a whole number, a boolean or an array of strings";
            reading.wrong_type(field, expected);
            None
        }
    }
}
