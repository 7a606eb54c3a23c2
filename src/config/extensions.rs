//! `[extensions]`: which methods of extensions policies are asked about.

use std::collections::BTreeMap;

use super::errors::Reason;
use super::section::Section;
use crate::wire::{Extensions, ListedMethod, blurred};

pub(super) fn extensions(mut section: Section<'_, '_>) -> Extensions {
    let help = "list exact names of methods, as in `[\"resources/directory/read\"]`";
    let mut read: BTreeMap<String, String> = BTreeMap::new();
    let mut methods = Vec::new();
    for item in section.items("methods", help).into_iter().flatten() {
        let Some(name) = section.text(&item).map(|text| text.value) else {
            continue;
        };
        let listed = match ListedMethod::named(&name) {
            Ok(listed) => listed,
            Err(problem) => {
                section.tell(&item, Reason::Unusable(problem.to_string()), None);
                continue;
            }
        };
        match read.insert(blurred(&name), name.clone()) {
            None => methods.push(listed),
            Some(other) if other == name => {
                let reason = Reason::Unusable("is listed twice".to_owned());
                section.tell(&item, reason, None);
            }
            Some(other) => {
                let reason = Reason::Unusable(format!("can be taken for `{other}`"));
                let help = "peers may read both as one: list the one that the server has";
                section.tell(&item, reason, Some(help));
            }
        }
    }
    section.finish();
    methods.into_iter().collect()
}
