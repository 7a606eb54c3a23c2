//! What an audit log has seen pass.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::server_item::ServerItem;
use crate::audit::Body;
use crate::policy::ServerKey;
use crate::session::Instance;
use crate::wire::pointer_step;
use crate::wire::{Document, JsonKind, Limits, Value};

/// The most names of one kind; agents and servers choose them.
const MOST_NAMES: usize = 2_000;

/// The most arguments of a tool that are looked at.
const MOST_ARGUMENTS: usize = 64;

/// The most values of one argument that are kept.
pub(super) const MOST_VALUES: usize = 256;

/// The most items of a list that are looked at. Labels of paths take 256 places in all.
const MOST_ITEMS: usize = 64;

/// The most names of servers that are kept, where records are not held against known ones.
const MAX_SERVERS: usize = 8;

/// Bytes of all values, places and examples that are kept.
const MOST_BYTES: usize = 32 << 20;

/// Messages that passed, of any number of records in bounded memory.
#[derive(Debug, Default)]
pub struct Observations {
    pub(super) tools: BTreeMap<ServerItem, ToolUse>,
    /// By their URIs.
    pub(super) resources: BTreeSet<ServerItem>,
    /// The same of subscriptions.
    pub(super) subscriptions: BTreeSet<ServerItem>,
    pub(super) prompts: BTreeSet<ServerItem>,
    /// Methods of agents and of servers that have no name of a tool, a resource or a prompt.
    pub(super) methods: BTreeSet<ServerItem>,
    pub(super) server_methods: BTreeSet<ServerItem>,
    /// What records call the servers, where these are not known beforehand.
    servers: BTreeSet<String>,
    /// Messages that passed at other servers than the known ones.
    elsewhere: u64,
    /// Messages that passed, in all.
    pub(super) passed: u64,
    /// Those whose names are cut or redacted, or are beyond the limit of names.
    pub(super) left_out: u64,
    /// Calls that the server answered with an error, by the names of tools.
    failed: BTreeMap<ServerItem, u64>,
    kept: KeptBytes,
}

/// A server beside the known ones.
struct OtherServer;

/// Counts what is kept.
#[derive(Debug, Default)]
struct KeptBytes(usize);

impl KeptBytes {
    /// Whether there is room for a text; then it is counted.
    fn take(&mut self, text: &str) -> bool {
        let has_room = self.0.saturating_add(text.len()) <= MOST_BYTES;
        if has_room {
            self.0 += text.len();
        }
        has_room
    }
}

/// The calls of one tool that passed.
#[derive(Debug, Default, Clone)]
pub(super) struct ToolUse {
    pub(super) calls: u64,
    /// Those whose arguments are recorded, and nothing of them is cut off.
    pub(super) whole: u64,
    /// Strings by the place of their argument, a JSON pointer in which `*` is any item of a list.
    pub(super) arguments: BTreeMap<String, ArgumentUse>,
    /// Some arguments are not among them.
    pub(super) is_overfull: bool,
    /// The arguments of the first from which nothing was taken out.
    pub(super) example: Option<String>,
    /// The highest sensitivity of a session that called it.
    pub(super) level: i64,
}

/// What stood at one place of the arguments.
#[derive(Debug, Default, Clone)]
pub(super) struct ArgumentUse {
    /// Calls that have it.
    pub(super) calls: u64,
    pub(super) values: BTreeSet<String>,
    /// Something else than strings, or too many of them.
    pub(super) is_open: bool,
}

impl Observations {
    /// Whether nothing passed.
    pub fn is_empty(&self) -> bool {
        self.passed == 0
    }

    /// Messages that have no place in a draft: their names are cut or redacted, or there are too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Messages of other servers than the known ones.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// What records call the servers, where these are not known beforehand; the first few.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(String::as_str)
    }

    /// Ids of tools in the draft of which calls failed: the number of these calls, and of all.
    pub fn failed(&self) -> impl Iterator<Item = (String, u64, u64)> {
        self.failed.iter().filter_map(|(item, failed)| {
            let calls = self.tools.get(item)?.calls;
            // A log that is cut has results without their calls.
            Some((item.id(), (*failed).min(calls), calls))
        })
    }

    /// The number of calls of one tool that failed.
    pub(super) fn failed_of(&self, tool: &ServerItem) -> u64 {
        self.failed.get(tool).copied().unwrap_or(0)
    }

    fn add_failed(&mut self, tool: ServerItem, calls: u64) {
        if self.failed.contains_key(&tool) || self.failed.len() < MOST_NAMES {
            *self.failed.entry(tool).or_default() += calls;
        }
    }

    /// One line of a log of these several servers, or of one without a key. What did not pass is nothing.
    pub fn add(&mut self, line: &[u8], servers: &[ServerKey]) {
        let Ok(document) = Document::decode(line, &Limits::default()) else {
            self.left_out += 1;
            return;
        };
        let record = document.root();
        let text = |key| record.get(key).and_then(Value::as_str);
        let is = |key, expected: &str| text(key).is_some_and(|text| text == expected);
        // A result that the gate rejected has an error of the gate.
        if !is("decision", "ALLOW") {
            return;
        }
        let is_result = is("kind", "tool_result");
        if !is_result
            && !["server_request", "tool_call", "request"]
                .iter()
                .any(|kind| is("kind", kind))
        {
            return;
        }
        let upstream = text("upstream").unwrap_or_default();
        let Ok(server) = self.server(Instance::server_of(&upstream), servers) else {
            self.elsewhere += u64::from(!is_result);
            return;
        };
        let item = |name: Cow<'_, str>| ServerItem {
            server: server.clone(),
            name: name.into_owned(),
        };
        let method = text("method").unwrap_or_default();
        let target = text("target").map(item);
        let target_or_none = || target.clone().unwrap_or_else(|| item(Cow::default()));
        if is("kind", "server_request") {
            self.count(|all| note(&mut all.server_methods, item(method)));
        } else if is("kind", "tool_call") {
            self.count(|all| all.call(target_or_none(), record));
        } else if is_result {
            let has = |key| record.get(key).is_some_and(|it| !it.is_null());
            if has("error_class") || has("error_code") {
                self.add_failed(target_or_none(), 1);
            }
        } else {
            self.count(|all| match (&*method, target) {
                ("resources/read", Some(uri)) => note(&mut all.resources, uri),
                ("resources/subscribe" | "resources/unsubscribe", Some(uri)) => {
                    note(&mut all.subscriptions, uri)
                }
                ("prompts/get", Some(name)) => note(&mut all.prompts, name),
                _ => note(&mut all.methods, item(method)),
            });
        }
    }

    /// The key of the server that a record names; none where there is one server.
    fn server(
        &mut self,
        name: &str,
        servers: &[ServerKey],
    ) -> Result<Option<ServerKey>, OtherServer> {
        if servers.is_empty() {
            if self.servers.len() < MAX_SERVERS && !self.servers.contains(name) {
                self.servers.insert(name.to_owned());
            }
            return Ok(None);
        }
        let mut servers = servers.iter();
        let found = servers.find(|key| key.as_str() == name);
        found.cloned().map(Some).ok_or(OtherServer)
    }

    fn count(&mut self, add: impl FnOnce(&mut Self) -> Noted) {
        self.passed += 1;
        if add(self) == Noted::LeftOut {
            self.left_out += 1;
        }
    }

    fn call(&mut self, tool: ServerItem, record: Value<'_>) -> Noted {
        let is_known = self.tools.contains_key(&tool);
        if !Body::is_whole(&tool.name) || (!is_known && self.tools.len() == MOST_NAMES) {
            return Noted::LeftOut;
        }
        let used = self.tools.entry(tool).or_default();
        used.calls += 1;
        let level = record.at(&["sensitivity", "before"]);
        let level = level
            .and_then(Value::as_str)
            .and_then(|name| level_of(&name));
        used.level = used.level.max(level.unwrap_or(0));
        let arguments = record.get("arguments");
        if let Some(arguments) = arguments.filter(|it| !Body::is_cut(it.text())) {
            used.whole += 1;
            let text = arguments.text();
            let is_example = used.example.is_none() && !Body::is_redacted(text);
            if is_example && self.kept.take(text) {
                used.example = Some(text.to_owned());
            }
            let mut seen = BTreeSet::new();
            used.see(arguments, &mut String::new(), &mut seen, &mut self.kept);
            for pointer in seen {
                if let Some(argument) = used.arguments.get_mut(&pointer) {
                    argument.calls += 1;
                }
            }
        }
        Noted::Kept
    }

    /// Adds what comes later in the log.
    pub fn merge(&mut self, later: Self) {
        self.passed += later.passed;
        self.left_out += later.left_out;
        self.elsewhere += later.elsewhere;
        self.servers.extend(later.servers);
        for (tool, calls) in later.failed {
            self.add_failed(tool, calls);
        }
        for (name, used) in later.tools {
            if self.tools.contains_key(&name) || self.tools.len() < MOST_NAMES {
                let known = self.tools.entry(name).or_default();
                known.merge(used, &mut self.kept);
            } else {
                self.left_out += used.calls;
            }
        }
        for (mine, others) in [
            (&mut self.resources, later.resources),
            (&mut self.subscriptions, later.subscriptions),
            (&mut self.prompts, later.prompts),
            (&mut self.methods, later.methods),
            (&mut self.server_methods, later.server_methods),
        ] {
            for name in others {
                if note(mine, name) == Noted::LeftOut {
                    self.left_out += 1;
                }
            }
        }
    }
}

/// Whether a message has a place in the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noted {
    Kept,
    LeftOut,
}

fn note(names: &mut BTreeSet<ServerItem>, item: ServerItem) -> Noted {
    let has_room = names.len() < MOST_NAMES || names.contains(&item);
    if !has_room || !Body::is_whole(&item.name) {
        return Noted::LeftOut;
    }
    names.insert(item);
    Noted::Kept
}

fn level_of(name: &str) -> Option<i64> {
    let mut levels = crate::audit::Level::ALL.iter();
    let place = levels.position(|level| level.as_str() == name)?;
    i64::try_from(place).ok()
}

impl ToolUse {
    /// The limit of depth of a record bounds the recursion.
    fn see(
        &mut self,
        value: Value<'_>,
        pointer: &mut String,
        seen: &mut BTreeSet<String>,
        kept: &mut KeptBytes,
    ) {
        let length = pointer.len();
        match value.kind() {
            JsonKind::Object if !value.is_empty() => {
                for (name, member) in value.entries() {
                    // In a label, it would be each member.
                    self.is_overfull |= name == "*";
                    pointer.push('/');
                    pointer.push_str(&pointer_step(&name));
                    self.see(member, pointer, seen, kept);
                    pointer.truncate(length);
                }
            }
            JsonKind::Array if !value.is_empty() => {
                self.is_overfull |= value.len() > MOST_ITEMS;
                pointer.push_str("/*");
                for item in value.items().take(MOST_ITEMS) {
                    self.see(item, pointer, seen, kept);
                }
                pointer.truncate(length);
            }
            // A call without arguments.
            JsonKind::Object if pointer.is_empty() => {}
            JsonKind::Object
            | JsonKind::Array
            | JsonKind::Null
            | JsonKind::Bool
            | JsonKind::Number
            | JsonKind::String => {
                if let Some(argument) = self.argument(pointer, kept) {
                    argument.see(value, kept);
                    argument.is_open |= Body::is_redacted(pointer);
                    seen.insert(pointer.clone());
                }
            }
        }
    }

    /// The argument at a place, if there is room for it.
    fn argument(&mut self, pointer: &str, kept: &mut KeptBytes) -> Option<&mut ArgumentUse> {
        if !self.arguments.contains_key(pointer)
            && (self.arguments.len() == MOST_ARGUMENTS || !kept.take(pointer))
        {
            self.is_overfull = true;
            return None;
        }
        Some(self.arguments.entry(pointer.to_owned()).or_default())
    }

    fn merge(&mut self, later: Self, kept: &mut KeptBytes) {
        self.calls += later.calls;
        self.whole += later.whole;
        self.is_overfull |= later.is_overfull;
        self.level = self.level.max(later.level);
        if self.example.is_none() {
            self.example = later.example.filter(|text| kept.take(text));
        }
        for (pointer, argument) in later.arguments {
            if let Some(known) = self.argument(&pointer, kept) {
                known.merge(argument, kept);
            }
        }
    }
}

impl ArgumentUse {
    fn see(&mut self, value: Value<'_>, kept: &mut KeptBytes) {
        match value.as_str() {
            Some(text) if !Body::is_redacted(&text) => self.keep(text.into_owned(), kept),
            Some(_) | None => self.is_open = true,
        }
    }

    fn keep(&mut self, text: String, kept: &mut KeptBytes) {
        if self.is_open || self.values.contains(&text) {
            return;
        }
        if self.values.len() < MOST_VALUES && kept.take(&text) {
            self.values.insert(text);
        } else {
            self.is_open = true;
        }
    }

    fn merge(&mut self, later: Self, kept: &mut KeptBytes) {
        self.calls += later.calls;
        self.is_open |= later.is_open;
        for text in later.values {
            self.keep(text, kept);
        }
    }
}
