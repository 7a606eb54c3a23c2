//! One `[[test]]`: who sends what, and what must become of it.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::fixture::{Listed, Sends, Test};
use super::json;
use super::read::Surroundings;
use super::read_expect::expect;
use super::section::Section;
use super::suggest;
use super::table::{Reading, Table, Value, in_order};
use crate::policy::{Agent, Client};
use crate::wire::{Fragment, KnownMethod, Side};

/// The four ways to say what is sent.
const WAYS: [&str; 4] = ["send", "call", "list", "raw"];

pub(super) fn test(table: &Table<'_>, surroundings: &Surroundings, name: String) -> Option<Test> {
    let agent = agent(table, surroundings);
    // Whoever writes for a later version does not leave out what that one does not need.
    if Section::Test
        .later()
        .iter()
        .any(|key| table.get(key).is_some())
    {
        return None;
    }
    let sends = sends(table);
    let expect = expect(table);
    let now = table.time("now").unwrap_or(surroundings.now);
    let line = table.line();
    Some(Test {
        name,
        line,
        agent: agent?,
        now,
        sends: sends?,
        expect: expect?,
    })
}

/// The agent that the test names. Without a name it is the one that a gate on stdio sees.
fn agent(table: &Table<'_>, surroundings: &Surroundings) -> Option<Agent> {
    let Some(name) = table.get("agent") else {
        return Some(Agent {
            id: "stdio".to_owned(),
            client: Client {
                name: "test-policy".to_owned(),
                version: "1".to_owned(),
            },
            ..Agent::default()
        });
    };
    let name = table.reading.text(name)?;
    let agent = surroundings.agents.get(name.get_ref());
    if agent.is_none() {
        let known: Vec<&str> = surroundings.agents.keys().map(String::as_str).collect();
        let fallback = "declare it in `[agents]`, as in `guest = { roles = [\"reader\"] }`";
        let help = suggest::help(name.get_ref(), &known, fallback);
        let message = format!("no agent is called `{}`", name.get_ref());
        table
            .reading
            .tell(&name.span(), "test::unknown-agent", message, Some(help));
    }
    agent.cloned()
}

fn sends(table: &Table<'_>) -> Option<Sends> {
    let from = from(table);
    let ways: Vec<&str> = WAYS
        .into_iter()
        .filter(|way| table.get(way).is_some())
        .collect();
    let sends = match ways.as_slice() {
        ["send"] => send(table, from?),
        ["call"] => call(table),
        ["list"] => list(table),
        ["raw"] => raw(table, from?),
        [] => {
            let help = "say what is sent: `call = \"tool\"`, `list = \"tools\"`, \
                        `send = { method = \"…\" }` or `raw = '…'`";
            table.require("what is sent", help);
            return None;
        }
        several => {
            let message = format!("one test sends one message, not {}", suggest::list(several));
            table.tell("test::conflict", message, "make a test of each");
            return None;
        }
    };
    let belongs = [("args", "call"), ("visible", "list"), ("hidden", "list")];
    for (key, way) in belongs {
        if let (Some(value), false) = (table.get(key), ways.contains(&way)) {
            let message = format!("`{key}` goes with `{way}`");
            table
                .reading
                .tell(&value.span(), "test::conflict", message, None);
        }
    }
    if let (Some(value), true) = (
        table.get("from"),
        ways.contains(&"call") || ways.contains(&"list"),
    ) {
        let message = "only agents call and list: `from` goes with `send` and `raw`";
        table
            .reading
            .tell(&value.span(), "test::conflict", message, None);
    }
    sends
}

fn from(table: &Table<'_>) -> Option<Side> {
    let Some(value) = table.get("from") else {
        return Some(Side::Agent);
    };
    let from = table.reading.text(value)?;
    table
        .reading
        .word(&from, &[("agent", Side::Agent), ("server", Side::Upstream)])
}

/// `send = { method, params, meta }`.
fn send(table: &Table<'_>, from: Side) -> Option<Sends> {
    let send = table.table(
        "send",
        Section::Send,
        "a table such as `{ method = \"ping\" }`",
    )?;
    let Some(value) = send.get("method") else {
        send.require("`method`", "as in `send = { method = \"tools/call\", … }`");
        return None;
    };
    let method = send.reading.text(value)?.into_inner();
    let mut params = match send.get("params") {
        Some(value) => Some(members(send.reading, value)?),
        None => None,
    };
    if let Some(value) = send.get("meta") {
        let meta = members(send.reading, value)?;
        let meta = Fragment::object(borrowed(&meta));
        let params = params.get_or_insert_default();
        if params.iter().any(|(key, _)| key == "_meta") {
            let message = "`_meta` stands in `params` already";
            send.reading
                .tell(&value.span(), "test::conflict", message, None);
        }
        params.push(("_meta".to_owned(), meta));
    }
    Some(frame(from, &method, params.as_deref()))
}

/// `call = "tool", args = {…}`.
fn call(table: &Table<'_>) -> Option<Sends> {
    let tool = table.text("call")?.into_inner();
    let mut params = vec![("name".to_owned(), Fragment::string(&tool))];
    if let Some(value) = table.get("args") {
        let arguments = members(table.reading, value)?;
        params.push((
            "arguments".to_owned(),
            Fragment::object(borrowed(&arguments)),
        ));
    }
    Some(frame(Side::Agent, "tools/call", Some(&params)))
}

/// `list = "tools", visible = […]`.
fn list(table: &Table<'_>) -> Option<Sends> {
    let which = table.text("list")?;
    let listed = table.reading.word(&which, &Listed::ALL)?;
    Some(Sends::List(listed))
}

/// `raw = '…'`.
fn raw(table: &Table<'_>, from: Side) -> Option<Sends> {
    let raw = table.text("raw")?;
    if raw.get_ref().contains('\n') {
        let message = "a frame ends at the line feed, so it cannot hold one";
        let help = Some("write it on one line, in single quotes".to_owned());
        table
            .reading
            .tell(&raw.span(), "test::value", message, help);
        return None;
    }
    if raw.get_ref().trim_ascii().is_empty() {
        let message = "a blank line is no frame: the gate skips it";
        table
            .reading
            .tell(&raw.span(), "test::value", message, None);
        return None;
    }
    let frame = raw.into_inner();
    Some(Sends::Frame { from, frame })
}

/// A message as its sender would write it. What is known to be a notification has no id.
fn frame(from: Side, method: &str, params: Option<&[(String, Fragment)]>) -> Sends {
    let notification = KnownMethod::from_name(method).is_some_and(|known| !known.is_request());
    let id = (!notification).then(|| Fragment::string("test"));
    let members = [
        ("jsonrpc", Some(Fragment::string("2.0"))),
        ("id", id),
        ("method", Some(Fragment::string(method))),
        (
            "params",
            params.map(|params| Fragment::object(borrowed(params))),
        ),
    ];
    let members = members
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    let frame = Fragment::object(members).into_string();
    Sends::Frame { from, frame }
}

/// The members of what has to be an object.
fn members(reading: &Reading, value: &Value<'_>) -> Option<Vec<(String, Fragment)>> {
    let DeValue::Table(table) = value.get_ref() else {
        reading.wrong_type(value, "a table");
        return None;
    };
    let entries = in_order(table).into_iter();
    // Every member, so that all problems are told.
    let members: Vec<_> = entries
        .map(|(key, value)| Some((key.get_ref().to_string(), json::fragment(reading, value)?)))
        .collect();
    members.into_iter().collect()
}

fn borrowed(members: &[(String, Fragment)]) -> impl Iterator<Item = (&str, Fragment)> {
    members
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()))
}

impl Reading {
    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &self,
        written: &Spanned<String>,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let found = choices.iter().find(|(word, _)| word == written.get_ref());
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let message = format!("unknown value `{}`", written.get_ref().escape_debug());
            let help = suggest::help(written.get_ref(), &words, "");
            let place: Range<usize> = written.span();
            self.tell(&place, "test::value", message, Some(help));
        }
        found.map(|(_, choice)| *choice)
    }
}
