//! What rules have lost: a rule without its last keys is about more than it was.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::DeTable;

use crate::policy::PolicySource;

/// Keys that rules of the same name do not have any more.
pub(super) fn lost(old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
    let now: BTreeMap<String, BTreeSet<String>> = new.iter().flat_map(rules).collect();
    let mut lost = Vec::new();
    for source in old {
        for (id, keys) in rules(source) {
            // Whether the rule itself is there, its name tells.
            let Some(now) = now.get(&id) else {
                continue;
            };
            lost.extend(keys.difference(now).map(|key| {
                let file = &source.name;
                format!("`{file}`: the `{key}` of the policy `{id}` is in force and is not there")
            }));
        }
    }
    lost
}

/// The keys of each rule.
fn rules(source: &PolicySource) -> Vec<(String, BTreeSet<String>)> {
    let Ok(parsed) = DeTable::parse(&source.text) else {
        return Vec::new();
    };
    let rules = parsed.get_ref().get("rule");
    let rules = rules.and_then(|rules| rules.get_ref().as_array());
    let rules = rules.into_iter().flat_map(|rules| rules.iter());
    rules
        .filter_map(|rule| {
            let rule = rule.get_ref().as_table()?;
            let id = rule.get("id")?.get_ref().as_str()?;
            let keys = rule.keys().map(|key| key.get_ref().to_string());
            Some((id.to_owned(), keys.collect()))
        })
        .collect()
}
