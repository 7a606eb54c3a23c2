//! One step of the demo after the other: a request of the agent, and its traces in all logs.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitStatus;

use super::agent::DemoAgent;
use super::failure::DemoFailure;
use super::files::write_files;
use super::logs::{JsonLine, Logs, Received};
use super::network::DemoNetwork;
use super::page::{DemoPage, TerminalColour};
use super::story::{DemoEvidence, DemoRequest, DemoSetting, DemoStory, DemoToken};
use super::traces::RequestTraces;
use crate::cli::proxy::policy_settings;
use crate::config::Config;
use crate::loading;
use crate::policy::{PolicyId, PolicySnapshot};

/// The agent on one side, the logs on the other.
pub(super) struct DemoScene<'p, 'o> {
    pub(super) page: &'p mut DemoPage<'o>,
    pub(super) logs: Logs,
    /// The number of statements that the demo has checked.
    pub(super) checks: u32,
    story: &'static DemoStory,
    policies: PolicySnapshot,
    /// Where the servers of the story have one.
    network: Option<DemoNetwork>,
    agent: DemoAgent,
    steps: u32,
    shown: HashSet<String>,
}

impl<'p, 'o> DemoScene<'p, 'o> {
    pub(super) fn open(
        page: &'p mut DemoPage<'o>,
        story: &'static DemoStory,
        directory: &Path,
    ) -> Result<Self, DemoFailure> {
        let network = match story.setting {
            DemoSetting::Stdio => None,
            DemoSetting::Sandboxed => Some(DemoNetwork::open()?),
        };
        write_files(story, directory, network.as_ref().map_or(0, |it| it.port))?;
        let config = Config::load_offline(&directory.join(story.pack).join("gate.toml"))
            .map_err(|errors| DemoFailure::Config(errors.to_string()))?;
        let policies = loading::load(&policy_settings(&config)).map_err(|errors| {
            let problems = errors.problems.iter().map(ToString::to_string);
            DemoFailure::Policies(problems.collect::<Vec<_>>().join("; "))
        })?;
        Ok(Self {
            page,
            logs: Logs::new(directory, story.servers),
            checks: 0,
            story,
            policies: policies.snapshot,
            network,
            agent: DemoAgent::start(story, directory)?,
            steps: 0,
            shown: HashSet::new(),
        })
    }

    /// Sends a request, shows it, and collects its traces.
    pub(super) fn ask(
        &mut self,
        request: &DemoRequest,
        params: &str,
    ) -> Result<RequestTraces, DemoFailure> {
        self.steps += 1;
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"{}","params":{params}}}"#,
            self.steps, request.method
        );
        self.page.json("agent sent", &line)?;
        let response = self.agent.send(&line, request.token)?;
        let mut traces = RequestTraces {
            answer: JsonLine::read("{}")?,
            response,
            questions: Vec::new(),
            sent: vec![line],
            received: Vec::new(),
            network: Vec::new(),
            records: Vec::new(),
            revision: self.policies.revision().as_str().to_owned(),
        };
        if request.evidence == DemoEvidence::Answer {
            if let Some(line) = self.agent.receive()? {
                traces.answer = JsonLine::read(&line)?;
            }
            traces.received = self.logs.received_before(None)?;
            return Ok(traces);
        }
        traces.answer = self.answer_to(&self.steps.to_string(), &mut traces.questions)?;
        for line in request.then {
            self.agent.send(line, DemoToken::Sent)?;
            traces.sent.push((*line).to_owned());
        }
        // All effects of the request are in the logs when a later ping has passed all the way and back.
        let fence = format!("fence-{}", self.steps);
        let ping = format!(
            r#"{{"jsonrpc":"2.0","id":"{fence}","method":"ping","params":{{"_meta":{{"mcp-protector/job_id":"{fence}"}}}}}}"#
        );
        self.agent.send(&ping, DemoToken::Sent)?;
        self.answer_to(&fence, &mut traces.questions)?;
        traces.received = self.logs.received_before(Some(&fence))?;
        traces.records = self.logs.records_before(&fence)?;
        traces.network = self.network.iter().flat_map(DemoNetwork::arrived).collect();
        Ok(traces)
    }

    /// The answer to a request. A scripted person approves each question before it.
    fn answer_to(
        &mut self,
        id: &str,
        questions: &mut Vec<String>,
    ) -> Result<JsonLine, DemoFailure> {
        while let Some(line) = self.agent.receive()? {
            let line = JsonLine::read(&line)?;
            match line.text("/method").as_str() {
                "" if line.text("/id") == id => return Ok(line),
                "elicitation/create" => {
                    let question = line.text("/params/message");
                    self.page.lines("gate asks", &question)?;
                    self.page.row("person", "approves")?;
                    questions.push(question);
                    let approval = format!(
                        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"approve":true}}}}}}"#,
                        line.json("/id")
                    );
                    self.agent.send(&approval, DemoToken::Sent)?;
                }
                _ => {
                    let found = [line.json("").to_owned()];
                    self.check("the gate sends the agent nothing else", &[], &found)?;
                }
            }
        }
        Err(self.agent.silence()?)
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
                let pack = self.story.pack;
                format!("`{id}` at {pack}/{}:{}", name.display(), origin.line)
            }
            // A policy of the gate itself.
            _ => format!("`{id}` at {origin}"),
        }
    }

    /// Shows the text of a policy, once in each story.
    fn show_text(&mut self, id: &str) -> Result<(), DemoFailure> {
        match self.policies.policy_source(&PolicyId::new(id)) {
            Some((_, text)) if self.shown.insert(id.to_owned()) => self.page.policy(text),
            _ => Ok(()),
        }
    }

    /// Shows the lines that reached the servers, and the answer that reached the agent.
    pub(super) fn show_messages(&mut self, traces: &RequestTraces) -> Result<(), DemoFailure> {
        if traces.received.is_empty() {
            self.page.row("server got", "nothing")?;
        }
        for Received { label, line } in &traces.received {
            self.page.json(label, line)?;
        }
        self.page.json("agent got", traces.answer.json(""))
    }

    /// Shows the lines that reached the network.
    pub(super) fn show_network(&mut self, traces: &RequestTraces) -> Result<(), DemoFailure> {
        match traces.network.as_slice() {
            [] => self.page.row("network got", "nothing"),
            lines => self.page.lines("network got", &lines.join("\n")),
        }
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
        self.agent.close()?;
        let mut last = Vec::new();
        while let Some(line) = self.agent.receive()? {
            last.push(line);
        }
        Ok((last, self.agent.wait()?))
    }
}
