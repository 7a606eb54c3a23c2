//! The policies in force as they are for one of several servers.
//!
//! Policies and labels name what a server has as `crm/read_customer`. Its messages have `read_customer`, and
//! what judges them looks it up so.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::labels::Labels;
use super::lock::{Lock, LockedTexts};
use super::server_key::ServerKey;

impl Labels {
    /// Those of what this server has, under its own names.
    #[must_use]
    pub(super) fn of_server(&self, key: &ServerKey) -> Self {
        let own = |id: &str| key.name_in(id).map(str::to_owned);
        let mut labels = self.clone();
        labels.raised_elsewhere = self.raise_levels();
        labels.unlabelled = self
            .unlabelled_at
            .get(key)
            .unwrap_or(&self.unlabelled)
            .clone();
        labels.unlabelled_at.clear();
        let tools = self.tools.iter();
        labels.tools = tools
            .filter_map(|(id, tool)| Some((own(id)?, tool.clone())))
            .collect();
        let prompts = self.prompts.iter();
        labels.prompts = prompts
            .filter_map(|(id, groups)| Some((own(id)?, groups.clone())))
            .collect();
        labels.allowed = self.allowed.iter().filter_map(|id| own(id)).collect();
        labels
    }
}

impl Lock {
    /// The definitions of what this server has, under its own names.
    #[must_use]
    pub(super) fn of_server(&self, key: &ServerKey) -> Self {
        let tools = self.tools().filter_map(|(id, tool)| {
            let name = key.name_in(id)?.to_owned();
            Some((name, tool.clone()))
        });
        let words = self.words().map(|words| LockedTexts {
            instructions: words
                .instructions
                .iter()
                .filter(|(of, _)| of.as_ref() == Some(key))
                .map(|(_, text)| (None, Arc::clone(text)))
                .collect(),
            prompts: of_this(key, &words.prompts),
        });
        Self::new(tools.collect())
            .at(key)
            .with_mode(self.mode())
            .with_passing(self.passing())
            .with_words(words)
    }
}

fn of_this<T: Clone>(key: &ServerKey, all: &BTreeMap<String, T>) -> BTreeMap<String, T> {
    let own = all.iter();
    let own = own.filter_map(|(id, value)| Some((key.name_in(id)?.to_owned(), value.clone())));
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ToolLabels;

    #[test]
    fn a_server_has_what_is_named_behind_its_key() {
        let check = |id: &str, name: Option<&str>| {
            let key = ServerKey::of("crm").unwrap();
            assert_eq!(key.name_in(id), name, "{id}");
            let mut labels = Labels::default();
            labels.tools.insert(id.to_owned(), ToolLabels::default());
            labels.prompts.insert(id.to_owned(), Vec::new());
            labels.allowed.insert(id.to_owned());
            assert!(!labels.of_server(&key).raise_levels(), "{id}");
            if let Some(tool) = labels.tools.get_mut(id) {
                tool.level = 2;
            }
            // The session is the same at each.
            assert!(labels.of_server(&key).raise_levels(), "{id}");
            let own = labels.of_server(&key);
            assert_eq!(own.tools.into_keys().next().as_deref(), name, "{id}");
            assert_eq!(own.prompts.into_keys().next().as_deref(), name, "{id}");
            assert_eq!(own.allowed.into_iter().next().as_deref(), name, "{id}");
        };
        check("crm/read", Some("read"));
        check("crm/a/b", Some("a/b"));
        check("crm/crm/read", Some("crm/read"));
        for other in [
            "read",
            "crm",
            "crms/read",
            "xcrm/read",
            "crm2/read",
            "CRM/read",
        ] {
            check(other, None);
        }
        // What has no name is no other server's either.
        check("crm/", Some(""));
    }

    #[test]
    fn instructions_are_those_of_their_server_alone() {
        let key = |key: &str| ServerKey::of(key);
        let words = LockedTexts {
            instructions: [(key("crm"), "Read.".into()), (key("mail"), "Send.".into())].into(),
            ..LockedTexts::default()
        };
        let lock = Lock::default().with_words(Some(words));
        let check = |server: &str, approved: Option<&str>| {
            let own = lock.of_server(&key(server).unwrap());
            let words = own.words().unwrap();
            assert_eq!(words.instructions().map(|it| &**it), approved, "{server}");
            assert_eq!(words.instructions.len(), usize::from(approved.is_some()));
            assert_eq!(own.server().map(ServerKey::as_str), Some(server));
        };
        check("crm", Some("Read."));
        check("mail", Some("Send."));
        check("web", None);
    }
}
