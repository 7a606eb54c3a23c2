//! Names of unknown entities, here those in `agents.toml` and `tools.toml`: labels without effect.

use std::collections::BTreeSet;
use std::ops::Range;

use cedar_policy_core::ast::Literal;
use toml::de::{DeTable, DeValue};

use super::expressions::literal;
use super::findings::{Lint, LintFindings};
use super::lock_coverage::{HELP, NOT_LOCKED};
use super::material::LintContext;
use super::names::{self, is, nearest};
use crate::policy::{PolicyProblem, PolicySource};

pub(super) const UNKNOWN_NAME: Lint = Lint {
    code: "lint::unknown_name",
    about: "a role, team, user, capability, group, root, label or server that no file assigns, or \
            a near miss of a name",
    look,
};

/// What stands in a file, and where.
type SpannedName<'t> = (&'t str, Range<usize>);

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for source in world.label_files("tools.toml") {
        within(source, "tools", |name, _| {
            if !world.given.lock.is_empty() {
                tool(world, source, name, found);
            }
        });
    }
    let teams = teams(world);
    for source in world.label_files("agents.toml") {
        within(source, "agents", |name, agent| {
            if name.0.contains('*') {
                let message = format!("`{}` is one agent, and no pattern", name.0);
                let help = "these labels are for an agent of exactly that name: write a table for \
                            each agent, or give what is for all in a policy";
                add(found, &UNKNOWN_NAME, source, name.1, &message, help);
            }
            let tools = strings(agent, "allow").into_iter();
            for name in tools.chain(strings(agent, "deny")) {
                tool(world, source, name, found);
            }
            for name in strings(agent, "teams") {
                team(&teams, source, name, found);
            }
        });
    }
    names::in_policies(&UNKNOWN_NAME, world, found);
}

/// The tables in one table of a file. What is wrong with the file is told when it is loaded.
fn within(source: &PolicySource, key: &str, mut each: impl FnMut(SpannedName<'_>, &DeTable<'_>)) {
    let Ok(file) = DeTable::parse(&source.text) else {
        return;
    };
    let tables = file.get_ref().get(key);
    let tables = tables.and_then(|it| it.get_ref().as_table());
    for (name, value) in tables.into_iter().flatten() {
        if let Some(table) = value.get_ref().as_table() {
            each((name.get_ref(), name.span()), table);
        }
    }
}

fn text<'t>(value: &'t toml::Spanned<DeValue<'_>>) -> Option<SpannedName<'t>> {
    Some((value.get_ref().as_str()?, value.span()))
}

/// A string, or an array of them.
fn strings<'t>(table: &'t DeTable<'_>, key: &str) -> Vec<SpannedName<'t>> {
    let Some(value) = table.get(key) else {
        return Vec::new();
    };
    let many = value.get_ref().as_array().into_iter().flatten();
    text(value)
        .into_iter()
        .chain(many.filter_map(text))
        .collect()
}

/// A tool that something is said of.
fn tool(
    world: &LintContext<'_>,
    source: &PolicySource,
    name: SpannedName<'_>,
    found: &mut LintFindings,
) {
    let (name, place) = name;
    let (lock, labelled) = (&world.given.lock, &world.given.said.tools);
    let (is_known, near) = if lock.is_empty() {
        let near = nearest(labelled.keys().map(String::as_str), name);
        (labelled.contains_key(name), near)
    } else {
        let near = nearest(lock.tools().map(|(name, _)| name), name);
        (lock.tool(name).is_some(), near)
    };
    if is_known {
        return;
    }
    let file = if lock.is_empty() {
        "tools.toml"
    } else {
        "tools.lock"
    };
    let name = name.escape_debug();
    if let Some(near) = near {
        let near = near.escape_debug();
        let message = format!("`{name}` is not in `{file}`, but `{near}` is");
        let help = format!("did you mean `{near}`?");
        add(found, &UNKNOWN_NAME, source, place, &message, &help);
    } else if !lock.is_empty() {
        let message = format!("`{name}` is not in `{file}`");
        add(found, &NOT_LOCKED, source, place, &message, HELP);
    }
}

/// The teams that bring something: those that are described, and those that a policy names.
struct KnownTeams {
    described: BTreeSet<String>,
    named: BTreeSet<String>,
    /// In other languages any text may be one.
    others: Vec<String>,
}

fn teams(world: &LintContext<'_>) -> KnownTeams {
    let mut described = BTreeSet::new();
    for source in world.label_files("agents.toml") {
        within(source, "teams", |(name, _), _| {
            described.insert(name.to_owned());
        });
    }
    let mut named = BTreeSet::new();
    for policy in world.policies {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            if let Some(Literal::EntityUID(uid)) = literal(expr)
                && is(uid, "Team")
            {
                let eid: &str = uid.eid().as_ref();
                named.insert(eid.to_owned());
            }
        }
    }
    let others = world.given.policies.iter();
    let others = others.filter(|source| !source.name.ends_with(".cedar"));
    KnownTeams {
        described,
        named,
        others: others.map(|source| source.text.to_string()).collect(),
    }
}

fn team(
    teams: &KnownTeams,
    source: &PolicySource,
    (name, place): SpannedName<'_>,
    found: &mut LintFindings,
) {
    let is_known = teams.described.contains(name) || teams.named.contains(name);
    if is_known || teams.others.iter().any(|text| text.contains(name)) {
        return;
    }
    let known = teams.described.iter().chain(&teams.named);
    let near = nearest(known.map(String::as_str), name);
    let name = name.escape_debug();
    let message = format!("the team `{name}` is nowhere described, and no policy names it");
    let help = match near {
        Some(near) => format!("did you mean `{}`?", near.escape_debug()),
        None => format!("say what it brings in `[teams.{name}]`, or leave it out"),
    };
    add(found, &UNKNOWN_NAME, source, place, &message, &help);
}

fn add(
    found: &mut LintFindings,
    lint: &'static Lint,
    source: &PolicySource,
    place: Range<usize>,
    message: &str,
    help: &str,
) {
    let problem = PolicyProblem::warning(lint.code, message).with_help(help);
    found.add(lint, problem.in_source(source).at(place, "here"));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fixture::{call, found, locking, source};
    use super::super::material::Material;
    use crate::policy::{Labels, ToolLabels};

    /// The codes of what is found, with what is said at the place.
    #[track_caller]
    fn check(
        locked: &[&str],
        files: &[(&str, &str)],
        policy: &str,
        expected: &[(&str, &str, &str)],
    ) {
        let mut said = Labels::default();
        let tools = files.iter().filter(|(name, _)| *name == "tools.toml");
        for (_, text) in tools {
            let file: toml::Table = text.parse().unwrap();
            for (name, _) in file["tools"].as_table().unwrap() {
                said.tools.insert(name.clone(), ToolLabels::default());
            }
        }
        let labels = files
            .iter()
            .map(|(name, text)| source(&format!("p/{name}"), text));
        let material = Material {
            policies: vec![source("p/x.cedar", policy)],
            labels: labels.collect(),
            said,
            lock: Arc::new(locking(locked)),
            ..Material::default()
        };
        let all = ["unknown_name", "not_locked"];
        let all = all.map(|lint| (lint, found(lint, &material)));
        let told: Vec<(&str, String, String)> = all
            .iter()
            .flat_map(|(lint, found)| found.iter().map(|one| (*lint, one)))
            .map(|(lint, one)| {
                let text = one.source.as_ref().unwrap().inner();
                let place = one.labels.first().unwrap();
                let end = place.offset() + place.len();
                let help = one.help.clone().unwrap();
                (
                    lint,
                    text.get(place.offset()..end).unwrap().to_owned(),
                    help,
                )
            })
            .collect();
        assert_eq!(told.len(), expected.len(), "{files:?}\n{told:#?}");
        for ((lint, place, help), (code, at, says)) in told.iter().zip(expected) {
            assert_eq!((lint, place.as_str()), (code, *at), "{files:?}");
            assert!(help.contains(says), "{files:?}: {help}");
        }
    }

    #[test]
    fn tools_that_are_misspelt_for_an_agent_are_found() {
        let agents = |text| [("agents.toml", text)];
        let locked = ["read_file", "write_file"];
        let name = "unknown_name";
        let none = [];
        let deny = "[agents.a]\ndeny = ['write_flie']\n";
        check(
            &locked,
            &agents(deny),
            "",
            &[(name, "'write_flie'", "did you mean `write_file`?")],
        );
        let allow = "[agents.a]\nallow = ['read_file', 'write-file', 'other']\n";
        check(
            &locked,
            &agents(allow),
            "",
            &[
                (name, "'write-file'", "did you mean `write_file`?"),
                ("not_locked", "'other'", "tools lock"),
            ],
        );
        check(
            &locked,
            &agents("[agents.a]\ndeny = 'read_file'\n"),
            "",
            &none,
        );
        // The known names are not declared.
        check(&[], &agents(deny), "", &none);
        let labels = [
            ("tools.toml", "[tools.write_file]\n"),
            ("agents.toml", deny),
        ];
        check(
            &[],
            &labels,
            "",
            &[(name, "'write_flie'", "did you mean `write_file`?")],
        );
    }

    #[test]
    fn labels_of_a_tool_that_is_not_locked_are_found() {
        let tools = |text| [("tools.toml", text)];
        let locked = ["read_file"];
        check(
            &locked,
            &tools("[tools.read_flie]\n[tools.read_file]\n"),
            "",
            &[("unknown_name", "read_flie", "did you mean `read_file`?")],
        );
        check(
            &locked,
            &tools("[tools.other]\n"),
            "",
            &[("not_locked", "other", "tools lock")],
        );
        check(
            &[],
            &tools("[tools.read_flie]\n[tools.read_file]\n"),
            "",
            &[],
        );
    }

    #[test]
    fn teams_that_bring_nothing_and_agents_that_look_like_patterns_are_found() {
        let agents = |text| [("agents.toml", text)];
        let name = "unknown_name";
        let teams = "[teams.audit]\nroles = 'auditor'\n[agents.a]\nteams = ['audti', 'audit']\n";
        check(
            &[],
            &agents(teams),
            "",
            &[(name, "'audti'", "did you mean `audit`?")],
        );
        let ops = "[agents.a]\nteams = 'ops'\n";
        check(&[], &agents(ops), "", &[(name, "'ops'", "[teams.ops]")]);
        let named = call("permit", "", "when { principal in Mcp::Team::\"ops\" }");
        check(&[], &agents(ops), &named, &[]);
        check(
            &[],
            &agents("[agents.'*']\ntrust = 1\n"),
            "",
            &[(name, "'*'", "each agent")],
        );
    }
}
