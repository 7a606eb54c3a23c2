//! What lies in no root, and how it would be if it lay in one.

use super::super::facts::{Arguments, Touch};
use super::super::location::Location;
use super::{Labels, touch};

/// The most roots that are looked into: each is a question to all policies.
const MOST_ROOTS: usize = 8;

impl Labels {
    /// What a call that reaches outside of all roots would reach for in each of the first ones.
    pub(in crate::policy) fn in_place_of(&self, touch: Option<&Touch>) -> Vec<Touch> {
        let Some(touch) = touch.filter(|touch| touch.outside) else {
            return Vec::new();
        };
        let roots = self.roots.iter().take(MOST_ROOTS);
        let inside = roots.map(|root| {
            let place = self.roots.find(root.location());
            Touch {
                roots: place.names().map(str::to_owned).collect(),
                outside: false,
                level: root.level,
                writable: root.writable,
                ..touch.clone()
            }
        });
        inside.collect()
    }

    /// The pointer of the first path among the arguments of a tool that lies in no root.
    pub fn outside(&self, tool: &str, arguments: &Arguments<'_>, touch: &Touch) -> Option<String> {
        let mut paths = touch::found_at(arguments, self.path_pointers(tool));
        let (pointer, _) = paths.find(|(_, text)| {
            let text = text.as_deref();
            let text = text.map(|text| touch.known_as.get(text).map_or(text, String::as_str));
            let place = text.and_then(Location::of_file);
            place.is_none_or(|place| self.roots.find(&place).is_outside())
        })?;
        Some(pointer.to_string())
    }
}
