//! The draft of several servers behind one gate: what is read at one closes what sends out at the others.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::listed_tools::{Definition, ListedTool, ListedTools, names};
use super::words::Words;
use super::{quote, tests_file};

/// The most tools of one server that have tests of calls.
const MAX_CALLED: usize = 64;

/// The most pairs of servers that have a test.
const MAX_PAIRS: usize = 64;

/// Words in names of tools whose results are written by anybody.
const STRANGERS: [&str; 14] = [
    "comment", "email", "feed", "inbox", "issue", "mail", "message", "news", "page", "pull",
    "review", "search", "thread", "ticket",
];

const POLICIES: &str = r#"// Labels in tools.toml decide. Tools that only read are permitted, those that write ask a person.
// After private data nothing is sent out: to no server, until a new session begins.

@id("init.read")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"read"
)
unless { resource in Mcp::Permission::"write" };

@id("init.write")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
unless { resource in Mcp::Permission::"connect" };

@id("init.send")
permit (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
when { context.env.session.level == 0 };

// Clients set the log level, and listen for changed lists, before they call anything.
@id("init.listen")
permit (
  principal is Mcp::Agent,
  action in [Mcp::Action::"set_level", Mcp::Action::"listen"],
  resource is Mcp::Server
);

@id("init.ask")
@advice("A person must approve each call of a tool that writes.")
@requires_consent
forbid (
  principal is Mcp::Agent,
  action in Mcp::Action::"call_tool",
  resource in Mcp::Permission::"write"
)
unless { context.env.consent.granted };

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
    pub key: String,
    pub place: ServerPlace,
    pub tools: ListedTools,
}

/// Tools of all servers, and what the draft makes of each.
#[derive(Debug)]
pub struct SeveralServers(Vec<LabelledServer>);

#[derive(Debug)]
struct LabelledServer {
    key: String,
    tools: BTreeMap<String, LabelledTool>,
}

#[derive(Debug)]
struct LabelledTool {
    label: Label,
    example: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Effects(Effects),
    /// Its definition instructs a model, or hides something: it is denied.
    Flagged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Effects {
    reads: bool,
    connects: bool,
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

impl Effects {
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
            reads,
            connects,
            is_untrusted: connects && reads || words.have_one_of(&STRANGERS),
        }
    }

    const fn is_private(self) -> bool {
        !self.connects
    }

    fn permissions(self) -> String {
        let first = if self.reads { "read" } else { "write" };
        let second = if self.connects { ", \"connect\"" } else { "" };
        format!("[\"{first}\"{second}]")
    }
}

impl SeveralServers {
    pub fn of(servers: Vec<ListedServer>) -> Self {
        let servers = servers.into_iter().map(|server| {
            let tools = server.tools.0.into_iter().map(|(name, tool)| {
                let label = match tool.definition {
                    Definition::Flagged => Label::Flagged,
                    Definition::Plain => Label::Effects(Effects::of(&name, &tool, server.place)),
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
            let server = self.0.iter().find(|server| server.key == key);
            let tools = server.into_iter().flat_map(|server| server.tools.values());
            tools.filter(|tool| is(tool.label)).count()
        };
        let with = |is: fn(Effects) -> bool| {
            of(&move |label| match label {
                Label::Effects(effects) => is(effects),
                Label::Flagged => false,
            })
        };
        [
            with(|effects| effects.reads),
            with(|effects| !effects.reads),
            with(|effects| effects.connects),
            of(&|label| label == Label::Flagged),
        ]
    }

    /// Every three of servers, two or all of which may be the same.
    pub fn toxic_flows(&self) -> Vec<ToxicFlow> {
        let with = |is: fn(Effects) -> bool| {
            let servers = self.0.iter();
            let named = servers.map(move |server| (server.key.clone(), server.with(is)));
            named
                .filter(|(_, tools)| !tools.is_empty())
                .collect::<Vec<_>>()
        };
        let private = with(Effects::is_private);
        let untrusted = with(|effects| effects.is_untrusted);
        let sends = with(|effects| effects.connects);
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
        format!("{POLICIES}{more}")
    }

    fn labels(&self) -> String {
        let mut out = String::from(LABELS);
        for server in &self.0 {
            for (name, tool) in &server.tools {
                let id = quote::toml(&format!("{}/{name}", server.key));
                match tool.label {
                    Label::Flagged => out.extend([format!(
                        "\n[tools.{id}]\n# DENIED: its definition instructs a model, or hides something.\n\
                         permission = [\"write\", \"connect\"]\ncapabilities = [\"flagged\"]\n"
                    )]),
                    Label::Effects(effects) => {
                        out.extend([format!("\n[tools.{id}]\n")]);
                        out.extend([format!("permission = {}\n", effects.permissions())]);
                        if effects.is_private() {
                            out.push_str("sensitivity = \"internal\"\n");
                        }
                        if effects.is_untrusted {
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
        let keys: Vec<String> = self.0.iter().map(|it| quote::toml(&it.key)).collect();
        out.extend([format!("servers = [{}]\n", keys.join(", "))]);
        let ids = self.0.iter().flat_map(|server| {
            let tools = server.tools.keys();
            tools.map(|name| format!("{}/{name}", server.key))
        });
        out.extend([format!("tools = {}\n", names(ids))]);
        for server in &self.0 {
            let name = format!("the log level of {} may be set", server.key);
            out.push_str(&test_at(&server.key, &name, LOG_LEVEL, "allow", None));
            out.push_str(&server.test_of_list());
            // Where no arguments are certain, the lock would deny what a policy permits.
            let examples = server.tools.iter().filter_map(|(name, tool)| {
                let frame = tests_file::call(name, Some(tool.example.as_deref()?));
                Some((name, tool.label, frame))
            });
            for (name, label, frame) in examples.take(MAX_CALLED) {
                out.push_str(&tests_of_call(&server.key, name, label, &frame));
            }
            let mut unseen = String::from("unseen");
            while server.tools.contains_key(&unseen) {
                unseen.push('_');
            }
            let name = format!("an unseen tool at {} is denied", server.key);
            let frame = tests_file::call(&unseen, None);
            out.push_str(&test_at(&server.key, &name, &frame, "deny", None));
        }
        for (private, sends) in self.pairs().into_iter().take(MAX_PAIRS) {
            out.push_str(&test_of_pair(&private, &sends));
        }
        out
    }

    /// The first tool that returns private data, and the first that sends out, of each two servers.
    fn pairs(&self) -> Vec<(Step, Step)> {
        let first = |server: &LabelledServer, is: fn(Effects) -> bool| {
            server.tools.iter().find_map(|(name, tool)| {
                let Label::Effects(effects) = tool.label else {
                    return None;
                };
                let frame = tests_file::call(name, Some(tool.example.as_deref()?));
                is(effects).then(|| Step {
                    key: server.key.clone(),
                    name: name.clone(),
                    frame,
                })
            })
        };
        let with = |is: fn(Effects) -> bool| {
            let steps = self.0.iter().filter_map(|server| first(server, is));
            steps.collect::<Vec<_>>()
        };
        let private = with(Effects::is_private);
        let sends = with(|effects| effects.connects);
        let pairs = private.iter().flat_map(|private| {
            let sends = sends.iter();
            sends.map(|sends| (private.clone(), sends.clone()))
        });
        pairs.collect()
    }
}

/// A call of a test.
#[derive(Debug, Clone)]
struct Step {
    key: String,
    name: String,
    frame: String,
}

impl LabelledServer {
    fn test_of_list(&self) -> String {
        let (hidden, listed): (Vec<_>, Vec<_>) = self
            .tools
            .iter()
            .partition(|(_, tool)| tool.label == Label::Flagged);
        let names_of = |tools: Vec<(&String, _)>| names(tools.into_iter().map(|(name, _)| name));
        format!(
            "\n[[test]]\nname = \"each tool of {key} that can be called is listed\"\nlist = \"tools\"\n\
             listed = {}\nhidden = {}\nserver = \"{key}\"\n",
            names_of(listed),
            names_of(hidden),
            key = self.key,
        )
    }

    fn with(&self, is: fn(Effects) -> bool) -> Vec<String> {
        let tools = self.tools.iter().filter(|(_, tool)| match tool.label {
            Label::Effects(effects) => is(effects),
            Label::Flagged => false,
        });
        tools.map(|(name, _)| name.clone()).collect()
    }
}

fn test_at(key: &str, name: &str, frame: &str, expect: &str, consent: Option<&str>) -> String {
    let test = tests_file::test(name, frame, expect, consent);
    format!("{test}server = {}\n", quote::toml(key))
}

fn tests_of_call(key: &str, name: &str, label: Label, frame: &str) -> String {
    let shown = format!("{} at {key}", name.escape_debug());
    let test = |name: &str, expect: &str, consent: Option<&str>| {
        test_at(key, name, frame, expect, consent)
    };
    match label {
        Label::Flagged => test(
            &format!("a call of {shown} is denied, whatever a person says"),
            "deny",
            Some("approve"),
        ),
        Label::Effects(effects) if effects.reads => {
            test(&format!("a call of {shown} passes"), "allow", None)
        }
        Label::Effects(_) => {
            let agreed = format!("a person may agree to a call of {shown}");
            let alone = format!("a call of {shown} is denied without a person");
            test(&agreed, "allow", Some("approve")) + &test(&alone, "deny", None)
        }
    }
}

fn test_of_pair(private: &Step, sends: &Step) -> String {
    let name = format!(
        "after {} at {}, {} at {} is denied",
        private.name.escape_debug(),
        private.key,
        sends.name.escape_debug(),
        sends.key,
    );
    let step = |step: &Step, expect: &str| {
        let (key, frame) = (quote::toml(&step.key), quote::toml(&step.frame));
        format!(
            "  {{ server = {key}, raw = {frame}, consent = \"approve\", expect = {expect} }},\n"
        )
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
                key: (*key).to_owned(),
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
