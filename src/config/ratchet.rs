//! `[ratchet]`: where it is kept what sessions have read, under which names, and what follows from it.

use std::path::Path;

use super::errors::ConfigReason;
use super::listen::{HTTP_ONLY, ListenTransport};
use super::section::ConfigSection;
use super::settings::{Ratchet, ServerDatasets};
use crate::loading::{EgressReach, EgressRules};
use crate::policy::{LEVELS, host_named};

/// Header fields that say something else already.
const TAKEN: [&str; 8] = [
    "accept",
    "authorization",
    "content-length",
    "content-type",
    "host",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
];

const WORDS: [(&str, ServerDatasets); 2] = [
    ("ignore", ServerDatasets::Ignore),
    ("trust", ServerDatasets::Trust),
];

pub(super) fn ratchet(
    mut section: ConfigSection<'_, '_>,
    base: &Path,
    transport: ListenTransport,
) -> (Ratchet, EgressRules) {
    let default = Ratchet::default();
    let ratchet = Ratchet {
        file: section.path("file", base),
        key_file: section.path("key_file", base),
        max_sessions: section
            .count("max_sessions", &(1..=10_000_000))
            .unwrap_or(default.max_sessions),
        session: name(&mut section),
        session_header: header(&mut section),
        server_datasets: section
            .one_of("server_datasets", &WORDS)
            .unwrap_or(default.server_datasets),
    };
    if !section.has("file") {
        let help = "name the journal in `file`, or remove this";
        section.only_when(&["key_file"], "only applies with `file`", help);
    }
    match transport {
        ListenTransport::Stdio | ListenTransport::Local => {
            section.only_when(&["session_header"], HTTP_ONLY, "name it in `session`");
        }
        ListenTransport::Http => section.only_when(
            &["session"],
            "only applies when transport is 'stdio' or 'local'",
            "name a header in `session_header`, or give agents tokens with the claim `session_id`",
        ),
        ListenTransport::Unclear => {}
    }
    let network = network(section.section("network"));
    section.finish();
    (ratchet, network)
}

fn name(section: &mut ConfigSection<'_, '_>) -> Option<String> {
    let name = section.string("session")?;
    if name.is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
        let reason = ConfigReason::Invalid("expected a name of 1 to 256 bytes");
        section.refuse("session", reason, None);
        return None;
    }
    Some(name)
}

fn header(section: &mut ConfigSection<'_, '_>) -> Option<String> {
    let name = section.string("session_header")?.to_ascii_lowercase();
    let fits = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    if name.is_empty() || name.len() > 128 || !name.bytes().all(fits) {
        let reason = ConfigReason::Invalid("expected the name of a header");
        section.refuse("session_header", reason, Some("as in `\"X-Session-Id\"`"));
        return None;
    }
    if TAKEN.contains(&name.as_str()) {
        let reason = ConfigReason::Invalid("is a header that says something else");
        section.refuse("session_header", reason, Some("as in `\"X-Session-Id\"`"));
        return None;
    }
    Some(name)
}

fn network(mut section: ConfigSection<'_, '_>) -> EgressRules {
    let words = [
        ("full", EgressReach::Full),
        ("proxied", EgressReach::Proxied),
        ("ask", EgressReach::Ask),
        ("none", EgressReach::None),
    ];
    let mut network = EgressRules::default();
    let mut least = EgressReach::Full;
    for ((level, _), reach) in LEVELS.into_iter().zip(&mut network.reach) {
        // What was not said is no wider than what was said of the level below.
        *reach = section
            .one_of(level, &words)
            .unwrap_or_else(|| (*reach).max(least));
        if *reach < least {
            let reason = ConfigReason::Invalid("is wider than the level below");
            let help =
                "what has read more reaches less: `full`, then `proxied`, then `ask`, then `none`";
            section.refuse(level, reason, Some(help));
        }
        least = *reach;
    }
    let help = "list exact names, as in `[\"docs.example.com\"]`";
    for field in section.items("hosts", help).unwrap_or_default() {
        let Some(host) = section.text(&field).map(|text| text.value) else {
            continue;
        };
        match host_named(&host) {
            Some(host) => network.hosts.push(host),
            None => section.tell(
                &field,
                ConfigReason::Invalid("is no name of a host"),
                Some(help),
            ),
        }
    }
    section.refuse_empty(
        "hosts",
        "names no host",
        "name some, or write `none` for the level",
    );
    let limits = network.reach.contains(&EgressReach::Proxied);
    if limits && !section.has("hosts") {
        let reason = ConfigReason::RequiredWhen("a level is 'proxied'");
        section.require("hosts", reason, help);
    } else if !limits && section.has("hosts") {
        let reason = ConfigReason::NoEffect("where no level is \"proxied\"");
        section.refuse("hosts", reason, Some("remove it"));
    }
    section.finish();
    network
}
