//! `${NAME}` in strings: replaced by environment variables of the gate.

use std::ffi::OsString;

use super::errors::ConfigReason;

/// Looks up one environment variable.
pub type Variables<'v> = dyn Fn(&str) -> Option<OsString> + 'v;

/// A string after expansion.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ExpandedText {
    pub(super) value: String,
    pub(super) source: TextSource,
    /// The variables that took part, and what they hold.
    pub(super) variables: Vec<(String, String)>,
}

/// Whether a string may be quoted back to its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSource {
    /// It stands in the file as it is.
    Literal,
    /// A variable took part in it, which may hold a secret.
    Variable,
}

/// Replaces each `${NAME}`, once: what a variable holds is not expanded again. `$${` writes a
/// literal `${`; any other `$` stands for itself, so that passwords need no escapes.
pub(super) fn expand(
    written: &str,
    variables: &Variables<'_>,
) -> Result<ExpandedText, Vec<ConfigReason>> {
    let mut value = String::with_capacity(written.len());
    let mut source = TextSource::Literal;
    let mut taken = Vec::new();
    let mut problems = Vec::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            value.push_str(before);
            value.push_str("${");
            rest = after;
            continue;
        }
        value.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            problems.push(ConfigReason::MalformedVariable(
                "`${` without a closing `}`",
            ));
            rest = "";
            break;
        };
        rest = after;
        source = TextSource::Variable;
        match look_up(name, variables) {
            Ok(variable) => {
                value.push_str(&variable);
                taken.push((name.to_owned(), variable));
            }
            Err(reason) => problems.push(reason),
        }
    }
    value.push_str(rest);
    if problems.is_empty() {
        Ok(ExpandedText {
            value,
            source,
            variables: taken,
        })
    } else {
        Err(problems)
    }
}

/// Stands for the secret in a variable: one of its own for each name, and as long as any token
/// has to be.
pub(super) fn stand_in(name: &str) -> String {
    format!("stand-in-for-{name:->32}")
}

/// Stands for the URL of a field. Nothing can be reached there (RFC 2606).
pub(super) fn url_stand_in(field: &str) -> String {
    format!("https://stand-in.invalid/{field}")
}

fn look_up(name: &str, variables: &Variables<'_>) -> Result<String, ConfigReason> {
    let mut characters = name.chars();
    let starts_well = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(ConfigReason::MalformedVariable(
            "`${…}` does not hold the name of an environment variable",
        ));
    }
    match variables(name).map(OsString::into_string) {
        Some(Ok(value)) => Ok(value),
        Some(Err(_)) => Err(ConfigReason::VariableNotUtf8(name.to_owned())),
        None => Err(ConfigReason::UndefinedVariable(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Option<OsString> {
        match name {
            "HOME" => Some("/home/ada".into()),
            "EMPTY" => Some("".into()),
            "TRICK" => Some("${HOME}".into()),
            #[cfg(unix)]
            "BYTES" => Some(std::os::unix::ffi::OsStringExt::from_vec(vec![0xff])),
            _ => None,
        }
    }

    #[track_caller]
    fn check(written: &str, expected: Result<&str, &str>) {
        let actual = expand(written, &variables)
            .map(|text| text.value)
            .map_err(|reasons| {
                reasons
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("; ")
            });
        assert_eq!(
            actual.as_deref().map_err(String::as_str),
            expected,
            "{written}"
        );
    }

    #[test]
    fn variables_are_replaced_once() {
        check("", Ok(""));
        check("plain", Ok("plain"));
        check("${HOME}", Ok("/home/ada"));
        check("a${HOME}b${HOME}c", Ok("a/home/adab/home/adac"));
        check("x${EMPTY}y", Ok("xy"));
        check("${TRICK}", Ok("${HOME}"));
    }

    #[test]
    fn a_dollar_is_special_only_before_a_brace() {
        check("pa$$word$", Ok("pa$$word$"));
        check("$HOME", Ok("$HOME"));
        check("$${HOME}", Ok("${HOME}"));
        check("$$${HOME}", Ok("$${HOME}"));
        check("$${HOME} is ${HOME}", Ok("${HOME} is /home/ada"));
    }

    #[test]
    fn each_missing_variable_is_named() {
        check("${NOPE}", Err("environment variable `NOPE` is not set"));
        check(
            "${A}-${HOME}-${B}",
            Err("environment variable `A` is not set; environment variable `B` is not set"),
        );
        #[cfg(unix)]
        check(
            "${BYTES}",
            Err("environment variable `BYTES` is not valid UTF-8"),
        );
    }

    #[test]
    fn malformed_references_are_refused() {
        let name = Err("`${…}` does not hold the name of an environment variable");
        for written in [
            "${}",
            "${1A}",
            "${HOME:-/root}",
            "${HO ME}",
            "${${HOME}}",
            "${HÖME}",
        ] {
            check(written, name);
        }
        check("${HOME", Err("`${` without a closing `}`"));
    }

    #[test]
    fn only_text_without_variables_may_be_quoted() {
        let source = |written| expand(written, &variables).map(|text| text.source).ok();
        assert_eq!(source("plain $${X}"), Some(TextSource::Literal));
        assert_eq!(source("${EMPTY}"), Some(TextSource::Variable));
    }
}
