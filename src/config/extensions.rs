//! `[extensions]`: which methods of extensions policies are asked about, and which types their results have.

use std::collections::BTreeMap;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use crate::wire::{Extensions, ListedMethod, ListedProblem, ListedType, MOST_METHODS, blurred};

pub(super) fn extensions(mut section: ConfigSection<'_, '_>) -> Extensions {
    let help = "list exact names of methods, as in `[\"resources/directory/read\"]`";
    let methods = listed(&mut section, "methods", help, ListedMethod::named);
    let help = "list exact types of results, as in `[\"vendor/deferred\"]`";
    let types = listed(&mut section, "result_types", help, ListedType::named);
    section.finish();
    let methods: Extensions = methods.into_iter().collect();
    methods.with_result_types(types)
}

fn listed<T>(
    section: &mut ConfigSection<'_, '_>,
    key: &'static str,
    help: &str,
    named: fn(&str) -> Result<T, ListedProblem>,
) -> Vec<T> {
    let mut read: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for item in section.items(key, help).into_iter().flatten() {
        let Some(name) = section.text(&item).map(|text| text.value) else {
            continue;
        };
        let has_room = found.len() < MOST_METHODS;
        let named = named(&name);
        let listed = match named.and_then(|it| has_room.then_some(it).ok_or(ListedProblem::TooMany))
        {
            Ok(listed) => listed,
            Err(problem) => {
                section.tell(&item, ConfigReason::Unusable(problem.to_string()), None);
                continue;
            }
        };
        match read.insert(blurred(&name), name.clone()) {
            None => found.push(listed),
            Some(other) if other == name => {
                let reason = ConfigReason::Unusable("is listed twice".to_owned());
                section.tell(&item, reason, None);
            }
            Some(other) => {
                let reason = ConfigReason::Unusable(format!("can be taken for `{other}`"));
                let help = "peers may read both as one: list the one that the server has";
                section.tell(&item, reason, Some(help));
            }
        }
    }
    found
}
