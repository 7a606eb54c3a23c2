//! What the host says that a message brings into its session, should it be permitted.

use super::super::action::Action;
use super::super::facts::{Facts, Principal, Resource};
use super::super::location::Location;
use super::super::message_facts::{Arguments, Targets};
use super::super::sensitivity::SessionSensitivity;
use super::targets::are_few;
use super::{Labels, Root, ToolLabels};
use crate::policy::UNKNOWN_DATASET;

impl Labels {
    /// What the agent may come to know by what it asks. Nothing where the host labels nothing.
    ///
    /// Whatever a tool does, its answer may show what it works on, so that one that writes counts as
    /// one that reads.
    pub fn brings(&self, facts: &Facts<'_>) -> SessionSensitivity {
        let asks = matches!(facts.principal, Principal::Agent(_));
        if !asks || !reads(&facts.action) {
            return SessionSensitivity::default();
        }
        self.labelled(facts).from_server(facts.env.server)
    }

    fn labelled(&self, facts: &Facts<'_>) -> SessionSensitivity {
        // Of several servers, one may have labels alone that the others lack.
        if self.is_empty() && facts.env.server.key.is_none() {
            return SessionSensitivity::default();
        }
        match (facts.resource, facts.action) {
            (Resource::Tool(tool), Action::CallTool { arguments, targets }) => {
                self.called(self.of_tool(&tool.name), arguments, targets)
            }
            (Resource::Method(_), Action::Extension { arguments, targets }) => {
                self.called(&self.unlabelled, arguments, targets)
            }
            (
                Resource::Resource(resource),
                Action::ReadResource | Action::Subscribe | Action::Complete { .. },
            ) => {
                let described = self.resources.describe(&self.roots, resource);
                let described = described.unwrap_or_default();
                let mut held = SessionSensitivity {
                    level: described.level,
                    labels: described.labels.into_iter().collect(),
                    datasets: described.datasets.into_iter().collect(),
                    ..SessionSensitivity::default()
                };
                if let Action::Complete { .. } = facts.action {
                    let reached = self.resources.within_reach(&self.roots, &resource.uri);
                    held.level = held.level.max(reached.level.unwrap_or_default());
                    held.labels.extend(reached.labels);
                    held.datasets.extend(reached.datasets);
                }
                held
            }
            _ => SessionSensitivity::default(),
        }
    }

    fn called(
        &self,
        labels: &ToolLabels,
        arguments: &Arguments<'_>,
        targets: &Targets,
    ) -> SessionSensitivity {
        let mut held = labels.held();
        for by in &labels.datasets_by {
            held.datasets.extend(by.read_by(arguments));
        }
        // Without labels of paths, or without places, there are none.
        let reaches = labels.paths.as_ref().is_some_and(|paths| !paths.is_empty());
        if reaches && !self.roots.is_empty() {
            let touched = labels.targets(&self.roots, arguments, targets);
            held.level = held.level.max(touched.level);
            let lies_in = self.touched_roots(labels, arguments, targets);
            held.labels
                .extend(lies_in.iter().flat_map(|it| it.labels.iter().cloned()));
            let mut roots = self.roots.iter();
            if touched.outside && roots.any(|root| !root.datasets.is_empty()) {
                held.datasets.insert(UNKNOWN_DATASET.to_owned());
            }
            let names = lies_in.iter().flat_map(|it| &it.datasets);
            held.datasets.extend(names.cloned());
        }
        held
    }

    /// Whether a server could take a URI for that of another resource, in a scheme of which the host says
    /// something.
    pub fn may_be_another(&self, uri: &str) -> bool {
        self.resources.may_be_another(&self.roots, uri)
    }

    /// What is brought by what lies at a URI, as a server says of what it sends. Nothing where the host says
    /// nothing of the place: a server may call what it sends as it likes.
    pub fn lies_at(&self, uri: &str) -> SessionSensitivity {
        let known = self.resources.known(&self.roots, uri);
        known.map_or_else(SessionSensitivity::default, |facts| SessionSensitivity {
            level: facts.level,
            labels: facts.labels.into_iter().collect(),
            datasets: facts.datasets.into_iter().collect(),
            ..SessionSensitivity::default()
        })
    }

    /// What the answers of a tool are, whatever it was called with.
    pub fn answers_of(&self, tool: &str) -> SessionSensitivity {
        if self.is_empty() {
            return SessionSensitivity::default();
        }
        self.of_tool(tool).held()
    }

    /// The roots that the paths of a call lie in, and those below.
    fn touched_roots(
        &self,
        labels: &ToolLabels,
        arguments: &Arguments<'_>,
        targets: &Targets,
    ) -> Vec<&Root> {
        let paths: Vec<_> = labels.paths_among(&self.roots, arguments).collect();
        // The call was refused: see `Labels::bound_paths`.
        if !are_few(paths.iter().map(|(_, text)| text.as_deref())) {
            return self.roots.iter().collect();
        }
        let places = paths.into_iter().filter_map(|(_, text)| {
            let text = text?;
            let known = targets.known_as.get(&*text);
            Location::of_file(known.map_or(&*text, String::as_str))
        });
        places
            .flat_map(|place| self.roots.find(&place).within())
            .collect()
    }
}

/// Whether what the server answers has content of its own.
fn reads(action: &Action<'_>) -> bool {
    match action {
        Action::CallTool { .. }
        | Action::Extension { .. }
        | Action::ReadResource
        | Action::Subscribe
        | Action::GetPrompt { .. }
        | Action::Complete { .. } => true,
        Action::Initialize
        | Action::Ping
        | Action::SetLevel
        | Action::Cancel
        | Action::Notify { .. }
        | Action::ListTool
        | Action::ListResource
        | Action::ListPrompt
        | Action::Listen
        | Action::ReceiveResult { .. }
        | Action::Sample { .. }
        | Action::Elicit { .. }
        | Action::ListRoots
        | Action::ConnectHost { .. } => false,
    }
}

impl ToolLabels {
    /// What a tool's answers are, whatever it is called with. One that connects brings what others
    /// wrote, unless the host says otherwise.
    fn held(&self) -> SessionSensitivity {
        SessionSensitivity {
            level: self.level,
            labels: self.labels.iter().cloned().collect(),
            datasets: self.datasets.iter().cloned().collect(),
            untrusted: self.untrusted.unwrap_or(self.permissions.connect),
            ..SessionSensitivity::default()
        }
    }
}
