//! Keys of the gate's servers, from the names that clients give them.

use std::collections::HashSet;

/// The longest key, in characters.
const LONGEST: usize = 32;

/// Hands out keys, each once.
#[derive(Debug, Default)]
pub struct ServerNames {
    taken: HashSet<String>,
}

impl ServerNames {
    /// For keys that the gate has already.
    pub fn take(&mut self, key: &str) {
        self.taken.insert(key.to_owned());
    }

    /// A key of the gate's servers (`[a-z][a-z0-9-]{0,31}`), as close to the name as that allows:
    /// `GitHub Enterprise` becomes `github-enterprise`.
    pub fn key(&mut self, name: &str) -> String {
        let base = plain(name);
        let numbered = (2_u32..).map(|number| {
            let suffix = format!("-{number}");
            let base = base.get(..LONGEST - suffix.len()).unwrap_or(&base);
            format!("{}{suffix}", base.trim_end_matches('-'))
        });
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        let free = candidates.find(|key| !self.taken.contains(key));
        let key = free.unwrap_or(base);
        self.taken.insert(key.clone());
        key
    }
}

fn plain(name: &str) -> String {
    let lower = name.chars().map(|c| c.to_ascii_lowercase());
    let words: String = lower
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let mut key = words.join("-");
    if !key.starts_with(|c: char| c.is_ascii_lowercase()) {
        key.insert_str(0, if key.is_empty() { "server" } else { "server-" });
    }
    key.truncate(LONGEST);
    key.trim_end_matches('-').to_owned()
}
