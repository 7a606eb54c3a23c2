//! Credentials in messages: what the agent sends may be refused for them, what it gets is without.

use crate::gate::context::RequestContext;
use crate::gate::filter::Filter;
use crate::gate::stop::Stop;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::audit::{Correlation, Edit, Finding, Guard, Reason, Record, Text};
use crate::guard::secrets::{Redacted, RuleId, SecretRules};
use crate::guard::text::flags;
use crate::guard::{DlpFinding, MessagePart, dlp_findings};
use crate::policy::PolicySnapshot;
use crate::wire::{Message, Side, Value};

use super::Gate;
use super::classified::Identified;
use super::handles::{self, Handles};
use super::page::Looked;
use super::rejection::Rejection;
use super::schemas::Unfit;
use super::settings::{Level, Secrets, Terms, Treatment};
use super::text;

/// What credentials look like where only policies ask.
pub(super) static BUILTIN: LazyLock<SecretRules> = LazyLock::new(SecretRules::builtin);

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
        let found = dlp_findings(value, &[], &[], &|_| None, rules);
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
            Looked::For => text::flags_in(value, MessagePart::Content).names(),
            Looked::Past => Vec::new(),
        }
    }
}

impl<'s> Look<'s> {
    /// What the policies and the terms that are in force with them want looked for.
    pub(super) fn under(snapshot: &PolicySnapshot, terms: &'s Terms) -> Self {
        let credentials = snapshot.looks_for().secrets.then(|| {
            let configured = terms.guards.secrets.as_ref();
            configured.map_or(&*BUILTIN, |secrets| &*secrets.rules)
        });
        let words = if snapshot.looks_for().flags {
            Looked::For
        } else {
            Looked::Past
        };
        Self { credentials, words }
    }
}

/// What is found in what comes back.
#[derive(Debug, Default)]
pub(super) struct Received<'m> {
    pub(super) strings: Vec<DlpFinding<'m>>,
    pub(super) findings: Vec<Finding>,
}

/// Looks for credentials in what an agent sends.
#[derive(Debug)]
pub(super) struct SecretsGuard;

impl Filter for SecretsGuard {
    fn check(
        &self,
        cx: &RequestContext<'_>,
        as_sent: Option<&Message>,
    ) -> Result<Vec<Finding>, Stop> {
        let (identified, secrets) = (&cx.understood.identified, cx.terms.guards.secrets.as_ref());
        let mut findings = sent(identified.message, identified, secrets)?;
        if let Some(as_sent) = as_sent {
            findings.extend(sent(as_sent, identified, secrets)?);
        }
        Ok(findings)
    }
}

/// Looks at what the agent sends: the message itself, or what is to be sent of it.
///
/// # Errors
/// [`Rejection`] where it shows a credential and may not.
fn sent(
    message: &Message,
    identified: &Identified<'_>,
    secrets: Option<&Secrets>,
) -> Result<Vec<Finding>, Rejection> {
    let from = identified.from;
    let Some(secrets) = secrets.filter(|it| from == Side::Agent && it.sent != Level::Off) else {
        return Ok(Vec::new());
    };
    let (root, handles) = (message.document().root(), handles::of(identified));
    let found = dlp_findings(root, &[], &handles, &|_| None, &secrets.rules);
    let rules = found.strings.into_iter().flat_map(|leak| leak.rules);
    let rules = named(rules.chain(found.names));
    match secrets.sent {
        _ if rules.is_empty() => Ok(Vec::new()),
        Level::Strict => Err(Unfit::Secret(rules.join(", ")).into()),
        Level::Warn | Level::Off => {
            let found = rules.into_iter().map(|rule| Finding {
                guard: Guard::Secrets,
                code: "secret_outbound".into(),
                detail: rule.into(),
            });
            Ok(found.collect())
        }
    }
}

/// Looks at what the server sends; what stands at `ids` the gate wrote itself, `handles` stay as they are, and
/// `texts` say something else already, by where they begin.
///
/// # Errors
/// When the name of a member shows a credential: nothing can stand for it.
pub(super) fn received<'m>(
    message: &'m Message,
    from: Side,
    ids: &[Range<usize>],
    handles: &Handles,
    texts: &HashMap<usize, (Value<'m>, String)>,
    secrets: Option<&Secrets>,
) -> Result<Received<'m>, Rejection> {
    let said = |value: Value<'m>| Some(texts.get(&value.range().start)?.1.clone());
    let wanted = |it: &&Secrets| from == Side::Upstream && it.received != Treatment::Off;
    let Some(secrets) = secrets.filter(wanted) else {
        return Ok(Received::default());
    };
    let found = dlp_findings(
        message.document().root(),
        ids,
        handles,
        &said,
        &secrets.rules,
    );
    let rules = found.strings.iter().flat_map(|leak| leak.rules.clone());
    match secrets.received {
        Treatment::Redact => match found.names.first() {
            Some(rule) => Err(Rejection::bad_reply(&format!(
                "the name of a member shows a credential (`{rule}`)"
            ))),
            None => Ok(Received {
                strings: found.strings,
                findings: Vec::new(),
            }),
        },
        Treatment::Warn | Treatment::Off => Ok(Received {
            strings: Vec::new(),
            findings: named(rules.chain(found.names))
                .into_iter()
                .map(|rule| Finding {
                    guard: Guard::Secrets,
                    code: "secret_inbound".into(),
                    detail: rule.into(),
                })
                .collect(),
        }),
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

/// Each rule once.
fn named(rules: impl Iterator<Item = RuleId>) -> Vec<String> {
    let mut names: Vec<String> = rules.map(|rule| rule.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Gate {
    /// A text for a peer, without credentials.
    pub(super) fn without_credentials(&self, text: String) -> String {
        let current = self.policy.current();
        without(text, self.terms(&current).guards.secrets.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
