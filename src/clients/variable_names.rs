//! Names of environment variables for values that leave a client's file.

use std::collections::HashSet;

use super::entry::{Entry, Launch, Piece, Template};

/// Hands out names, each once.
#[derive(Debug, Default)]
pub struct VariableNames {
    /// In upper case, as Windows does not tell cases apart.
    taken: HashSet<String>,
}

impl VariableNames {
    /// For variables that something else reads.
    pub fn take(&mut self, name: &str) {
        self.taken.insert(name.to_ascii_uppercase());
    }

    /// For the variables to which entries refer: a value that moves to one of them would reach other
    /// servers. Call this with all entries before the first of them is translated.
    pub fn take_references(&mut self, entries: &[Entry]) {
        let launches = entries
            .iter()
            .filter_map(|entry| entry.launch.as_ref().ok());
        let pieces = launches.flat_map(values).flat_map(|value| &value.pieces);
        for piece in pieces {
            match piece {
                Piece::Variable(name) => self.take(name),
                Piece::Text(_) | Piece::Asked(_) | Piece::Unknown(_) => {}
            }
        }
    }

    /// `github` and `GITHUB_TOKEN` give `GITHUB_GITHUB_TOKEN`: servers may have the same variable with
    /// different values.
    pub(super) fn name(&mut self, server: &str, field: &str) -> String {
        let both = format!("{server}_{field}");
        let base: String = both
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let numbered = (2_u32..).map(|number| format!("{base}_{number}"));
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        let free = candidates.find(|name| !self.taken.contains(name));
        let name = free.unwrap_or(base);
        self.taken.insert(name.clone());
        name
    }
}

fn values(launch: &Launch) -> Vec<&Template> {
    match launch {
        Launch::Command { command, env, cwd } => {
            let env = env.iter().map(|(_, value)| value);
            command.iter().chain(env).chain(cwd).collect()
        }
        Launch::Url { url, headers } => {
            let headers = headers.iter().map(|(_, value)| value);
            std::iter::once(url).chain(headers).collect()
        }
        Launch::Attached { .. } => Vec::new(),
    }
}
