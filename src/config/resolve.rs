//! What it means: one function per section, in the order of `docs/config-schema.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;

use super::admin::admin;
use super::audit::{audit, flight_recorder};
use super::consent::consent;
use super::errors::ConfigReason;
use super::extensions::extensions;
use super::limits::limits;
use super::listen::listen;
use super::ratchet::ratchet;
use super::reader::ConfigReader;
use super::secret_rules::{secret_members, secret_rules};
use super::section::{ConfigField, ConfigSection};
use super::server_section::at_server;
use super::servers::{have_endpoints, servers};
use super::settings::{
    Bearer, Bridging, Config, DenyResponse, Guards, Listen, ListenAuth, OnRemoval, OtherMethods,
    Pinning, Policy, Protocol, Redaction, Reload, RequiredLabels, Sanitizing, ServerAuth,
    Strictness, Symlinks, ToolNames, Truncation, TruncationPreset, Upstream, Warnings,
};
use super::telemetry::telemetry;
use super::texts;
use super::tool_names::tool_name;
use super::upstream::upstream;
use super::user_identity;
use super::without_effect;
use crate::consent::{Settings, Way};
use crate::gate::OnFatal;
use crate::policy::{ChangeKind, ChangeKinds, host_named};
use crate::secret;

/// Reads every section; problems and unknown keys end up in `reading`.
pub(super) fn resolve(reading: &mut ConfigReader<'_>, base: &Path) -> Config {
    let mut root = ConfigSection::root(reading);
    if let Some(version) = root
        .count("version", &(0..=u64::MAX))
        .filter(|version| *version != 1)
    {
        let reason = ConfigReason::UnknownValue(Some(version.to_string()));
        root.refuse(
            "version",
            reason,
            Some("this version of the gate reads `version = 1`"),
        );
    }
    let (listen, transport) = listen(root.section("listen"), base);
    let (ratchet, network) = ratchet(root.section("ratchet"), base, transport);
    let servers = servers(root.section("servers"), base);
    let first = servers.values().find(|server| server.is_enabled());
    let first = first.filter(|_| !root.has("upstream"));
    let upstream = match first {
        Some(first) => first.clone(),
        // Each of them is wrong.
        None if root.has("servers") => Upstream::named("servers".to_owned()),
        None => upstream(root.section("upstream"), base),
    };
    let mut config = Config {
        upstream,
        servers,
        key: None,
        admin: admin(root.section("admin"), base, &listen),
        telemetry: telemetry(root.section("telemetry"), base),
        listen,
        policy: Policy {
            network,
            ..policy(root.section("policy"), base)
        },
        audit: audit(root.section("audit"), base),
        flight_recorder: flight_recorder(root.section("flight_recorder"), base),
        limits: limits(root.section("limits"), transport),
        guards: guards(root.section("guards")),
        truncation: truncation(root.section("truncation")),
        consent: consent(root.section("consent")),
        protocol: protocol(root.section("protocol")),
        extensions: extensions(root.section("extensions")),
        ratchet,
        variables: BTreeMap::new(),
        file: None,
        warnings: Vec::new(),
    };
    for config in config.each().iter().filter(|config| shares_a_token(config)) {
        let reason =
            ConfigReason::Suspicious("is the token of an agent too, who could go round the gate");
        let help = "give agents tokens that the server does not accept";
        at_server(&mut root, config, |upstream| {
            upstream.section("auth").refuse("token", reason, Some(help));
        });
    }
    have_endpoints(&mut root, &config);
    who_answers(&mut root, &config);
    user_identity::known_by(&mut root, &config);
    require_log_file(&mut root, &config);
    without_effect::tell(&mut root, &config);
    root.elsewhere(&[
        (
            "tools",
            "labelling tools",
            "write it into `tools.toml` in the policy directory (`policy.dir`)",
        ),
        (
            "roots",
            "mapping roots",
            "write it into `roots.toml` in the policy directory (`policy.dir`)",
        ),
    ]);
    root.finish();
    config.variables = std::mem::take(&mut reading.taken);
    config
}

/// Who is asked at the page has a place to answer and a token; who has them is asked.
fn who_answers(root: &mut ConfigSection<'_, '_>, config: &Config) {
    let asks = |settings: &Settings| settings.has(Way::Page);
    let asks = config.consent.as_ref().is_some_and(asks);
    let has_approvers = !config.admin.approvers.is_empty();
    if asks && config.admin.port.is_none() && !root.section("admin").has("port") {
        let reason = ConfigReason::RequiredWhen("consent.channels has 'web'");
        let help = "as in `port = 9090`: that is where people answer";
        root.section("admin").require("port", reason, help);
    }
    if asks && !has_approvers && !root.section("admin").has("approvers") {
        let reason = ConfigReason::RequiredWhen("consent.channels has 'web'");
        let help = "one for each person, as in `approvers = { anna = \"${ANNA_TOKEN}\" }`";
        root.section("admin").require("approvers", reason, help);
    }
    if !asks && has_approvers {
        let reason = ConfigReason::NoEffect("unless consent.channels has \"web\"");
        let help = "add `[consent]` with `channels = [\"web\"]`, or remove them";
        root.section("admin")
            .refuse("approvers", reason, Some(help));
    }
}

/// The flight recorder reads the file of the audit log.
fn require_log_file(root: &mut ConfigSection<'_, '_>, config: &Config) {
    let mut audit = root.section("audit");
    if config.flight_recorder.is_some() && !audit.has("file") {
        let reason = ConfigReason::RequiredWhen("there is a flight recorder");
        let help = "it reads this file, as in `file = \"audit.jsonl\"`";
        audit.require("file", reason, help);
    }
}

fn shares_a_token(config: &Config) -> bool {
    let http = config.upstream.http.as_ref();
    let (Some(ServerAuth::Bearer(Bearer::Value(ours))), Listen::Http(listen)) =
        (http.and_then(|http| http.auth.as_ref()), &config.listen)
    else {
        return false;
    };
    let is_ours = |token: &SecretString| secret::are_same(token, ours);
    match &listen.auth {
        ListenAuth::Bearer { tokens } => tokens.values().any(is_ours),
        ListenAuth::None | ListenAuth::Jwt(_) => false,
    }
}

fn policy(mut section: ConfigSection<'_, '_>, base: &Path) -> Policy {
    let default = Policy::default();
    let help = "list exact tool names, as in `[\"read_file\", \"list_directory\"]`";
    let allow = section.items("allow", help);
    let policy = Policy {
        allow: allow.map(|items| tool_names(&mut section, &items)),
        dir: section.path("dir", base),
        shadow: section.path("shadow", base),
        other_methods: section
            .one_of(
                "other_methods",
                &[("allow", OtherMethods::Allow), ("deny", OtherMethods::Deny)],
            )
            .unwrap_or(default.other_methods),
        warnings: section
            .switch("allow_warnings", Warnings::Allow, Warnings::Error)
            .unwrap_or(default.warnings),
        deny_response: section
            .one_of(
                "deny_response",
                &[
                    ("error", DenyResponse::Error),
                    ("tool_result", DenyResponse::ToolResult),
                ],
            )
            .unwrap_or(default.deny_response),
        pinning: section
            .one_of(
                "pinning",
                &[
                    ("enforce", Pinning::Enforce),
                    ("locked", Pinning::Locked),
                    ("trust_on_first_use", Pinning::TrustOnFirstUse),
                    ("off", Pinning::Off),
                ],
            )
            .unwrap_or(default.pinning),
        passing: passing(&mut section).unwrap_or(default.passing),
        reload: section
            .one_of("reload", &[("watch", Reload::Watch), ("off", Reload::Off)])
            .unwrap_or(default.reload),
        on_policy_removal: section
            .one_of(
                "on_policy_removal",
                &[("reject", OnRemoval::Reject), ("apply", OnRemoval::Apply)],
            )
            .unwrap_or(default.on_policy_removal),
        labels: section
            .switch(
                "require_labels",
                RequiredLabels::Permission,
                RequiredLabels::None,
            )
            .unwrap_or(default.labels),
        network: default.network,
    };
    if !section.has("dir") && policy.labels == RequiredLabels::Permission {
        let reason = ConfigReason::RequiredWhen("require_labels is true");
        section.require("dir", reason, "name the directory that holds `tools.toml`");
    }
    if !section.has("dir") {
        let help = "list tools in `allow`, or name a directory of policies in `dir`";
        let nothing = ConfigReason::Suspicious("nothing is allowed: every call is denied");
        if !section.has("allow") {
            section.refuse_section(nothing, help);
        } else if policy.allow.as_ref().is_some_and(Vec::is_empty) {
            section.refuse("allow", nothing, Some(help));
        }
    } else if section.has("other_methods") {
        let reason = ConfigReason::NoEffect("beside `dir`, where policies alone decide");
        section.refuse("other_methods", reason, Some("remove it"));
    }
    if !section.has("dir") && policy.pinning == Pinning::Enforce {
        let reason = ConfigReason::RequiredWhen("pinning is 'enforce'");
        section.require("dir", reason, "`tools.lock` lies among the policies");
    }
    if policy.reload == Reload::Off && section.has("on_policy_removal") {
        let reason =
            ConfigReason::NoEffect("where nothing is watched: a signal takes what is there");
        section.refuse("on_policy_removal", reason, Some("remove it"));
    }
    section.finish();
    policy
}

/// Kinds of changes.
fn passing(section: &mut ConfigSection<'_, '_>) -> Option<ChangeKinds> {
    let help =
        "of `\"adds\"`, `\"rewords\"`, `\"weakens\"` and `\"instructs\"`; `[]` lets none pass";
    let items = section.items("pinning_passes", help)?;
    let words = ChangeKind::ALL.map(|kind| (kind.name(), kind));
    let kinds = items
        .iter()
        .filter_map(|item| section.one_of_in(item, &words));
    Some(kinds.collect())
}

/// Each name once, byte for byte as it was written.
fn tool_names<'t>(section: &mut ConfigSection<'_, 't>, items: &[ConfigField<'t>]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for item in items {
        let Some(name) = section.text(item).map(|text| text.value) else {
            continue;
        };
        if let Some(reason) = tool_name(&name) {
            section.tell(item, reason, None);
        } else if !seen.insert(name.clone()) {
            section.tell(item, ConfigReason::Suspicious("listed twice"), None);
        } else {
            if name.contains('*') || name.trim() != name {
                let reason = ConfigReason::Suspicious("names are compared as they are written");
                section.tell(
                    item,
                    reason,
                    Some("there are no patterns, and spaces count"),
                );
            }
            names.push(name);
        }
    }
    names
}

fn protocol(mut section: ConfigSection<'_, '_>) -> Protocol {
    let default = Protocol::default();
    let protocol = Protocol {
        bridge: section
            .switch("bridge", Bridging::On, Bridging::Off)
            .unwrap_or(default.bridge),
    };
    section.finish();
    protocol
}

fn guards(mut section: ConfigSection<'_, '_>) -> Guards {
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
    let default = Guards::default();
    let (secret_fields, page_hosts) = elicitation(section.section("elicitation"), &levels);
    let answers = texts::answers(&mut section);
    let guards = Guards {
        secret_fields,
        page_hosts,
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
        tool_metadata_tags: texts::tags(&mut section, "tool_metadata_tags")
            .unwrap_or(default.tool_metadata_tags),
        answers_of_tools: texts::answers_of_tools(section.section("content_tools"), answers),
        answers,
        suspicious_words: texts::suspicious_words(section.section("suspicious_words")),
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
        symlinks: section.one_of(
            "symlinks",
            &[
                ("resolve", Symlinks::Resolve),
                ("as_written", Symlinks::AsWritten),
                ("block", Symlinks::Block),
            ],
        ),
        secret_members: secret_members(&mut section).unwrap_or(default.secret_members),
        secret_rules: secret_rules(section.section("secret_rules")),
    };
    section.finish();
    guards
}

fn elicitation(
    mut section: ConfigSection<'_, '_>,
    levels: &[(&'static str, Strictness)],
) -> (Strictness, Vec<String>) {
    let secrets = section.one_of("secret_fields", levels);
    let help = "as in `[\"login.example.com\"]`";
    let mut hosts = Vec::new();
    for item in section.items("hosts", help).unwrap_or_default() {
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
    (secrets.unwrap_or(Guards::default().secret_fields), hosts)
}

fn truncation(mut section: ConfigSection<'_, '_>) -> Option<Truncation> {
    const MAX_BYTES: RangeInclusive<u64> = 1 << 10..=16 << 20;
    const RETAIN_BYTES: RangeInclusive<u64> = 1 << 10..=256 << 20;
    const SAVE_BYTES: RangeInclusive<u64> = 1 << 10..=16 << 30;
    const SAVE_FOR: RangeInclusive<Duration> =
        Duration::from_mins(1)..=Duration::from_hours(24 * 365);
    let is_present = section.is_present();
    let max_bytes = section.size("max_bytes", &MAX_BYTES).unwrap_or(64 << 10);
    let retain_bytes = section
        .size("retain_bytes", &RETAIN_BYTES)
        .unwrap_or(16 << 20);
    let save = section.string("save");
    let save_bytes = section.size("save_bytes", &SAVE_BYTES);
    let save_for = section.duration("save_for", &SAVE_FOR);
    let tools = presets(section.section("tools"), tool_name);
    let resources = presets(section.section("resources"), nameless);
    let prompts = presets(section.section("prompts"), nameless);
    section.finish();
    is_present.then_some(Truncation {
        max_bytes,
        retain_bytes,
        save,
        save_bytes: save_bytes.unwrap_or(64 << 20),
        save_for: save_for.unwrap_or(Duration::from_hours(24)),
        tools,
        resources,
        prompts,
    })
}

/// Presets by the name of a tool or prompt, or the beginning of a URI.
fn presets(
    mut section: ConfigSection<'_, '_>,
    unfit: fn(&str) -> Option<ConfigReason>,
) -> BTreeMap<String, TruncationPreset> {
    let known = [
        ("default", TruncationPreset::Default),
        ("sql_query", TruncationPreset::SqlQuery),
        ("log_search", TruncationPreset::LogSearch),
        ("none", TruncationPreset::None),
    ];
    let mut presets = BTreeMap::new();
    for field in section.entries() {
        if let Some(reason) = unfit(field.key) {
            section.tell(&field, reason, None);
        }
        if let Some(preset) = section.one_of_in(&field, &known) {
            presets.insert(field.key.to_owned(), preset);
        }
    }
    presets
}

fn nameless(name: &str) -> Option<ConfigReason> {
    name.is_empty().then_some(ConfigReason::Invalid("is empty"))
}
