//! What a person is asked.

use serde::Serialize;

use super::fence::{block, quoted};

/// What would happen, exactly, as it is shown to whoever answers. All texts are [shown](super::shown):
/// nothing in them hides or turns what is beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    pub server: String,
    pub method: String,
    /// The tool, prompt or URI; of what a server asks, the methods.
    pub name: String,
    /// The arguments as indented JSON, whole; empty where the request has none.
    pub arguments: String,
    /// The gate's own id of whoever asks.
    pub principal: String,
    /// What the agent calls itself: a label, never an identity.
    pub client: String,
    /// The gate's own id of the session.
    pub session: String,
    /// What policies say of it: `@advice`, of all that say something.
    pub advice: Option<String>,
    /// What a yes is good for.
    pub holds: Holds,
    /// The policies that ask for consent.
    pub policies: Vec<String>,
    pub found: Found,
}

/// What a yes is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// The request that is shown.
    #[default]
    Once,
    /// All calls of its tool in the session, whatever their arguments.
    Session,
    /// All calls of its tool in the session to the same destinations, until the session has read something
    /// new.
    Destinations,
}

/// What the arguments reach for, as far as the gate found out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Names of the host's roots that paths lie in.
    pub roots: Vec<String>,
    /// Some path lies outside of every root; only where there are paths.
    pub outside: bool,
    pub hosts: Vec<String>,
    /// Kinds of credentials among the arguments.
    pub secrets: Vec<String>,
    /// Private data sets that the session has read before.
    pub datasets: Vec<String>,
    /// Of several servers, those that the session has read from.
    pub sources: Vec<String>,
    /// Those of them whose content strangers may have written.
    pub untrusted_from: Vec<String>,
    /// Other servers whose results the arguments repeat.
    pub copied_from: Vec<String>,
    /// Where the call sends something.
    pub destinations: Vec<String>,
    /// Where a server asks for the agent's roots: the URIs that it was told last, if it was.
    pub told_roots: Vec<String>,
}

impl Holds {
    /// For whoever says yes.
    pub fn told(self) -> &'static str {
        match self {
            Self::Once => "this request alone",
            Self::Session => "all calls of this tool in the session, whatever their arguments are",
            Self::Destinations => {
                "calls of this tool to the same destinations, until the session reads something new"
            }
        }
    }
}

impl Question {
    /// The bytes that it takes, about.
    pub(super) fn weight(&self) -> usize {
        let texts = [
            &self.server,
            &self.method,
            &self.name,
            &self.arguments,
            &self.principal,
            &self.client,
            &self.session,
        ];
        let found = [
            &self.found.roots,
            &self.found.hosts,
            &self.found.secrets,
            &self.found.datasets,
            &self.found.sources,
            &self.found.untrusted_from,
            &self.found.copied_from,
            &self.found.destinations,
            &self.found.told_roots,
        ];
        let lists = found.into_iter().chain([&self.policies]).flatten();
        let texts = texts.into_iter().chain(&self.advice).chain(lists);
        texts.map(String::len).sum()
    }

    /// Whether it is the server that wants something.
    fn is_servers(&self) -> bool {
        asked_by_server(&self.method).is_some()
    }

    /// What its arguments are, which stand apart from the gate's words wherever they are shown.
    pub fn untrusted(&self) -> &'static str {
        if self.is_servers() {
            "What the server asks"
        } else {
            "Arguments"
        }
    }

    /// The question as plain text, for a form that shows nothing else.
    pub fn message(&self) -> String {
        let Self {
            server,
            method,
            name,
            arguments,
            principal,
            client,
            session: _,
            advice,
            holds,
            policies,
            found,
        } = self;
        let mut lines = vec![
            "mcp-protector asks: may this happen?".to_owned(),
            format!("Server: {server}"),
        ];
        if self.is_servers() {
            let asked = name.split(", ").filter_map(asked_by_server);
            lines.extend(asked.map(str::to_owned));
        } else {
            let what = match method.as_str() {
                "tools/call" => "Tool",
                "prompts/get" => "Prompt",
                "resources/read" => "Resource",
                method => method,
            };
            lines.push(format!("{what}: {}", quoted(name)));
        }
        if !arguments.is_empty() {
            lines.extend(block(self.untrusted(), arguments));
        }
        let whose = if self.is_servers() {
            "Asked of"
        } else {
            "Asked by"
        };
        lines.push(match client.as_str() {
            "" => format!("{whose}: {principal}"),
            client => format!(
                "{whose}: {principal}, which calls itself {}",
                quoted(client)
            ),
        });
        let mut list = |what: &str, names: &[String]| {
            if !names.is_empty() {
                lines.push(format!("{what}: {}", names.join(", ")));
            }
        };
        let theirs = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>();
        list("Directories", &found.roots);
        list("Hosts", &theirs(&found.hosts));
        list("Credentials among the arguments", &found.secrets);
        list(
            "Data sets that the session has read",
            &theirs(&found.datasets),
        );
        list("The session has read from", &found.sources);
        list("Untrusted content came from", &found.untrusted_from);
        list("The arguments repeat results of", &found.copied_from);
        list("Destinations", &theirs(&found.destinations));
        list("Roots that it was told last", &theirs(&found.told_roots));
        list("Asked for by", policies);
        if found.outside {
            lines.push("Paths lie outside of every known directory.".to_owned());
        }
        lines.extend(advice.as_ref().map(|advice| format!("Why: {advice}")));
        match holds {
            Holds::Once => {}
            Holds::Session | Holds::Destinations => {
                lines.push(format!("A yes holds for {}.", holds.told()));
            }
        }
        lines.join("\n")
    }
}

/// What a server asks by a method, in words.
fn asked_by_server(method: &str) -> Option<&'static str> {
    Some(match method {
        "sampling/createMessage" => "The server asks for a sample of the agent's model.",
        "elicitation/create" => "The server asks something of the agent's user.",
        "roots/list" => "The server asks which roots the agent has.",
        _ => return None,
    })
}
