//! What a record has of the arguments of a request, and of the result of a call.

use std::borrow::Cow;

use crate::audit::{Body, DigestKey, Record, Text};
use crate::guard::secrets::SecretRules;
use crate::guard::{MemberNames, dlp_findings};
use crate::policy::PolicySnapshot;
use crate::session::Target;
use crate::wire::{Message, Value};

use crate::gate::look::BUILTIN;
use crate::gate::settings::{RecordedArguments, RecordedResults, Settings};

/// The shortest part of a credential's text that is taken for it. A text that is longer than what a body holds is
/// there in part, with thousands of bytes of it if it is shown at all.
const SHORTEST_PART: usize = 4096;

/// How arguments and results are recorded under the present configuration.
#[derive(Debug, Clone, Copy)]
pub(in crate::gate) struct ContentRecorder<'s> {
    arguments: &'s RecordedArguments,
    results: RecordedResults,
    /// What a credential looks like.
    rules: &'s SecretRules,
}

impl<'s> ContentRecorder<'s> {
    pub(in crate::gate) fn new(settings: &'s Settings, snapshot: &'s PolicySnapshot) -> Self {
        let terms = snapshot.terms().unwrap_or(&settings.terms);
        let configured = terms.guards.secrets.as_ref();
        Self {
            arguments: &settings.arguments,
            results: settings.results,
            rules: configured.map_or_else(|| &*BUILTIN, |secrets| &*secrets.rules),
        }
    }

    pub(super) fn record(self, target: &Target, message: &Message, record: &mut Record) {
        let key = match self.arguments {
            RecordedArguments::Nothing => return,
            RecordedArguments::Digest(key) | RecordedArguments::Redacted(key) => key,
        };
        match target {
            Target::Tool(_) | Target::Prompt(_) => {
                let arguments = message.params().and_then(|params| params.get("arguments"));
                let Some(arguments) = arguments else { return };
                record.arguments_digest = Some(digest(key, arguments.text()));
                if let RecordedArguments::Redacted(_) = self.arguments {
                    record.arguments = shown(arguments, self.rules, record);
                }
            }
            Target::Method(_) => {
                let said = message.params().map(said);
                record.arguments_digest = said.map(|said| digest(key, &said));
            }
            Target::Resource(_) | Target::Server => {}
        }
    }

    pub(super) fn records_results(self) -> bool {
        self.results == RecordedResults::Redacted
    }

    /// The result as the agent gets it, or the error.
    pub(super) fn record_result(self, message: &Message, record: &mut Record) {
        let result = message.result().or(message.error());
        record.result = result.and_then(|result| shown(result, self.rules, record));
    }
}

/// What params say beside what the protocol says of each message, as JSON in one spelling.
pub(in crate::gate) fn said(params: Value<'_>) -> String {
    params.canonical_with(|key| key != "_meta")
}

fn digest(key: &DigestKey, text: &str) -> Text {
    key.digest(text).into()
}

/// The value without credentials. Where the name of a member is one, nothing of it.
fn shown(value: Value<'_>, rules: &SecretRules, record: &mut Record) -> Option<Body> {
    let found = dlp_findings(
        value,
        &[],
        &[],
        &|_| None,
        (rules, MemberNames::TellSecrets),
    );
    let named = !found.names.is_empty();
    let of_strings = found.strings.iter().flat_map(|found| &found.rules);
    for rule in of_strings.chain(&found.names) {
        if !record.redactions.iter().any(|known| known == rule.as_str()) {
            record.redactions.push(rule.as_str().into());
        }
    }
    if named {
        return None;
    }
    let mut shown = Body::of(value);
    let credentials: Vec<(Cow<'_, str>, &str)> = found
        .strings
        .iter()
        .filter_map(|it| Some((it.value.as_str()?, it.without.as_str())))
        .collect();
    shown.replace(&mut |text| {
        let is_part = |whole: &str| text.len() >= SHORTEST_PART && whole.starts_with(text);
        let mut all = credentials.iter();
        let credential = all.find(|(whole, _)| whole == text || is_part(whole));
        credential.map(|(_, without)| (*without).to_owned())
    });
    Some(shown)
}
