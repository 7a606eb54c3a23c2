//! The servers that a client's file names.

use super::client::{Client, References};
use super::document::{Field, Node, Source, Value};
use super::entry::{Entry, Launch, Piece, Template};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};
use super::parsing::parse;
use super::references::{pieces, variable};

/// Keys of which the gate has no counterpart, with the cause and the remedy.
const NOT_SUPPORTED: &[(&str, &str, &str)] = &[
    (
        "envFile",
        "the gate reads no file of variables for one server",
        "write its variables into `env`",
    ),
    (
        "headersHelper",
        "the gate runs no program for headers",
        "write the headers, with variables for their secrets",
    ),
    (
        "oauth",
        "the client signs in at this server itself",
        "let the gate have a token of its own: write it as `Authorization` among the headers",
    ),
    (
        "auth",
        "the client signs in at this server itself",
        "let the gate have a token of its own: write it as `Authorization` among the headers",
    ),
    (
        "sandboxEnabled",
        "the client's sandbox would confine the gate instead of the server",
        "remove it here, and confine the server by `sandbox` in the gate's configuration",
    ),
    (
        "experimental_environment",
        "the client starts this server on another machine",
        "wrap it where it runs",
    ),
];

/// Fails if the text as a whole is unusable; an entry that the gate cannot take has its own problem.
pub fn read(name: &str, text: &str, client: &Client) -> Result<Vec<Entry>, ClientErrors> {
    let source = Source { name, text };
    match parse(source, client.format)? {
        None => Ok(Vec::new()),
        Some(root) => read_tree(source, &root, client),
    }
}

pub(super) fn read_tree(
    source: Source<'_>,
    root: &Node,
    client: &Client,
) -> Result<Vec<Entry>, ClientErrors> {
    let reader = Reader {
        source,
        references: client.references,
    };
    let mut entries = Vec::new();
    for table in client.tables {
        reader.walk(root, table, &mut Vec::new(), &mut entries)?;
    }
    Ok(entries)
}

#[derive(Clone, Copy)]
struct Reader<'s> {
    source: Source<'s>,
    references: References,
}

impl Reader<'_> {
    /// Follows the keys from the root to tables of servers.
    fn walk(
        self,
        node: &Node,
        keys: &[&str],
        path: &mut Vec<String>,
        entries: &mut Vec<Entry>,
    ) -> Result<(), ClientErrors> {
        let fields = self.table(node)?;
        match keys {
            [] => entries.extend(fields.iter().map(|field| self.entry(field, path))),
            [key, keys @ ..] => {
                let is_there = |field: &&Field| !matches!(field.node.value, Value::Null);
                let matches = |field: &&Field| *key == "*" || field.key == **key;
                for field in fields.iter().filter(matches).filter(is_there) {
                    path.push(field.key.clone());
                    self.walk(&field.node, keys, path, entries)?;
                    path.pop();
                }
            }
        }
        Ok(())
    }

    fn entry(self, field: &Field, path: &[String]) -> Entry {
        let switch = |key, on| match field.node.get(key).map(|node| &node.value) {
            Some(Value::Bool(value)) => *value == on,
            Some(
                Value::Null | Value::Other(_) | Value::Text(_) | Value::List(_) | Value::Table(_),
            )
            | None => true,
        };
        Entry {
            path: path.iter().chain([&field.key]).cloned().collect(),
            enabled: switch("enabled", true) && switch("disabled", false),
            launch: self.launch(field),
            place: self.place(field.key_at.start),
        }
    }

    fn place(self, at: usize) -> String {
        let (line, column) = self.source.place(at);
        format!("{}:{line}:{column}", self.source.name)
    }

    fn launch(self, field: &Field) -> Result<Launch, ClientProblem> {
        self.table(&field.node)?;
        let entry = &field.node;
        if let Some(attached) = attached(entry) {
            return Ok(attached);
        }
        for (key, why, help) in NOT_SUPPORTED {
            if let Some(node) = entry.get(key)
                && !matches!(node.value, Value::Bool(false))
            {
                let what = format!("`{key}` of `{}`: {why}", field.key.escape_debug());
                return Err(self.not_supported(node, &what, help));
            }
        }
        ["type", "transport"]
            .iter()
            .filter_map(|key| entry.get(key))
            .try_for_each(|node| self.transport(node))?;
        let url = entry.get("url").or_else(|| entry.get("serverUrl"));
        match (entry.get("command"), url) {
            (Some(command), None) => self.command(entry, command),
            (None, Some(url)) => self.url(entry, url),
            (Some(_), Some(url)) => {
                let name = field.key.escape_debug();
                let what = format!("`{name}` has both a command and a URL");
                Err(self.wrong(url, &what, "remove one of the two"))
            }
            (None, None) => {
                let name = field.key.escape_debug();
                let what = format!("`{name}` has neither `command` nor `url`");
                let help = "an extension of the client starts this server: \
                            write its command, or leave it outside of the gate";
                Err(self.not_supported(entry, &what, help))
            }
        }
    }

    fn transport(self, node: &Node) -> Result<(), ClientProblem> {
        match self.text(node)? {
            "stdio" | "local" | "http" | "remote" | "streamable-http" | "streamableHttp"
            | "streamable_http" => Ok(()),
            _ => Err(self.not_supported(
                node,
                "the gate does not speak this transport",
                "the gate reaches servers by `stdio` and by streamable `http`",
            )),
        }
    }

    /// Older files of Zed have one table for all three.
    fn command(self, entry: &Node, command: &Node) -> Result<Launch, ClientProblem> {
        let (program, entry) = match (&command.value, command.get("path")) {
            (Value::Table(_), Some(path)) => (path, command),
            (
                Value::Null
                | Value::Bool(_)
                | Value::Other(_)
                | Value::Text(_)
                | Value::List(_)
                | Value::Table(_),
                _,
            ) => (command, entry),
        };
        let mut command = vec![self.template(program)?];
        for arg in self.optional(entry, "args", Self::list)? {
            command.push(self.template(arg)?);
        }
        let mut env = self.texts(entry, "env")?;
        for name in self.optional(entry, "env_vars", Self::list)? {
            env.push((self.text(name)?.to_owned(), self.variable(name, "")?));
        }
        let cwd = entry.get("cwd").map(|cwd| self.template(cwd)).transpose()?;
        Ok(Launch::Command { command, env, cwd })
    }

    fn url(self, entry: &Node, url: &Node) -> Result<Launch, ClientProblem> {
        let mut headers = self.texts(entry, "headers")?;
        headers.extend(self.texts(entry, "http_headers")?);
        for field in self.optional(entry, "env_http_headers", Self::table)? {
            headers.push((field.key.clone(), self.variable(&field.node, "")?));
        }
        if let Some(name) = entry.get("bearer_token_env_var") {
            headers.push(("Authorization".to_owned(), self.variable(name, "Bearer ")?));
        }
        let url = self.template(url)?;
        Ok(Launch::Url { url, headers })
    }

    fn texts(self, entry: &Node, key: &str) -> Result<Vec<(String, Template)>, ClientProblem> {
        let fields = self.optional(entry, key, Self::table)?.iter();
        fields
            .map(|field| Ok((field.key.clone(), self.template(&field.node)?)))
            .collect()
    }

    fn optional<'n, T>(
        self,
        entry: &'n Node,
        key: &str,
        take: impl Fn(Self, &'n Node) -> Result<&'n [T], ClientProblem>,
    ) -> Result<&'n [T], ClientProblem> {
        entry.get(key).map_or(Ok(&[]), |node| take(self, node))
    }

    fn template(self, node: &Node) -> Result<Template, ClientProblem> {
        Ok(Template {
            pieces: pieces(self.text(node)?, self.references),
            place: self.place(node.at.start),
        })
    }

    /// The name of a variable where other clients have a reference.
    fn variable(self, node: &Node, before: &str) -> Result<Template, ClientProblem> {
        let mut pieces = Vec::new();
        pieces.extend((!before.is_empty()).then(|| Piece::Text(before.into())));
        pieces.push(variable(self.text(node)?));
        Ok(Template {
            pieces,
            place: self.place(node.at.start),
        })
    }

    fn text(self, node: &Node) -> Result<&str, ClientProblem> {
        node.text()
            .ok_or_else(|| self.wrong_type(node, "a string", "write it in quotes"))
    }

    fn list(self, node: &Node) -> Result<&[Node], ClientProblem> {
        node.list().ok_or_else(|| {
            self.wrong_type(node, "a list of strings", "as in `[\"-y\", \"server\"]`")
        })
    }

    fn table(self, node: &Node) -> Result<&[Field], ClientProblem> {
        match &node.value {
            Value::Table(fields) => Ok(fields),
            Value::Null | Value::Bool(_) | Value::Other(_) | Value::Text(_) | Value::List(_) => {
                Err(self.wrong_type(node, "a table", "write names with their values"))
            }
        }
    }

    fn wrong_type(self, node: &Node, expected: &str, help: &str) -> ClientProblem {
        let what = format!("expected {expected}, found {}", node.kind());
        self.wrong(node, &what, help)
    }

    fn wrong(self, node: &Node, what: &str, help: &str) -> ClientProblem {
        let kind = ProblemKind::WrongType;
        self.source.problem(node.at.start, kind, what, help)
    }

    fn not_supported(self, node: &Node, what: &str, help: &str) -> ClientProblem {
        let kind = ProblemKind::NotSupported;
        self.source.problem(node.at.start, kind, what, help)
    }
}

/// As [`super::wrap`] writes it, wherever the program is.
fn attached(entry: &Node) -> Option<Launch> {
    let program = entry.get("command")?.text()?;
    let file = program.rsplit(['/', '\\']).next()?;
    let args = entry.get("args")?.list()?;
    let args: Option<Vec<String>> = args
        .iter()
        .map(|arg| arg.text().map(str::to_owned))
        .collect();
    let args = args?;
    let is_ours = file.trim_end_matches(".exe") == "mcp-protector"
        && args.first().is_some_and(|word| word == "attach");
    is_ours.then(|| Launch::Attached {
        program: program.to_owned(),
        args,
    })
}
