//! Keys of checks that are off, and of savings that are not made.

use super::section::ConfigSection;
use super::settings::{Config, Pinning, RecordedArguments, RecordedResults, Redaction, Sanitizing};

/// Says of each key that another one leaves it without effect.
pub(super) fn tell(root: &mut ConfigSection<'_, '_>, config: &Config) {
    if config.policy.pinning != Pinning::TrustOnFirstUse {
        root.section("policy").without_effect(
            &["pinning_passes"],
            "unless `pinning` is \"trust_on_first_use\"",
            "set `pinning = \"trust_on_first_use\"`, or remove it",
        );
    }
    let mut truncation = root.section("truncation");
    if !truncation.has("save") {
        truncation.without_effect(
            &["save_bytes", "save_for"],
            "without `save`: no text is saved",
            "name a root in `save`, or remove it",
        );
    }
    of_guards(root.section("guards"), config);
}

fn of_guards(mut section: ConfigSection<'_, '_>, config: &Config) {
    let guards = &config.guards;
    if guards.tool_metadata == Sanitizing::Off {
        section.without_effect(
            &["tool_metadata_tags", "description_length"],
            "where `tool_metadata` is \"off\": definitions are not checked",
            "set `tool_metadata` to \"sanitize\" or \"report\", or remove it",
        );
    }
    if guards.content == Sanitizing::Off {
        section.without_effect(
            &[
                "content_tags",
                "content_length",
                "content_trim",
                "content_tools",
            ],
            "where `content` is \"off\": results are not checked",
            "set `content` to \"sanitize\" or \"report\", or remove it",
        );
    }
    let audit = &config.audit;
    let is_recorded = audit.arguments == RecordedArguments::Redacted
        || audit.results == RecordedResults::Redacted;
    if guards.secrets == Redaction::Off && !is_recorded {
        section.without_effect(
            &["secret_members"],
            "where `secrets` is \"off\", and records have no contents",
            "set `secrets` to \"redact\" or \"report\", or remove it",
        );
    }
}
