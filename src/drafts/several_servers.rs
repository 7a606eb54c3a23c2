//! The draft of several servers behind one gate: what is read at one closes what sends out at the others.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::effects::Effects;
use super::listed_tools::{Definition, ListedTool, ListedTools};
use super::permits::permits;
use super::quote;
use super::tests_file::{self, TestCall, Treatment};
use super::words::Words;
use crate::policy::ServerKey;

/// The most tools of one server that have tests of calls.
const MAX_CALLED: usize = 64;

/// The most pairs of servers that have a test.
const MAX_PAIRS: usize = 64;

/// Words in names of tools whose results are written by anybody.
const STRANGERS: [&str; 14] = [
    "comment", "email", "feed", "inbox", "issue", "mail", "message", "news", "page", "pull",
    "review", "search", "thread", "ticket",
];

const HEAD: &str = "\
// Labels in tools.toml decide. Tools that only read are permitted, those that write ask a person.
// After private data nothing is sent out: to no server, until a new session begins.
";

/// Beside what each draft from lists permits.
const SENDING: &str = r#"
@id("init.send")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"connect"
)
when { context.env.session.level == 0 };

// Clients set the log level, and listen for changed lists, before they call anything.
@id("init.listen")
permit (
  principal is Mcp::Agent,
  action in [Mcp::Action::"set_level", Mcp::Action::"listen"],
  resource is Mcp::Server
);

@id("init.private")
@advice("This session has read private data, so no tool can send anything out. Begin a new session to connect.")
forbid (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"connect"
)
when { context.env.session.level >= 1 };
"#;

const LABELS: &str = "\
# What each tool does, guessed from its name, its arguments and its server's hints: check each label.
# permission   read: permitted. write: a person is asked. connect: denied once the session has read private data.
# sensitivity  \"internal\": its results are private.
# untrusted    its results are written by strangers, who may instruct the model.
";

/// What some clients send first.
const LOG_LEVEL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#;

/// Only where there is such a tool.
const FLAGGED: &str = r#"
@id("init.flagged")
@advice("The definition of this tool instructs the model or hides something: ask your user to read it.")
forbid (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Capability::"flagged"
);
"#;

/// Where a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPlace {
    Local,
    /// All that it is sent leaves the machine.
    Remote,
}

/// The tools of one server.
#[derive(Debug)]
pub struct ListedServer {
    pub key: ServerKey,
    pub place: ServerPlace,
    pub tools: ListedTools,
}

/// Tools of all servers, and what the draft makes of each.
#[derive(Debug)]
pub struct SeveralServers(Vec<LabelledServer>);

#[derive(Debug)]
struct LabelledServer {
    key: ServerKey,
    tools: BTreeMap<String, LabelledTool>,
}

#[derive(Debug)]
struct LabelledTool {
    label: Label,
    example: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Effects(Flow),
    /// Its definition instructs a model, or hides something: it is denied.
    Flagged,
}

/// What a tool does, and what it means for a session over several servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flow {
    effects: Effects,
    is_untrusted: bool,
}

/// Private data of one server, what strangers wrote at a second, and a way out at a third: each a server's key
/// with names of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToxicFlow {
    pub private: (String, Vec<String>),
    pub untrusted: (String, Vec<String>),
    pub sends: (String, Vec<String>),
}

impl Flow {
    /// A hint of reading counts where nothing contradicts it. What writes reaches others unless the server denies
    /// that, or it takes a path of this machine.
    fn of(name: &str, tool: &ListedTool, place: ServerPlace) -> Self {
        let words = Words::of(name);
        let is_contradicted = words.write() || words.name_a_secret() || tool.arguments.writes;
        let reads = tool.effects.reads || tool.hints.reads && !is_contradicted;
        let stays = match place {
            ServerPlace::Local => tool.hints.is_closed || tool.arguments.takes_a_path,
            ServerPlace::Remote => false,
        };
        let connects = tool.effects.connects || !reads && !stays;
        Self {
            effects: Effects { reads, connects },
            is_untrusted: connects && reads || words.have_one_of(&STRANGERS),
        }
    }

    const fn reads(self) -> bool {
        self.effects.reads
    }

    const fn connects(self) -> bool {
        self.effects.connects
    }

    const fn is_private(self) -> bool {
        !self.effects.connects
    }
}

impl Label {
    /// Of calls before private data.
    const fn treatment(self) -> Treatment {
        match self {
            Self::Flagged => Treatment::Denied,
            Self::Effects(flow) if flow.reads() => Treatment::Permitted,
            Self::Effects(_) => Treatment::Asks,
        }
    }
}

impl SeveralServers {
    pub fn of(servers: Vec<ListedServer>) -> Self {
        let servers = servers.into_iter().map(|server| {
            let tools = server.tools.0.into_iter().map(|(name, tool)| {
                let label = match tool.definition {
                    Definition::Flagged => Label::Flagged,
                    Definition::Plain => Label::Effects(Flow::of(&name, &tool, server.place)),
                };
                let tool = LabelledTool {
                    label,
                    example: tool.example,
                };
                (name, tool)
            });
            LabelledServer {
                tools: tools.collect(),
                key: server.key,
            }
        });
        Self(servers.collect())
    }

    /// How many tools of a server only read, write, connect and are denied.
    pub fn counts(&self, key: &str) -> [usize; 4] {
        let of = |is: &dyn Fn(Label) -> bool| {
            let server = self.0.iter().find(|server| server.key.as_str() == key);
            let tools = server.into_iter().flat_map(|server| server.tools.values());
            tools.filter(|tool| is(tool.label)).count()
        };
        let with = |is: fn(Flow) -> bool| {
            of(&move |label| match label {
                Label::Effects(flow) => is(flow),
                Label::Flagged => false,
            })
        };
        [
            with(Flow::reads),
            with(|flow| !flow.reads()),
            with(Flow::connects),
            of(&|label| label == Label::Flagged),
        ]
    }

    /// Every three of servers, two or all of which may be the same.
    pub fn toxic_flows(&self) -> Vec<ToxicFlow> {
        let with = |is: fn(Flow) -> bool| {
            let servers = self.0.iter();
            let named = servers.map(move |server| (server.key.to_string(), server.with(is)));
            named
                .filter(|(_, tools)| !tools.is_empty())
                .collect::<Vec<_>>()
        };
        let private = with(Flow::is_private);
        let untrusted = with(|flow| flow.is_untrusted);
        let sends = with(Flow::connects);
        let mut flows = Vec::new();
        for private in &private {
            for untrusted in &untrusted {
                flows.extend(sends.iter().map(|sends| ToxicFlow {
                    private: private.clone(),
                    untrusted: untrusted.clone(),
                    sends: sends.clone(),
                }));
            }
        }
        flows
    }

    /// The files, by their paths beside the configuration.
    pub fn draft(&self) -> Draft {
        Draft {
            files: vec![
                ("policies/init.cedar", self.policies()),
                ("policies/tools.toml", self.labels()),
                ("policies/tests/servers.test.toml", self.tests()),
            ],
        }
    }

    fn policies(&self) -> String {
        let mut tools = self.0.iter().flat_map(|server| server.tools.values());
        let flagged = tools.any(|tool| tool.label == Label::Flagged);
        let more = if flagged { FLAGGED } else { "" };
        format!("{HEAD}{}{SENDING}{more}", permits("init"))
    }

    fn labels(&self) -> String {
        let mut out = String::from(LABELS);
        for server in &self.0 {
            for (name, tool) in &server.tools {
                let id = quote::toml(&server.key.id_of(name));
                match tool.label {
                    Label::Flagged => out.extend([format!(
                        "\n[tools.{id}]\n# DENIED: its definition instructs a model, or hides something.\n\
                         permission = [\"write\", \"connect\"]\ncapabilities = [\"flagged\"]\n"
                    )]),
                    Label::Effects(flow) => {
                        out.extend([format!("\n[tools.{id}]\n")]);
                        out.push_str(&flow.effects.permission());
                        if flow.is_private() {
                            out.push_str("sensitivity = \"internal\"\n");
                        }
                        if flow.is_untrusted {
                            out.push_str("untrusted = true\n");
                        }
                    }
                }
            }
        }
        out
    }

    fn tests(&self) -> String {
        let mut out = String::from(
            "# What reads is permitted, what writes asks a person, and after private data nothing is sent out.\n\n\
             suite = \"init\"\n",
        );
        out.push_str(&tests_file::servers(self.0.iter().map(|it| &it.key)));
        let ids = self.0.iter().flat_map(|server| {
            let tools = server.tools.keys();
            tools.map(|name| server.key.id_of(name))
        });
        out.extend([format!("tools = {}\n", quote::toml_list(ids))]);
        for server in &self.0 {
            out.push_str(&server.test_of_log_level());
            out.push_str(&server.test_of_list());
            // Where no arguments are certain, the lock would deny what a policy permits.
            let calls = server.tools.iter().filter_map(|(name, tool)| {
                let call = server.call(name, Some(tool.example.as_deref()?));
                Some(call.tests(tool.label.treatment()))
            });
            out.extend(calls.take(MAX_CALLED));
            let is_known = |name: &str| server.tools.contains_key(name);
            out.push_str(&tests_file::unseen(Some(&server.key), is_known));
        }
        for (private, sends) in self.pairs().into_iter().take(MAX_PAIRS) {
            out.push_str(&test_of_pair(private, sends));
        }
        out
    }

    /// The first tool that returns private data, and the first that sends out, of each two servers.
    fn pairs(&self) -> Vec<(TestCall<'_>, TestCall<'_>)> {
        let with = |is: fn(Flow) -> bool| {
            let calls = self.0.iter().filter_map(|server| server.first(is));
            calls.collect::<Vec<_>>()
        };
        let (private, sends) = (with(Flow::is_private), with(Flow::connects));
        let pairs = private.iter().flat_map(|private| {
            let sends = sends.iter();
            sends.map(|sends| (*private, *sends))
        });
        pairs.collect()
    }
}

impl LabelledServer {
    fn test_of_log_level(&self) -> String {
        let key = &self.key;
        format!(
            "\n[[test]]\nname = \"the log level of {key} may be set\"\nserver = \"{key}\"\nraw = {}\nexpect = \"allow\"\n",
            quote::toml(LOG_LEVEL)
        )
    }

    fn test_of_list(&self) -> String {
        let (hidden, listed): (Vec<_>, Vec<_>) = self
            .tools
            .iter()
            .partition(|(_, tool)| tool.label == Label::Flagged);
        let list =
            |tools: Vec<(&String, _)>| quote::toml_list(tools.into_iter().map(|(name, _)| name));
        format!(
            "\n[[test]]\nname = \"each tool of {key} that can be called is listed\"\nlist = \"tools\"\n\
             listed = {}\nhidden = {}\nserver = \"{key}\"\n",
            list(listed),
            list(hidden),
            key = self.key,
        )
    }

    fn with(&self, is: fn(Flow) -> bool) -> Vec<String> {
        let tools = self.tools.iter().filter(|(_, tool)| match tool.label {
            Label::Effects(flow) => is(flow),
            Label::Flagged => false,
        });
        tools.map(|(name, _)| name.clone()).collect()
    }

    /// A call of the first tool of which this is so, and arguments are known.
    fn first(&self, is: fn(Flow) -> bool) -> Option<TestCall<'_>> {
        self.tools.iter().find_map(|(name, tool)| {
            let arguments = tool.example.as_deref()?;
            match tool.label {
                Label::Effects(flow) => is(flow).then(|| self.call(name, Some(arguments))),
                Label::Flagged => None,
            }
        })
    }

    fn call<'t>(&'t self, tool: &'t str, arguments: Option<&'t str>) -> TestCall<'t> {
        TestCall {
            server: Some(&self.key),
            tool,
            arguments,
        }
    }
}

fn test_of_pair(private: TestCall<'_>, sends: TestCall<'_>) -> String {
    let name = format!("after {}, {} is denied", private.shown(), sends.shown());
    let step = |call: TestCall<'_>, expect: &str| {
        let key = call.server.map(ToString::to_string).unwrap_or_default();
        let (key, raw) = (quote::toml(&key), quote::toml(&call.message()));
        format!("  {{ server = {key}, raw = {raw}, consent = \"approve\", expect = {expect} }},\n")
    };
    let denied = "{ decision = \"deny\", policies = [\"init.private\"] }";
    format!(
        "\n[[test]]\nname = {}\nsteps = [\n{}{}]\n",
        quote::toml(&name),
        step(private, "\"allow\""),
        step(sends, denied),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key, a place, and tools with more of their definitions.
    type ServerSketch<'a> = (&'a str, ServerPlace, &'a [(&'a str, &'a str)]);

    fn servers(servers: &[ServerSketch<'_>]) -> SeveralServers {
        let servers = servers.iter().map(|(key, place, tools)| {
            let mut listed = ListedTools::default();
            for (name, more) in *tools {
                listed.add(name, &format!("{{{more}}}"));
            }
            ListedServer {
                key: ServerKey::of(key).unwrap(),
                place: *place,
                tools: listed,
            }
        });
        SeveralServers::of(servers.collect())
    }

    /// An input schema with one text.
    fn takes(argument: &str) -> String {
        let schema =
            format!(r#"{{"type":"object","properties":{{"{argument}":{{"type":"string"}}}}}}"#);
        format!(r#""inputSchema":{schema}"#)
    }

    #[test]
    fn a_tool_is_labelled_by_its_name_its_arguments_its_hints_and_the_place_of_its_server() {
        let check = |place: ServerPlace, name: &str, definition: &str, expected: &str| {
            let drafted = servers(&[("files", place, &[(name, definition)])]);
            let labels = drafted.labels();
            let (_, label) = labels.split_once("\n[tools.").unwrap();
            let (_, label) = label.split_once("]\n").unwrap();
            assert_eq!(
                label.replace('\n', ";"),
                expected,
                "{place:?} {name} {definition}"
            );
        };
        let private = "permission = [\"read\"];sensitivity = \"internal\";";
        let sends = "permission = [\"write\", \"connect\"];";
        let writes = "permission = [\"write\"];sensitivity = \"internal\";";
        let fetches = "permission = [\"read\", \"connect\"];untrusted = true;";
        let reads = r#""annotations":{"readOnlyHint":true}"#;
        let closed = r#""annotations":{"openWorldHint":false}"#;
        let both = r#""annotations":{"readOnlyHint":true,"destructiveHint":true}"#;
        let open = r#""annotations":{"openWorldHint":true}"#;
        for place in [ServerPlace::Local, ServerPlace::Remote] {
            check(place, "read_file", "", private);
            check(place, "frobnicate", reads, private);
            check(place, "frobnicate", "", sends);
            check(place, "delete_file", reads, sends);
            check(place, "get_password", reads, sends);
            check(place, "frobnicate", both, sends);
            check(place, "fetch", &takes("url"), fetches);
            check(place, "read_file", open, fetches);
        }
        check(ServerPlace::Local, "frobnicate", closed, writes);
        check(ServerPlace::Local, "write_file", &takes("path"), writes);
        check(ServerPlace::Remote, "frobnicate", closed, sends);
        check(ServerPlace::Remote, "write_file", &takes("path"), sends);
    }

    #[test]
    fn a_tool_has_a_test_of_a_call_if_some_arguments_are_certain() {
        let check = |schema: &str, expected: &str| {
            let definition = format!(r#""inputSchema":{schema}"#);
            let tools = [("read_file", definition.as_str())];
            let tests = servers(&[("files", ServerPlace::Local, &tools)]).tests();
            let frames = tests.lines().filter(|line| line.contains(" read_file at "));
            assert_eq!(frames.collect::<Vec<_>>().join(""), expected, "{schema}");
        };
        let tested = "name = \"a call of read_file at files passes\"";
        check(r#"{"type":"object"}"#, tested);
        let of_argument =
            |of: &str| format!(r#"{{"type":"object","properties":{{"p":{of}}},"required":["p"]}}"#);
        check(&of_argument(r#"{"type":"string"}"#), tested);
        check(&of_argument(r#"{"type":"string","pattern":"^a$"}"#), "");
    }

    #[test]
    fn a_toxic_flow_needs_private_data_strangers_and_a_way_out() {
        let local = ServerPlace::Local;
        let notes: (&str, ServerPlace, &[(&str, &str)]) = ("notes", local, &[("read_note", "")]);
        let inbox: (&str, ServerPlace, &[(&str, &str)]) = ("inbox", local, &[("list_issues", "")]);
        let web: (&str, ServerPlace, &[(&str, &str)]) = ("web", local, &[("post", "")]);
        assert_eq!(servers(&[notes, web]).toxic_flows(), []);
        assert_eq!(servers(&[notes, inbox]).toxic_flows(), []);
        let flows = servers(&[notes, inbox, web]).toxic_flows();
        let shown: Vec<String> = flows
            .iter()
            .map(|it| format!("{} {} {}", it.private.0, it.untrusted.0, it.sends.0))
            .collect();
        assert_eq!(shown, ["notes inbox web", "inbox inbox web"]);
    }
}
