//! Names that do not look like what they are.

use std::collections::BTreeMap;
use std::ops::Range;

use cedar_policy_core::ast::{ExprKind, Literal, PatternElem};
use toml::de::DeTable;
use unicode_security::confusable_detection::skeleton;

use super::expressions::literal;
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use crate::policy::engines::cedar::PolicyTree;
use crate::policy::{PolicyProblem, PolicySource};
use crate::unseen::misleads;

pub(super) const UNSEEN_CHARACTER: Lint = Lint {
    code: "lint::unseen_character",
    about: "a name or text with an invisible character, or white space around a name",
    look: unseen,
};

pub(super) const LOOK_ALIKE: Lint = Lint {
    code: "lint::look_alike",
    about: "a name that looks like another one: other letters, or two names that look alike",
    look: look_alike,
};

/// A name and where it stands.
struct NameOccurrence<'w> {
    name: String,
    policy: Option<&'w PolicyTree<'w>>,
    place: Option<(&'w PolicySource, Range<usize>)>,
}

fn unseen(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            let (what, loc) = if let Some(Literal::EntityUID(uid)) = literal(expr) {
                let name: &str = uid.eid().as_ref();
                (name_doubt(name), uid.loc())
            } else if let Some(Literal::String(text)) = literal(expr) {
                (text_doubt(text), None)
            } else if let ExprKind::Like { pattern, .. } = expr.expr_kind() {
                let characters = pattern.iter().filter_map(|element| match element {
                    PatternElem::Char(c) => Some(*c),
                    PatternElem::Wildcard => None,
                });
                (text_doubt(&characters.collect::<String>()), None)
            } else {
                continue;
            };
            let Some(what) = what else { continue };
            let loc = loc.or_else(|| expr.source_loc());
            let loc = loc.filter(|loc| (loc.start()..loc.end()) != policy.span);
            found.at(&UNSEEN_CHARACTER, policy, loc, hidden(what));
        }
        for (_, annotation) in policy.template.annotations() {
            if let Some(what) = text_doubt(&annotation.val) {
                let loc = annotation.loc.as_ref();
                found.at(&UNSEEN_CHARACTER, policy, loc, hidden(what));
            }
        }
    }
}

fn hidden(what: String) -> LintMessage {
    LintMessage {
        message: what,
        help: "it is invisible, but compared; remove it, or write it as \
               `\\u{…}` if it is intended"
            .to_owned(),
        label: "here",
    }
}

fn name_doubt(name: &str) -> Option<String> {
    if name.trim() != name {
        return Some(format!(
            "`{name}` begins or ends with white space, which counts"
        ));
    }
    text_doubt(name)
}

/// Direction marks and mixed scripts are told of by the checker.
fn text_doubt(text: &str) -> Option<String> {
    let is_told_of = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hidden = |c: &char| misleads(*c) && !is_told_of(*c) && !matches!(c, '\n' | '\t' | '\r');
    let found = text.chars().find(hidden)?;
    let code = u32::from(found);
    Some(format!(
        "there is a character that is not seen, U+{code:04X}"
    ))
}

fn look_alike(world: &LintContext<'_>, found: &mut LintFindings) {
    let names = tools(world);
    let mut alike: BTreeMap<String, Vec<&NameOccurrence<'_>>> = BTreeMap::new();
    for name in &names {
        let of_look = alike.entry(skeleton(&name.name).collect()).or_default();
        of_look.push(name);
    }
    for (look, names) in &alike {
        let plain = names.iter().find(|it| it.name.is_ascii()).or(names.first());
        for name in names {
            let other = plain.filter(|plain| plain.name != name.name);
            let disguised = !name.name.is_ascii() && look.is_ascii();
            let message = match other {
                Some(other) => format!(
                    "`{}` looks like `{}`, which is another name",
                    spelt(&name.name),
                    spelt(&other.name)
                ),
                None if disguised => {
                    format!("`{}` looks like `{look}` and is not", spelt(&name.name))
                }
                None => continue,
            };
            report(name, message, found);
        }
    }
}

fn report(name: &NameOccurrence<'_>, message: String, found: &mut LintFindings) {
    let help = "names are compared byte for byte; write the one that the server has";
    let Some((source, place)) = &name.place else {
        let problem = PolicyProblem::warning(LOOK_ALIKE.code, message).with_help(help);
        match name.policy {
            Some(policy) => {
                let problem = policy.locate(problem, "in this policy");
                found.about(&LOOK_ALIKE, policy, problem);
            }
            None => found.add(&LOOK_ALIKE, problem),
        }
        return;
    };
    let problem = PolicyProblem::warning(LOOK_ALIKE.code, message)
        .with_help(help)
        .in_source(source)
        .at(place.clone(), "here");
    match name.policy {
        Some(policy) => found.about(&LOOK_ALIKE, policy, problem),
        None => found.add(&LOOK_ALIKE, problem),
    }
}

/// Every name of a tool, wherever it is written.
fn tools<'w>(world: &'w LintContext<'_>) -> Vec<NameOccurrence<'w>> {
    let mut names = Vec::new();
    for policy in world.policies {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            if let Some(Literal::EntityUID(uid)) = literal(expr)
                && uid.entity_type().to_string() == "Mcp::Tool"
            {
                let name: &str = uid.eid().as_ref();
                let place = uid.loc().map(|loc| (policy.source, loc.start()..loc.end()));
                names.push(NameOccurrence {
                    name: name.to_owned(),
                    policy: Some(policy),
                    place,
                });
            }
        }
    }
    for name in world.given.allow.iter().flatten() {
        let place = world
            .given
            .configuration
            .as_ref()
            .and_then(|source| Some((source, super::allowlist::place(source, name)?)));
        names.push(NameOccurrence {
            name: name.clone(),
            policy: None,
            place,
        });
    }
    for source in world.label_files("tools.toml") {
        let Ok(file) = DeTable::parse(&source.text) else {
            continue;
        };
        let tools = file
            .get_ref()
            .get("tools")
            .and_then(|it| it.get_ref().as_table());
        for (key, _) in tools.into_iter().flat_map(|tools| tools.iter()) {
            names.push(NameOccurrence {
                name: key.get_ref().to_string(),
                policy: None,
                place: Some((source, key.span())),
            });
        }
    }
    names
}

/// With every letter beyond ASCII as its number, so that the difference is seen.
fn spelt(name: &str) -> String {
    let mut spelt = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_graphic() || c == ' ' {
            spelt.push(c);
        } else {
            spelt.extend(c.escape_unicode());
        }
    }
    spelt
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check, check_in, found, source};
    use super::super::material::Material;

    #[test]
    fn what_is_not_seen_is_found() {
        let cases = [
            ("when { resource.name == \"a\u{200b}b\" }", 1),
            ("when { resource.name like \"a\u{feff}*\" }", 1),
            ("when { resource.name == \"a\\u{ad}b\" }", 1),
            ("when { resource.name == \"a\\u{3164}b\" }", 1),
            ("when { resource == Mcp::Tool::\"a \" }", 1),
            ("when { resource == Mcp::Tool::\" a\" }", 1),
            ("when { resource == Mcp::Tool::\"a\\u{7}\" }", 1),
            ("when { resource == Mcp::Tool::\"a b\" }", 0),
            ("when { resource.name == \"a \" }", 0),
            ("when { resource.name like \"* a\" }", 0),
            ("when { resource.name == \"é\" }", 0),
            ("when { resource.name == \"a\\nb\\t\" }", 0),
        ];
        for (rest, findings) in cases {
            check("unseen_character", &call("permit", "", rest), findings);
        }
        let advised = |advice: &str| format!("@advice(\"{advice}\")\n{}", call("forbid", "", ""));
        check("unseen_character", &advised("a\u{200b}b"), 1);
        check("unseen_character", &advised("Ask for it, please."), 0);
    }

    /// Findings in a policy on one tool, beside an allowlist and labels.
    #[track_caller]
    fn alike(tool: &str, allowed: &str, labelled: &str, findings: usize) {
        let scope = format!("resource == Mcp::Tool::\"{tool}\"");
        let config = format!("[policy]\nallow = [\"{allowed}\"]\n");
        let tools = format!("[tools.\"{labelled}\"]\n");
        let material = Material {
            policies: vec![source("p/x.cedar", &call("permit", &scope, ""))],
            labels: vec![source("p/tools.toml", &tools)],
            allow: Some(vec![allowed.to_owned()]),
            configuration: Some(source("gate.toml", &config)),
            ..Material::default()
        };
        check_in("look_alike", &material, findings);
        for problem in found("look_alike", &material) {
            assert!(problem.message.is_ascii(), "{problem}");
            assert_eq!(problem.labels.len(), 1, "{problem:?}");
        }
    }

    #[test]
    fn names_that_look_like_others_are_found_wherever_they_are() {
        alike("copy", "copy", "copy", 0);
        // Cyrillic letters.
        alike("\u{441}\u{43e}\u{440}\u{443}", "copy", "copy", 1);
        alike("copy", "c\u{43e}py", "copy", 1);
        alike("copy", "other", "c\u{43e}py", 1);
        alike("x", "c\u{43e}py", "y", 1);
        alike("read1", "readl", "other", 1);
        alike("read_file", "read_files", "readfile", 0);
        // Names of their own in other letters.
        alike(
            "\u{e9}t\u{e9}",
            "\u{437}\u{430}\u{43f}\u{438}\u{441}\u{44c}",
            "other",
            0,
        );
    }
}
