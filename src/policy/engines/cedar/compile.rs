//! Texts to rules: parse, name, check, index. All problems of all sources are reported at once.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::PolicySet;
use cedar_policy_core::ast;

use super::check::{check_types, diagnosed};
use super::nesting;
use super::policy_draft::PolicyDraft;
use super::rules::RuleSet;
use super::vocabulary::Vocabulary;
use crate::policy::{
    CheckedPolicies, ConfiguredClaims, Lock, PolicyEntry, PolicyId, PolicyProblem, PolicySource,
    ServerKey,
};

/// What came of the sources.
#[derive(Debug, Default)]
pub(super) struct CompileOutput {
    pub(super) rules: RuleSet,
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
    (claims, servers): (Option<&ConfiguredClaims>, &[ServerKey]),
    before: &[CheckedPolicies],
    sources: &[PolicySource],
) -> CompileOutput {
    let (drafts, mut problems) = parse(words, sources);
    let mut checked = distinct(&drafts, &mut problems);
    // The deep would exhaust the checker.
    checked.retain(|draft| draft.is_sound());
    for draft in &drafts {
        if words.has_calls_of(draft.source.server.as_ref()) {
            draft.report_exact_calls(&mut problems);
        }
    }
    if let Some(claims) = claims {
        for draft in &drafts {
            draft.report_claims(claims, &mut problems);
        }
    }
    if !servers.is_empty() {
        for draft in &drafts {
            draft.report_ids_of_no_server(servers, &mut problems);
            draft.report_foreign(servers, &mut problems);
        }
    }
    let sound = check_types(words, lock, &checked, before, &mut problems);
    CompileOutput {
        sound,
        ..index(words, drafts, problems)
    }
}

/// Each text by itself.
pub(super) fn parse<'s>(
    words: &Vocabulary,
    sources: &'s [PolicySource],
) -> (Vec<PolicyDraft<'s>>, Vec<PolicyProblem>) {
    let mut problems = Vec::new();
    let mut drafts = Vec::new();
    for source in sources {
        read(words, source, &mut drafts, &mut problems);
    }
    (drafts, problems)
}

pub(super) fn index(
    words: &Vocabulary,
    drafts: Vec<PolicyDraft<'_>>,
    problems: Vec<PolicyProblem>,
) -> CompileOutput {
    let mut rules = RuleSet::new();
    let mut policies = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let (rule, keys) = draft.rule(words);
        for (action, key) in keys {
            rules.add(action, &key, &rule);
        }
        policies.push(draft.entry);
    }
    CompileOutput {
        rules,
        policies,
        problems,
        sound: HashSet::new(),
    }
}

fn read<'s>(
    words: &Vocabulary,
    source: &'s PolicySource,
    drafts: &mut Vec<PolicyDraft<'s>>,
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
    let mut found: Vec<PolicyDraft<'s>> = set
        .policies()
        .map(|policy| PolicyDraft::new(words, policy, source, &lines))
        .collect();
    found.sort_by_key(PolicyDraft::start);
    for draft in &found {
        draft.report(problems);
    }
    drafts.append(&mut found);
}

/// The first of each id; the others are problems.
fn distinct<'d, 's>(
    drafts: &'d [PolicyDraft<'s>],
    problems: &mut Vec<PolicyProblem>,
) -> Vec<&'d PolicyDraft<'s>> {
    let mut first: HashMap<&PolicyId, &PolicyDraft<'_>> = HashMap::new();
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
        let problem = problem.as_written(draft.source);
        problems.push(draft.locate(problem, "the second"));
    }
    distinct
}
