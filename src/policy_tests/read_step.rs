//! One message of a test: who sends what, what is answered, and what must become of it.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::fixture::{Address, EndpointName, ScriptedReply, Sends, TestStep};
use super::fixture_words::ListKind;
use super::json;
use super::read_expect::{Expectations, expectations, received};
use super::read_start::consent;
use super::section::FixtureSection;
use super::suggest;
use super::table::{FixtureReader, FixtureTable, FixtureValue, in_order};
use crate::egress::Destination;
use crate::policy::Host;
use crate::wire::{Fragment, KnownMethod, Side};

/// The five ways to say what is sent.
pub(super) const WAYS: [&str; 5] = ["send", "call", "list", "raw", "connect"];

/// One message as it stands in the fixture: the same for every cell of a matrix but for what is
/// expected, and but for the tool, where several are called.
pub(super) struct MessageTemplate {
    pub(super) sends: Vec<OutgoingMessage>,
    step: TestStep,
    expectations: Expectations,
}

/// What is sent, and the tool that it calls where there is a choice of them.
pub(super) struct OutgoingMessage {
    pub(super) tool: Option<String>,
    sends: Sends,
}

impl MessageTemplate {
    /// The message as one agent sends it.
    pub(super) fn by(&self, agent: &str, sending: &OutgoingMessage) -> TestStep {
        TestStep {
            sends: sending.sends.clone(),
            expect: self.expectations.of(agent),
            ..self.step.clone()
        }
    }
}

/// `agents`: those of the matrix, where the test has one.
pub(super) fn message(
    table: &FixtureTable<'_>,
    agents: &[Spanned<String>],
    address: Address,
) -> Option<MessageTemplate> {
    let sends = sends(table);
    let expectations = expectations(table, agents);
    let reply = reply(table);
    let received = received(table);
    let consent = consent(table);
    let after = table.duration("after");
    for key in ["result", "received"] {
        if let (Some(value), true) = (table.get(key), table.get("connect").is_some()) {
            let message = format!("`{key}` does not go with `connect`: it is no message");
            table
                .reading
                .tell(&value.span(), "test::conflict", message, None);
        }
        if let (Some(value), true) = (table.get(key), table.get("list").is_some()) {
            let message =
                format!("`{key}` does not go with `list`: the fixture says what is offered");
            table
                .reading
                .tell(&value.span(), "test::conflict", message, None);
        }
    }
    let (sends, expectations) = (sends?, expectations?);
    let first = sends.first()?.sends.clone();
    let step = TestStep {
        line: table.line(),
        server: address.server,
        endpoint: address.endpoint,
        names: None,
        after: after.unwrap_or_default(),
        consent,
        sends: first,
        reply,
        expect: expectations.of(""),
        received,
    };
    Some(MessageTemplate {
        sends,
        step,
        expectations,
    })
}

/// The server or the endpoint that a test or a step names, or else that which holds around it.
pub(super) fn address(table: &FixtureTable<'_>, around: Option<&Address>) -> Address {
    let endpoint = endpoint(table);
    let server = table.text("server");
    if let (Some(_), Some(endpoint)) = (&server, &endpoint) {
        let message = "a message goes to a server or to an endpoint, not to both";
        let help = "at an endpoint, the name says the server, as in `call = \"crm__find\"`";
        table.reading.tell(
            &endpoint.span(),
            "test::conflict",
            message,
            Some(help.to_owned()),
        );
    }
    match (server, endpoint, around) {
        (Some(name), ..) => Address::of(Some(name), table),
        (None, None, Some(around)) => around.clone(),
        (None, endpoint, _) => Address {
            endpoint,
            ..Address::of(None, table)
        },
    }
}

impl Address {
    /// The server of this name, if the fixture gives one.
    pub(super) fn of(server: Option<Spanned<String>>, table: &FixtureTable<'_>) -> Self {
        let server = match server {
            Some(name) => Spanned::new(name.span(), Some(name.into_inner())),
            None => Spanned::new(table.place.clone(), None),
        };
        Self {
            server,
            endpoint: None,
        }
    }
}

/// `endpoint = "unified"` or `view = "name"`.
fn endpoint(table: &FixtureTable<'_>) -> Option<Spanned<EndpointName>> {
    let unified = table.text("endpoint").and_then(|name| {
        table.reading.word(&name, &[("unified", ())])?;
        Some(Spanned::new(name.span(), EndpointName::Unified))
    });
    let view = table.text("view");
    let view = view.map(|name| Spanned::new(name.span(), EndpointName::View(name.into_inner())));
    if let (Some(_), Some(view)) = (&unified, &view) {
        let message = "a message goes to one endpoint: `endpoint` or `view`";
        table
            .reading
            .tell(&view.span(), "test::conflict", message, None);
    }
    unified.or(view)
}

fn sends(table: &FixtureTable<'_>) -> Option<Vec<OutgoingMessage>> {
    let from = from(table);
    let ways: Vec<&str> = WAYS
        .into_iter()
        .filter(|way| table.get(way).is_some())
        .collect();
    let one = |sends| vec![OutgoingMessage { tool: None, sends }];
    let sends = match ways.as_slice() {
        ["send"] => send(table, from?).map(one),
        ["call"] => calls(table),
        ["list"] => list(table).map(one),
        ["connect"] => connect(table).map(one),
        ["raw"] => {
            let from = from?;
            raw(table).map(|frame| one(Sends::Frame { from, frame }))
        }
        [] => {
            let help = "say what is sent: `call = \"tool\"`, `list = \"tools\"`, \
                        `send = { method = \"…\" }`, `raw = '…'` or `connect = \"host:port\"`";
            table.require("what is sent", help);
            return None;
        }
        several => {
            let message = format!("one test sends one message, not {}", suggest::list(several));
            table.tell(
                "test::conflict",
                message,
                "make a test of each, or one of `steps`",
            );
            return None;
        }
    };
    let belongs = [("args", "call"), ("listed", "list"), ("hidden", "list")];
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
        ["call", "list", "connect"]
            .iter()
            .any(|way| ways.contains(way)),
    ) {
        let message =
            "only agents call and list, and servers connect: `from` goes with `send` and `raw`";
        table
            .reading
            .tell(&value.span(), "test::conflict", message, None);
    }
    sends
}

fn from(table: &FixtureTable<'_>) -> Option<Side> {
    let Some(value) = table.get("from") else {
        return Some(Side::Agent);
    };
    let from = table.reading.text(value)?;
    table
        .reading
        .word(&from, &[("agent", Side::Agent), ("server", Side::Upstream)])
}

/// `send = { method, params, meta }`.
fn send(table: &FixtureTable<'_>, from: Side) -> Option<Sends> {
    let send = table.table(
        "send",
        FixtureSection::Send,
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

/// `connect = "host:port"`: what the server asks of the egress proxy.
fn connect(table: &FixtureTable<'_>) -> Option<Sends> {
    let value = table.get("connect")?;
    let text = table.reading.text(value)?;
    match Destination::read(text.get_ref()) {
        Ok(to) => Some(Sends::Connect(Host {
            name: to.host().to_owned(),
            port: to.port(),
        })),
        Err(error) => {
            let message = format!("`connect`: {error}");
            let help = Some("as in `connect = \"api.example.com:443\"`".to_owned());
            table
                .reading
                .tell(&text.span(), "test::destination", message, help);
            None
        }
    }
}

/// `call = "tool", args = {…}`, or several tools with the same arguments.
fn calls(table: &FixtureTable<'_>) -> Option<Vec<OutgoingMessage>> {
    let value = table.get("call")?;
    let arguments = match table.get("args") {
        Some(value) => Some(members(table.reading, value)?),
        None => None,
    };
    let call = |tool: &str| {
        let mut params = vec![("name".to_owned(), Fragment::string(tool))];
        if let Some(arguments) = &arguments {
            let arguments = Fragment::object(borrowed(arguments));
            params.push(("arguments".to_owned(), arguments));
        }
        frame(Side::Agent, "tools/call", Some(&params))
    };
    if value.get_ref().is_str() {
        let sends = call(table.reading.text(value)?.get_ref());
        return Some(vec![OutgoingMessage { tool: None, sends }]);
    }
    let tools = table.reading.texts(value)?;
    if tools.is_empty() {
        let message = "it calls nothing";
        let help = Some("name a tool, or several".to_owned());
        table
            .reading
            .tell(&value.span(), "test::value", message, help);
        return None;
    }
    let sendings = tools.into_iter().map(|tool| OutgoingMessage {
        sends: call(tool.get_ref()),
        tool: Some(tool.into_inner()),
    });
    Some(sendings.collect())
}

/// `list = "tools", listed = […]`.
fn list(table: &FixtureTable<'_>) -> Option<Sends> {
    let which = table.text("list")?;
    let listed = table.reading.word(&which, &ListKind::ALL)?;
    Some(Sends::List(listed))
}

/// `raw = '…'`.
pub(super) fn raw(table: &FixtureTable<'_>) -> Option<String> {
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
    Some(raw.into_inner())
}

/// A message as its sender would write it. What is known to be a notification has no id.
fn frame(from: Side, method: &str, params: Option<&[(String, Fragment)]>) -> Sends {
    let known = KnownMethod::from_name(method);
    let notification = known.map_or_else(
        || method.starts_with("notifications/"),
        |known| !known.is_request(),
    );
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
fn members(reading: &FixtureReader, value: &FixtureValue<'_>) -> Option<Vec<(String, Fragment)>> {
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

impl FixtureReader {
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

/// The things that an answer can be.
const FORMS: [&str; 4] = ["text", "json", "error", "raw"];

/// The code of an error that the fixture gives only a message.
const SERVER_ERROR: i64 = -32_000;

fn reply(table: &FixtureTable<'_>) -> Option<ScriptedReply> {
    let expected = "a table such as `{ text = \"…\" }` or `{ error = \"…\" }`";
    let result = table.table("result", FixtureSection::Result, expected)?;
    let forms: Vec<&str> = FORMS
        .into_iter()
        .filter(|form| result.get(form).is_some())
        .collect();
    if let (Some(value), false) = (result.get("is_error"), forms.contains(&"text")) {
        let message = "`is_error` goes with `text`";
        result
            .reading
            .tell(&value.span(), "test::conflict", message, None);
    }
    match forms.as_slice() {
        ["text"] => text(&result),
        ["json"] => json::fragment(result.reading, result.get("json")?).map(ScriptedReply::Result),
        ["error"] => error(&result),
        ["raw"] => raw(&result).map(ScriptedReply::Raw),
        [] => {
            result.require(
                "what is answered",
                "write `text = \"…\"`, `json = { … }`, `error = \"…\"` or `raw = '…'`",
            );
            None
        }
        several => {
            let message = format!("one answer is one thing, not {}", suggest::list(several));
            result.tell("test::conflict", message, "keep one of them");
            None
        }
    }
}

/// The result of a tool that says something.
fn text(result: &FixtureTable<'_>) -> Option<ScriptedReply> {
    let text = result.text("text")?.into_inner();
    let block = Fragment::object([
        ("type", Fragment::string("text")),
        ("text", Fragment::string(&text)),
    ]);
    let mut members = vec![("content", Fragment::array([block]))];
    if let Some(flag) = result.flag("is_error") {
        let flag = if flag { "true" } else { "false" };
        members.push(("isError", Fragment::decode(flag).ok()?));
    }
    Some(ScriptedReply::Result(Fragment::object(members)))
}

/// A JSON-RPC error.
fn error(result: &FixtureTable<'_>) -> Option<ScriptedReply> {
    let (code, message) = if let DeValue::String(message) = result.get("error")?.get_ref() {
        (SERVER_ERROR, message.clone().into_owned())
    } else {
        let expected = "a message, or a table with `code` and `message`";
        let error = result.table("error", FixtureSection::Error, expected)?;
        let message = error.text("message").map(Spanned::into_inner);
        let code = error.integer("code").unwrap_or(SERVER_ERROR);
        (code, message.unwrap_or_default())
    };
    let code = Fragment::integer(code);
    Some(ScriptedReply::Error(Fragment::object([
        ("code", code),
        ("message", Fragment::string(&message)),
    ])))
}
