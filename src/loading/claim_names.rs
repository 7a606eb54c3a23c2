//! Claims that rules in Rego and CEL read by name: the configuration must name them, as for policies in Cedar.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::policy::{ClaimMismatch, ConfiguredClaims, PolicyProblem, PolicySource};

/// What reads a claim by its name. In strings of TOML quotation marks may be escaped.
#[expect(clippy::expect_used, reason = "a fixed pattern")]
static READ: LazyLock<Regex> = LazyLock::new(|| {
    let by_member = r"principal\.claims\.(?<member>[A-Za-z_]\w*)";
    let by_index = r#"principal\.claims\[\s*\\?["'`](?<index>[^"'`\\\]]+)\\?["'`]\s*\]"#;
    let by_search = r#"\\?["'](?<search>[^"'\\\]]+)\\?["']\s+in\s+(?:input\.)?principal\.claims\b"#;
    Regex::new(&format!("{by_member}|{by_index}|{by_search}")).expect("a fixed pattern")
});

/// Each that the configuration does not name, once for each file.
pub(super) fn unconfigured(
    sources: &[PolicySource],
    configured: &ConfiguredClaims,
) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    let others = [".rego", ".cel.toml"];
    let is_checked = |source: &&PolicySource| others.iter().any(|it| source.name.ends_with(it));
    for source in sources.iter().filter(is_checked) {
        let mut told = BTreeSet::new();
        for (name, span) in read_in(&source.text) {
            let Some(ClaimMismatch { message, help }) = configured.mismatch(&name, None) else {
                continue;
            };
            if told.insert(name) {
                let problem = PolicyProblem::error("policy::claim", message).with_help(help);
                problems.push(problem.in_source(source).at(span, "here"));
            }
        }
    }
    problems
}

fn read_in(text: &str) -> impl Iterator<Item = (String, Range<usize>)> + '_ {
    READ.captures_iter(text).filter_map(|read| {
        let mut groups = ["member", "index", "search"].into_iter();
        let name = groups.find_map(|group| read.name(group))?;
        (!is_comment(text, name.start())).then(|| (name.as_str().to_owned(), name.range()))
    })
}

/// Whether a `#` outside of quotation marks stands before it on its line.
fn is_comment(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let mut quote = None;
    for char in line.chars() {
        match (quote, char) {
            (None, '#') => return true,
            (None, '"' | '\'' | '`') => quote = Some(char),
            (Some(open), char) if open == char => quote = None,
            (None | Some(_), _) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ClaimType;

    #[test]
    fn a_claim_that_is_not_configured_is_told_where_it_is_read() {
        let check = |name: &str, text: &str, expected: &[&str]| {
            let configured = ConfiguredClaims {
                types: [("tools".to_owned(), ClaimType::Strings)].into(),
                ..ConfiguredClaims::default()
            };
            let source = PolicySource::new(name, text);
            let found = unconfigured(&[source], &configured);
            let told = found.iter().map(|it| it.message.as_str());
            assert_eq!(told.collect::<Vec<_>>(), expected, "{text}");
        };
        let tier = &["the configuration names no claim `tier`"];
        check("a.rego", "x if input.principal.claims.tools[_] == 1", &[]);
        check("a.rego", "x if input.principal.claims.tier == 1", tier);
        check("a.rego", "x if input.principal.claims[\"tier\"] == 1", tier);
        check("a.rego", "x if \"#\" == input.principal.claims.tier", tier);
        check("a.rego", "# input.principal.claims.tier", &[]);
        check("a.rego", "x if input.principal.claims[name] == 1", &[]);
        check("a.cel.toml", "when = 'has(principal.claims.tier)'", tier);
        check("a.cel.toml", "when = '\"tier\" in principal.claims'", tier);
        check(
            "a.cel.toml",
            "when = \"principal.claims[\\\"tier\\\"] == 1\"",
            tier,
        );
        check(
            "a.cel.toml",
            "when = 'principal.claims.tier == principal.claims.tier'",
            tier,
        );
        check("a.cedar", "principal.claims.tier", &[]);
    }
}
