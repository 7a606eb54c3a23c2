//! Definitions that are not those of the lock, where a test says so.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::errors::FixtureProblem;
use super::fixture::{Fixture, Listed};
use super::suggest;
use super::table::Table;
use crate::policy::{Pin, PolicySnapshot};
use crate::wire::{Document, Fragment, Limits, Value};

/// What the upstream defines otherwise than the lock does.
#[derive(Debug, Clone, Default)]
pub(super) struct Changed {
    tools: BTreeMap<String, What>,
    prompts: BTreeSet<String>,
    /// As they are written.
    named: Vec<(Listed, Spanned<String>)>,
}

/// What of a tool's definition is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Schemas,
    Description,
    Both,
}

const WORDS: [(&str, What); 3] = [
    ("schemas", What::Schemas),
    ("description", What::Description),
    ("both", What::Both),
];

/// What a test says of it.
pub(super) fn changed(test: &Table<'_>) -> Changed {
    let mut changed = Changed::default();
    for (name, what) in test.any_table("changed_tools").into_iter().flatten() {
        let word = test.reading.text(what);
        let what = word.and_then(|word| test.reading.word(&word, &WORDS));
        let tool = name.get_ref().to_string();
        changed
            .named
            .push((Listed::Tools, Spanned::new(name.span(), tool.clone())));
        changed.tools.extend(what.map(|what| (tool, what)));
    }
    for name in test.texts("changed_prompts").unwrap_or_default() {
        changed.prompts.insert(name.get_ref().clone());
        changed.named.push((Listed::Prompts, name));
    }
    changed
}

/// Of what no lock has a definition, none can be another.
pub(super) fn unlocked(fixture: &Fixture, snapshot: &PolicySnapshot) -> Vec<FixtureProblem> {
    let lock = snapshot.lock();
    let prompts = lock.words().map(|words| &words.prompts);
    let named = fixture.tests.iter().flat_map(|test| &test.changed.named);
    let problem = |(list, name): &(Listed, Spanned<String>)| {
        let (known, what): (Vec<&str>, &str) = match list {
            Listed::Tools => (lock.tools().map(|(name, _)| name).collect(), "tool"),
            Listed::Prompts => {
                let locked = prompts.into_iter().flat_map(|it| it.keys());
                (locked.map(String::as_str).collect(), "prompt")
            }
            // No test declares it for them.
            Listed::Resources => return None,
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
            .at(&fixture.source, name.span())
            .with_help(suggest::help(name.get_ref(), &known, fallback));
        Some(problem)
    };
    named.filter_map(problem).collect()
}

impl Changed {
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// A definition as the upstream has it, if that is another.
    pub(super) fn definition(
        &self,
        list: Listed,
        name: &str,
        locked: &Fragment,
    ) -> Option<Fragment> {
        match list {
            Listed::Tools => changed_in(locked, *self.tools.get(name)?),
            Listed::Prompts if self.prompts.contains(name) => changed_in(locked, What::Description),
            Listed::Prompts | Listed::Resources => None,
        }
    }

    /// What policies see of it.
    pub(super) fn pin(&self, list: Listed, name: &str, pin: Pin) -> Pin {
        let what = match list {
            Listed::Tools => self.tools.get(name).copied(),
            Listed::Prompts if self.prompts.contains(name) => Some(What::Description),
            Listed::Prompts | Listed::Resources => None,
        };
        let Some(what) = what else { return pin };
        Pin {
            schema_ok: pin.schema_ok && what == What::Description,
            description_ok: pin.description_ok && what == What::Schemas,
            ..pin
        }
    }
}

/// The same definition with one member more where it is to differ.
fn changed_in(definition: &Fragment, what: What) -> Option<Fragment> {
    let text = definition.as_str().as_bytes();
    let document = Document::decode(text, &Limits::default()).ok()?;
    let members = document.root().entries().map(|(key, value)| {
        let differs = key == "inputSchema" && what != What::Description;
        let value = if differs {
            with_more(value.entries().map(copied))
        } else {
            Fragment::copy_of(value)
        };
        (key.into_owned(), value)
    });
    Some(if what == What::Schemas {
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
