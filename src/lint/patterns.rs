//! Wildcards where there are none.

use cedar_policy_core::ast::{EntityUID, Expr, ExprKind, Literal, Pattern, PatternElem};

use super::expressions::{equality, literal, membership, text};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;

pub(super) const GLOB_LITERAL: Lint = Lint {
    code: "lint::glob_literal",
    about: "a `*` or `?` in an exact name or text, or a `?` in a pattern",
    look,
};

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            let (message, help, at) = if let Some(Literal::EntityUID(uid)) = literal(expr) {
                let name: &str = uid.eid().as_ref();
                if !is_glob(name) {
                    continue;
                }
                let at = uid.loc().or_else(|| expr.source_loc());
                let message = format!("`{uid}` is one name: names are exact");
                (message, of_name(uid), at)
            } else if let Some(text) = compared(expr) {
                let message = format!("`{text}` is compared letter by letter");
                let help = format!(
                    "for a pattern write `like`, as in `… like \"{}\"`, where `*` stands for any \
                     text, one `like` for each of several",
                    text.replace('?', "*").escape_debug()
                );
                (message, help, expr.source_loc())
            } else if let ExprKind::Like { pattern, .. } = expr.expr_kind() {
                if !is_question(pattern) {
                    continue;
                }
                let message = "`?` stands for itself in a pattern; only `*` stands for others";
                let help = "write `*`, which stands for any text, also for none and for more than \
                            one character";
                (message.to_owned(), help.to_owned(), expr.source_loc())
            } else {
                continue;
            };
            let say = LintMessage {
                message,
                help,
                label: "no wildcard",
            };
            let at = at.filter(|loc| (loc.start()..loc.end()) != policy.span);
            found.at(&GLOB_LITERAL, policy, at, say);
        }
    }
}

/// What to write in place of a name that is meant as a pattern.
fn of_name(uid: &EntityUID) -> String {
    let kind = uid.entity_type().to_string();
    let kind = kind.strip_prefix("Mcp::").unwrap_or(&kind);
    let name: &str = uid.eid().as_ref();
    let name = name.replace('?', "*").escape_debug().to_string();
    match kind {
        "Method" => format!(
            "write `resource is Mcp::Method` in the scope and `when {{ resource.name like \"{name}\" \
             }}`; `[extensions]` of the configuration says which there are"
        ),
        "Tool" | "Prompt" => format!(
            "write `resource is Mcp::{kind}` in the scope and `when {{ resource.name like \"{name}\" \
             }}`; or give the ones that are meant a group and write `resource in \
             Mcp::{kind}Group::\"…\"`"
        ),
        "Resource" => format!(
            "write `resource is Mcp::Resource` in the scope and `when {{ resource.uri like \
             \"{name}\" }}`; or name the place in `roots.toml` and write `resource in \
             Mcp::Root::\"…\"`"
        ),
        "Action" => "actions are in groups (`call_tool` has the calls of all tools): name one, or \
                     several in a set"
            .to_owned(),
        "Capability" => {
            "a capability stands for the narrower ones too: `fs` is also `fs.read` and \
                         `fs.write`"
                .to_owned()
        }
        _ => format!("no pattern stands for several of `Mcp::{kind}`: name each, in a set"),
    }
}

/// A text with a wildcard that is compared by `==` or stands in a set.
fn compared(expr: &Expr) -> Option<&str> {
    let is_meant = |text: &&str| is_glob(text);
    if let Some((_, value)) = equality(expr) {
        return text(value).filter(is_meant);
    }
    let (_, items) = membership(expr)?;
    items.iter().filter_map(text).find(is_meant)
}

/// Not a `?` that begins the query of a URL, and not a wildcard that stands alone: `*` and `?` are
/// values of their own (`?` is the host that cannot be read).
fn is_glob(text: &str) -> bool {
    let question = text.contains('?') && !text.contains("://") && !text.contains(' ');
    text.len() > 1 && !text.ends_with(['?', '!']) && question
        || text.len() > 1 && text.contains('*')
}

/// A `?` among other characters, in what is no URL.
fn is_question(pattern: &Pattern) -> bool {
    let characters = pattern.iter().filter_map(|element| match element {
        PatternElem::Char(c) => Some(*c),
        PatternElem::Wildcard => None,
    });
    let literal: String = characters.collect();
    let inside = literal.trim_end_matches('?');
    inside.contains('?') && !inside.contains(['/', '=', ' '])
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check, found, source};
    use super::super::material::Material;

    #[test]
    fn a_wildcard_that_stands_for_itself_is_found() {
        let cases = [
            ("resource.name == \"read_*\"", 1),
            ("[\"read_*\", \"b\"].contains(resource.name)", 1),
            ("resource == Mcp::Tool::\"read_*\"", 1),
            (
                "[Mcp::Tool::\"a\", Mcp::Tool::\"file?.txt\"].contains(resource)",
                1,
            ),
            ("resource.name like \"file?.txt\"", 1),
            ("resource.name like \"read_*\"", 0),
            ("resource.name == \"read_file\"", 0),
            ("resource.name like \"*?*\"", 0),
            ("resource.name like \"https://example.com/?q=*\"", 0),
            // Values of their own.
            ("context.targets.hosts.contains(\"?\")", 0),
            ("[\"?\", \"b\"].contains(resource.name)", 0),
            ("resource.name == \"*\"", 0),
            ("resource.name == \"https://example.com/?q=1\"", 0),
            ("resource.name == \"really?\"", 0),
        ];
        for (condition, findings) in cases {
            let policy = call("permit", "", &format!("when {{ {condition} }}"));
            check("glob_literal", &policy, findings);
        }
        check(
            "glob_literal",
            &call("permit", "resource == Mcp::Tool::\"read_*\"", ""),
            1,
        );
        check(
            "glob_literal",
            &call("permit", "resource == Mcp::Tool::\"read\"", ""),
            0,
        );
    }

    #[test]
    fn what_to_write_in_place_of_a_wildcard_depends_on_what_it_stands_in() {
        let check = |scope: &str, condition: &str, says: &str| {
            let material = Material {
                policies: vec![source("p/x.cedar", &call("permit", scope, condition))],
                ..Material::default()
            };
            let found = found("glob_literal", &material);
            let [problem] = found.as_slice() else {
                panic!("{found:?}");
            };
            let help = problem.help.as_deref().unwrap();
            assert!(help.contains(says), "{help}");
        };
        check(
            "resource == Mcp::Tool::\"read_*\"",
            "",
            "`when { resource.name like \"read_*\" }`",
        );
        check(
            "resource in Mcp::Capability::\"fs.*\"",
            "",
            "`fs` is also `fs.read`",
        );
        check(
            "",
            "when { principal in Mcp::Role::\"ed*\" }",
            "no pattern stands for several of `Mcp::Role`",
        );
        check(
            "",
            "when { resource.name == \"read?file\" }",
            "`… like \"read*file\"`",
        );
        check(
            "",
            "when { resource.name like \"read?x\" }",
            "also for none and for more than one character",
        );
    }
}
