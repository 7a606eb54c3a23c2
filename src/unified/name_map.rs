//! What agents call the tools, prompts, resources and tasks of several servers, and what each server calls its own.
//!
//! The agent's name is made of the server's key and the server's name alone, and can be taken apart again: keys have
//! neither `_` nor `+` ([`ServerKey`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::pattern::matches;
use crate::policy::ServerKey;

/// Between the key and the name of a tool or prompt.
const SEPARATOR: &str = "__";

/// Between the key and a URI, or another text that is the server's own.
const PREFIX_END: char = '+';

/// URIs of user interfaces keep their scheme, by which agents know them (MCP Apps, SEP-1865).
const UI: &str = "ui://";

/// The servers of an endpoint, in the order in which they came to it: a server keeps its number.
#[derive(Debug, Clone, Default)]
pub(super) struct NameMap {
    keys: Vec<ServerKey>,
    /// The numbers of servers that were removed. Nothing the agent says names them.
    removed: BTreeSet<usize>,
    aliases: Arc<[Alias]>,
    by_alias: HashMap<String, ToolOf>,
    by_tool: HashMap<ToolOf, String>,
    /// Patterns of the agent's names of the tools in a view.
    tools: Option<Arc<[String]>>,
}

/// A name, and the name that the tool has without it.
pub type Alias = (String, String);

/// A tool, by its server's number and the server's name for it.
type ToolOf = (usize, String);

/// What belongs to one of the servers: its number, and the server's own name.
pub(super) type Own<'t> = (usize, &'t str);

impl NameMap {
    pub(super) fn new(aliases: Arc<[Alias]>, tools: Option<Arc<[String]>>) -> Self {
        Self {
            aliases,
            tools,
            ..Self::default()
        }
    }

    /// The same with one more server, which has the next number.
    #[must_use]
    pub(super) fn with(&self, key: ServerKey) -> Self {
        let mut names = self.clone();
        names.keys.push(key);
        names.resolved()
    }

    /// The same without the server of this number.
    pub(super) fn without(&self, server: usize) -> Self {
        let mut names = self.clone();
        names.removed.insert(server);
        names.resolved()
    }

    fn resolved(mut self) -> Self {
        let aliases = Arc::clone(&self.aliases);
        let tools = aliases.iter().filter_map(|(alias, name)| {
            let (server, own) = self.split(name)?;
            Some((alias.clone(), (server, own.to_owned())))
        });
        self.by_alias = tools.collect();
        let tools = self.by_alias.iter();
        self.by_tool = tools
            .map(|(alias, tool)| (tool.clone(), alias.clone()))
            .collect();
        self
    }

    /// Whether the endpoint has a tool of one of its servers, by the agent's name.
    fn has_tool(&self, shown: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.all(|patterns| patterns.iter().any(|pattern| matches(pattern, shown)))
    }

    /// The same by the server's name.
    pub(super) fn shows_tool(&self, server: usize, name: &str) -> bool {
        self.tools.is_none() || self.has_tool(&self.encode_tool(server, name))
    }

    pub(super) fn is_there(&self, server: usize) -> bool {
        !self.removed.contains(&server)
    }

    /// The numbers of the servers that are there.
    pub(super) fn servers(&self) -> Vec<usize> {
        let all = 0..self.keys.len();
        all.filter(|server| self.is_there(*server)).collect()
    }

    pub(super) fn key(&self, server: usize) -> &str {
        self.keys.get(server).map_or("", ServerKey::as_str)
    }

    pub(super) fn encode_tool(&self, server: usize, name: &str) -> String {
        let alias = self.by_tool.get(&(server, name.to_owned()));
        alias
            .cloned()
            .unwrap_or_else(|| self.encode_prompt(server, name))
    }

    /// A tool with an alias has no other name.
    pub(super) fn decode_tool<'t>(&'t self, shown: &'t str) -> Option<Own<'t>> {
        self.has_tool(shown).then(|| self.tool_of(shown)).flatten()
    }

    /// The same whether or not the endpoint has the tool.
    pub(super) fn tool_of<'t>(&'t self, shown: &'t str) -> Option<Own<'t>> {
        if let Some((server, name)) = self.by_alias.get(shown) {
            return Some((*server, name));
        }
        let (server, name) = self.split(shown)?;
        let has_alias =
            !self.by_tool.is_empty() && self.by_tool.contains_key(&(server, name.to_owned()));
        (!has_alias).then_some((server, name))
    }

    pub(super) fn encode_prompt(&self, server: usize, name: &str) -> String {
        format!("{}{SEPARATOR}{name}", self.key(server))
    }

    pub(super) fn decode_prompt<'t>(&self, shown: &'t str) -> Option<Own<'t>> {
        self.split(shown)
    }

    pub(super) fn encode_uri(&self, server: usize, uri: &str) -> String {
        let key = self.key(server);
        match uri.strip_prefix(UI) {
            Some(rest) => format!("{UI}{key}/{rest}"),
            None => self.encode_id(server, uri),
        }
    }

    /// The server's URI for what an agent calls so.
    pub(super) fn decode_uri(&self, shown: &str) -> Option<(usize, String)> {
        if let Some(rest) = shown.strip_prefix(UI) {
            let (key, rest) = rest.split_once('/')?;
            return Some((self.number(key)?, format!("{UI}{rest}")));
        }
        let (server, uri) = self.decode_id(shown)?;
        Some((server, uri.to_owned()))
    }

    /// Of a server's task, logger or token.
    pub(super) fn encode_id(&self, server: usize, own: &str) -> String {
        format!("{}{PREFIX_END}{own}", self.key(server))
    }

    pub(super) fn decode_id<'t>(&self, shown: &'t str) -> Option<Own<'t>> {
        let (key, own) = shown.split_once(PREFIX_END)?;
        Some((self.number(key)?, own))
    }

    fn split<'t>(&self, shown: &'t str) -> Option<Own<'t>> {
        let (key, name) = shown.split_once(SEPARATOR)?;
        Some((self.number(key)?, name))
    }

    pub(super) fn number(&self, key: &str) -> Option<usize> {
        let is_it = |server: &usize| self.key(*server) == key;
        let mut all = 0..self.keys.len();
        all.find(|server| is_it(server) && !self.removed.contains(server))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(aliases: &[(&str, &str)]) -> NameMap {
        let keys = ["crm", "crm-2", "mail"].map(|key| ServerKey::of(key).unwrap());
        let aliases = aliases
            .iter()
            .map(|(alias, name)| ((*alias).to_owned(), (*name).to_owned()));
        let names = NameMap::new(aliases.collect(), None);
        keys.into_iter().fold(names, |names, key| names.with(key))
    }

    #[test]
    fn what_begins_with_no_known_key_is_of_no_server() {
        let names = names(&[]);
        for shown in [
            "",
            "read",
            "crm",
            "crm_read",
            "CRM__read",
            "crm3__read",
            "__read",
            "crm-__x",
        ] {
            assert_eq!(names.decode_tool(shown), None, "{shown}");
            assert_eq!(names.decode_prompt(shown), None, "{shown}");
        }
        for shown in [
            "",
            "file:///a",
            "crm",
            "crm-3+file:///a",
            "+a",
            "ui://crm",
            "ui://mail3/a",
        ] {
            assert_eq!(names.decode_uri(shown), None, "{shown}");
        }
    }

    #[test]
    fn an_alias_stands_for_one_tool_and_is_its_only_name() {
        let names = names(&[("send_mail", "mail__send")]);
        assert_eq!(names.encode_tool(2, "send"), "send_mail");
        assert_eq!(names.decode_tool("send_mail"), Some((2, "send")));
        assert_eq!(names.decode_tool("mail__send"), None);
        assert_eq!(names.encode_tool(0, "send"), "crm__send");
        assert_eq!(names.decode_tool("crm__send"), Some((0, "send")));
        // A prompt has none.
        assert_eq!(names.decode_prompt("mail__send"), Some((2, "send")));
    }

    #[test]
    fn nothing_names_a_server_that_was_removed_and_another_of_its_key_has_another_number() {
        let aliased = names(&[("send_mail", "mail__send")]);
        let without = aliased.without(2);
        assert_eq!(without.servers(), [0, 1]);
        for shown in ["mail__send", "send_mail", "mail__read"] {
            assert_eq!(without.decode_tool(shown), None, "{shown}");
        }
        assert_eq!(without.decode_uri("mail+file:///a"), None);
        // Its last answers still have its name.
        assert_eq!(without.encode_tool(2, "read"), "mail__read");
        let again = without.with(ServerKey::of("mail").unwrap());
        assert_eq!(again.servers(), [0, 1, 3]);
        assert_eq!(again.decode_tool("send_mail"), Some((3, "send")));
        assert_eq!(again.decode_tool("mail__read"), Some((3, "read")));
    }

    #[test]
    fn a_view_has_the_tools_of_its_patterns_alone() {
        let patterns = ["mail__re*", "send_*"].map(str::to_owned);
        let view = NameMap {
            tools: Some(patterns.into()),
            ..names(&[("send_mail", "mail__send")])
        };
        assert_eq!(view.decode_tool("mail__read"), Some((2, "read")));
        assert_eq!(view.decode_tool("send_mail"), Some((2, "send")));
        for shown in ["mail__send", "mail__list", "crm__read"] {
            assert_eq!(view.decode_tool(shown), None, "{shown}");
        }
        assert_eq!(
            ["read", "send", "list"].map(|it| view.shows_tool(2, it)),
            [true, true, false]
        );
        // Prompts are by server.
        assert_eq!(view.decode_prompt("mail__list"), Some((2, "list")));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]

        #[test]
        fn every_name_comes_back_with_its_server(
            server in 0_usize..3,
            name in "([a-z+/_:-]|__|\\PC){0,12}",
            uri in "(ui://|UI://|file:///|crm\\+)?([a-z+/_:-]|__|\\PC){0,12}",
        ) {
            let names = names(&[("send_mail", "mail__send")]);
            let own = Some((server, &*name));
            let (tool, prompt) = (names.encode_tool(server, &name), names.encode_prompt(server, &name));
            prop_assert_eq!(names.decode_tool(&tool), own);
            prop_assert_eq!(names.decode_prompt(&prompt), own);
            let text = names.encode_id(server, &name);
            prop_assert_eq!(names.decode_id(&text), own);
            prop_assert_eq!(names.decode_uri(&names.encode_uri(server, &uri)), Some((server, uri)));
        }
    }
}
