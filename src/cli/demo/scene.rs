//! One step of the demo after the other: a request of the agent, and its traces in all logs.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitStatus;

use super::agent::DemoAgent;
use super::failure::DemoFailure;
use super::files::PACK;
use super::logs::{JsonLine, Logs};
use super::page::{DemoPage, TerminalColour};
use crate::cli::proxy::policy_settings;
use crate::config::Config;
use crate::loading;
use crate::policy::{PolicyId, PolicySnapshot};

/// The agent on one side, the logs on the other.
pub(super) struct DemoScene<'p, 'o> {
    pub(super) page: &'p mut DemoPage<'o>,
    pub(super) logs: Logs,
    pub(super) policies: PolicySnapshot,
    /// The questions of the gate to a person.
    pub(super) questions: Vec<String>,
    /// The number of statements that the demo has checked.
    pub(super) checks: u32,
    agent: DemoAgent,
    steps: u32,
    shown: HashSet<String>,
}

/// The traces of one request.
pub(super) struct RequestTraces {
    pub(super) answer: JsonLine,
    /// The lines that the server received.
    pub(super) received: Vec<String>,
    pub(super) records: Vec<JsonLine>,
}

impl<'p, 'o> DemoScene<'p, 'o> {
    pub(super) fn open(page: &'p mut DemoPage<'o>, directory: &Path) -> Result<Self, DemoFailure> {
        let config = Config::load(&directory.join(PACK).join("gate.toml"))
            .map_err(|errors| DemoFailure::Config(errors.to_string()))?;
        let policies = loading::load(&policy_settings(&config)).map_err(|errors| {
            let problems = errors.problems.iter().map(ToString::to_string);
            DemoFailure::Policies(problems.collect::<Vec<_>>().join("; "))
        })?;
        Ok(Self {
            page,
            logs: Logs::new(directory),
            policies: policies.snapshot,
            questions: Vec::new(),
            checks: 0,
            agent: DemoAgent::start(directory)?,
            steps: 0,
            shown: HashSet::new(),
        })
    }

    /// Sends a request, shows it, and collects its traces. The agent sends `then` after the answer.
    pub(super) fn ask(
        &mut self,
        request: &str,
        then: &[&str],
    ) -> Result<RequestTraces, DemoFailure> {
        self.page.json("agent sent", request)?;
        self.agent.send(request)?;
        let answer = self.answer_to(&JsonLine::read(request)?.text("/id"))?;
        for line in then {
            self.agent.send(line)?;
        }
        // All effects of the request are in the logs when a later ping has passed all the way and back.
        self.steps += 1;
        let fence = format!("fence-{}", self.steps);
        self.agent.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"{fence}","method":"ping","params":{{"_meta":{{"mcp-protector/job_id":"{fence}"}}}}}}"#
        ))?;
        self.answer_to(&fence)?;
        Ok(RequestTraces {
            answer,
            received: self.logs.received_before(&fence)?,
            records: self.logs.records_before(&fence)?,
        })
    }

    /// The answer to a request. A scripted person approves each question before it.
    fn answer_to(&mut self, id: &str) -> Result<JsonLine, DemoFailure> {
        while let Some(line) = self.agent.receive()? {
            let line = JsonLine::read(&line)?;
            match line.text("/method").as_str() {
                "" if line.text("/id") == id => return Ok(line),
                "elicitation/create" => {
                    let question = line.text("/params/message");
                    self.page.lines("gate asks", &question)?;
                    self.page.row("person", "approves")?;
                    self.questions.push(question);
                    self.agent.send(&format!(
                        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"approve":true}}}}}}"#,
                        line.json("/id")
                    ))?;
                }
                _ => {
                    let found = [line.json("").to_owned()];
                    self.check("the gate sends the agent nothing else", &[], &found)?;
                }
            }
        }
        Err(DemoFailure::GateExited(self.agent.wait()?))
    }

    /// Shows the decision of the gate and its reason, by the record and the policies.
    pub(super) fn show_decision(&mut self, record: &JsonLine) -> Result<(), DemoFailure> {
        let decision = record.text("/decision");
        let (colour, mut reasons) = match decision.as_str() {
            "ALLOW" => (TerminalColour::Green, Vec::new()),
            _ => (TerminalColour::Red, vec![record.text("/reason/code")]),
        };
        let policies = record.texts("/policies", "");
        reasons.extend(policies.iter().map(|id| format!("by {}", self.place(id))));
        self.page
            .verdict("gate", (colour, &decision), &reasons.join(", "))?;
        policies.iter().try_for_each(|id| self.show_text(id))
    }

    /// Shows a policy before the step in which it decides.
    pub(super) fn show_policy(&mut self, id: &str) -> Result<(), DemoFailure> {
        let place = self.place(id);
        self.page.row("policy", &place)?;
        self.show_text(id)
    }

    /// The id of a policy, with its file and line.
    fn place(&self, id: &str) -> String {
        let Some((origin, _)) = self.policies.policy_source(&PolicyId::new(id)) else {
            return format!("`{id}`");
        };
        let file = Path::new(&*origin.file);
        match file.file_name() {
            Some(name) if file.is_absolute() => {
                format!("`{id}` at {PACK}/{}:{}", name.display(), origin.line)
            }
            // A policy of the gate itself.
            _ => format!("`{id}` at {origin}"),
        }
    }

    /// Shows the text of a policy, once in a demo.
    fn show_text(&mut self, id: &str) -> Result<(), DemoFailure> {
        match self.policies.policy_source(&PolicyId::new(id)) {
            Some((_, text)) if self.shown.insert(id.to_owned()) => self.page.policy(text),
            _ => Ok(()),
        }
    }

    /// Shows the lines that reached the server, and the answer that reached the agent.
    pub(super) fn show_messages(&mut self, traces: &RequestTraces) -> Result<(), DemoFailure> {
        if traces.received.is_empty() {
            self.page.row("server got", "nothing")?;
        }
        for line in &traces.received {
            self.page.json("server got", line)?;
        }
        self.page.json("agent got", traces.answer.json(""))
    }

    /// Checks a statement.
    pub(super) fn check(
        &mut self,
        statement: &str,
        expected: &[&str],
        found: &[String],
    ) -> Result<(), DemoFailure> {
        if expected != found {
            return Err(DemoFailure::False {
                statement: statement.to_owned(),
                expected: expected.iter().map(ToString::to_string).collect(),
                found: found.to_owned(),
            });
        }
        self.checks += 1;
        Ok(())
    }

    /// Ends the session from the side of the agent; the last lines of the gate, and its exit status.
    pub(super) fn close(&mut self) -> Result<(Vec<String>, ExitStatus), DemoFailure> {
        self.agent.close();
        let mut last = Vec::new();
        while let Some(line) = self.agent.receive()? {
            last.push(line);
        }
        Ok((last, self.agent.wait()?))
    }
}

impl RequestTraces {
    /// The first record of a kind; an empty one if there is none.
    pub(super) fn record(&self, kind: &str) -> Result<JsonLine, DemoFailure> {
        let mut of_kind = self.records.iter().filter(|it| it.text("/kind") == kind);
        of_kind
            .next()
            .cloned()
            .map_or_else(|| JsonLine::read("{}"), Ok)
    }

    /// The parameters of each message that the server received; its id is the gate's own.
    pub(super) fn received_params(&self) -> Result<Vec<String>, DemoFailure> {
        let received = self.received.iter();
        received
            .map(|line| Ok(JsonLine::read(line)?.json("/params").to_owned()))
            .collect()
    }

    /// Kind and decision of each record, in the order of the log.
    pub(super) fn decisions(&self) -> Vec<String> {
        let records = self.records.iter();
        let decisions = records.map(|it| format!("{} {}", it.text("/kind"), it.text("/decision")));
        decisions.map(|it| it.trim_end().to_owned()).collect()
    }
}
