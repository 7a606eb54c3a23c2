//! Checks the members of `params` that the protocol gives meaning to.
//!
//! A typed decoder that falls back to "some other request" when a known request does not fit lets
//! malformed calls slip past code that matches on the type. Here a known method either has the shape
//! its schema asks for, or it is refused. Unknown members pass untouched, unless a lenient peer
//! could take one for a known member.

use super::folding::{LookAlike, MAX_FOLDED_BYTES, look_alike};
use super::id::{Id, IdProblem};
use super::json::pointer_step;
use super::json::{JsonKind, Value, quoted};
use super::method::KnownMethod;
use super::params_table::{ParamCase, ParamMember, ParamNeed, ParamRule, common, rule};

/// The first member of `params` that is not as the protocol says; answered with -32602.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`params{pointer}` {problem}")]
pub struct ParamsError {
    /// JSON pointer (RFC 6901) into `params`; empty for `params` itself. Keys of the sender's own
    /// choice are escaped and cut, as it is meant to be read.
    pub pointer: String,
    pub problem: ParamsProblem,
}

/// What is wrong with one member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsProblem {
    #[error("is missing")]
    Missing,
    #[error("must be {expected}, not {found}")]
    Kind { expected: JsonKind, found: JsonKind },
    #[error("must not have control characters")]
    Control,
    #[error("{0}")]
    Id(IdProblem),
    #[error("must be one of {}", one_of.join(", "))]
    NotOneOf { one_of: &'static [&'static str] },
    #[error("is not one that the protocol knows")]
    UnknownCase,
    #[error("can be taken for `{like}`")]
    LookAlikeKey { like: Box<str> },
    #[error("has keys outside ASCII of more than {MAX_FOLDED_BYTES} bytes in all")]
    KeysTooLong,
}

impl KnownMethod {
    /// Checks the params of a message with this method.
    pub fn check_params(self, params: Option<Value<'_>>) -> Result<(), ParamsError> {
        let rule = rule(self);
        match params {
            Some(params) => check(params, rule, common(self)),
            None if rule.can_be_empty() => Ok(()),
            None => Err(ParamsProblem::Missing.here()),
        }
    }
}

/// `common` are members of `value` that the rule does not name.
fn check(
    value: Value<'_>,
    rule: &ParamRule,
    common: &'static [ParamMember],
) -> Result<(), ParamsError> {
    match rule {
        ParamRule::Any => Ok(()),
        ParamRule::Bool => kind(value, JsonKind::Bool),
        ParamRule::Number => kind(value, JsonKind::Number),
        ParamRule::String => kind(value, JsonKind::String),
        ParamRule::Name => check_name(value),
        ParamRule::Token => match Id::from_value(value) {
            Ok(_) => Ok(()),
            Err(problem) => Err(ParamsProblem::Id(problem).here()),
        },
        ParamRule::OneOf(one_of) => check_one_of(value, one_of),
        ParamRule::Object(members) => check_object(value, &[members, common]),
        ParamRule::Tagged {
            tag,
            default,
            cases,
        } => {
            let members = case(value, tag, *default, cases)?;
            check_object(value, &[members, common])
        }
        ParamRule::MapOf(rule) => {
            kind(value, JsonKind::Object)?;
            value.entries().try_for_each(|(key, value)| {
                check(value, rule, &[]).map_err(|error| error.under(&quoted(&key)))
            })
        }
        ParamRule::ArrayOf(rule) => {
            kind(value, JsonKind::Array)?;
            value.items().enumerate().try_for_each(|(index, item)| {
                check(item, rule, &[]).map_err(|error| error.under(&index.to_string()))
            })
        }
    }
}

fn check_name(value: Value<'_>) -> Result<(), ParamsError> {
    kind(value, JsonKind::String)?;
    if value
        .as_str()
        .unwrap_or_default()
        .chars()
        .any(char::is_control)
    {
        return Err(ParamsProblem::Control.here());
    }
    Ok(())
}

fn check_one_of(value: Value<'_>, one_of: &'static [&'static str]) -> Result<(), ParamsError> {
    kind(value, JsonKind::String)?;
    if value.as_str().is_some_and(|text| one_of.contains(&&*text)) {
        return Ok(());
    }
    Err(ParamsProblem::NotOneOf { one_of }.here())
}

fn check_object(object: Value<'_>, tables: &[&'static [ParamMember]]) -> Result<(), ParamsError> {
    kind(object, JsonKind::Object)?;
    let known = || tables.iter().copied().flatten();
    if known().next().is_none() {
        return Ok(());
    }
    match look_alike(object, known().map(|member| member.key)) {
        None => {}
        Some(LookAlike::Pair { key, like, .. }) => {
            let like = quoted(&like);
            return Err(ParamsProblem::LookAlikeKey { like }
                .here()
                .under(&quoted(&key)));
        }
        Some(LookAlike::TooMuch { .. }) => return Err(ParamsProblem::KeysTooLong.here()),
    }
    known().try_for_each(|member| match (object.get(member.key), member.need) {
        (Some(value), _) => {
            check(value, &member.rule, &[]).map_err(|error| error.under(member.key))
        }
        (None, ParamNeed::Required) => Err(ParamsProblem::Missing.here().under(member.key)),
        (None, ParamNeed::Optional) => Ok(()),
    })
}

/// The members that the string under `tag` asks for.
fn case(
    value: Value<'_>,
    tag: &'static str,
    default: Option<&'static str>,
    cases: &'static [ParamCase],
) -> Result<&'static [ParamMember], ParamsError> {
    kind(value, JsonKind::Object)?;
    let name = match (value.get(tag), default) {
        (Some(name), _) => {
            kind(name, JsonKind::String).map_err(|error| error.under(tag))?;
            name.as_str().unwrap_or_default()
        }
        (None, Some(default)) => default.into(),
        (None, None) => return Err(ParamsProblem::Missing.here().under(tag)),
    };
    match cases.iter().find(|case| case.name == name) {
        Some(case) => Ok(case.members),
        None => Err(ParamsProblem::UnknownCase.here().under(tag)),
    }
}

fn kind(value: Value<'_>, expected: JsonKind) -> Result<(), ParamsError> {
    match value.kind() {
        found if found == expected => Ok(()),
        found => Err(ParamsProblem::Kind { expected, found }.here()),
    }
}

impl ParamsProblem {
    fn here(self) -> ParamsError {
        ParamsError {
            pointer: String::new(),
            problem: self,
        }
    }
}

impl ParamsError {
    /// The same problem, seen from the object or array that has the value under `key`.
    fn under(mut self, key: &str) -> Self {
        let step = pointer_step(key);
        self.pointer.insert_str(0, &format!("/{step}"));
        self
    }
}
