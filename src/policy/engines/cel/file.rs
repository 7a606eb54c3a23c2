//! Files of rules: read, compiled, and everything that is wrong with them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cel::common::ast::IdedExpr;
use toml::de::DeTable;

use super::super::document::action_groups;
use super::bound::{BoundedCondition, RejectedExpression, bounded};
use super::names;
use super::patterns::{PatternCollector, PatternTable};
use super::{length, meter};
use crate::policy::suggest::did_you_mean;
use crate::policy::table::{self, SpannedText, TomlTable};
use crate::policy::{
    ActionName, EscalationTarget, Obligation, OnDeny, PolicyEntry, PolicyId, PolicyOrigin,
    PolicyOutline, PolicyProblem, PolicySource, Reason, RuleEffect,
};

/// The code of what is wrong with a rule, but for its syntax and its length.
pub(super) const CODE: &str = "policy::rule";

const SYNTAX: &str = "policy::syntax";

/// Letters of an expression that show where a problem is.
const NEAR: usize = 24;

/// What is to go on in one spelling.
const CANONICAL: [(&str, &str); 3] = [
    ("paths", "paths"),
    ("uris", "uris"),
    ("paths uris", "paths uris"),
];

/// What `[[rule]]` came to.
#[derive(Debug)]
pub(super) struct CelRule {
    /// Without parts.
    pub(super) outline: Arc<PolicyOutline>,
    /// Nothing where the rule holds always.
    pub(super) condition: Option<BoundedCondition>,
    pub(super) reason: Reason,
    pub(super) obligations: Vec<Obligation>,
}

/// What all files came to.
#[derive(Debug, Default)]
pub(super) struct ParsedRules {
    pub(super) rules: Vec<CelRule>,
    pub(super) policies: Vec<PolicyEntry>,
    pub(super) patterns: PatternTable,
    pub(super) problems: Vec<PolicyProblem>,
}

/// INVARIANT: runs on a thread with a stack for all that `length.rs` lets through.
pub(super) fn read(sources: &[PolicySource]) -> ParsedRules {
    let mut reader = FileParser::default();
    for source in sources {
        reader.file(source);
    }
    let mut read = reader.read;
    read.patterns = reader.patterns.finish();
    read
}

#[derive(Default)]
struct FileParser {
    read: ParsedRules,
    patterns: PatternCollector,
    /// Where each id was first.
    ids: HashMap<String, PolicyOrigin>,
}

impl FileParser {
    fn file(&mut self, source: &PolicySource) {
        let Some(parsed) = table::parse(source, SYNTAX, &mut self.read.problems) else {
            return;
        };
        let mut problems = Vec::new();
        let mut root = TomlTable::new(source, CODE, parsed.get_ref(), &mut problems);
        let tables = root.tables("rule");
        root.finish();
        let starts: Vec<usize> = tables.iter().map(|(place, _)| place.start).collect();
        for (number, (place, table)) in tables.into_iter().enumerate() {
            let end = starts.get(number + 1).copied();
            let text = text(source, place.start, end.unwrap_or(source.text.len()));
            self.rule(source, place, text, table, &mut problems);
        }
        self.read.problems.append(&mut problems);
    }

    fn rule(
        &mut self,
        source: &PolicySource,
        place: Range<usize>,
        text: &str,
        keys: &DeTable<'_>,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let before = problems.len();
        let mut table = TomlTable::new(source, CODE, keys, problems);
        let id = table.text("id");
        let effect = table.word(
            "effect",
            &[
                ("permit", RuleEffect::Permit),
                ("forbid", RuleEffect::Forbid),
            ],
        );
        let actions = actions(&mut table);
        let when = table.text("when");
        let code = table.text("code").map(|(code, _)| code.into());
        let advice = table.text("advice").map(|(advice, _)| advice.into());
        let on_deny = table
            .boolean("requires_consent")
            .and_then(|is_required| is_required.then_some(OnDeny::AskConsent));
        let note = table.text("obligation_annotate");
        let canonical = table.word("obligation_canonical", &CANONICAL);
        let canonical = canonical.map(|words| words.split(' ').filter_map(Obligation::canonical));
        let labels = table.texts("add_label");
        let raise = table.word("raise_sensitivity", &EscalationTarget::WORDS);
        let raise = raise.map(Obligation::Raise);
        let keys = table.texts("obligation_strip_meta");
        if id.is_none() && !table.has("id") {
            table.report(place.clone(), "a rule has to have an `id`", None);
        }
        if effect.is_none() && !table.has("effect") {
            let help = "write `effect = \"permit\"` or `effect = \"forbid\"`".to_owned();
            table.report(place.clone(), "a rule has to have an `effect`", Some(help));
        }
        let others = labels.is_some() || raise.is_some();
        let obliged = note.is_some() || canonical.is_some() || keys.is_some() || others;
        if effect == Some(RuleEffect::Forbid) && obliged {
            let message = "an obligation on a `forbid` would never be carried out";
            let help = "put it on the `permit` whose use it goes with".to_owned();
            table.report(place.clone(), message, Some(help));
        }
        if effect == Some(RuleEffect::Permit) && on_deny.is_some() {
            let message = "`requires_consent` on a `permit` has no effect";
            table.report(place.clone(), message, None);
        }
        let condition = when.map(|(when, place)| self.condition(&when, place, &mut table));
        table.finish();
        let (Some((id, id_place)), Some(effect)) = (id, effect) else {
            return;
        };
        let line = source.text.get(..place.start).unwrap_or_default();
        let line = line.matches('\n').count().saturating_add(1);
        let origin = PolicyOrigin {
            file: Arc::clone(&source.name),
            line: u32::try_from(line).unwrap_or(u32::MAX),
        };
        if let Some(first) = self.ids.get(&id) {
            let message = format!("two policies are called `{}`", id.escape_debug());
            let problem = PolicyProblem::error("policy::duplicate_id", message)
                .with_help(format!("the first is at {first}; give each its own `id`"));
            problems.push(problem.in_source(source).at(id_place, "the second"));
        }
        if problems.len() > before {
            return;
        }
        let policy = PolicyId::new(&id);
        self.ids.insert(id, origin.clone());
        self.read.policies.push(PolicyEntry {
            id: policy.clone(),
            origin: origin.clone(),
            text: text.into(),
            server: None,
        });
        self.read.rules.push(CelRule {
            outline: Arc::new(PolicyOutline {
                id: policy.clone(),
                origin: origin.clone(),
                effect,
                actions,
                source: Arc::clone(&source.text),
                span: place.start..place.start.saturating_add(text.len()),
                parts: Vec::new(),
            }),
            condition: condition.flatten(),
            reason: Reason {
                policy,
                origin,
                code,
                advice,
                on_deny,
            },
            obligations: obligations(
                note,
                canonical.into_iter().flatten().chain(raise),
                labels,
                keys,
            ),
        });
    }

    /// Nothing where it cannot be used, which has been reported.
    fn condition(
        &mut self,
        when: &str,
        place: Range<usize>,
        table: &mut TomlTable<'_, '_>,
    ) -> Option<BoundedCondition> {
        if let Err(why) = length::check(when) {
            let help = "split the condition into several rules".to_owned();
            let message = format!("the expression is {why}");
            table.report_as("policy::too_deep", place, &message, Some(help));
            return None;
        }
        let env = match meter::env() {
            Ok(env) => env,
            Err(why) => {
                table.report(place, &why, None);
                return None;
            }
        };
        let (tree, info) = match env.parser().parse_with_source_info(when) {
            Ok(parsed) => parsed,
            Err(errors) => {
                for error in errors.errors {
                    let (line, column) = error.pos;
                    let message = format!(
                        "{} (line {line}, column {column} of the expression)",
                        error.msg
                    );
                    table.report_as(SYNTAX, place.clone(), &message, None);
                }
                return None;
            }
        };
        let mut refused = names::check(&tree);
        let bounded = self.bounded(tree).map_err(|more| refused.extend(more));
        for RejectedExpression {
            node,
            message,
            help,
        } in refused
        {
            let start = info.offset_for(node).map(|(start, _)| start);
            let start = start.and_then(|start| usize::try_from(start).ok());
            let rest = start
                .and_then(|start| when.get(start..))
                .unwrap_or_default();
            let message = match rest.lines().next() {
                Some(rest) if !rest.is_empty() => {
                    let near: String = rest.chars().take(NEAR).collect();
                    format!("{message}, at `{near}`")
                }
                Some(_) | None => message,
            };
            table.report(place.clone(), &message, help);
        }
        bounded.ok()
    }

    fn bounded(&mut self, tree: IdedExpr) -> Result<BoundedCondition, Vec<RejectedExpression>> {
        bounded(tree, &mut self.patterns)
    }
}

fn obligations(
    note: Option<SpannedText>,
    words: impl Iterator<Item = Obligation>,
    labels: Option<Vec<SpannedText>>,
    keys: Option<Vec<SpannedText>>,
) -> Vec<Obligation> {
    let note = note.map(|(note, _)| Obligation::Annotate(note.into()));
    let keys = keys.into_iter().flatten();
    let keys = keys.map(|(key, _)| Obligation::StripMeta(key.into()));
    let labels = labels.into_iter().flatten();
    let labels = labels.map(|(label, _)| Obligation::Label(label.into()));
    note.into_iter()
        .chain(words)
        .chain(labels)
        .chain(keys)
        .collect()
}

/// The actions that a rule is about, those of the groups that it names included; otherwise all.
pub(super) fn actions(table: &mut TomlTable<'_, '_>) -> Vec<ActionName> {
    let Some(names) = table.texts("actions") else {
        return ActionName::ALL.to_vec();
    };
    let mut actions = Vec::new();
    for (name, place) in names {
        let of_name = |action: &ActionName| {
            action.as_str() == name || action_groups(*action).contains(&&*name)
        };
        let found: Vec<ActionName> = ActionName::ALL.into_iter().filter(of_name).collect();
        if found.is_empty() {
            let help = did_you_mean(&name, ActionName::ALL.iter().map(|name| name.as_str()));
            table.report(
                place,
                &format!("`{}` is no action", name.escape_debug()),
                help,
            );
        }
        actions.extend(found);
    }
    actions
}

/// The rule's own text: what stands before the next one, without what is left blank.
fn text(source: &PolicySource, start: usize, end: usize) -> &str {
    source.text.get(start..end).unwrap_or_default().trim_end()
}
