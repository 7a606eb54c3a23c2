//! One mistake, told once.
//!
//! Cedar checks a policy once for each action and each type of principal and resource that its scope
//! leaves open, and reports each time. A policy on all actions that asks for an argument would so be
//! wrong sixteen times at one place.

use miette::{LabeledSpan, NamedSource};

use crate::policy::PolicyProblem;

/// How many names are told before the rest is counted.
const MOST: usize = 4;

/// What an error varies by, and what the author can do about it.
const KINDS: [MessagePattern; 2] = [
    MessagePattern {
        opens: "Mcp::Action::\"",
        closes: '"',
        several: "actions",
        help: "the condition is checked for every action that the scope names; name only those \
               that have it",
    },
    MessagePattern {
        opens: "entity type `",
        closes: '`',
        several: "entity types",
        help: "the condition is checked for every type that the scope leaves open; name the one \
               that has it, as in `resource is Mcp::Tool`",
    },
];

struct MessagePattern {
    opens: &'static str,
    closes: char,
    several: &'static str,
    help: &'static str,
}

/// A message around the name that it varies by.
struct VariableMessage<'m> {
    kind: &'static MessagePattern,
    before: &'m str,
    name: &'m str,
    after: &'m str,
}

/// Folds neighbours that say the same of the same place. The problems are sorted by place and
/// message.
pub(super) fn folded(problems: Vec<PolicyProblem>) -> Vec<PolicyProblem> {
    let mut folded: Vec<PolicyProblem> = Vec::new();
    let mut alike: Vec<PolicyProblem> = Vec::new();
    for problem in problems {
        if alike.last().is_some_and(|last| !is_alike(last, &problem)) {
            folded.extend(join(std::mem::take(&mut alike)));
        }
        alike.push(problem);
    }
    folded.extend(join(alike));
    folded
}

fn is_alike(one: &PolicyProblem, other: &PolicyProblem) -> bool {
    let place = |problem: &PolicyProblem| {
        let label = problem.labels.first();
        label.map(|label: &LabeledSpan| (label.offset(), label.len()))
    };
    let same_text = match (
        VariableMessage::of(&one.message),
        VariableMessage::of(&other.message),
    ) {
        (Some(one), Some(other)) => one.before == other.before && one.after == other.after,
        (None, None) => one.message == other.message,
        (None, Some(_)) | (Some(_), None) => false,
    };
    same_text
        && place(one).is_some()
        && place(one) == place(other)
        && one.severity == other.severity
        && one.source.as_ref().map(NamedSource::name)
            == other.source.as_ref().map(NamedSource::name)
}

fn join(alike: Vec<PolicyProblem>) -> Option<PolicyProblem> {
    let mut names: Vec<String> = Vec::new();
    for cut in alike
        .iter()
        .filter_map(|it| VariableMessage::of(&it.message))
    {
        if names.iter().all(|name| name != cut.name) {
            names.push(cut.name.to_owned());
        }
    }
    let same_help = alike.windows(2).all(|two| match two {
        [one, other] => one.help == other.help,
        _ => true,
    });
    let mut first = alike.into_iter().next()?;
    if let (Some(cut), [_, _, ..]) = (VariableMessage::of(&first.message), names.as_slice()) {
        let told: Vec<String> = names
            .iter()
            .take(MOST)
            .map(|it| format!("`{it}`"))
            .collect();
        let more = match names.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let MessagePattern { several, help, .. } = cut.kind;
        let told = told.join(", ");
        first.message = format!("{}{several} {told}{more}{}", cut.before, cut.after);
        let own = first.help.take().filter(|_| same_help);
        first.help = Some(match own {
            Some(own) if own.ends_with('?') => format!("{own} Or: {help}"),
            Some(own) => format!("{own}; or: {help}"),
            None => (*help).to_owned(),
        });
    }
    Some(first)
}

impl<'m> VariableMessage<'m> {
    fn of(message: &'m str) -> Option<Self> {
        KINDS.iter().find_map(|kind| {
            let (before, rest) = message.split_once(kind.opens)?;
            let (name, after) = rest.split_once(kind.closes)?;
            Some(Self {
                kind,
                before,
                name,
                after,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicySource;

    /// Places and messages, before and after.
    #[track_caller]
    fn check(given: &[(usize, &str)], expected: &[(usize, &str)]) {
        let source = PolicySource::new("p", "0123456789");
        let problem = |(at, message): &(usize, &str)| {
            PolicyProblem::error("policy::type", *message)
                .in_source(&source)
                .at(*at..at + 1, "here")
        };
        let folded = folded(given.iter().map(problem).collect());
        let found: Vec<_> = folded
            .iter()
            .map(|it| (it.labels[0].offset(), it.message.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn one_mistake_at_one_place_is_told_once() {
        let action = |name: &str| format!("no `args` for Mcp::Action::\"{name}\" here");
        let [a, b, third, fourth, fifth] = ["a", "b", "c", "d", "e"].map(action);
        check(
            &[(1, &a), (1, &b)],
            &[(1, "no `args` for actions `a`, `b` here")],
        );
        check(
            &[(1, &a), (1, &b), (1, &third), (1, &fourth), (1, &fifth)],
            &[(
                1,
                "no `args` for actions `a`, `b`, `c`, `d` and 1 more here",
            )],
        );
        check(&[(1, &a), (2, &a)], &[(1, &a), (2, &a)]);
        check(&[(1, &a), (1, &a)], &[(1, &a)]);
        check(&[(1, "x"), (1, "x"), (1, "y")], &[(1, "x"), (1, "y")]);
        let kind = |name: &str| format!("not on entity type `{name}`");
        check(
            &[(1, &kind("A")), (1, &kind("B")), (1, &a)],
            &[(1, "not on entity types `A`, `B`"), (1, &a)],
        );
        check(&[], &[]);
    }
}
