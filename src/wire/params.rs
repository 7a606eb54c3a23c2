//! Checks the members of `params` that the protocol gives meaning to.
//!
//! A typed decoder that falls back to "some other request" when a known request does not fit lets
//! malformed calls slip past whoever matches on the type. Here a known method either has the shape
//! its schema asks for, or it is refused. Unknown members pass untouched, unless a lenient peer
//! could take one for a known member.

use std::fmt;

use super::folding::{LookAlike, MAX_FOLDED_BYTES, look_alike};
use super::id::{Id, IdProblem};
use super::json::{Kind, Value, quoted};
use super::method::KnownMethod;
use super::params_table::{Member, Need, Rule, common, members};

/// The first member of `params` that is not as the protocol says; answered with -32602.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {problem}", if pointer.is_empty() { "`params`".to_owned() } else { format!("`params{pointer}`") })]
pub struct ParamsError {
    /// JSON pointer (RFC 6901) into `params`; empty for `params` itself.
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
    Kind { expected: Expected, found: Kind },
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

/// The kind that the protocol asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected(pub Kind);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl KnownMethod {
    /// Checks the params of a message with this method.
    pub fn check_params(self, params: Option<Value<'_>>) -> Result<(), ParamsError> {
        let own = members(self);
        let Some(params) = params else {
            if own.iter().any(|member| member.need == Need::Required) {
                return Err(ParamsProblem::Missing.here());
            }
            return Ok(());
        };
        check_object(params, &[own, common(self)])
    }
}

fn check(value: Value<'_>, rule: &Rule) -> Result<(), ParamsError> {
    match rule {
        Rule::Any => Ok(()),
        Rule::Bool => kind(value, Kind::Bool),
        Rule::Number => kind(value, Kind::Number),
        Rule::String => kind(value, Kind::String),
        Rule::Name => {
            kind(value, Kind::String)?;
            let name = value.as_str().unwrap_or_default();
            if name.chars().any(char::is_control) {
                return Err(ParamsProblem::Control.here());
            }
            Ok(())
        }
        Rule::Token => match Id::from_value(value) {
            Ok(_) => Ok(()),
            Err(problem) => Err(ParamsProblem::Id(problem).here()),
        },
        Rule::OneOf(one_of) => {
            kind(value, Kind::String)?;
            if value.as_str().is_some_and(|text| one_of.contains(&&*text)) {
                return Ok(());
            }
            Err(ParamsProblem::NotOneOf { one_of }.here())
        }
        Rule::Object(members) => check_object(value, &[members]),
        Rule::Tagged {
            tag,
            default,
            cases,
        } => check_tagged(value, tag, *default, cases),
        Rule::MapOf(rule) => {
            kind(value, Kind::Object)?;
            value
                .entries()
                .try_for_each(|(key, value)| check(value, rule).map_err(|e| e.under(&key)))
        }
        Rule::ArrayOf(rule) => {
            kind(value, Kind::Array)?;
            value.items().enumerate().try_for_each(|(index, item)| {
                check(item, rule).map_err(|error| error.under(&index.to_string()))
            })
        }
    }
}

fn check_object(object: Value<'_>, tables: &[&'static [Member]]) -> Result<(), ParamsError> {
    kind(object, Kind::Object)?;
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
        (Some(value), _) => check(value, &member.rule).map_err(|error| error.under(member.key)),
        (None, Need::Required) => Err(ParamsProblem::Missing.here().under(member.key)),
        (None, Need::Optional) => Ok(()),
    })
}

fn check_tagged(
    value: Value<'_>,
    tag: &str,
    default: Option<&'static str>,
    cases: &'static [(&'static str, &'static [Member])],
) -> Result<(), ParamsError> {
    kind(value, Kind::Object)?;
    let name = match value.get(tag) {
        Some(name) => {
            kind(name, Kind::String).map_err(|error| error.under(tag))?;
            name.as_str().unwrap_or_default()
        }
        None => match default {
            Some(default) => default.into(),
            None => return Err(ParamsProblem::Missing.here().under(tag)),
        },
    };
    match cases.iter().find(|(case, _)| *case == name) {
        Some((_, members)) => check_object(value, &[members]),
        None => Err(ParamsProblem::UnknownCase.here().under(tag)),
    }
}

fn kind(value: Value<'_>, expected: Kind) -> Result<(), ParamsError> {
    match value.kind() {
        found if found == expected => Ok(()),
        found => Err(ParamsProblem::Kind {
            expected: Expected(expected),
            found,
        }
        .here()),
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
        let step = key.replace('~', "~0").replace('/', "~1");
        self.pointer.insert_str(0, &format!("/{step}"));
        self
    }
}
