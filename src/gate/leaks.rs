//! Credentials in messages: what the agent sends may be refused for them, what it gets is without.

use std::collections::HashMap;
use std::ops::Range;

use crate::audit::{Finding, Guard};
use crate::guard::{DlpFinding, MemberNames, dlp_findings};
use crate::wire::{KnownMethod, Message, Side, Value};

use super::classified::{Identified, Role};
use super::context::RequestContext;
use super::filter::Filter;
use super::handles::{self, Handles};
use super::look::named;
use super::rejection::Rejection;
use super::schemas::Unfit;
use super::settings::{Level, Secrets, Treatment};
use super::stop::Stop;

/// What is found in what comes back.
#[derive(Debug, Default)]
pub(super) struct Received<'m> {
    pub(super) strings: Vec<DlpFinding<'m>>,
    pub(super) findings: Vec<Finding>,
}

/// Whose results define something.
const DEFINITIONS: [KnownMethod; 4] = [
    KnownMethod::ToolsList,
    KnownMethod::ResourcesList,
    KnownMethod::ResourceTemplatesList,
    KnownMethod::PromptsList,
];

/// What the names of members say of their values. A definition names members without their values, as a
/// question to the agent does.
pub(super) fn member_names(identified: &Identified<'_>) -> MemberNames {
    match &identified.role {
        Role::Reply(taken) if DEFINITIONS.contains(&taken.exchange.method) => MemberNames::AreHints,
        Role::Reply(_) | Role::Notification { .. } => MemberNames::TellSecrets,
        Role::Request { .. } => MemberNames::AreHints,
    }
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
    let found = dlp_findings(
        root,
        &[],
        &handles,
        &|_| None,
        (&secrets.rules, MemberNames::AreHints),
    );
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
    (secrets, names): (Option<&Secrets>, MemberNames),
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
        (&secrets.rules, names),
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
