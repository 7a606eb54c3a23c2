//! How two locks differ, one thing after the other.

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::lines;
use crate::guard::text::{self, Flags};
use crate::loading::{LockFile, LockedItem};
use crate::policy::ServerKey;

/// What is not the same.
#[derive(Debug, Serialize)]
pub(super) struct Differences {
    /// Offered and not locked.
    added: Vec<Difference>,
    /// Locked and no longer offered.
    removed: Vec<Difference>,
    /// Offered in another form than locked.
    changed: Vec<Difference>,
}

/// One tool, prompt or text.
#[derive(Debug, Serialize)]
struct Difference {
    name: String,
    #[serde(skip_serializing_if = "ItemKind::is_tool")]
    kind: ItemKind,
    /// Whose instructions of several servers.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    server: Option<ServerKey>,
    /// The lines that went and came, `-` and `+` before them.
    lines: Vec<String>,
    /// What in the text that is offered instructs a model, or hides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Tool,
    Prompt,
    Instructions,
}

impl Differences {
    /// Where what is offered says nothing of instructions and prompts, they are not compared.
    pub(super) fn between(locked: Option<&LockFile>, offered: &LockFile) -> Self {
        let nothing = LockFile::default();
        let locked = locked.unwrap_or(&nothing);
        let counts =
            |what: &LockedItem<'_>| offered.has_words() || matches!(what, LockedItem::Tool(_));
        let differs = |what| {
            let (before, after) = (locked.shown(what), offered.shown(what));
            let flags = offered.said(what).map(flagged).unwrap_or_default();
            Difference::new(what, before.as_deref(), after.as_deref(), flags)
        };
        let added = offered.all().filter(|it| locked.said(*it).is_none());
        let known = || locked.all().filter(counts);
        let removed = known().filter(|it| offered.said(*it).is_none());
        let changed = known().filter(|it| {
            let now = offered.said(*it);
            now.is_some() && now != locked.said(*it)
        });
        Self {
            added: added.map(differs).collect(),
            removed: removed.map(differs).collect(),
            changed: changed.map(differs).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(LockedItem<'_>) -> bool) {
        for found in [&mut self.added, &mut self.removed, &mut self.changed] {
            found.retain(|one| keep(one.what()));
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = LockedItem<'_>> {
        let all = self.added.iter().chain(&self.removed).chain(&self.changed);
        all.map(Difference::what)
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let groups = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
        ];
        let mut first = true;
        for (word, found) in groups {
            for one in found {
                if !first {
                    writeln!(out)?;
                }
                first = false;
                let name = lines::shown(&one.name);
                match one.kind {
                    ItemKind::Tool => writeln!(out, "{word}: {name}")?,
                    ItemKind::Prompt => writeln!(out, "{word}: prompt {name}")?,
                    ItemKind::Instructions => {
                        let server = one.server.as_ref();
                        let of = server.map_or_else(String::new, |key| format!(" of `{key}`"));
                        writeln!(out, "{word}: the server's instructions{of}")?;
                    }
                }
                for line in &one.lines {
                    writeln!(out, "  {line}")?;
                }
                if !one.flags.is_empty() {
                    let flags = one.flags.join(", ");
                    writeln!(out, "  ! instructs a model, or hides something: {flags}")?;
                }
            }
        }
        Ok(())
    }
}

impl Difference {
    fn new(what: LockedItem<'_>, before: Option<&str>, after: Option<&str>, flags: Flags) -> Self {
        let (kind, name, server) = match what {
            LockedItem::Tool(name) => (ItemKind::Tool, name, None),
            LockedItem::Prompt(name) => (ItemKind::Prompt, name, None),
            LockedItem::Instructions(server) => (ItemKind::Instructions, "instructions", server),
        };
        Self {
            name: name.to_owned(),
            kind,
            server: server.cloned(),
            lines: lines::difference(before.unwrap_or_default(), after.unwrap_or_default()),
            flags: flags.names(),
        }
    }

    fn what(&self) -> LockedItem<'_> {
        match self.kind {
            ItemKind::Tool => LockedItem::Tool(&self.name),
            ItemKind::Prompt => LockedItem::Prompt(&self.name),
            ItemKind::Instructions => LockedItem::Instructions(self.server.as_ref()),
        }
    }
}

impl ItemKind {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands over a reference"
    )]
    fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

#[expect(clippy::ref_option, reason = "serde hands over a reference")]
fn as_text<S: Serializer>(server: &Option<ServerKey>, to: S) -> Result<S::Ok, S::Error> {
    server.as_ref().map(ServerKey::as_str).serialize(to)
}

/// What instructs a model in any text of a definition, or in instructions as they are.
pub(in crate::cli) fn flagged(said: &str) -> Flags {
    let Ok(definition) = said.parse::<serde_json::Value>() else {
        return text::flags(said);
    };
    let mut found = Flags::default();
    let mut open = vec![&definition];
    while let Some(value) = open.pop() {
        if let Some(text) = value.as_str() {
            found = found.and(text::flags(text));
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            found = found.and(text::flags(name));
            open.push(value);
        }
        open.extend(value.as_array().into_iter().flatten());
    }
    found
}
