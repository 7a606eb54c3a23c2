//! `approvals`: lists and answers what agents wait for, by the admin listener of a running gate.

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::args::{ApprovalsArgs, ApprovalsCommand, Format, GateArgs};
use super::exit::Exit;
use crate::consent::{block, quoted, shown};
use crate::outward::{self, Connections, Connector, Resolver, innermost};
use crate::upstream::http::{HttpClientError, client_tls};
use crate::wire::{Document, JsonError, Limits, Value};

/// The variable that holds the token.
const TOKEN: &str = "MCP_PROTECTOR_APPROVER_TOKEN";

/// How long the gate may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that is read of an answer: all that the gate keeps of questions, with room for escapes.
const LONGEST: usize = 64 << 20;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
enum ApprovalsFailure {
    #[error("`--url`: expected `http://HOST:PORT` or `https://HOST:PORT`, and nothing behind it")]
    Url,
    #[error("`--url`: over `http` the token is shown on this machine only; use `https` for `{0}`")]
    InTheOpen(String),
    #[error("there is no token: set `{TOKEN}`, or name a file with `--token-file`")]
    NoToken,
    #[error("the token file `{}` cannot be read: {cause}", path.display())]
    TokenFile { path: PathBuf, cause: io::Error },
    #[error("the token has characters that no header can hold: check `--token-file` or `{TOKEN}`")]
    OddToken,
    #[error("`{0}` is not a number that `approvals list` shows")]
    Number(String),
    #[error("{0}")]
    Tls(#[from] HttpClientError),
    #[error("the gate cannot be asked: {0}")]
    Unreachable(String),
    #[error("the gate's answer cannot be read: {0}")]
    Unreadable(#[from] JsonError),
    #[error("the gate's answer is not of this version")]
    Foreign,
    #[error("the gate refuses ({}): {text}", status.as_u16())]
    Refused { status: StatusCode, text: String },
    #[error("nothing can be written: {0}")]
    Write(#[from] io::Error),
}

impl ApprovalsFailure {
    fn exit(&self) -> Exit {
        let refused = |status: &StatusCode| status.is_client_error();
        if matches!(self, Self::Refused { status, .. } if refused(status)) {
            Exit::NotAnswered
        } else {
            Exit::NotAsked
        }
    }
}

/// Does what was asked for.
pub fn run(args: &ApprovalsArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    match answer(&args.command, stdout) {
        Ok(()) => Exit::Success,
        Err(failure) => {
            // The exit code remains if the output is closed.
            let _ = writeln!(stderr, "error: {}", shown(&failure.to_string()));
            failure.exit()
        }
    }
}

fn answer(command: &ApprovalsCommand, out: &mut dyn Write) -> Result<(), ApprovalsFailure> {
    match command {
        ApprovalsCommand::List { gate } => {
            let text = ask(gate, "api/approvals", None)?;
            match gate.format {
                Format::Json => writeln!(out, "{text}")?,
                Format::Human => list(&text, out)?,
            }
        }
        ApprovalsCommand::Approve { id, gate } => {
            give(id, gate, ["approve", "approved"], out)?;
        }
        ApprovalsCommand::Deny { id, gate } => give(id, gate, ["deny", "denied"], out)?,
    }
    Ok(())
}

fn give(
    id: &str,
    gate: &GateArgs,
    [word, done]: [&str; 2],
    out: &mut dyn Write,
) -> Result<(), ApprovalsFailure> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(ApprovalsFailure::Number(id.to_owned()));
    }
    let body = format!("{{\"answer\":\"{word}\"}}");
    let text = ask(gate, &format!("api/approvals/{id}"), Some(body))?;
    match gate.format {
        Format::Json => writeln!(out, "{text}")?,
        Format::Human => writeln!(out, "{id}: {done}")?,
    }
    Ok(())
}

/// Asks the gate, and takes what it answers as text.
fn ask(gate: &GateArgs, path: &str, body: Option<String>) -> Result<String, ApprovalsFailure> {
    let url = place(&gate.url)?;
    let token = token(gate.token_file.as_deref())?;
    let tls = client_tls(&url, gate.ca_file.as_deref())?;
    let connections = Connector::to(&url, tls, Resolver::system(), PATIENCE).connections();
    let url = url.join(path).map_err(|_| ApprovalsFailure::Url)?;
    let mut authorization =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ApprovalsFailure::OddToken)?;
    authorization.set_sensitive(true);
    let request = Request::builder()
        .uri(url.as_str())
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, outward::USER_AGENT)
        .header(AUTHORIZATION, authorization);
    let request = match body {
        None => request.body(Full::default()),
        Some(body) => request
            .method(Method::POST)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body)),
    };
    let request = request.map_err(|cause| ApprovalsFailure::Unreachable(cause.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let exchange = async { timeout(PATIENCE, exchange(&connections, &request)).await };
    let late = || ApprovalsFailure::Unreachable("it took too long".to_owned());
    runtime.block_on(exchange).unwrap_or_else(|_| Err(late()))
}

async fn exchange(
    connections: &Connections,
    request: &Request<Full<Bytes>>,
) -> Result<String, ApprovalsFailure> {
    let response = connections.send(|| request.clone()).await;
    let response = response.map_err(|cause| ApprovalsFailure::Unreachable(innermost(&cause)))?;
    let status = response.status();
    let bytes = Limited::new(response.into_body(), LONGEST).collect().await;
    let bytes = bytes
        .map_err(|cause| ApprovalsFailure::Unreachable(cause.to_string()))?
        .to_bytes();
    let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    if status == StatusCode::OK {
        Ok(text)
    } else {
        Err(ApprovalsFailure::Refused { status, text })
    }
}

/// The root of the listener. A token is shown in the open on this machine alone.
fn place(text: &str) -> Result<Url, ApprovalsFailure> {
    let url: Url = text.parse().map_err(|_| ApprovalsFailure::Url)?;
    let is_root = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !is_root || !url.username().is_empty() || url.password().is_some() {
        return Err(ApprovalsFailure::Url);
    }
    let host = url.host().ok_or(ApprovalsFailure::Url)?;
    let is_here = match host {
        url::Host::Domain(name) => name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.to_canonical().is_loopback(),
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        "http" => Err(ApprovalsFailure::InTheOpen(host.to_string())),
        _ => Err(ApprovalsFailure::Url),
    }
}

fn token(file: Option<&Path>) -> Result<String, ApprovalsFailure> {
    let text = match file {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|cause| ApprovalsFailure::TokenFile {
                path: path.to_owned(),
                cause,
            })?
        }
        None => std::env::var(TOKEN).map_err(|_| ApprovalsFailure::NoToken)?,
    };
    let token = text.trim();
    if token.is_empty() {
        return Err(ApprovalsFailure::NoToken);
    }
    Ok(token.to_owned())
}

/// For people: each question whole, as the page shows it.
fn list(text: &str, out: &mut dyn Write) -> Result<(), ApprovalsFailure> {
    let limits = Limits {
        max_bytes: LONGEST,
        ..Limits::default()
    };
    let document = Document::decode(text.as_bytes(), &limits)?;
    let root = document.root();
    if root.get("schema").and_then(Value::as_i64) != Some(1) {
        return Err(ApprovalsFailure::Foreign);
    }
    let pending = root.get("pending").ok_or(ApprovalsFailure::Foreign)?;
    let mut items = pending.items().peekable();
    if items.peek().is_none() {
        writeln!(out, "nothing waits for an answer")?;
    }
    while let Some(item) = items.next() {
        one(item, out)?;
        if items.peek().is_some() {
            writeln!(out)?;
        }
    }
    Ok(())
}

fn one(item: Value<'_>, out: &mut dyn Write) -> Result<(), ApprovalsFailure> {
    let text = |path: &[&str]| {
        let value = item.at(path).and_then(Value::as_str);
        value.map(|text| shown(&text)).unwrap_or_default()
    };
    let all = |path: &[&str]| {
        let items = item.at(path).into_iter().flat_map(Value::items);
        let texts: Vec<String> = items
            .filter_map(Value::as_str)
            .map(|text| shown(&text))
            .collect();
        texts
    };
    let joined = |path: &[&str]| all(path).join(", ");
    let theirs = |path: &[&str]| {
        let texts: Vec<String> = all(path).iter().map(|text| quoted(text)).collect();
        texts.join(", ")
    };
    let client = text(&["question", "client"]);
    writeln!(
        out,
        "{}  {} {} on `{}`",
        text(&["id"]),
        text(&["question", "method"]),
        quoted(&text(&["question", "name"])),
        text(&["question", "server"])
    )?;
    let holds = match text(&["question", "holds"]).as_str() {
        "session" => "for all calls of this tool in the session, whatever their arguments are",
        "destinations" => {
            "for calls of this tool to the same destinations, until the session reads something new"
        }
        _ => "",
    };
    let lines = [
        ("agent", text(&["question", "principal"])),
        (
            "calls itself",
            if client.is_empty() {
                client
            } else {
                quoted(&client)
            },
        ),
        ("session", text(&["question", "session"])),
        ("why", text(&["question", "advice"])),
        ("a yes holds", holds.to_owned()),
        ("asked for by", joined(&["question", "policies"])),
        ("directories", joined(&["question", "found", "roots"])),
        ("hosts", theirs(&["question", "found", "hosts"])),
        ("credentials", joined(&["question", "found", "secrets"])),
        ("data sets read", theirs(&["question", "found", "datasets"])),
        ("read from", theirs(&["question", "found", "sources"])),
        (
            "untrusted in",
            theirs(&["question", "found", "untrusted_from"]),
        ),
        (
            "repeats results of",
            theirs(&["question", "found", "copied_from"]),
        ),
        (
            "destinations",
            theirs(&["question", "found", "destinations"]),
        ),
        ("told last", theirs(&["question", "found", "told_roots"])),
        ("waits until", text(&["expires_at"])),
    ];
    for (what, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "  {what:<13} {value}")?;
    }
    if item
        .at(&["question", "found", "outside"])
        .and_then(Value::as_bool)
        == Some(true)
    {
        writeln!(out, "  {:<13} outside of every known directory", "paths")?;
    }
    let arguments = item.at(&["question", "arguments"]).and_then(Value::as_str);
    if let Some(arguments) = arguments.filter(|it| !it.is_empty()) {
        let safe: Vec<String> = arguments.lines().map(shown).collect();
        for line in block("Arguments", &safe.join("\n")) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
