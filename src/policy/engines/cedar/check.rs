//! The types of policies, and what Cedar says of them in the words of our diagnostics.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{
    EntityUid, PolicyId, PolicySet, ValidationError, ValidationMode, ValidationWarning,
};
use miette::{Diagnostic, LabeledSpan, Severity};

use super::dedupe_diagnostics::folded;
use super::hints::{self, LookupNames};
use super::policy_draft::PolicyDraft;
use super::schema_action::CALL;
use super::scope_actions::narrowed;
use super::vocabulary::Vocabulary;
use crate::policy::{CheckBasis, CheckedPolicies, Lock, PolicyProblem, PolicySource};

/// Strict: every access is proved to succeed, whatever the request. What is left to fail is
/// arithmetic that overflows.
///
/// What `before` holds is not checked again. Answers the texts of all in which nothing was found.
///
/// INVARIANT: what is found in a policy depends on nothing but its own text and the schema.
pub(super) fn check_types(
    words: &Vocabulary,
    lock: &Lock,
    drafts: &[&PolicyDraft<'_>],
    before: &[CheckedPolicies],
    problems: &mut Vec<PolicyProblem>,
) -> HashSet<Arc<str>> {
    // A policy is checked for each action that it could be about. What looks at no typed arguments
    // finds in every call what it finds in `call_tool`, of which there is one and not a thousand.
    let before: Vec<_> = before.iter().map(|checked| checked.under(lock)).collect();
    let is_known = |draft: &&&PolicyDraft<'_>| {
        let against = if draft.is_typed() {
            CheckBasis::Lock
        } else {
            CheckBasis::Base
        };
        before
            .iter()
            .any(|known| known(&draft.checked_as(), against))
    };
    let unknown = drafts.iter().filter(|draft| !is_known(draft));
    let (typed, untyped): (Vec<&&PolicyDraft<'_>>, Vec<_>) =
        unknown.partition(|draft| draft.is_typed());
    let base = match Vocabulary::get() {
        Ok(base) => base,
        Err(error) => {
            problems.push(PolicyProblem::error("policy::internal", error));
            return HashSet::new();
        }
    };
    let untyped = untyped.iter().map(|draft| draft.policy.clone());
    let typed = typed
        .iter()
        .map(|draft| narrowed(words, &draft.policy, draft.source.server.as_ref()));
    let sets = [
        (&base.validator, PolicySet::from_policies(untyped)),
        (&words.validator, PolicySet::from_policies(typed)),
    ];
    let results = sets.map(|(validator, set)| {
        let set = set.map_err(|error| error.to_string())?;
        Ok::<_, String>(validator.validate(&set, ValidationMode::Strict))
    });
    let places: HashMap<&str, (usize, &PolicyDraft<'_>)> = drafts
        .iter()
        .enumerate()
        .map(|(place, draft)| (draft.entry.id.as_str(), (place, *draft)))
        .collect();
    let names = LookupNames::with(lock);
    let mut found = Vec::new();
    let mut warned = Vec::new();
    let mut is_whole = true;
    for result in results {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                problems.push(PolicyProblem::error("policy::set", error));
                is_whole = false;
                continue;
            }
        };
        for error in result.validation_errors() {
            let mut problem = placed(&places, error.policy_id(), error);
            let draft = places.get(AsRef::<str>::as_ref(error.policy_id()));
            let draft = draft.map(|(_, draft)| *draft);
            problem.1.help = if let ValidationError::UnrecognizedActionId(_) = error {
                nearest_action(words, lock, draft, &problem.1)
            } else {
                help(error, draft, &names, &problem.1).or(problem.1.help)
            };
            found.push(problem);
        }
        for warning in result.validation_warnings() {
            let (place, mut problem) = placed(&places, warning.policy_id(), warning);
            problem.severity = Severity::Warning;
            let draft = places.get(AsRef::<str>::as_ref(warning.policy_id()));
            let hint = match (warning, draft) {
                (ValidationWarning::ImpossiblePolicy(_), Some((_, draft))) => {
                    names.hint(draft.condition(), None)
                }
                (ValidationWarning::InvalidActionApplication(_), Some((_, draft)))
                    if draft.is_scoped_to_root() =>
                {
                    Some(hints::OF_TOOLS.to_owned())
                }
                _ => None,
            };
            problem.help = hint.or(problem.help);
            warned.push((place, problem));
        }
    }
    // What is wrong is often also impossible, which does not help.
    let wrong: HashSet<usize> = found.iter().map(|(place, _)| *place).collect();
    warned.retain(|(place, _)| !wrong.contains(place));
    found.append(&mut warned);
    let faulty: HashSet<usize> = found.iter().map(|(place, _)| *place).collect();
    is_whole &= !faulty.contains(&usize::MAX);
    let sound = drafts.iter().enumerate();
    let sound = sound.filter(|(place, _)| is_whole && !faulty.contains(place));
    let sound = sound.map(|(_, draft)| draft.checked_as());
    let sound = sound.collect();
    problems.extend(folded(in_order(drafts, found)));
    sound
}

/// The checker reports in the order of a hash map, and in the names that servers' own policies are compiled to.
fn in_order(
    drafts: &[&PolicyDraft<'_>],
    mut found: Vec<(usize, PolicyProblem)>,
) -> Vec<PolicyProblem> {
    found.sort_by_key(|(place, problem)| {
        let offset = problem.labels.first().map(LabeledSpan::offset);
        (*place, offset, problem.message.clone())
    });
    let written = |(place, problem): (usize, PolicyProblem)| match drafts.get(place) {
        Some(draft) => problem.as_written(draft.source),
        None => problem,
    };
    found.into_iter().map(written).collect()
}

/// What helps about an error in this policy, besides what Cedar says.
fn help(
    error: &ValidationError,
    draft: Option<&PolicyDraft<'_>>,
    names: &LookupNames,
    problem: &PolicyProblem,
) -> Option<String> {
    if let ValidationError::InvalidActionApplication(_) = error
        && draft.is_some_and(PolicyDraft::is_scoped_to_root)
    {
        return Some(hints::OF_TOOLS.to_owned());
    }
    let label = problem.labels.first();
    let within = label.map(|at| at.offset()..at.offset() + at.len());
    let of_types = hints::of_types(&problem.message).map(str::to_owned);
    of_types.or_else(|| names.hint(draft?.condition(), within.as_ref()))
}

/// What Cedar says, with the labels that it gives.
pub(super) fn diagnosed(
    code: &'static str,
    diagnostic: &dyn Diagnostic,
    source: &PolicySource,
) -> PolicyProblem {
    let mut problem = PolicyProblem::error(code, diagnostic.to_string()).in_source(source);
    let help = diagnostic.help().map(|help| help.to_string());
    problem.help = help.or_else(|| hints::of_syntax(&problem.message).map(str::to_owned));
    problem.labels = diagnostic.labels().into_iter().flatten().collect();
    problem
}

/// With the place of the policy among all.
fn placed(
    places: &HashMap<&str, (usize, &PolicyDraft<'_>)>,
    id: &PolicyId,
    diagnostic: &dyn Diagnostic,
) -> (usize, PolicyProblem) {
    let id: &str = id.as_ref();
    let Some((place, draft)) = places.get(id) else {
        return (
            usize::MAX,
            PolicyProblem::error("policy::type", diagnostic.to_string()),
        );
    };
    let mut problem = diagnosed("policy::type", diagnostic, draft.source);
    // Cedar begins with the policy's id, which the place already tells.
    let begins = format!("for policy `{}`, ", id.escape_debug());
    problem.message = problem.message.replacen(&begins, "", 1);
    if problem.labels.is_empty() {
        problem = draft.locate(problem, "this policy");
    }
    (*place, problem)
}

/// Cedar's own suggestion compares other parts of the name, and suggests `any`.
fn nearest_action(
    words: &Vocabulary,
    lock: &Lock,
    draft: Option<&PolicyDraft<'_>>,
    problem: &PolicyProblem,
) -> Option<String> {
    let written = problem.message.split('`').nth(1)?;
    if let Some(tool) = written
        .strip_prefix("Mcp::Action::\"")
        .and_then(|id| id.strip_prefix(CALL)?.strip_suffix('"'))
    {
        let why = lock
            .tool(tool)
            .and_then(|tool| tool.arguments.as_ref().err());
        if let Some(why) = why {
            return Some(format!(
                "`tools.lock` gives no types to its arguments: {why}; write \
                 `action in Mcp::Action::\"call_tool\"` and `resource == Mcp::Tool::\"{tool}\"`"
            ));
        }
        if lock.is_empty() {
            return Some(
                "calls of single tools are actions of their own where a `tools.lock` lies beside \
                 the policies; `mcp-protector tools lock` makes one"
                    .to_owned(),
            );
        }
    }
    let known = words
        .schema()
        .actions()
        .chain(words.schema().action_groups());
    let server = draft.and_then(|draft| draft.source.server.as_ref());
    let is_of_server = |uid: &&EntityUid| {
        let call = uid.id().unescaped().strip_prefix(CALL);
        let other = call.zip(server);
        other.is_none_or(|(tool, server)| server.name_in(tool).is_some())
    };
    let known = known.filter(is_of_server);
    let known: HashSet<String> = known.map(ToString::to_string).collect();
    let nearest = known
        .into_iter()
        .min_by_key(|name| (strsim::damerau_levenshtein(name, written), name.clone()))?;
    Some(format!("did you mean `{nearest}`?"))
}
