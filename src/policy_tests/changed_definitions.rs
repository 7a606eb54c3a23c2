//! Definitions that are not those of the lock, where a test says so.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::errors::{FixtureProblem, FixtureSource};
use super::fixture_words::ListKind;
use super::suggest;
use super::table::FixtureTable;
use crate::policy::{Pin, PolicySnapshot, ServerKey};
use crate::wire::{Document, Fragment, Limits, Value};

/// What the upstream defines otherwise than the lock does.
#[derive(Debug, Clone, Default)]
pub(super) struct ChangedDefinition {
    tools: BTreeMap<String, DefinitionPart>,
    prompts: BTreeSet<String>,
    /// As they are written.
    named: Vec<(ListKind, Spanned<String>)>,
}

/// What of a tool's definition is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefinitionPart {
    Schemas,
    Description,
    Both,
}

const WORDS: [(&str, DefinitionPart); 3] = [
    ("schemas", DefinitionPart::Schemas),
    ("description", DefinitionPart::Description),
    ("both", DefinitionPart::Both),
];

/// What a test says of it.
pub(super) fn changed(test: &FixtureTable<'_>) -> ChangedDefinition {
    let mut changed = ChangedDefinition::default();
    for (name, what) in test.any_table("changed_tools").into_iter().flatten() {
        let word = test.reading.text(what);
        let what = word.and_then(|word| test.reading.word(&word, &WORDS));
        let tool = name.get_ref().to_string();
        changed
            .named
            .push((ListKind::Tools, Spanned::new(name.span(), tool.clone())));
        changed.tools.extend(what.map(|what| (tool, what)));
    }
    for name in test.texts("changed_prompts").unwrap_or_default() {
        changed.prompts.insert(name.get_ref().clone());
        changed.named.push((ListKind::Prompts, name));
    }
    changed
}

/// Of what no lock has a definition, none can be another.
pub(super) fn unlocked<'c>(
    changed: impl Iterator<Item = &'c ChangedDefinition>,
    source: &FixtureSource,
    snapshot: &PolicySnapshot,
) -> Vec<FixtureProblem> {
    let lock = snapshot.lock();
    let prompts = lock.words().map(|words| &words.prompts);
    let named = changed.flat_map(|changed| &changed.named);
    let problem = |(list, name): &(ListKind, Spanned<String>)| {
        let (known, what): (Vec<&str>, &str) = match list {
            ListKind::Tools => (lock.tools().map(|(name, _)| name).collect(), "tool"),
            ListKind::Prompts => {
                let locked = prompts.into_iter().flat_map(|it| it.keys());
                (locked.map(String::as_str).collect(), "prompt")
            }
            // No test declares it for them.
            ListKind::Resources => return None,
        };
        if known.contains(&name.get_ref().as_str()) {
            return None;
        }
        let message = format!(
            "`{}` is no {what} of `tools.lock`, so that nothing of it can have changed",
            name.get_ref()
        );
        let fallback = "say it of what is locked";
        let problem = FixtureProblem::new("test::not_locked", message)
            .at(source, name.span())
            .with_help(suggest::help(name.get_ref(), &known, fallback));
        Some(problem)
    };
    named.filter_map(problem).collect()
}

impl ChangedDefinition {
    /// What the fixture names.
    pub(super) fn names(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.named.iter().map(|(_, name)| name)
    }

    /// The same under the names that policies have for what this server calls so.
    pub(super) fn behind(&mut self, server: &str) {
        let id = |name: &str| format!("{server}/{name}");
        let tools = std::mem::take(&mut self.tools).into_iter();
        self.tools = tools.map(|(name, what)| (id(&name), what)).collect();
        let prompts = std::mem::take(&mut self.prompts).into_iter();
        self.prompts = prompts.map(|name| id(&name)).collect();
        for (_, name) in &mut self.named {
            *name = Spanned::new(name.span(), id(name.get_ref()));
        }
    }

    /// What of it is this server's, under its own names.
    pub(super) fn of_server(&self, key: Option<&ServerKey>) -> Self {
        let Some(key) = key else { return self.clone() };
        let own = |name: &str| key.name_in(name).map(str::to_owned);
        let tools = self.tools.iter();
        let prompts = self.prompts.iter();
        let named = self.named.iter();
        Self {
            tools: tools
                .filter_map(|(name, what)| Some((own(name)?, *what)))
                .collect(),
            prompts: prompts.filter_map(|name| own(name)).collect(),
            named: named
                .filter_map(|(list, name)| {
                    Some((*list, Spanned::new(name.span(), own(name.get_ref())?)))
                })
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// A definition as the upstream has it, if that is another.
    pub(super) fn definition(
        &self,
        list: ListKind,
        name: &str,
        locked: &Fragment,
    ) -> Option<Fragment> {
        match list {
            ListKind::Tools => changed_in(locked, *self.tools.get(name)?),
            ListKind::Prompts if self.prompts.contains(name) => {
                changed_in(locked, DefinitionPart::Description)
            }
            ListKind::Prompts | ListKind::Resources => None,
        }
    }

    /// What policies see of it.
    pub(super) fn pin(&self, list: ListKind, name: &str, pin: Pin) -> Pin {
        let what = match list {
            ListKind::Tools => self.tools.get(name).copied(),
            ListKind::Prompts if self.prompts.contains(name) => Some(DefinitionPart::Description),
            ListKind::Prompts | ListKind::Resources => None,
        };
        let Some(what) = what else { return pin };
        Pin {
            schema_ok: pin.schema_ok && what == DefinitionPart::Description,
            description_ok: pin.description_ok && what == DefinitionPart::Schemas,
            ..pin
        }
    }
}

/// The same definition with one member more where it is to differ.
fn changed_in(definition: &Fragment, what: DefinitionPart) -> Option<Fragment> {
    let text = definition.as_str().as_bytes();
    let document = Document::decode(text, &Limits::default()).ok()?;
    let members = document.root().entries().map(|(key, value)| {
        let differs = key == "inputSchema" && what != DefinitionPart::Description;
        let value = if differs {
            with_more(value.entries().map(copied))
        } else {
            Fragment::copy_of(value)
        };
        (key.into_owned(), value)
    });
    Some(if what == DefinitionPart::Schemas {
        let members: Vec<(String, Fragment)> = members.collect();
        Fragment::object(members.iter().map(|(key, it)| (key.as_str(), it.clone())))
    } else {
        with_more(members)
    })
}

fn copied((key, value): (Cow<'_, str>, Value<'_>)) -> (String, Fragment) {
    (key.into_owned(), Fragment::copy_of(value))
}

/// An object with an unapproved member.
fn with_more(members: impl Iterator<Item = (String, Fragment)>) -> Fragment {
    const MORE: &str = "x-changed";
    let mut members: Vec<(String, Fragment)> = members.filter(|(key, _)| key != MORE).collect();
    members.push((MORE.to_owned(), Fragment::string("in this test")));
    Fragment::object(members.iter().map(|(key, it)| (key.as_str(), it.clone())))
}
