//! Who says what a policy looked at.

use crate::policy::{ActionName, AttributeRead, PolicySnapshot};
use crate::policy_tests::{QueryDescription, Requester};

/// Where values of one question come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origins<'a> {
    pub(super) policies: &'a PolicySnapshot,
    pub(super) asked: &'a QueryDescription,
}

const MESSAGE: &str = "the message";
const GATE: &str = "the gate";

impl Origins<'_> {
    /// In a word or a few.
    pub(super) fn of(&self, sight: &AttributeRead) -> String {
        let words: Vec<&str> = sight.what.split(['.', '[', '(']).collect();
        match *words.as_slice() {
            ["principal", "client", ..] => "the agent itself".to_owned(),
            ["principal", "claims", ..] => "the token".to_owned(),
            ["principal", ..] => self.of_principal(),
            ["resource", ref rest @ ..] => self.of_resource(rest, sight),
            ["context", "env", "session", ..] => "the session".to_owned(),
            ["context", "env", "consent", ..] => "consent".to_owned(),
            ["context", "env", ..] => GATE.to_owned(),
            ["context", "targets", "hosts", ..] => {
                format!("the message, where {} looks", self.label_file("tools.toml"))
            }
            ["context", "targets", "copiedFrom", ..] => {
                "earlier results: `explain` has none".to_owned()
            }
            ["context", "result", ..] => "the server".to_owned(),
            ["context", ..] if self.asked.principal.is_server() => "the server".to_owned(),
            _ => MESSAGE.to_owned(),
        }
    }

    fn of_principal(&self) -> String {
        let Requester::Agent(agent) = &self.asked.principal else {
            return "the configuration".to_owned();
        };
        if self.policies.labels().agents.contains_key(&agent.id) {
            self.label_file("agents.toml")
        } else {
            "the session".to_owned()
        }
    }

    fn of_resource(&self, path: &[&str], sight: &AttributeRead) -> String {
        let labelled = matches!(path, ["level" | "hints", ..]);
        let belongs = path.is_empty()
            && sight
                .value
                .as_deref()
                .is_some_and(|it| it.contains(" in ["));
        match path {
            ["server", ..] => "the configuration".to_owned(),
            ["pin", ..] => GATE.to_owned(),
            _ if self.asked.kind == "tool" && (labelled || belongs) => self.of_label(),
            _ if labelled => GATE.to_owned(),
            _ => MESSAGE.to_owned(),
        }
    }

    /// What the host says of the tool.
    fn of_label(&self) -> String {
        let labels = self.policies.labels();
        let file = self.label_file("tools.toml");
        if labels.tools.contains_key(&self.asked.name) {
            file
        } else if labels.unlabelled == crate::policy::ToolLabels::default() {
            "no label".to_owned()
        } else {
            format!("[default] of {file}")
        }
    }

    /// The file as it was found, or as it would be called.
    fn label_file(&self, name: &str) -> String {
        let sources = self.policies.sources().iter();
        let mut files = sources.filter(|source| source.name.ends_with(name));
        match (files.next(), files.next()) {
            (Some(file), None) => file.name.to_string(),
            // Which of several files it was is not kept.
            _ => name.to_owned(),
        }
    }
}

/// Whether a record, which has a digest of the arguments in their place, leaves a value open.
pub(super) fn is_open_in_records(asked: &QueryDescription, what: &str) -> bool {
    let said = |prefix: &str| {
        what.strip_prefix("context.")
            .is_some_and(|it| it.starts_with(prefix))
    };
    let of_server = asked.principal.is_server() && !said("env");
    let of_result = asked.action == ActionName::ReceiveResult && said("result");
    let of_session = said("env.session") || said("env.consent");
    let of_definition = what.starts_with("resource.flags");
    of_definition || is_of_arguments(what) || of_server || of_result || of_session
}

/// Whether it says what arguments repeat of earlier results, which only the gate that got them knew.
pub(super) fn is_of_earlier_results(what: &str) -> bool {
    what == "context.targets" || what.starts_with("context.targets.copiedFrom")
}

/// Arguments, and what they reach for.
pub(super) fn is_of_arguments(what: &str) -> bool {
    let said = |prefix: &str| {
        what.strip_prefix("context.")
            .is_some_and(|it| it.starts_with(prefix))
    };
    said("raw_arguments") || said("argument") || said("targets")
}

impl Requester {
    fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}
