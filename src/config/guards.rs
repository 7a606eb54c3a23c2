//! `guards`: what is asked of the content of messages.

use super::errors::ConfigReason;
use super::limits::OF_ALL_SERVERS;
use super::secret_rules::{secret_members, secret_rules};
use super::section::ConfigSection;
use super::settings::{Guards, Redaction, Sanitizing, Strictness, Symlinks, ToolNames};
use super::texts;
use crate::gate::OnFatal;
use crate::policy::host_named;

pub(super) fn guards(mut section: ConfigSection<'_, '_>) -> Guards {
    let default = of_messages(&mut section, Guards::default());
    let guards = Guards {
        suspicious_words: texts::suspicious_words(section.section("suspicious_words")),
        secret_rules: secret_rules(section.section("secret_rules")),
        ..default
    };
    section.finish();
    guards
}

/// Those of one of several servers; what is not said of it is as for all.
pub(super) fn of_server(mut section: ConfigSection<'_, '_>, all: &Guards) -> Guards {
    let guards = of_messages(&mut section, all.clone());
    let keys = ["suspicious_words", "secret_rules"];
    section.elsewhere(&keys, &OF_ALL_SERVERS, "write it into `[guards]`");
    section.finish();
    guards
}

/// What happens to messages, beside what happens without a word.
fn of_messages(section: &mut ConfigSection<'_, '_>, default: Guards) -> Guards {
    let levels = [
        ("off", Strictness::Off),
        ("report", Strictness::Report),
        ("block", Strictness::Block),
    ];
    let sanitizings = [
        ("off", Sanitizing::Off),
        ("report", Sanitizing::Report),
        ("sanitize", Sanitizing::Sanitize),
    ];
    let (secret_fields, page_hosts) = elicitation(section.section("elicitation"), &levels);
    let answers = texts::answers(section, default.answers);
    Guards {
        secret_fields: secret_fields.unwrap_or(default.secret_fields),
        page_hosts: page_hosts.unwrap_or(default.page_hosts),
        arguments: section
            .one_of("arguments", &levels)
            .unwrap_or(default.arguments),
        arguments_unknown: section
            .one_of("arguments_unknown", &levels)
            .unwrap_or(default.arguments_unknown),
        results: section
            .one_of("results", &levels)
            .unwrap_or(default.results),
        secrets: section
            .one_of(
                "secrets",
                &[
                    ("off", Redaction::Off),
                    ("report", Redaction::Report),
                    ("redact", Redaction::Redact),
                ],
            )
            .unwrap_or(default.secrets),
        secrets_outbound: section
            .one_of("secrets_outbound", &levels)
            .unwrap_or(default.secrets_outbound),
        tool_metadata: section
            .one_of("tool_metadata", &sanitizings)
            .unwrap_or(default.tool_metadata),
        content: section
            .one_of("content", &sanitizings)
            .unwrap_or(default.content),
        description_length: section
            .count("description_length", &(16..=100_000))
            .unwrap_or(default.description_length),
        tool_metadata_tags: texts::tags(section, "tool_metadata_tags")
            .unwrap_or(default.tool_metadata_tags),
        answers_of_tools: texts::answers_of_tools(section.section("content_tools"), answers),
        answers,
        tool_names: section
            .one_of(
                "tool_names",
                &[("ascii", ToolNames::Ascii), ("any", ToolNames::Any)],
            )
            .unwrap_or(default.tool_names),
        on_fatal_tool_error: section
            .one_of(
                "on_fatal_tool_error",
                &[
                    ("report", OnFatal::Report),
                    ("close_session", OnFatal::CloseSession),
                ],
            )
            .unwrap_or(default.on_fatal_tool_error),
        uris: section.one_of("uris", &levels).unwrap_or(default.uris),
        symlinks: section
            .one_of(
                "symlinks",
                &[
                    ("resolve", Symlinks::Resolve),
                    ("as_written", Symlinks::AsWritten),
                    ("block", Symlinks::Block),
                ],
            )
            .or(default.symlinks),
        secret_members: secret_members(section).unwrap_or(default.secret_members),
        suspicious_words: default.suspicious_words,
        secret_rules: default.secret_rules,
    }
}

fn elicitation(
    mut section: ConfigSection<'_, '_>,
    levels: &[(&'static str, Strictness)],
) -> (Option<Strictness>, Option<Vec<String>>) {
    let secrets = section.one_of("secret_fields", levels);
    let help = "as in `[\"login.example.com\"]`";
    let items = section.items("hosts", help);
    let is_said = items.is_some();
    let mut hosts = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(text) = section.text(&item) else {
            continue;
        };
        match host_named(&text.value) {
            Some(host) if host == text.value => hosts.push(host),
            Some(host) => {
                let help = format!("write `{host}`, as every host is compared");
                let reason = ConfigReason::Invalid("is not how the host is spelled");
                section.tell(&item, reason, Some(&help));
            }
            None => section.tell(&item, ConfigReason::Invalid("expected a host"), Some(help)),
        }
    }
    section.finish();
    (secrets, is_said.then_some(hosts))
}
