//! Keys of checks that are off, and of savings that are not made.

use super::section::ConfigSection;
use super::server_section::at_server;
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
    // What is said for all servers has an effect at one.
    let each = config.each();
    of_truncation(root.section("truncation"), &each);
    of_guards(root.section("guards"), &each);
    for config in each.iter().filter(|config| config.key.is_some()) {
        at_server(root, config, |server| {
            let this = std::slice::from_ref(config);
            of_truncation(server.section("truncation"), this);
            of_guards(server.section("guards"), this);
        });
    }
}

fn of_truncation(mut section: ConfigSection<'_, '_>, each: &[Config]) {
    let saves = |config: &Config| {
        config
            .truncation
            .as_ref()
            .is_some_and(|it| it.save.is_some())
    };
    if !section.has("save") && !each.iter().any(saves) {
        section.without_effect(
            &["save_bytes", "save_for"],
            "without `save`: no text is saved",
            "name a root in `save`, or remove it",
        );
    }
}

fn of_guards(mut section: ConfigSection<'_, '_>, each: &[Config]) {
    let all = |is_off: fn(&Config) -> bool| each.iter().all(is_off);
    if all(|config| config.guards.tool_metadata == Sanitizing::Off) {
        section.without_effect(
            &["tool_metadata_tags", "description_length"],
            "where `tool_metadata` is \"off\": definitions are not checked",
            "set `tool_metadata` to \"sanitize\" or \"report\", or remove it",
        );
    }
    if all(|config| config.guards.content == Sanitizing::Off) {
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
    let is_recorded = |config: &Config| {
        let audit = &config.audit;
        audit.arguments == RecordedArguments::Redacted || audit.results == RecordedResults::Redacted
    };
    let is_unread =
        |config: &Config| config.guards.secrets == Redaction::Off && !is_recorded(config);
    if each.iter().all(is_unread) {
        section.without_effect(
            &["secret_members"],
            "where `secrets` is \"off\", and records have no contents",
            "set `secrets` to \"redact\" or \"report\", or remove it",
        );
    }
}
