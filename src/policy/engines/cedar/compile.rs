//! Texts to rules: parse, name, check, index. All problems of all sources are reported at once.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::PolicySet;
use cedar_policy_core::ast;

use super::check::{check_types, diagnosed};
use super::draft::Draft;
use super::nesting;
use super::rules::Rules;
use super::vocabulary::Vocabulary;
use crate::policy::{Checked, Lock, PolicyEntry, PolicyId, PolicyProblem, PolicySource};

/// What came of the sources.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) rules: Rules,
    pub(super) policies: Vec<PolicyEntry>,
    /// Errors and warnings.
    pub(super) problems: Vec<PolicyProblem>,
    /// The texts of policies that checking found nothing in.
    pub(super) sound: HashSet<Arc<str>>,
}

/// INVARIANT: runs on a thread with a stack for [`nesting::MAX_NESTING`] levels of anything.
pub(super) fn compile(
    words: &Vocabulary,
    lock: &Lock,
    before: &[Checked],
    sources: &[PolicySource],
) -> Output {
    let (drafts, mut problems) = parse(sources);
    let mut checked = distinct(&drafts, &mut problems);
    // The deep would exhaust the checker.
    checked.retain(|draft| draft.is_sound());
    if words.has_calls() {
        for draft in &drafts {
            draft.report_exact_calls(&mut problems);
        }
    }
    let sound = check_types(words, lock, &checked, before, &mut problems);
    Output {
        sound,
        ..index(words, drafts, problems)
    }
}

/// Each text by itself.
pub(super) fn parse(sources: &[PolicySource]) -> (Vec<Draft<'_>>, Vec<PolicyProblem>) {
    let mut problems = Vec::new();
    let mut drafts = Vec::new();
    for source in sources {
        read(source, &mut drafts, &mut problems);
    }
    (drafts, problems)
}

pub(super) fn index(
    words: &Vocabulary,
    drafts: Vec<Draft<'_>>,
    problems: Vec<PolicyProblem>,
) -> Output {
    let mut rules = Rules::new();
    let mut policies = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let (rule, keys) = draft.rule(words);
        for (action, key) in keys {
            rules.add(action, &key, &rule);
        }
        policies.push(draft.entry);
    }
    Output {
        rules,
        policies,
        problems,
        sound: HashSet::new(),
    }
}

fn read<'s>(
    source: &'s PolicySource,
    drafts: &mut Vec<Draft<'s>>,
    problems: &mut Vec<PolicyProblem>,
) {
    if let Err(deep) = nesting::check(&source.text) {
        let message = format!("more than {} {}", deep.limit, deep.what);
        let problem = PolicyProblem::error("policy::too_deep", message)
            .in_source(source)
            .at(deep.span, "here")
            .with_help("split it into several policies");
        problems.push(problem);
        return;
    }
    let set = match PolicySet::from_str(&source.text) {
        Ok(set) => set,
        Err(errors) => {
            let found = errors
                .iter()
                .map(|error| diagnosed("policy::syntax", error, source));
            problems.extend(found);
            return;
        }
    };
    for template in set.templates() {
        let template: &ast::Template = template.as_ref();
        let problem = PolicyProblem::error("policy::template", "a template decides nothing")
            .with_help("nothing links templates; write the entity in place of the slot");
        problems.push(match template.loc() {
            Some(loc) => problem.in_source(source).at(loc.start()..loc.end(), "here"),
            None => problem.in_source(source),
        });
    }
    let starts = source.text.match_indices('\n').map(|(end, _)| end + 1);
    let lines: Vec<usize> = std::iter::once(0).chain(starts).collect();
    let mut found: Vec<Draft<'s>> = set
        .policies()
        .map(|policy| Draft::new(policy, source, &lines))
        .collect();
    found.sort_by_key(Draft::start);
    for draft in &found {
        draft.report(problems);
    }
    drafts.append(&mut found);
}

/// The first of each id; the others are problems.
fn distinct<'d, 's>(
    drafts: &'d [Draft<'s>],
    problems: &mut Vec<PolicyProblem>,
) -> Vec<&'d Draft<'s>> {
    let mut first: HashMap<&PolicyId, &Draft<'_>> = HashMap::new();
    let mut distinct = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let id = &draft.entry.id;
        let Some(first) = first.get(id) else {
            first.insert(id, draft);
            distinct.push(draft);
            continue;
        };
        let message = format!("two policies are called `{id}`");
        let help = format!(
            "the first is at {}; give each its own `@id`",
            first.entry.origin
        );
        let problem = PolicyProblem::error("policy::duplicate_id", message).with_help(help);
        problems.push(draft.locate(problem, "the second"));
    }
    distinct
}
