//! The draft of a server whose tools are listed, and were not seen at work.

use std::collections::BTreeMap;

use super::argument_effects::ArgumentEffects;
use super::draft::Draft;
use super::effects::{Effects, Hints};
use super::example_arguments::example;
use super::words::Words;
use super::{quote, tests_file};
use crate::wire::{Document, Fragment, Limits};

/// The most tools that have tests of calls. A test of the list names all.
const MAX_CALLED: usize = 128;

/// Labels decide, so that a reviewer who corrects a label corrects what becomes of the tool.
const POLICIES: &str = r#"// A draft from the tools that a server lists. Labels in tools.toml decide: tools that only read are permitted,
// those that write ask a person, and those that connect are denied. No resource and no prompt is permitted.
// Names, schemas and hints are the server's own words: check each label before you use this draft.
// Arguments are not narrowed, as none was seen: a permitted tool may be called with any path of the server.

@id("draft.read")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"read"
)
unless { resource in [Mcp::Permission::"write", Mcp::Permission::"connect"] };

@id("draft.write")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
unless { resource in Mcp::Permission::"connect" };

@id("draft.ask")
@advice("A person must approve each call of a tool that writes.")
@requires_consent
forbid (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
unless { context.env.consent.granted };
"#;

const LABELS: &str = "\
# What each tool does, guessed from its name: correct it. Arguments and hints only add `write` or `connect`.
";

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
    comments: Vec<String>,
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

/// What becomes of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Permitted,
    Asks,
    Denied,
}

impl Effects {
    fn treatment(self) -> Treatment {
        if self.connects {
            Treatment::Denied
        } else if self.reads {
            Treatment::Permitted
        } else {
            Treatment::Asks
        }
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

    pub fn draft(&self) -> Draft {
        Draft {
            files: vec![
                ("draft.cedar", POLICIES.to_owned()),
                ("tools.toml", self.labels()),
                ("tests/draft.toml", self.tests()),
            ],
        }
    }

    fn of(&self, which: Treatment) -> impl Iterator<Item = (&String, &ListedTool)> {
        let tools = self.0.iter();
        tools.filter(move |(_, tool)| tool.effects.treatment() == which)
    }

    fn labels(&self) -> String {
        let mut out = String::from(LABELS);
        for (name, tool) in &self.0 {
            let Effects { reads, connects } = tool.effects;
            let first = if reads { "\"read\"" } else { "\"write\"" };
            let second = if connects { ", \"connect\"" } else { "" };
            out.extend([format!("\n[tools.{}]\n", quote::toml(name))]);
            out.extend(tool.comments.iter().map(|text| format!("# {text}\n")));
            out.extend([format!("permission = [{first}{second}]\n")]);
        }
        out
    }

    fn tests(&self) -> String {
        let mut out = String::from(
            "# Tools that only read pass, those that write ask a person, those that connect are denied.\n\n\
             suite = \"draft\"\n",
        );
        out.extend([format!("tools = {}\n", names(self.0.keys()))]);
        let shown = self.0.iter();
        let shown = shown.filter(|(_, tool)| tool.effects.treatment() != Treatment::Denied);
        let shown = names(shown.map(|(name, _)| name));
        let hidden = names(self.of(Treatment::Denied).map(|(name, _)| name));
        out.push_str(
            "\n[[test]]\nname = \"tools that connect are not listed, and all others are\"\n",
        );
        out.extend([format!(
            "list = \"tools\"\nlisted = {shown}\nhidden = {hidden}\n"
        )]);
        let treatments = [Treatment::Denied, Treatment::Asks, Treatment::Permitted];
        for treatment in treatments {
            let called = self.of(treatment).filter_map(|(name, tool)| {
                let arguments = tool.example.as_deref()?;
                Some((name.escape_debug(), tests_file::call(name, Some(arguments))))
            });
            for (name, frame) in called.take(MAX_CALLED) {
                out.push_str(&calls(treatment, &name.to_string(), &frame));
            }
        }
        let mut unseen = String::from("unseen");
        while self.0.contains_key(&unseen) {
            unseen.push('_');
        }
        let frame = tests_file::call(&unseen, None);
        out + &tests_file::test("an unseen tool is denied", &frame, "deny", None)
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

/// The tests of calls of one tool.
fn calls(treatment: Treatment, name: &str, frame: &str) -> String {
    let test = tests_file::test;
    match treatment {
        Treatment::Permitted => test(&format!("a call of {name} passes"), frame, "allow", None),
        Treatment::Asks => {
            let agreed = format!("a person may agree to a call of {name}");
            let alone = format!("a call of {name} is denied without a person");
            test(&agreed, frame, "allow", Some("approve")) + &test(&alone, frame, "deny", None)
        }
        Treatment::Denied => {
            let told = format!("a call of {name} is denied, whatever a person says");
            test(&told, frame, "deny", Some("approve"))
        }
    }
}

/// A list of TOML, one name a line.
/// A list of names, each on a line.
pub(super) fn names<N: AsRef<str>>(names: impl Iterator<Item = N>) -> String {
    let lines = names.map(|name| format!("  {},\n", quote::toml(name.as_ref())));
    match lines.collect::<String>() {
        none if none.is_empty() => "[]".to_owned(),
        lines => format!("[\n{lines}]"),
    }
}
