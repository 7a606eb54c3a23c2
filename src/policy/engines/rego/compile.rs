//! Files to one package.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use regorus::Engine;

use super::evaluation::{ENTRY, evaluated, object, told};
use super::functions::{self, RejectedCall, Segment};
use super::limits;
use super::tokens::{RegoToken, TokenKind, tokens};
use crate::policy::engines::document;
use crate::policy::{
    PolicyEntry, PolicyErrors, PolicyId, PolicyOrigin, PolicyProblem, PolicySource, Reason,
};

/// What reasons may be called: every `"id": "…"` that stands in the files.
#[derive(Debug, Default)]
pub(super) struct ReasonIds {
    named: BTreeMap<String, Reason>,
    whole: Option<Reason>,
}

impl ReasonIds {
    pub(super) fn get(&self, id: &str) -> Option<Reason> {
        self.named.get(id).cloned()
    }

    /// The name of what gives no reason: the place of the first package.
    pub(super) fn whole(&self) -> Reason {
        self.whole.clone().unwrap_or_else(|| {
            reason(
                ENTRY,
                PolicyOrigin {
                    file: "<rego>".into(),
                    line: 0,
                },
            )
        })
    }
}

type Output = (Engine, Vec<PolicyEntry>, ReasonIds);

/// INVARIANT: runs on a thread with a stack for all that `limits.rs` lets through.
pub(super) fn compile(sources: &[PolicySource], limit: Duration) -> Result<Output, PolicyErrors> {
    let mut problems = Vec::new();
    let size: usize = sources.iter().map(|source| source.text.len()).sum();
    if size > limits::MAX_BYTES {
        let message = format!("more than {} bytes of Rego in all", limits::MAX_BYTES);
        return Err(PolicyProblem::error("policy::too_long", message).into());
    }
    let files: Vec<RegoFile<'_>> = sources.iter().map(RegoFile::of).collect();
    for file in &files {
        file.check(&mut problems);
    }
    give_up(&mut problems)?;
    check_rules(&files, &mut problems);
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(true);
    // As in OPA, `print` has no effect in production.
    engine.set_gather_prints(true);
    for file in &files {
        let (name, text) = (file.source.name.to_string(), file.source.text.to_string());
        if let Err(error) = engine.add_policy(name, text) {
            problems.push(file.syntax(&error.to_string()));
        }
    }
    give_up(&mut problems)?;
    let compiled = engine.compile_with_entrypoint(&ENTRY.into());
    if let Err(error) = compiled {
        let problem = PolicyProblem::error("policy::rule", told(&error.to_string()));
        let help = "a package `mcp` has to have a rule `decision`";
        problems.push(problem.with_help(help));
    }
    give_up(&mut problems)?;
    find_mistakes(&engine, limit, &mut problems);
    give_up(&mut problems)?;
    let (policies, ids) = policies(&files);
    Ok((engine, policies, ids))
}

fn give_up(problems: &mut Vec<PolicyProblem>) -> Result<(), PolicyErrors> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(PolicyErrors {
        problems: std::mem::take(problems),
    })
}

struct RegoFile<'s> {
    source: &'s PolicySource,
    tokens: Vec<RegoToken<'s>>,
}

impl<'s> RegoFile<'s> {
    fn of(source: &'s PolicySource) -> Self {
        Self {
            source,
            tokens: tokens(&source.text),
        }
    }

    fn check(&self, problems: &mut Vec<PolicyProblem>) {
        if let Err((why, at)) = limits::check(&self.tokens) {
            let problem = self.problem("policy::too_deep", at, why);
            problems.push(problem.with_help("split it into several rules"));
            return;
        }
        let package = match self.tokens.as_slice() {
            [package, name, rest @ ..] if package.is("package") => {
                let ends = rest.first().is_none_or(|next| next.begins_line);
                (name.is("mcp") && ends).then_some(())
            }
            _ => None,
        };
        if package.is_none() {
            let at = self.tokens.first().map_or(0, |token| token.at);
            let message = "the file does not begin with `package mcp`";
            problems.push(self.problem("policy::rule", at, message.to_owned()));
        }
    }

    /// What regorus says, at the place that it names.
    fn syntax(&self, error: &str) -> PolicyProblem {
        let message = told(error);
        let place = error.lines().find_map(|line| line.strip_prefix("--> "));
        let offset = place.and_then(|place| {
            let mut parts = place.rsplitn(3, ':');
            let column: usize = parts.next()?.trim().parse().ok()?;
            let line: usize = parts.next()?.parse().ok()?;
            let lines = self.source.text.split_inclusive('\n');
            let before: usize = lines.take(line.checked_sub(1)?).map(str::len).sum();
            Some((before + column.checked_sub(1)?).min(self.source.text.len()))
        });
        let message = message.rsplit(": ").next().unwrap_or(&message).to_owned();
        self.problem("policy::syntax", offset.unwrap_or(0), message)
    }

    fn problem(&self, code: &'static str, at: usize, message: String) -> PolicyProblem {
        let end = self.tokens.iter().find(|token| token.at == at);
        let end = end.map_or(at, |token| at + token.text.len());
        PolicyProblem::error(code, message)
            .in_source(self.source)
            .at(at..end, "here")
    }

    fn origin(&self, at: usize) -> PolicyOrigin {
        let before = self.source.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        PolicyOrigin {
            file: Arc::clone(&self.source.name),
            line: u32::try_from(line).unwrap_or(u32::MAX),
        }
    }
}

/// Functions and calls, over all files together.
fn check_rules(files: &[RegoFile<'_>], problems: &mut Vec<PolicyProblem>) {
    let segments: Vec<Vec<Segment<'_>>> = files
        .iter()
        .map(|file| {
            let segments = functions::segments(&file.tokens).into_iter();
            segments
                .filter(|segment| !["package", "import"].contains(&segment.name))
                .collect()
        })
        .collect();
    let names: BTreeSet<&str> = segments.iter().flatten().map(|rule| rule.name).collect();
    for file in files {
        for RejectedCall { at, message, help } in functions::calls(&file.tokens, &names) {
            let problem = file.problem("policy::function", at, message);
            problems.push(match help {
                Some(help) => problem.with_help(help),
                None => problem,
            });
        }
        for RejectedCall { at, message, help } in functions::unknown_names(&file.tokens) {
            let problem = file.problem("policy::name", at, message);
            problems.push(match help {
                Some(help) => problem.with_help(help),
                None => problem,
            });
        }
        for at in functions::lookups(&file.tokens, &names) {
            let message = "`data` is looked up without the name of a rule";
            let problem = file.problem("policy::rule", at, message.to_owned());
            problems.push(problem.with_help("only what the rules of `package mcp` say is there"));
        }
    }
    let all: Vec<&Segment<'_>> = segments.iter().flatten().collect();
    let Some(name) = functions::recursion(&all) else {
        return;
    };
    let message = format!(
        "the rule `{name}` leads back to itself, or over more than {} others",
        functions::MAX_CALLS
    );
    for (file, rules) in files.iter().zip(&segments) {
        let rule = rules.iter().find(|rule| rule.name == name);
        if let Some(at) = rule.and_then(|rule| rule.tokens.first()) {
            problems.push(file.problem("policy::recursion", at.at, message));
            return;
        }
    }
}

/// The most questions that may exceed the time limit at load. After them the gate asks no more.
const SLOW_QUESTIONS: usize = 4;

/// The faults of one question of every shape.
pub(super) fn sample_faults(engine: &Engine, limit: Duration) -> Vec<String> {
    let mut faults = Vec::new();
    let mut slow = 0;
    for sample in document::samples() {
        if let Err(fault) = evaluated(engine, ENTRY, object(sample), limit) {
            slow += usize::from(fault.contains("time limit"));
            faults.push(fault);
        }
        if slow == SLOW_QUESTIONS {
            break;
        }
    }
    faults
}

/// regorus finds some mistakes only when it evaluates a program.
fn find_mistakes(engine: &Engine, limit: Duration, problems: &mut Vec<PolicyProblem>) {
    let is_mistake = |fault: &String| {
        ["is unsafe", "could not find function", "rule conflicts"]
            .iter()
            .any(|words| fault.contains(words))
    };
    let faults = sample_faults(engine, limit).into_iter();
    let mistakes: BTreeSet<String> = faults.filter(is_mistake).collect();
    let mistakes = mistakes.into_iter();
    problems.extend(mistakes.map(|mistake| PolicyProblem::error("policy::rule", mistake)));
}

/// One policy for each id, and one for each file.
fn policies(files: &[RegoFile<'_>]) -> (Vec<PolicyEntry>, ReasonIds) {
    let mut policies = Vec::new();
    let mut ids = ReasonIds::default();
    for file in files {
        let start = file.tokens.first().map_or(0, |token| token.at);
        let origin = file.origin(start);
        let id = origin.to_string();
        ids.whole.get_or_insert_with(|| reason(&id, origin.clone()));
        policies.push(PolicyEntry {
            id: PolicyId::new(&id),
            origin,
            text: Arc::clone(&file.source.text),
            server: None,
        });
        for segment in functions::segments(&file.tokens) {
            for id in named(&segment) {
                if ids.named.contains_key(id) {
                    continue;
                }
                let (start, end) = range(&segment);
                let origin = file.origin(start);
                ids.named.insert(id.to_owned(), reason(id, origin.clone()));
                policies.push(PolicyEntry {
                    id: PolicyId::new(id),
                    origin,
                    text: file.source.text.get(start..end).unwrap_or_default().into(),
                    server: None,
                });
            }
        }
    }
    (policies, ids)
}

/// The words of `"id": "…"`.
fn named<'t>(segment: &Segment<'t>) -> Vec<&'t str> {
    let windows = segment.tokens.windows(3);
    windows
        .filter_map(|window| match window {
            [key, colon, id] if id.kind == TokenKind::String => {
                let is_id = key.plain_string() == Some("id") && colon.is(":");
                let id = id.text.strip_prefix('"')?.strip_suffix('"')?;
                (is_id && !id.is_empty() && !id.contains('\\')).then_some(id)
            }
            _ => None,
        })
        .collect()
}

fn range(segment: &Segment<'_>) -> (usize, usize) {
    let start = segment.tokens.first().map_or(0, |token| token.at);
    let end = segment.tokens.last();
    (
        start,
        end.map_or(start, |token| token.at + token.text.len()),
    )
}

fn reason(id: &str, origin: PolicyOrigin) -> Reason {
    Reason {
        policy: PolicyId::new(id),
        origin,
        code: None,
        advice: None,
        on_deny: None,
    }
}
