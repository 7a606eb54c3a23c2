//! What a record has of the arguments of a request.

use super::super::extensions;
use super::super::settings::RecordedArguments;
use crate::audit::{Body, DigestKey, Record, Text};
use crate::guard::dlp_findings;
use crate::guard::secrets::SecretRules;
use crate::session::Target;
use crate::wire::{Message, Value};

pub(super) fn record(
    target: &Target,
    message: &Message,
    recorded: &RecordedArguments,
    record: &mut Record,
) {
    let (key, rules) = match recorded {
        RecordedArguments::Nothing => return,
        RecordedArguments::Digest(key) => (key, None),
        RecordedArguments::Redacted(key, rules) => (key, Some(rules)),
    };
    match target {
        Target::Tool(_) | Target::Prompt(_) => {
            let arguments = message.params().and_then(|params| params.get("arguments"));
            let Some(arguments) = arguments else { return };
            record.arguments_digest = Some(digest(key, arguments.text()));
            if let Some(rules) = rules {
                show(arguments, rules, record);
            }
        }
        Target::Method(_) => {
            let said = message.params().map(extensions::said);
            record.arguments_digest = said.map(|said| digest(key, &said));
        }
        Target::Resource(_) | Target::Server => {}
    }
}

fn digest(key: &DigestKey, text: &str) -> Text {
    key.digest(text).into()
}

/// The arguments without credentials. Where the name of an argument is one, none of them.
fn show(arguments: Value<'_>, rules: &SecretRules, record: &mut Record) {
    let found = dlp_findings(arguments, &[], &[], &|_| None, rules);
    let named = !found.names.is_empty();
    let of_strings = found.strings.iter().flat_map(|found| &found.rules);
    for rule in of_strings.chain(&found.names) {
        if !record.redactions.iter().any(|known| known == rule.as_str()) {
            record.redactions.push(rule.as_str().into());
        }
    }
    if named {
        return;
    }
    let is_long = arguments.text().len() > Body::LIMIT;
    let mut shown = Body::of(arguments);
    shown.replace(&mut |text| {
        // Of long arguments a string may be there in part.
        let held = |whole: &str| whole == text || (is_long && whole.starts_with(text));
        let mut strings = found.strings.iter();
        let credential = strings.find(|it| it.value.as_str().is_some_and(|whole| held(&whole)));
        credential.map(|it| it.without.clone())
    });
    record.arguments = Some(shown);
}
