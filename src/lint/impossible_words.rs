//! Words that the gate never fills in where a policy asks for them.

use std::collections::BTreeSet;
use std::iter;

use cedar_policy_core::ast::{Expr, ExprKind, Pattern, Var};

use super::expressions::{comparison, path, text};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use crate::mcp::revisions;
use crate::policy::suggest::did_you_mean;

pub(super) const UNKNOWN_WORD: Lint = Lint {
    code: "lint::unknown_word",
    about: "a word that the gate never uses: a misspelt kind of credential, flag, method, \
            revision, mode or scheme",
    look,
};

const TRANSPORTS: [&str; 2] = ["stdio", "http"];
const CONSENT: [&str; 3] = ["never", "always", "once_per_session"];
const MODES: [&str; 2] = ["form", "url"];
const CONTEXTS: [&str; 3] = ["none", "thisServer", "allServers"];

/// What can stand somewhere.
enum KnownTexts<'w> {
    Words(Vec<&'w str>),
    Scheme,
}

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let Some(condition) = policy.condition() else {
            continue;
        };
        for expr in condition.subexpressions() {
            for (literal, say) in doubts(world, expr) {
                let at = literal.source_loc().or_else(|| expr.source_loc());
                found.at(&UNKNOWN_WORD, policy, at, say);
            }
        }
    }
}

fn doubts<'e>(world: &LintContext<'_>, expr: &'e Expr) -> Vec<(&'e Expr, LintMessage)> {
    if let ExprKind::Like {
        expr: asked,
        pattern,
    } = expr.expr_kind()
    {
        let doubt = known(world, asked).and_then(|known| known.unlike(asked, pattern));
        return doubt.into_iter().map(|say| (expr, say)).collect();
    }
    let Some((asked, items)) = comparison(expr) else {
        return Vec::new();
    };
    let Some(known) = known(world, asked) else {
        return Vec::new();
    };
    let doubts = items.into_iter().filter_map(|literal| {
        let say = known.doubt(asked, text(literal)?)?;
        Some((literal, say))
    });
    doubts.collect()
}

/// What the gate fills in, where that is known.
fn known<'w>(world: &'w LintContext<'_>, asked: &Expr) -> Option<KnownTexts<'w>> {
    let (root, path) = path(asked)?;
    let given = |words: &'w BTreeSet<String>| words.iter().map(String::as_str).collect::<Vec<_>>();
    let words = &world.given.words;
    let known = match (root, path.as_slice()) {
        (Var::Resource, ["scheme"]) => return Some(KnownTexts::Scheme),
        (Var::Resource, ["consent"]) => CONSENT.to_vec(),
        (Var::Resource, ["flags"]) | (Var::Context, ["result", "flags"]) => given(&words.flags),
        (Var::Context, ["targets" | "result", "secrets"]) => given(&words.secrets),
        (Var::Context, ["env", "transport"]) => TRANSPORTS.to_vec(),
        // Nothing is agreed on yet at the beginning.
        (Var::Context, ["env", "protocol"]) => iter::once("").chain(revisions::known()).collect(),
        (Var::Context, ["method"]) => given(&words.methods),
        (Var::Context, ["mode"]) => MODES.to_vec(),
        (Var::Context, ["includeContext"]) => CONTEXTS.to_vec(),
        _ => return None,
    };
    // The known values are not declared.
    (!known.is_empty()).then_some(KnownTexts::Words(known))
}

impl KnownTexts<'_> {
    fn doubt(&self, asked: &Expr, written: &str) -> Option<LintMessage> {
        let help = match self {
            Self::Scheme => scheme(written)?,
            Self::Words(words) if words.contains(&written) => return None,
            Self::Words(words) => {
                did_you_mean(written, words.iter().copied()).unwrap_or_else(|| list(words))
            }
        };
        Some(LintMessage {
            message: format!("`{}` is never found in `{asked}`", written.escape_debug()),
            help: match path(asked) {
                Some((Var::Context, path)) if path.last() == Some(&"secrets") => format!(
                    "{help}; kinds of `guards.secret_rules` are known where `--config` names them"
                ),
                _ => help,
            },
            label: "here",
        })
    }

    fn unlike(&self, asked: &Expr, pattern: &Pattern) -> Option<LintMessage> {
        let Self::Words(words) = self else {
            return None;
        };
        let fits = words.iter().any(|word| pattern.wildcard_match(word));
        (!fits).then(|| LintMessage {
            message: format!("nothing that is found in `{asked}` is like this"),
            help: list(words),
            label: "here",
        })
    }
}

/// Schemes are read in lower case, and end before the colon.
fn scheme(written: &str) -> Option<String> {
    let meant = written
        .split(':')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    (meant != written).then(|| {
        format!("did you mean `{meant}`? schemes are in lower case, and without what follows them")
    })
}

fn list(words: &[&str]) -> String {
    /// The most names that a message lists.
    const FEW: usize = 20;
    let words = words.iter().filter(|word| !word.is_empty());
    let mut shown: Vec<String> = words
        .clone()
        .take(FEW)
        .map(|word| format!("`{word}`"))
        .collect();
    if words.count() > FEW {
        shown.push("…".to_owned());
    }
    format!("there are {}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check_in, found, source};
    use super::super::material::{KnownWords, Material};

    fn material(action: &str, condition: &str) -> Material {
        let set = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let policy = call("forbid", "", &format!("when {{ {condition} }}"))
            .replace("principal is Mcp::Agent", "principal")
            .replace(
                "in Mcp::Action::\"call_tool\"",
                &format!("== Mcp::Action::\"{action}\""),
            );
        Material {
            policies: vec![source("p/x.cedar", &policy)],
            words: KnownWords {
                secrets: set(&["github-token", "jwt", "own-badge"]),
                flags: set(&["override", "secrecy"]),
                methods: set(&["notifications/progress", "tasks/list"]),
            },
            ..Material::default()
        }
    }

    #[track_caller]
    fn check(action: &str, condition: &str, findings: usize) {
        check_in("unknown_word", &material(action, condition), findings);
    }

    #[test]
    fn words_that_the_gate_never_says_are_found() {
        for (action, condition, findings) in [
            (
                "call_tool",
                "context.targets.secrets.contains(\"github-token\")",
                0,
            ),
            (
                "call_tool",
                "context.targets.secrets.contains(\"own-badge\")",
                0,
            ),
            (
                "call_tool",
                "context.targets.secrets.contains(\"github_token\")",
                1,
            ),
            (
                "call_tool",
                "context.targets.secrets.containsAny([\"jwt\", \"jtw\", \"x\"])",
                2,
            ),
            (
                "call_tool",
                "[\"jtw\"].containsAll(context.targets.secrets)",
                1,
            ),
            ("call_tool", "context.targets.secrets == [\"jtw\"]", 1),
            (
                "receive_result",
                "context.result.secrets.contains(\"jtw\")",
                1,
            ),
            (
                "receive_result",
                "context.result.flags.contains(\"instruct\")",
                1,
            ),
            (
                "receive_result",
                "context.result.flags.contains(\"secrecy\")",
                0,
            ),
            ("call_tool", "resource.flags.contains(\"Secrecy\")", 1),
            ("call_tool", "resource.consent == \"allways\"", 1),
            (
                "call_tool",
                "[\"always\", \"ask\"].contains(resource.consent)",
                1,
            ),
            ("call_tool", "resource.consent != \"once_per_session\"", 0),
            ("call_tool", "context.env.transport == \"sdtio\"", 1),
            ("call_tool", "context.env.transport == \"http\"", 0),
            ("call_tool", "context.env.protocol == \"2025-11-26\"", 1),
            ("call_tool", "context.env.protocol == \"2025-11-25\"", 0),
            ("call_tool", "context.env.protocol like \"2025-*\"", 0),
            ("call_tool", "context.env.protocol like \"2027-*\"", 1),
            ("call_tool", "resource.name == \"sdtio\"", 0),
            ("elicit", "context.mode == \"link\"", 1),
            ("elicit", "context.mode == \"url\"", 0),
            ("notify", "context.method == \"notification/progress\"", 1),
            ("notify", "context.method == \"notifications/progress\"", 0),
            ("notify", "context.method like \"notifications/*\"", 0),
            ("notify", "context.method like \"notification/*\"", 1),
            ("sample", "context.includeContext == \"all\"", 1),
            ("sample", "context.includeContext == \"thisServer\"", 0),
            ("read_resource", "resource.scheme == \"FILE\"", 1),
            ("read_resource", "resource.scheme == \"file://\"", 1),
            ("read_resource", "resource.scheme == \"file\"", 0),
        ] {
            check(action, condition, findings);
        }
    }

    #[test]
    fn what_is_nearly_a_word_is_told() {
        let help = |action: &str, condition: &str| {
            let found = found("unknown_word", &material(action, condition));
            found.into_iter().find_map(|it| it.help).unwrap()
        };
        for (action, condition, expected) in [
            (
                "call_tool",
                "context.targets.secrets.contains(\"github_token\")",
                "`github-token`?",
            ),
            (
                "call_tool",
                "resource.flags.contains(\"overide\")",
                "`override`?",
            ),
            (
                "elicit",
                "context.mode == \"link\"",
                "there are `form`, `url`",
            ),
            (
                "read_resource",
                "resource.scheme == \"FILE\"",
                "did you mean `file`?",
            ),
        ] {
            let help = help(action, condition);
            assert!(help.contains(expected), "{condition}: {help}");
        }
    }

    #[test]
    fn where_nobody_says_what_there_is_nothing_is_found() {
        let mut material = material("call_tool", "context.targets.secrets.contains(\"x\")");
        material.words = KnownWords::default();
        check_in("unknown_word", &material, 0);
    }
}
