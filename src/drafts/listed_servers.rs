//! The draft of servers whose tools are listed, and were not seen at work.

use super::draft::Draft;
use super::listed_tools::{ListedTool, ListedTools};
use super::permits::permits;
use super::quote;
use super::server_item::id_at;
use super::tests_file::{TestCall, Treatment, at, servers, unseen};
use crate::policy::ServerKey;

/// The most tools of one server that have tests of calls. A test of the list names all.
const MAX_CALLED: usize = 128;

/// Labels decide, so that a reviewer who corrects a label corrects what becomes of the tool.
const HEAD: &str = "\
// A draft from the tools that servers list. Labels in tools.toml decide: tools that only read are permitted,
// those that write ask a person, and those that connect are denied. No resource and no prompt is permitted.
// Names, schemas and hints are the server's own words: check each label before you use this draft.
// Arguments are not narrowed, as none was seen: a permitted tool may be called with any path of the server.
";

const LABELS: &str = "\
# What each tool does, guessed from its name: correct it. Arguments and hints only add `write` or `connect`.
";

/// The tools of several servers, by their keys, or of one without a key.
#[derive(Debug)]
pub struct ListedServers(pub Vec<(Option<ServerKey>, ListedTools)>);

impl ListedServers {
    pub fn draft(&self) -> Draft {
        Draft {
            files: vec![
                ("draft.cedar", format!("{HEAD}{}", permits("draft"))),
                ("tools.toml", self.labels()),
                ("tests/draft.toml", self.tests()),
            ],
        }
    }

    fn labels(&self) -> String {
        let mut out = String::from(LABELS);
        for (server, tools) in &self.0 {
            for (name, tool) in &tools.0 {
                let id = quote::toml(&id_at(server.as_ref(), name));
                out.extend([format!("\n[tools.{id}]\n")]);
                out.extend(tool.comments.iter().map(|text| format!("# {text}\n")));
                out.push_str(&tool.effects.permission());
            }
        }
        out
    }

    fn tests(&self) -> String {
        let mut out = String::from(
            "# Tools that only read pass, those that write ask a person, those that connect are denied.\n\n\
             suite = \"draft\"\n",
        );
        out.push_str(&servers(
            self.0.iter().filter_map(|(server, _)| server.as_ref()),
        ));
        let ids = self
            .0
            .iter()
            .flat_map(|(server, tools)| tools.0.keys().map(|name| id_at(server.as_ref(), name)));
        out.extend([format!("tools = {}\n", quote::toml_list(ids))]);
        for (server, tools) in &self.0 {
            out.push_str(&tests_of(server.as_ref(), tools));
        }
        out
    }
}

fn tests_of(server: Option<&ServerKey>, tools: &ListedTools) -> String {
    let shown = tools.0.iter();
    let shown = shown.filter(|(_, tool)| tool.effects.treatment() != Treatment::Denied);
    let shown = quote::toml_list(shown.map(|(name, _)| name.clone()));
    let hidden = quote::toml_list(tools.of(Treatment::Denied).map(|(name, _)| name.clone()));
    let place = server.map_or_else(String::new, |key| format!(" at {key}"));
    let mut out = format!(
        "\n[[test]]\nname = \"tools{place} that connect are not listed, and all others are\"\n{}\
         list = \"tools\"\nlisted = {shown}\nhidden = {hidden}\n",
        at(server)
    );
    for treatment in [Treatment::Denied, Treatment::Asks, Treatment::Permitted] {
        let called = tools
            .of(treatment)
            .filter_map(|(name, tool)| call(server, name, tool));
        for call in called.take(MAX_CALLED) {
            out.push_str(&call.tests(treatment));
        }
    }
    out + &unseen(server, |name| tools.0.contains_key(name))
}

fn call<'t>(
    server: Option<&'t ServerKey>,
    name: &'t str,
    tool: &'t ListedTool,
) -> Option<TestCall<'t>> {
    Some(TestCall {
        server,
        tool: name,
        arguments: Some(tool.example.as_deref()?),
    })
}
