//! What lies in no root, and how it would be if it lay in one.

use super::super::location::Location;
use super::super::message_facts::{Arguments, Targets};
use super::Labels;

/// The most roots that are looked into: each is a question to all policies.
const MOST_ROOTS: usize = 8;

impl Labels {
    /// What a call that reaches outside of all roots would reach for in each of the first ones.
    pub(in crate::policy) fn in_place_of(&self, targets: Option<&Targets>) -> Vec<Targets> {
        let Some(targets) = targets.filter(|targets| targets.outside) else {
            return Vec::new();
        };
        let roots = self.roots.iter().take(MOST_ROOTS);
        let inside = roots.map(|root| {
            let place = self.roots.find(root.location());
            Targets {
                roots: place.names().map(str::to_owned).collect(),
                outside: false,
                level: root.level,
                writable: root.writable,
                ..targets.clone()
            }
        });
        inside.collect()
    }

    /// The pointer of the first path among the arguments of a tool that lies in no root.
    pub fn outside(
        &self,
        tool: &str,
        arguments: &Arguments<'_>,
        targets: &Targets,
    ) -> Option<String> {
        let mut paths = self.of_tool(tool).paths_among(&self.roots, arguments);
        let (pointer, _) = paths.find(|(_, text)| {
            let text = text.as_deref();
            let text = text.map(|text| targets.known_as.get(text).map_or(text, String::as_str));
            let place = text.and_then(Location::of_file);
            place.is_none_or(|place| self.roots.find(&place).is_outside())
        })?;
        Some(pointer.to_string())
    }
}
