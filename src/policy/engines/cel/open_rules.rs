//! Rules that permit every call, by their table alone.

use toml::de::DeTable;

use super::super::is_cel;
use super::file::{CODE, actions};
use crate::policy::engines::open_rule::OpenRule;
use crate::policy::table::TomlTable;
use crate::policy::{ActionName, PolicySource, RuleEffect};

/// Rules with no condition, or with `true` for one, whose actions `call_tool` is among.
pub(in crate::policy::engines) fn open_permits(sources: &[PolicySource]) -> Vec<OpenRule<'_>> {
    let files = sources.iter().filter(|source| is_cel(&source.name));
    files.flat_map(in_file).collect()
}

fn in_file(source: &PolicySource) -> Vec<OpenRule<'_>> {
    let Ok(parsed) = DeTable::parse(&source.text) else {
        return Vec::new();
    };
    // The compiler of the file reports its problems.
    let mut problems = Vec::new();
    let rules = TomlTable::new(source, CODE, parsed.get_ref(), &mut problems).tables("rule");
    let mut found = Vec::new();
    for (place, keys) in rules {
        let mut rule = TomlTable::new(source, CODE, keys, &mut problems);
        let effects = [
            ("permit", RuleEffect::Permit),
            ("forbid", RuleEffect::Forbid),
        ];
        let permits = rule.word("effect", &effects) == Some(RuleEffect::Permit);
        let calls = actions(&mut rule).contains(&ActionName::CallTool);
        let always = match rule.text("when") {
            Some((when, _)) => when.trim() == "true",
            None => !rule.has("when"),
        };
        if permits && calls && always {
            found.push(OpenRule { source, place });
        }
    }
    found
}
