//! An explanation as people read it.

use std::io::{self, Write};

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
    Severity,
};

use crate::findings::{printable, visible};
use crate::gate::{HIDDEN, OUTSIDE, UNCONSENTED};
use crate::policy_tests::Paint;

use super::report::{
    ExplainedDecision, Explanation, ExplanationDepth, PartReport, PermittedMessage, PolicyReport,
    PolicyScope, QuestionReport, ReadValue,
};

/// Columns of a report: policies are seldom wider, and terminals seldom narrower.
const WIDTH: usize = 110;

/// Reasons at the step `decide` that are no policy's: what the message had been permitted by is in the
/// record beside them.
const NO_POLICYS: [&str; 3] = ["session_store_unavailable", "session_store_full", "panic"];

impl Explanation {
    /// Writes the decision, its cause, the policies with what their parts came to, and what would
    /// change it.
    pub fn write(&self, out: &mut dyn Write, cover: PolicyScope, paint: Paint) -> io::Result<()> {
        for question in &self.questions {
            writeln!(
                out,
                "{}  {}, `{}`, {}",
                paint.decision(self.outcome_of(question)),
                printable(&question.principal),
                question.action,
                printable(&question.resource),
            )?;
        }
        let decision = self.decision.unwrap_or(ExplainedDecision::Unknown);
        let because = self.because(decision);
        let because = if self.recorded {
            format!("{because} (recorded)")
        } else {
            because
        };
        if self.questions.is_empty() {
            writeln!(out, "{}  {}", paint.decision(decision), printable(&because))?;
        }
        let told = self.hidden();
        let lines = [
            (
                "because",
                Some(&because).filter(|_| !self.questions.is_empty()),
            ),
            ("code", self.code.as_ref()),
            ("advice", self.advice.as_ref()),
            ("consent", self.consent.as_ref()),
            // A tool that is hidden from an agent is one that does not exist, in its words.
            ("told", told.as_ref()),
            // For comparisons; readers of an explanation have the policies before them.
            (
                "revision",
                self.revision.as_ref().filter(|_| cover == PolicyScope::All),
            ),
        ];
        for (name, text) in lines {
            if let Some(text) = text {
                writeln!(out, "  {name:<9} {}", printable(text))?;
            }
        }
        for level in &self.level {
            writeln!(out, "  {:<9} {}", "level", printable(level))?;
        }
        for datasets in &self.datasets {
            writeln!(out, "  {:<9} {}", "data sets", printable(datasets))?;
        }
        for sources in &self.sources {
            writeln!(out, "  {:<9} {}", "servers", printable(sources))?;
        }
        for fault in self.questions.iter().filter_map(|it| it.fault.as_ref()) {
            writeln!(out, "  {:<9} {}", "fault", printable(fault))?;
        }
        for unknown in &self.unknown {
            writeln!(out, "  {:<9} {}", "unknown", printable(unknown))?;
        }
        for policy in self.questions.iter().flat_map(|it| self.told(it, cover)) {
            writeln!(out)?;
            policy.write(out, paint)?;
        }
        if !self.changes.is_empty() {
            writeln!(out, "\nWhat would change it, as far as single parts tell:")?;
        }
        for change in &self.changes {
            writeln!(out, "  - {}", printable(&change.text))?;
        }
        Ok(())
    }

    /// The answer to a call of a tool that the agent does not see.
    fn hidden(&self) -> Option<String> {
        let text = self.text.as_deref().unwrap_or_default();
        let is_decided = self.stage.as_deref() == Some("decide");
        if !is_decided || text.starts_with("unknown tool") {
            return is_decided.then(|| text.to_owned());
        }
        let (_, name) = text.strip_suffix(HIDDEN)?.split_once(": ")?;
        Some(format!("unknown tool: {name}"))
    }

    /// A gate has refused it at another step than where policies are asked, or there for a reason that is
    /// no policy's.
    fn is_decided_elsewhere(&self) -> bool {
        let no_policys = |reason: &str| NO_POLICYS.contains(&reason);
        self.recorded
            && self.decision == Some(ExplainedDecision::Deny)
            && match self.stage.as_deref() {
                Some("decide") => self.reason.as_deref().is_some_and(no_policys),
                Some(_) => true,
                None => false,
            }
    }

    /// Policies have forbidden it, as a gate has recorded.
    pub(super) fn was_forbidden(&self) -> bool {
        self.recorded
            && self.decision == Some(ExplainedDecision::Deny)
            && self.permitted.is_none()
            && !self.policies.is_empty()
            && !self.is_decided_elsewhere()
    }

    /// Policies permitted it, and the gate refuses it all the same.
    fn is_refused_though_permitted(&self) -> bool {
        let mut questions = self.questions.iter();
        self.decision == Some(ExplainedDecision::Deny)
            && !self.questions.is_empty()
            && questions.all(|question| question.decision == ExplainedDecision::Allow)
    }

    /// What a gate has decided stands, whatever the policies say now.
    fn outcome_of(&self, question: &QuestionReport) -> ExplainedDecision {
        match self.decision {
            Some(decision) if self.recorded => decision,
            Some(_) | None if self.is_refused_though_permitted() => ExplainedDecision::Deny,
            Some(_) | None => question.decision,
        }
    }

    fn because(&self, decision: ExplainedDecision) -> String {
        let ids = || in_words(&self.policies);
        let does = |verb: &str| match self.policies.as_slice() {
            [_] => format!("{} {verb}s", ids()),
            _ => format!("{} {verb}", ids()),
        };
        let handshake = match self.at {
            Some(at) => format!(", at the {at}, so that the message has no session to be in"),
            None => String::new(),
        };
        if let Some(permitted) = &self.permitted {
            return self.because_of_what_came(permitted);
        }
        let is_permitted = self.is_decided_elsewhere() && !self.policies.is_empty();
        if is_permitted || self.is_refused_though_permitted() {
            let permitted = match self.policies.as_slice() {
                [] => "policies permit it".to_owned(),
                _ => format!("{} it", does("permit")),
            };
            return format!("{permitted}, but {}", self.refused_at());
        }
        if let Some(why) = self
            .text
            .as_deref()
            .and_then(|text| text.strip_prefix(UNCONSENTED))
        {
            let word = self.reason.as_deref().unwrap_or("no reason");
            return format!(
                "{} wants a person to agree to it, and {why} ({word})",
                ids()
            );
        }
        match (decision, self.policies.is_empty(), self.stage.as_deref()) {
            (ExplainedDecision::Allow, false, _) => format!("{} it", does("permit")),
            (ExplainedDecision::Allow | ExplainedDecision::Unknown, ..) => {
                "nothing stands against it".to_owned()
            }
            (ExplainedDecision::Deny, false, _) => {
                let text = self.text.as_deref().unwrap_or_default();
                let place = text.strip_prefix(OUTSIDE).map(|place| format!(": {place}"));
                let place = place.unwrap_or_default();
                format!("{} it{handshake}{place}", does("forbid"))
            }
            (ExplainedDecision::Deny, true, Some("decide")) => {
                match (self.reason.as_deref(), &self.text) {
                    (Some("not_permitted"), _) => {
                        format!(
                            "no policy permits it, and what is not permitted is denied{handshake}"
                        )
                    }
                    (reason, text) => {
                        let text = text.as_deref().unwrap_or("it was refused");
                        format!("{text} ({}){handshake}", reason.unwrap_or("no reason"))
                    }
                }
            }
            (ExplainedDecision::Deny, true, stage) => {
                let asked = match stage {
                    Some("decode" | "correlate" | "classify") | None => {
                        ", before any policy was asked"
                    }
                    Some(_) => "",
                };
                format!("{}{asked}", self.refused_at())
            }
        }
    }

    fn refused_at(&self) -> String {
        format!(
            "{} ({}), refused at `{}`",
            self.text.as_deref().unwrap_or("it was refused"),
            self.reason.as_deref().unwrap_or("no reason"),
            self.stage.as_deref().unwrap_or("decide"),
        )
    }

    fn because_of_what_came(&self, permitted: &PermittedMessage) -> String {
        let PermittedMessage {
            record, refused, ..
        } = permitted;
        let by = match permitted.policies.as_slice() {
            [] => "nothing stood against it".to_owned(),
            policies => format!("{} permitted it", in_words(policies)),
        };
        let forbidden = match self.policies.as_slice() {
            [] => String::new(),
            policies => format!(", by {}", in_words(policies)),
        };
        format!(
            "{by} (record {record}), but not what came of it (record {refused}): {}{forbidden}",
            self.refused_at()
        )
    }

    /// The policies that are shown: those that decided or failed, and where none did, those that
    /// came near.
    fn told<'q>(
        &'q self,
        question: &'q QuestionReport,
        cover: PolicyScope,
    ) -> Vec<&'q PolicyReport> {
        let changed =
            |policy: &PolicyReport| self.changes.iter().any(|change| change.policy == policy.id);
        let no_match =
            !self.is_decided_elsewhere() && question.policies.iter().all(|policy| !policy.decided);
        let unclear = |policy: &PolicyReport| policy.value == "unknown" && policy.in_scope;
        let all = question.policies.iter();
        all.filter(|policy| {
            cover == PolicyScope::All
                || policy.decided
                || policy.value == "failed"
                || (no_match && (changed(policy) || unclear(policy)))
        })
        .collect()
    }
}

fn in_words(policies: &[String]) -> String {
    let ids = policies.iter().map(|id| format!("`{id}`"));
    ids.collect::<Vec<_>>().join(", ")
}

impl PolicyReport {
    fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let what = match (self.value, self.in_scope) {
            _ if self.told == ExplanationDepth::Decision => "decided",
            ("true", _) => "holds",
            ("failed", _) => "cannot be evaluated, which denies",
            ("unknown", _) => "may hold",
            (_, false) => "is not about this",
            _ => "does not hold",
        };
        let (id, effect) = (printable(&self.id), self.effect);
        let labels = self.parts.iter().filter_map(PartReport::label);
        let mut labels: Vec<LabeledSpan> = labels.collect();
        if self.told != ExplanationDepth::Parts {
            labels.push(LabeledSpan::at(
                self.span.clone(),
                "its conditions are not traced",
            ));
        } else if labels.is_empty() {
            let first = self.source.get(self.span.clone()).unwrap_or_default();
            let first = first.lines().next().map_or(0, str::len);
            let first = self.span.start..self.span.start + first;
            labels.push(LabeledSpan::at(first, "for every agent and every item"));
        }
        let mut told = MietteDiagnostic::new(format!("{effect} `{id}` {what}"))
            .with_severity(Severity::Advice)
            .with_labels(labels);
        told.help = self
            .error
            .as_ref()
            .or(self.advice.as_ref())
            .map(|it| printable(it));
        let source = NamedSource::new(&self.file, self.source.clone());
        let told = Report::new(told).with_source_code(source);
        let theme = match paint {
            Paint::Coloured => GraphicalTheme::unicode(),
            Paint::Plain => GraphicalTheme::unicode_nocolor(),
        };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(WIDTH);
        let mut text = String::new();
        if handler.render_report(&mut text, told.as_ref()).is_err() {
            text = format!("{effect} `{id}` {what}\n");
        }
        // The snippet is an author's text, which may hold what deceives its reader.
        out.write_all(visible(&text).as_bytes())
    }
}

impl PartReport {
    /// What it came to and on which values; nothing for unrecorded and unevaluated values.
    fn label(&self) -> Option<LabeledSpan> {
        let leaf = matches!(self.kind, "scope" | "condition");
        let empty = self.kind == "scope" && self.saw.is_empty();
        if !leaf || empty {
            return None;
        }
        let mut text = if self.asked || self.value == "unknown" {
            self.value.to_owned()
        } else {
            "not asked".to_owned()
        };
        let saw = self.saw.iter().filter(|_| self.asked);
        // The action is the question itself.
        for saw in saw.filter(|saw| saw.what != "action") {
            text.push_str("; ");
            text.push_str(&saw.told(&self.text));
        }
        Some(LabeledSpan::at(self.span.clone(), printable(&text)))
    }
}

impl ReadValue {
    fn told(&self, part: &str) -> String {
        // What stands right above need not be repeated.
        let subject = if part.contains(&self.what) {
            "it".to_owned()
        } else {
            self.what.clone()
        };
        match (&self.value, self.known) {
            (Some(value), _) => format!("{subject} is {value} ({})", self.from),
            (None, true) => format!("{subject} is missing ({})", self.from),
            (None, false) => format!("{subject} is not in the record"),
        }
    }
}

impl ExplainedDecision {
    /// As people read it.
    const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Unknown => "unknown",
        }
    }
}

impl Paint {
    fn decision(self, decision: ExplainedDecision) -> String {
        let colour = match (self, decision) {
            (Self::Plain, _) => return decision.word().to_owned(),
            (Self::Coloured, ExplainedDecision::Allow) => "32",
            (Self::Coloured, ExplainedDecision::Deny) => "31",
            (Self::Coloured, ExplainedDecision::Unknown) => "33",
        };
        format!("\u{1b}[{colour}m{}\u{1b}[0m", decision.word())
    }
}
