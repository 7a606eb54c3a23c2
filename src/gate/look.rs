//! What is looked for in texts, and records and answers without credentials.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::audit::{Correlation, Edit, Reason, Record, Redactor, Text};
use crate::guard::secrets::{Redacted, RuleId, SecretRules};
use crate::guard::text::{Flags, flags};
use crate::guard::{MemberNames, MessagePart, dlp_findings, message_strings};
use crate::policy::PolicySnapshot;
use crate::wire::Value;

use super::settings::{Secrets, Terms};

/// Whether it is looked for what instructs or hides in definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    For,
    Past,
}

/// What credentials look like where only policies ask.
pub(super) static BUILTIN: LazyLock<SecretRules> = LazyLock::new(SecretRules::builtin);

/// Compiles these rules, which the first message would wait for.
pub fn compile_rules() {
    BUILTIN.compile();
}

/// What is looked for in a message before it is judged: what some policy asks for, so that nothing
/// is spent where none does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'r> {
    credentials: Option<&'r SecretRules>,
    words: Looked,
}

impl Look<'_> {
    /// Nothing is looked for.
    pub(super) const AWAY: Self = Look {
        credentials: None,
        words: Looked::Past,
    };

    /// The kinds of credentials that a part of a message shows.
    pub(super) fn secrets(self, value: Option<Value<'_>>) -> Vec<String> {
        let (Some(rules), Some(value)) = (self.credentials, value) else {
            return Vec::new();
        };
        let found = dlp_findings(value, &[], &[], &|_| None, (rules, MemberNames::AreHints));
        let shown = found.strings.into_iter().flat_map(|leak| leak.rules);
        named(shown.chain(found.names))
    }

    /// The same of a text.
    pub(super) fn secrets_of(self, text: &str) -> Vec<String> {
        let found = self.credentials.map(|rules| rules.find(text));
        named(found.into_iter().flatten().map(|it| it.rule))
    }

    pub(super) fn flags_of(self, text: &str) -> Vec<String> {
        match self.words {
            Looked::For => flags(text).names(),
            Looked::Past => Vec::new(),
        }
    }

    /// What instructs or hides in the words of a result.
    pub(super) fn flags(self, value: Value<'_>) -> Vec<String> {
        match self.words {
            Looked::For => flags_in(value, MessagePart::Content).names(),
            Looked::Past => Vec::new(),
        }
    }
}

impl<'s> Look<'s> {
    /// What the policies and the terms that are in force with them want looked for.
    pub(super) fn under(snapshot: &PolicySnapshot, terms: &'s Terms) -> Self {
        let credentials = snapshot.looks_for().secrets.then(|| {
            let configured = terms.guards.secrets.as_ref();
            configured.map_or_else(|| &*BUILTIN, |secrets| &*secrets.rules)
        });
        let words = if snapshot.looks_for().flags {
            Looked::For
        } else {
            Looked::Past
        };
        Self { credentials, words }
    }
}

/// A record as it may be written where credentials are looked for: its texts that peers chose are without
/// them.
pub(super) fn concealed(mut record: Record, secrets: Option<&Secrets>) -> Record {
    let Some(secrets) = secrets else {
        return record;
    };
    let mut redactions = Vec::new();
    if let Some(params) = &mut record.params {
        params.replace(&mut |text| {
            let found = secrets.rules.redact(text);
            let rules = found.findings.iter();
            redactions.extend(rules.map(|finding| finding.rule.as_str().into()));
            (!found.findings.is_empty()).then(|| found.text.into_owned())
        });
    }
    for text in of_peers(&mut record) {
        let Redacted {
            text: without,
            findings,
        } = secrets.rules.redact(text.as_str());
        if findings.is_empty() {
            continue;
        }
        let without = without.into_owned().into();
        redactions.extend(findings.iter().map(|finding| finding.rule.as_str().into()));
        *text = without;
    }
    record.redactions.append(&mut redactions);
    record
}

/// The texts of a record that a peer may have chosen: a URI may hold a password, a reason quotes names of
/// members, an agent chooses its own name and the ids of its work.
///
/// INVARIANT: no `..` here. A new field of the record is sorted by its author.
fn of_peers(record: &mut Record) -> impl Iterator<Item = &mut Text> {
    let Record {
        kind: _,
        reference: _,
        event: _,
        session_id: _,
        agent,
        operator: _,
        upstream: _,
        transports: _,
        bridged,
        direction: _,
        method,
        target,
        decision: _,
        stage: _,
        policies: _,
        reason: Reason {
            code: _,
            advice: _,
            text,
        },
        obligations: _,
        edits,
        revision: _,
        shadow: _,
        tool,
        capabilities: _,
        arguments_digest: _,
        // Made without credentials.
        arguments: _,
        result: _,
        // By `concealed`.
        params: _,
        duration_us: _,
        error_code: _,
        error_class: _,
        correlation:
            Correlation {
                job_id,
                trace_id,
                workflow_run_id,
                task_id,
                session_id,
                traceparent,
            },
        sensitivity: _,
        consent,
        findings,
        redactions: _,
        lost: _,
        unconfirmed: _,
        traced: _,
    } = record;
    let name = agent
        .as_mut()
        .and_then(|agent| agent.asserted_name.as_mut());
    let server_version = tool.as_mut().and_then(|tool| tool.server_version.as_mut());
    let by = consent.as_mut().and_then(|consent| consent.by.as_mut());
    let single = [
        bridged.as_mut(),
        method.as_mut(),
        target.as_mut(),
        text.as_mut(),
        job_id.as_mut(),
        trace_id.as_mut(),
        workflow_run_id.as_mut(),
        task_id.as_mut(),
        session_id.as_mut(),
        traceparent.as_mut(),
        name,
        server_version,
        by,
    ];
    let edits = edits.iter_mut().flat_map(|edit| {
        let Edit {
            pointer,
            op: _,
            reason,
        } = edit;
        std::iter::once(pointer).chain(reason)
    });
    let findings = findings.iter_mut().map(|finding| &mut finding.detail);
    single.into_iter().flatten().chain(findings).chain(edits)
}

/// Bytes of the longest error text that quotes a peer, which chooses how long it is.
const MOST_TOLD: usize = 4096;

/// Bytes of it that are searched for credentials: enough to see one whole that stands where the text is cut.
const MOST_READ: usize = MOST_TOLD + 16 * 1024;

/// A text in which peers are quoted, without their credentials where those are looked for, and without what
/// is too long.
pub(super) fn without(mut text: String, secrets: Option<&Secrets>) -> String {
    let length = text.len();
    text.truncate(text.floor_char_boundary(MOST_READ));
    let beyond = length - text.len();
    if let Some(secrets) = secrets {
        text = secrets.rules.redact(&text).text.into_owned();
    }
    let end = text.floor_char_boundary(MOST_TOLD);
    match beyond + (text.len() - end) {
        0 => text,
        left_out => format!(
            "{}… [{left_out} bytes more]",
            text.get(..end).unwrap_or_default()
        ),
    }
}

/// The same of any part of a message.
pub(super) fn flags_in(value: Value<'_>, part: MessagePart) -> Flags {
    let mut found = Flags::default();
    message_strings(value, part, &mut |word| {
        found = found.and(flags(&word.text));
    });
    found
}

/// Each rule once.
pub(super) fn named(rules: impl Iterator<Item = RuleId>) -> Vec<String> {
    let mut names: Vec<String> = rules.map(|rule| rule.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a text shows a secret as it is.
pub(super) fn shows(text: &str, secrets: &Redactor) -> bool {
    matches!(secrets.redact(text), Cow::Owned(_))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::settings::{Level, Treatment};
    use super::*;

    #[test]
    fn a_text_that_quotes_a_peer_is_cut_behind_its_credentials() {
        let secrets = Secrets {
            rules: Arc::new(SecretRules::builtin()),
            received: Treatment::Redact,
            sent: Level::Off,
        };
        let check = |text: &str, expected: &str| {
            assert_eq!(without(text.to_owned(), Some(&secrets)), expected);
            if !expected.contains("redacted") {
                assert_eq!(without(text.to_owned(), None), expected);
            }
        };
        let token = format!("ghp_{}", "0a1B2c3D4e5F".repeat(3));
        let long = "x ".repeat(MOST_TOLD / 2);
        check("Unknown tool: a", "Unknown tool: a");
        check(&token, "[redacted:github-token]");
        check(&long, &long);
        check(&format!("{long}yz"), &format!("{long}… [2 bytes more]"));
        let cut = format!("{}{token}", long.get(..MOST_TOLD - 10).unwrap());
        let shown = without(cut, Some(&secrets));
        assert!(shown.contains(" [redacted:… ["), "{shown}");
        let far = format!("{}é", "x ".repeat(4 << 20));
        assert!(without(far, None).len() < MOST_TOLD + 100);
    }
}
