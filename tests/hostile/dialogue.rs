//! One conversation through a gate that permits `safe` and not `evil`, and what must be true of it
//! whatever the server does.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::process::ChildStdin;
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::hostile::envelope::Envelope;
use crate::support::fixtures::fixture;
use crate::support::json::json;
use crate::support::peer::{Ended, Peer};
use crate::support::processes;
use crate::support::setup::Setup;

/// In the arguments of a call that is denied: the server must never see it.
pub(crate) const DENIED: &str = "denied-payload";

/// What the hostile server answers when `safe` is called.
pub(crate) const SAFE_RAN: &str =
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"safe ran"}]}}"#;

/// What a server may make of the gate's memory, on top of what it had after the handshake.
const MOST_GROWTH_KIB: u64 = 64 << 10;

/// A conversation under way.
pub(crate) struct Talk {
    setup: Setup,
    pub(crate) gate: Peer,
    /// JSON texts of the ids of requests that are to be answered.
    asked: Vec<String>,
    calls: usize,
    baseline_kib: u64,
}

/// A conversation that has ended.
pub(crate) struct Past {
    pub(crate) ended: Ended,
    /// What the server received.
    pub(crate) received: String,
    /// The audit file, as text and record by record.
    pub(crate) audit_text: String,
    pub(crate) audit: Vec<Value>,
}

impl Talk {
    /// Starts a gate before the hostile server in one of its modes.
    pub(crate) fn with(mode: &str, limits: &[&str]) -> Self {
        let mut setup = Setup::of([&fixture("hostile-server"), mode]).allow(&["safe"]);
        setup.limits = limits.join("\n");
        Self::through(setup)
    }

    /// Starts a gate; what its server receives is recorded.
    pub(crate) fn through(setup: Setup) -> Self {
        let log = setup.path("received");
        let setup = setup.env("FIXTURE_LOG", log.to_str().unwrap());
        let gate = Peer::start(setup.gate());
        Self {
            setup,
            gate,
            asked: Vec::new(),
            calls: 0,
            baseline_kib: 0,
        }
    }

    /// The handshake; yields the answer to `initialize`.
    pub(crate) fn open(&mut self) -> String {
        let answer = self.ask(
            "1",
            r#""initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}"#,
        );
        self.has_opened();
        self.gate
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// The agent has shaken hands in its own way: from here on the gate's growth counts.
    pub(crate) fn has_opened(&mut self) {
        self.baseline_kib = self.memory("VmRSS:");
    }

    /// Sends a request and waits for its answer. `id` is JSON; `rest` follows `"method":`.
    pub(crate) fn ask(&mut self, id: &str, rest: &str) -> String {
        self.request(id, rest);
        self.answer(id)
    }

    pub(crate) fn request(&mut self, id: &str, rest: &str) {
        self.asked.push(id.to_owned());
        self.calls += usize::from(rest.starts_with(r#""tools/call""#));
        self.gate
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{rest}}}"#));
    }

    /// Sends requests and then closes the agent's end, without waiting for a gate that does not
    /// read.
    pub(crate) fn request_aside_and_close(&mut self, ids: &[String], rest: &str) -> JoinHandle<()> {
        let writing = self.request_aside(ids, rest);
        thread::spawn(move || drop(writing.join()))
    }

    /// Sends requests without waiting for a gate that does not read. The agent's end is closed when
    /// what is returned has been dropped.
    pub(crate) fn request_aside(&mut self, ids: &[String], rest: &str) -> JoinHandle<ChildStdin> {
        self.asked.extend_from_slice(ids);
        self.calls += ids.len() * usize::from(rest.starts_with(r#""tools/call""#));
        let lines = ids
            .iter()
            .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{rest}}}"#) + "\n");
        let lines: String = lines.collect();
        let mut input = self.gate.input.take().unwrap();
        thread::spawn(move || {
            // A wait for its answers detects that the gate is gone.
            let _ = input.write_all(lines.as_bytes());
            input
        })
    }

    pub(crate) fn call(&mut self, id: &str, tool: &str, text: &str) {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"text":"{text}"}}}}"#);
        self.request(id, &format!(r#""tools/call","params":{params}"#));
    }

    /// Cancels a request, which is then not answered any more.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.asked.retain(|asked| asked != id);
        self.gate.send(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ));
    }

    /// Reads until the answer to `id`; a server's ping is answered meanwhile.
    pub(crate) fn answer(&mut self, id: &str) -> String {
        let wanted = json(id);
        loop {
            let Some(line) = self.gate.receive().map(str::to_owned) else {
                panic!(
                    "the gate ended before it answered {id}: {:?}",
                    self.gate.seen
                );
            };
            let message = Envelope::read(&line);
            match (message.method.as_deref(), message.id) {
                (None, Some(id)) if id == wanted => return line,
                (Some("ping"), Some(id)) => self
                    .gate
                    .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)),
                _ => {}
            }
        }
    }

    /// Waits until a ping is answered by the server.
    pub(crate) fn recover(&mut self) {
        let mut count = 0;
        processes::eventually(|| {
            count += 1;
            let answer = self.ask(&format!("\"again-{count}\""), r#""ping""#);
            match Envelope::read(&answer).result {
                Some(_) => Ok(()),
                None => Err(format!("the session did not recover: {answer}")),
            }
        });
    }

    /// The audit records so far.
    pub(crate) fn audit(&self) -> Vec<Value> {
        self.setup.audit_text().lines().map(json).collect()
    }

    /// What all processes of this conversation carry in their environment.
    pub(crate) fn mark(&self) -> &str {
        self.setup.mark()
    }

    /// How much the gate has grown since the handshake, at its largest. Pages of its program are no growth.
    pub(crate) fn growth_kib(&self) -> u64 {
        let before = self.baseline_kib.max(self.memory("RssFile:"));
        self.memory("VmHWM:").saturating_sub(before)
    }

    /// Closes the agent's end, waits for the gate's, and checks what is true of every conversation.
    pub(crate) fn end(self) -> Past {
        let asked = self.asked.clone();
        let calls = self.calls;
        let past = self.close();
        past.agent_got_one_answer_each(&asked);
        past.server_got_nothing_denied();
        past.has_decisions_and_outcomes(calls);
        past
    }

    /// The same, where the agent said what is no request.
    pub(crate) fn close(self) -> Past {
        let growth = self.growth_kib();
        assert!(growth <= MOST_GROWTH_KIB, "the gate grew by {growth} KiB");
        let Self { setup, gate, .. } = self;
        processes::eventually(|| match zombies_of(gate.child.id()) {
            zombies if zombies.is_empty() => Ok(()),
            zombies => Err(format!("unreaped processes: {zombies:?}")),
        });
        Past::of(&setup, gate.end())
    }

    fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.gate.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
            .unwrap_or_default()
    }
}

impl Past {
    /// What is left when a gate has ended: nothing runs any more, and what it wrote is sound.
    pub(crate) fn of(setup: &Setup, ended: Ended) -> Self {
        assert_eq!(processes::marked(setup.mark()), [], "left behind");
        let log = fs::read(setup.path("received")).unwrap_or_default();
        let audit = fs::read_to_string(setup.audit_file()).unwrap();
        let past = Self {
            ended,
            received: String::from_utf8_lossy(&log).into_owned(),
            audit: audit.lines().map(json).collect(),
            audit_text: audit,
        };
        past.lines_are_sound();
        past
    }

    /// The lines that hold a text, of those that the agent got.
    pub(crate) fn agent_saw(&self, text: &str) -> Vec<&str> {
        let lines = self.ended.lines.iter().map(String::as_str);
        lines.filter(|line| line.contains(text)).collect()
    }

    /// The lines of the server's that are no requests and no notifications.
    pub(crate) fn server_was_answered(&self) -> Vec<&str> {
        let lines = self.received.lines();
        lines.filter(|line| !line.contains(r#""method""#)).collect()
    }

    /// The call of this tool was cancelled once, under the id that the server knows, and that is recorded.
    pub(crate) fn server_was_told_to_cancel(&self, tool: &str) {
        let received: Vec<Value> = self.received.lines().map(json).collect();
        let calls = received.iter().filter(|it| it["params"]["name"] == tool);
        let ids: Vec<&Value> = calls.map(|call| &call["id"]).collect();
        let cancelled = received
            .iter()
            .filter(|it| it["method"] == "notifications/cancelled");
        let cancelled: Vec<&Value> = cancelled.map(|it| &it["params"]["requestId"]).collect();
        assert_eq!((ids.len(), cancelled), (1, ids), "{}", self.received);
        let own = self.of_kind("notification");
        let own = own.filter(|it| it["reason"]["code"] == "gate_initiated");
        assert_eq!(own.count(), 1, "{:#?}", self.audit);
    }

    pub(crate) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.audit
            .iter()
            .filter(move |record| record["kind"] == kind)
    }

    /// Whatever the peers said: the agent got messages, a line each; the audit is whole; stderr is
    /// lines of text.
    fn lines_are_sound(&self) {
        for line in &self.ended.lines {
            assert!(!line.contains(|c| c < ' '), "not one line to all: {line:?}");
            let message = Envelope::read(line);
            assert_eq!(message.jsonrpc, "2.0", "{line}");
            let shapes = [
                message.method.is_some(),
                message.result.is_some(),
                message.error.is_some(),
            ];
            assert_eq!(shapes.into_iter().filter(|it| *it).count(), 1, "{line}");
        }
        for (at, record) in (1..).zip(&self.audit) {
            assert_eq!(record["seq"], at, "{record}");
        }
        let escapes = |c: char| c.is_control() && c != '\n' && c != '\t';
        let stderr = &self.ended.stderr;
        assert!(!stderr.contains(escapes), "{stderr:?}");
    }

    /// Exactly one answer to each request, and none to what was not asked.
    fn agent_got_one_answer_each(&self, asked: &[String]) {
        let mut answers: HashMap<String, usize> = HashMap::new();
        for line in &self.ended.lines {
            let message = Envelope::read(line);
            if let (Some(id), None) = (message.id, message.method) {
                *answers.entry(id.to_string()).or_default() += 1;
            }
        }
        let expected: HashMap<String, usize> = asked.iter().map(|id| (id.clone(), 1)).collect();
        assert_eq!(answers, expected, "answers by id");
    }

    pub(crate) fn server_got_nothing_denied(&self) {
        for payload in [DENIED, "evil"] {
            assert!(!self.received.contains(payload), "{}", self.received);
        }
    }

    /// One decision for each call, and one outcome for each that was let through.
    pub(crate) fn has_decisions_and_outcomes(&self, calls: usize) {
        let references = |records: Vec<&Value>| -> Vec<String> {
            let mut references: Vec<String> = records
                .iter()
                .map(|record| record["reference"].to_string())
                .collect();
            references.sort();
            references
        };
        let decided: Vec<&Value> = self.of_kind("tool_call").collect();
        assert_eq!(decided.len(), calls, "{decided:#?}");
        let forwarded = decided
            .into_iter()
            .filter(|record| record["decision"] == "ALLOW");
        assert_eq!(
            references(self.of_kind("tool_result").collect()),
            references(forwarded.collect()),
            "{:#?}",
            self.audit
        );
    }
}

/// The ended children that a process has not reaped. The gate starts nothing but its servers.
fn zombies_of(parent: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // proc_pid_stat(5): the name may hold anything; state and parent follow it.
        let Some((_, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let mut fields = rest.split(' ');
        if fields.next() == Some("Z") && fields.next() == Some(&parent.to_string()) {
            found.push(stat);
        }
    }
    found
}
