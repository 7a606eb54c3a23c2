//! What it means: one function per section, in the order of `docs/config-schema.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::admin::admin;
use super::audit::{audit, flight_recorder};
use super::consent::consent;
use super::errors::ConfigReason;
use super::extensions::extensions;
use super::flow::{flow, needs_consent};
use super::guards::guards;
use super::limits::limits;
use super::listen::listen;
use super::ratchet::ratchet;
use super::reader::ConfigReader;
use super::section::{ConfigField, ConfigSection};
use super::server_section::at_server;
use super::servers::{ReadServers, have_endpoints, have_names, have_policies, servers};
use super::settings::{
    Bearer, Bridging, Config, DenyResponse, Listen, ListenAuth, OnRemoval, OtherMethods, Pinning,
    Policy, Protocol, Reload, RequiredLabels, ServerAuth, ServerTerms, Upstream, Warnings,
};
use super::telemetry::telemetry;
use super::tool_names::tool_name;
use super::truncation::truncation;
use super::unified::unified;
use super::upstream::upstream;
use super::user_identity;
use super::views::views;
use super::without_effect;
use crate::consent::{Settings, Way};
use crate::policy::{ChangeKind, ChangeKinds, ServerKey};
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
    // They are read before everything else.
    root.path("env_file", base);
    root.path("servers_dir", base);
    let (listen, transport) = listen(root.section("listen"), base);
    let (ratchet, network) = ratchet(root.section("ratchet"), base, transport);
    let terms = ServerTerms {
        limits: limits(root.section("limits"), transport),
        guards: guards(root.section("guards")),
        truncation: truncation(root.section("truncation"), None),
    };
    let ReadServers {
        servers,
        terms: server_terms,
        policies: own,
    } = servers(root.section("servers"), base, &terms);
    let flow = flow(root.section("flow"), &servers);
    let unified = unified(root.section("unified"), &servers);
    let views = views(root.section("views"), &servers, unified.as_ref());
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
        server_terms,
        key: None,
        admin: admin(root.section("admin"), base, &listen),
        telemetry: telemetry(root.section("telemetry"), base),
        listen,
        policy: Policy {
            network,
            ..policy(root.section("policy"), base, own)
        },
        audit: audit(root.section("audit"), base),
        flight_recorder: flight_recorder(root.section("flight_recorder"), base),
        limits: terms.limits,
        guards: terms.guards,
        truncation: terms.truncation,
        consent: consent(root.section("consent")),
        protocol: protocol(root.section("protocol")),
        extensions: extensions(root.section("extensions")),
        ratchet,
        flow,
        unified,
        views,
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
    have_names(&mut root, &config);
    have_policies(&mut root, &config);
    who_answers(&mut root, &config);
    needs_consent(&mut root, &config);
    user_identity::known_by(&mut root, &config);
    require_log_file(&mut root, &config);
    without_effect::tell(&mut root, &config);
    for (key, what, help) in [
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
    ] {
        root.elsewhere(&[key], &ConfigReason::Elsewhere(what), help);
    }
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

fn policy(
    mut section: ConfigSection<'_, '_>,
    base: &Path,
    own: BTreeMap<ServerKey, PathBuf>,
) -> Policy {
    let has_files = section.has("dir") || !own.is_empty();
    let default = Policy::default();
    let help = "list exact tool names, as in `[\"read_file\", \"list_directory\"]`";
    let allow = section.items("allow", help);
    let policy = Policy {
        allow: allow.map(|items| tool_names(&mut section, &items)),
        dir: section.path("dir", base),
        own,
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
    if !has_files && policy.labels == RequiredLabels::Permission {
        let reason = ConfigReason::RequiredWhen("require_labels is true");
        section.require("dir", reason, "name the directory that holds `tools.toml`");
    }
    if !has_files {
        let help = "list tools in `allow`, or name a directory of policies in `dir`";
        let nothing = ConfigReason::Suspicious("nothing is allowed: every call is denied");
        if !section.has("allow") {
            section.refuse_section(nothing, help);
        } else if policy.allow.as_ref().is_some_and(Vec::is_empty) {
            section.refuse("allow", nothing, Some(help));
        }
    } else if section.has("other_methods") {
        let reason = ConfigReason::NoEffect("beside files of policies, which alone decide");
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
