//! Tools that a server lists, which were not seen at work.

use std::collections::BTreeMap;

use super::argument_effects::ArgumentEffects;
use super::effects::{Effects, Hints};
use super::example_arguments::example;
use super::quote;
use super::tests_file::Treatment;
use super::words::Words;
use crate::wire::{Document, Fragment, Limits};

/// Tools of a server, by name.
#[derive(Debug, Default)]
pub struct ListedTools(pub(super) BTreeMap<String, ListedTool>);

#[derive(Debug)]
pub(super) struct ListedTool {
    pub(super) effects: Effects,
    /// What its server says of it; nothing if its definition cannot be read.
    pub(super) hints: Hints,
    /// Whether its definition is one that a model must not read.
    pub(super) definition: Definition,
    /// Comments at its label, which say what its name does not.
    pub(super) comments: Vec<String>,
    pub(super) arguments: ArgumentEffects,
    /// Arguments that its schema accepts.
    pub(super) example: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Definition {
    Plain,
    Flagged,
}

/// What becomes of the tools of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolCounts {
    pub permitted: usize,
    /// Those of the permitted ones that take a path.
    pub with_any_path: usize,
    pub asking: usize,
    pub denied: usize,
}

impl Effects {
    pub(super) fn treatment(self) -> Treatment {
        if self.connects {
            Treatment::Denied
        } else if self.reads {
            Treatment::Permitted
        } else {
            Treatment::Asks
        }
    }

    /// As labels have it.
    pub(super) fn permission(self) -> String {
        let first = if self.reads { "read" } else { "write" };
        let second = if self.connects { ", \"connect\"" } else { "" };
        format!("permission = [\"{first}\"{second}]\n")
    }
}

impl ListedTools {
    /// Adds a tool by its definition.
    pub fn add(&mut self, name: &str, definition: &str) {
        let limits = Limits {
            max_bytes: definition.len(),
            ..Limits::default()
        };
        let mut tool = ListedTool {
            effects: Effects::of_name(name),
            hints: Hints::default(),
            definition: Definition::Plain,
            comments: Vec::new(),
            arguments: ArgumentEffects::default(),
            example: None,
        };
        if Words::of(name).name_a_secret() {
            tool.comment("Its results may be credentials, so that a person is asked.");
        }
        match Document::decode(definition.as_bytes(), &limits) {
            Ok(document) => {
                let root = document.root();
                if let Some(schema) = root.get("inputSchema") {
                    tool.arguments = ArgumentEffects::of_schema(schema);
                    tool.example = example(schema).map(Fragment::into_string);
                }
                let with_arguments = tool.effects.with_arguments(tool.arguments);
                tool.become_worse(with_arguments, "Its name says less than its arguments.");
                tool.hints = Hints::of(root);
                let with_hints = tool.effects.with_hints(root);
                tool.become_worse(
                    with_hints,
                    "Its name says less than the hints of its server.",
                );
            }
            Err(_) => tool.become_worse(Effects::WORST, "Its definition cannot be read."),
        }
        self.0.insert(name.to_owned(), tool);
    }

    /// Denies a tool, for a definition that a model must not read.
    pub fn deny(&mut self, name: &str, why: &str) {
        if let Some(tool) = self.0.get_mut(name) {
            tool.effects = Effects::WORST;
            tool.definition = Definition::Flagged;
            tool.comment(&format!(
                "DENIED: its definition instructs a model, or hides something ({}). Read it in tools.lock.",
                quote::plain(why)
            ));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn counts(&self) -> ToolCounts {
        ToolCounts {
            permitted: self.of(Treatment::Permitted).count(),
            with_any_path: self
                .of(Treatment::Permitted)
                .filter(|(_, tool)| tool.arguments.takes_a_path)
                .count(),
            asking: self.of(Treatment::Asks).count(),
            denied: self.of(Treatment::Denied).count(),
        }
    }

    pub(super) fn of(&self, which: Treatment) -> impl Iterator<Item = (&String, &ListedTool)> {
        let tools = self.0.iter();
        tools.filter(move |(_, tool)| tool.effects.treatment() == which)
    }
}

impl ListedTool {
    fn comment(&mut self, text: &str) {
        self.comments.push(text.to_owned());
    }

    /// Takes other effects, and says why if they are others.
    fn become_worse(&mut self, effects: Effects, why: &str) {
        if effects != self.effects {
            self.effects = effects;
            self.comment(why);
        }
    }
}
