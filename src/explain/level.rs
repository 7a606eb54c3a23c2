//! Where the level, the data sets and the servers of a session come from: the messages before that raised it, as an
//! audit log has them, or what was typed.

use crate::audit::LIST_LIMIT;
use crate::gate::Stage;
use crate::policy::{LEVELS, PolicySnapshot, ServerKey};
use crate::session::Instance;
use crate::wire::{Document, Limits, Value};

/// What a record says of its session's level and data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LevelChange {
    pub(super) before: i64,
    after: i64,
    /// The data sets before it, as far as the record has them.
    pub(super) datasets: Vec<String>,
    added: Vec<String>,
    is_cut: bool,
    /// The servers that it had read from before it, where that is certain.
    pub(super) servers: Option<ReadServers>,
    session: String,
    instance: String,
}

/// The keys of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReadServers {
    pub(super) sources: Vec<String>,
    pub(super) untrusted_from: Vec<String>,
}

/// A message that raised the level of its session, or added data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LevelIncrease {
    seq: i64,
    pub(super) before: i64,
    pub(super) after: i64,
    added: Vec<String>,
    what: MessageSummary,
}

/// What a message was about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct MessageSummary {
    kind: String,
    method: String,
    target: String,
    upstream: String,
    obliged: bool,
}

impl LevelChange {
    /// None where a record says nothing: its session had read nothing then, or policies were not asked.
    pub(super) fn read(record: Value<'_>) -> Option<Self> {
        let added = names(record, "added");
        let mut datasets = names(record, "datasets");
        let is_cut = datasets.len() > LIST_LIMIT;
        datasets.retain(|name| !added.contains(name));
        Some(Self {
            before: level(record, "before")?,
            after: level(record, "after")?,
            datasets,
            added,
            is_cut,
            servers: ReadServers::before(record),
            session: text(record, "session_id"),
            instance: text(record, "instance"),
        })
    }

    /// Whether the record lacks some data sets.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The messages of the same session before a record that raised its level, in their order.
    pub(super) fn raises(&self, log: &str, seq: i64) -> Vec<LevelIncrease> {
        let lines = log.lines().filter(|line| line.contains(&self.session));
        let mut raises: Vec<LevelIncrease> = lines
            .filter_map(|line| Document::decode(line.trim().as_bytes(), &Limits::default()).ok())
            .filter_map(|document| {
                let passed = Self::read(document.root())?;
                let raise = LevelIncrease::read(document.root(), &passed)?;
                let is_earlier = passed.instance == self.instance && raise.seq < seq;
                (is_earlier && passed.session == self.session).then_some(raise)
            })
            .collect();
        raises.sort_by_key(|raise| raise.seq);
        raises
    }
}

impl ReadServers {
    /// A record has those after its message. Where that has passed, its own server may be new among them.
    fn before(record: Value<'_>) -> Option<Self> {
        let servers = Self {
            sources: names(record, "sources"),
            untrusted_from: names(record, "untrusted_from"),
        };
        let lists = [&servers.sources, &servers.untrusted_from];
        let upstream = text(record, "upstream");
        let own = Instance::server_of(&upstream);
        let is_denied =
            text(record, "decision") == "BLOCK" && text(record, "stage") == Stage::Decide.name();
        let is_certain = |list: &&Vec<String>| {
            list.len() <= LIST_LIMIT && (is_denied || !list.iter().any(|key| key == own))
        };
        lists.iter().all(is_certain).then_some(servers)
    }
}

impl LevelIncrease {
    fn read(record: Value<'_>, passed: &LevelChange) -> Option<Self> {
        let obligations = record.get("obligations").into_iter();
        let mut obligations = obligations.flat_map(Value::items).filter_map(Value::as_str);
        let is_raising = passed.after > passed.before || !passed.added.is_empty();
        is_raising.then_some(Self {
            seq: record.get("seq").and_then(Value::as_i64)?,
            before: passed.before,
            after: passed.after,
            added: passed.added.clone(),
            what: MessageSummary {
                kind: text(record, "kind"),
                method: text(record, "method"),
                target: text(record, "target"),
                upstream: text(record, "upstream"),
                obliged: obligations.any(|it| it.starts_with("raise: ")),
            },
        })
    }

    /// The label, as it is now, that says so.
    fn because(&self, policies: &PolicySnapshot, servers: &[ServerKey]) -> String {
        let labels = policies.labels();
        let MessageSummary {
            kind,
            method,
            target,
            upstream,
            obliged,
        } = &self.what;
        let own = Instance::server_of(upstream);
        let server = servers.iter().find(|key| key.as_str() == own);
        let target = &server.map_or_else(|| target.clone(), |key| key.id_of(target));
        let of_tool = labels.of_tool(target);
        if kind.ends_with("_result") {
            "what came back".to_owned()
        } else if method == "tools/call" && of_tool.level == self.after {
            match labels.tools.get(target) {
                Some(_) => format!("`sensitivity` of `{target}` in tools.toml"),
                None => "`sensitivity` of [default] in tools.toml".to_owned(),
            }
        } else if *obliged {
            "`@raise_sensitivity` of a policy".to_owned()
        } else if method == "tools/call" {
            "the places that its arguments name".to_owned()
        } else {
            "the level of the resource".to_owned()
        }
    }

    /// The data sets that it has added, if any.
    pub(super) fn added(&self) -> Option<(&[String], String)> {
        let MessageSummary { method, target, .. } = &self.what;
        let names = self.added.join(", ");
        let told = format!("record {} added {names}: {method} `{target}`", self.seq);
        (!self.added.is_empty()).then_some((&*self.added, told))
    }

    pub(super) fn told(&self, policies: &PolicySnapshot, servers: &[ServerKey]) -> String {
        let MessageSummary { method, target, .. } = &self.what;
        format!(
            "record {} raised it from {} to {}: {method} `{target}`, by {}",
            self.seq,
            word(self.before),
            word(self.after),
            self.because(policies, servers),
        )
    }
}

pub(super) fn word(level: i64) -> &'static str {
    let known = LEVELS.into_iter().find(|(_, known)| *known == level);
    known.map_or("unknown", |(word, _)| word)
}

fn level(record: Value<'_>, when: &str) -> Option<i64> {
    let name = record.at(&["sensitivity", when])?.as_str()?;
    let mut levels = LEVELS.into_iter();
    levels.find_map(|(word, level)| word.eq_ignore_ascii_case(&name).then_some(level))
}

fn names(record: Value<'_>, member: &str) -> Vec<String> {
    let names = record.at(&["sensitivity", member]).into_iter();
    let names = names.flat_map(Value::items).filter_map(Value::as_str);
    names.map(std::borrow::Cow::into_owned).collect()
}

fn text(record: Value<'_>, key: &str) -> String {
    let text = record.get(key).and_then(Value::as_str);
    text.map(std::borrow::Cow::into_owned).unwrap_or_default()
}
