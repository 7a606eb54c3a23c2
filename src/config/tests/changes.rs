//! A file that says something else while the gate runs.

use std::collections::BTreeSet;

use super::published::known;
use super::valid;
use crate::cli::proxy::{limited_gate_settings, policy_settings};
use crate::config::reader::KeyAvailability;
use crate::config::{Config, ConfigChanges, ConfigText, Redaction};
use crate::policy::ServerKey;

fn between(before: &str, now: &str) -> ConfigChanges {
    let text = |text: &str| ConfigText::new(text.to_owned());
    let before = text(before);
    ConfigChanges::between(&before, &before, &text(now))
}

fn missed(changes: &ConfigChanges) -> Vec<String> {
    changes.missed.iter().map(ToString::to_string).collect()
}

/// Every key of the format, as authors write it; `x` is one that they choose.
fn keys() -> Vec<String> {
    let keys = known(KeyAvailability::Now).into_iter();
    keys.map(|key| key.trim_start_matches('.').replace('*', "x"))
        .collect()
}

/// Whether a change of this key comes into force, by what the gate says of it.
fn is_live(key: &str) -> bool {
    let beside = match key {
        "audit.durability" => "audit.file = 'a'\n",
        _ => "",
    };
    let changes = between(
        &format!("{beside}{key} = 'one'\n"),
        &format!("{beside}{key} = 'two'\n"),
    );
    let told = changes.told();
    assert_eq!(told.is_some(), changes.restart.is_empty(), "{key}");
    told.is_some()
}

#[test]
fn a_change_of_any_key_is_told_as_one_that_comes_into_force_or_as_one_that_needs_a_restart() {
    let keys = keys();
    assert!(keys.len() > 150, "{}", keys.len());
    for key in keys.iter().filter(|key| *key != "version") {
        let [one, two] = ["one", "two"].map(|value| format!("{key} = '{value}'\n"));
        let check = |before: &str, now: &str| {
            let changes = between(before, now);
            let told = changes.told().unwrap_or_default();
            match changes.restart.as_slice() {
                [] => assert!(told.contains(&format!("`{key}` ")), "{key}: {told}"),
                // Names that authors choose may be those of people.
                [named] => assert_eq!(named, key.trim_end_matches(".x"), "{told}"),
                more => panic!("{key}: {more:?}"),
            }
            assert_eq!(changes.told().is_none(), !changes.restart.is_empty());
        };
        check(&one, &two);
        check("", &one);
        check(&one, "");
        let same = between(
            &one,
            &format!("# in other words\n{}", one.replace('\'', "\"")),
        );
        assert!(same.told().is_none() && same.restart.is_empty() && missed(&same).is_empty());
    }
}

/// What is in force of a configuration while the gate runs.
fn in_force(config: &Config) -> String {
    let terms = limited_gate_settings(config).terms;
    let redacted = terms.guards.secrets.as_ref().map(|secrets| {
        [
            "acme_00000000",
            "acme_0a1b2c3d",
            "acne_0a1b2c3d",
            "acme_0a1b",
        ]
        .map(|text| secrets.rules.redact(text).text.into_owned())
    });
    format!(
        "{:?} {terms:?} {redacted:?} {:?} {:?}",
        policy_settings(config),
        config.audit.durability,
        config.audit.on_fault
    )
}

/// Each key that comes into force, with two values and what else they need.
const LIVE: &[(&str, &str, &str, &str)] = &[
    ("policy.allow", "['a']", "['a', 'b']", ""),
    ("policy.dir", "'one'", "'two'", ""),
    ("policy.shadow", "'one'", "'two'", "policy.dir = 'p'"),
    (
        "policy.other_methods",
        "'allow'",
        "'deny'",
        "policy.allow = ['a']",
    ),
    ("policy.allow_warnings", "false", "true", ""),
    ("policy.require_labels", "false", "true", "policy.dir = 'p'"),
    ("policy.deny_response", "'error'", "'tool_result'", ""),
    ("policy.pinning", "'locked'", "'off'", ""),
    ("policy.pinning_passes", "[]", "['adds']", ""),
    ("policy.reload", "'watch'", "'off'", ""),
    ("policy.on_policy_removal", "'reject'", "'apply'", ""),
    (
        "audit.durability",
        "'async'",
        "'strict'",
        "audit.file = 'a'",
    ),
    ("audit.on_fault", "'deny'", "'warn'", ""),
    ("limits.max_in_flight", "1", "2", ""),
    ("limits.calls_per_session", "1", "2", ""),
    ("limits.request_timeout", "'1s'", "'2s'", ""),
    ("limits.progress_extends", "true", "false", ""),
    ("limits.max_request_timeout", "'5m'", "'6m'", ""),
    ("limits.tool_timeouts.x", "'1s'", "'2s'", ""),
    ("limits.rates.global", "'1/s'", "'2/s'", ""),
    ("limits.rates.principal", "'1/s'", "'2/s'", ""),
    ("limits.rates.tools.x", "'1/s'", "'2/s'", ""),
    ("guards.arguments", "'report'", "'off'", ""),
    ("guards.arguments_unknown", "'report'", "'block'", ""),
    ("guards.results", "'report'", "'off'", ""),
    ("guards.secrets", "'redact'", "'off'", ""),
    ("guards.secret_members", "['a']", "['b']", ""),
    ("guards.secrets_outbound", "'report'", "'off'", ""),
    ("guards.tool_metadata", "'report'", "'off'", ""),
    ("guards.content", "'report'", "'off'", ""),
    ("guards.description_length", "20", "30", ""),
    ("guards.tool_metadata_tags", "'all'", "'suspicious'", ""),
    ("guards.content_tags", "'all'", "'suspicious'", ""),
    ("guards.content_length", "20", "30", ""),
    ("guards.content_trim", "true", "false", ""),
    ("guards.content_tools.x.tags", "'all'", "'off'", ""),
    ("guards.content_tools.x.length", "20", "30", ""),
    ("guards.content_tools.x.trim", "true", "false", ""),
    ("guards.suspicious_words.x", "'a'", "'b'", ""),
    ("guards.tool_names", "'ascii'", "'any'", ""),
    ("guards.uris", "'report'", "'off'", ""),
    ("guards.symlinks", "'resolve'", "'as_written'", ""),
    (
        "guards.on_fatal_tool_error",
        "'report'",
        "'close_session'",
        "",
    ),
    (
        "guards.elicitation.hosts",
        "['a.example']",
        "['b.example']",
        "",
    ),
    ("guards.elicitation.secret_fields", "'report'", "'off'", ""),
    ("truncation.max_bytes", "1024", "2048", ""),
    ("truncation.retain_bytes", "1024", "2048", ""),
    ("truncation.save", "'a'", "'b'", ""),
    (
        "truncation.save_bytes",
        "1024",
        "2048",
        "truncation.save = 'a'",
    ),
    (
        "truncation.save_for",
        "'1m'",
        "'2m'",
        "truncation.save = 'a'",
    ),
    ("truncation.tools.x", "'default'", "'none'", ""),
    ("truncation.resources.x", "'default'", "'none'", ""),
    ("truncation.prompts.x", "'default'", "'none'", ""),
    (
        "guards.secret_rules.x.pattern",
        "'acme_[0-9a-f]{8}'",
        "'acme_[0-9a-f]{4}'",
        "guards.secret_rules.x.keywords = ['acme_']",
    ),
    (
        "guards.secret_rules.x.keywords",
        "['acme_']",
        "['acne_']",
        "guards.secret_rules.x.pattern = 'ac[mn]e_[0-9a-f]{8}'",
    ),
    (
        "guards.secret_rules.x.min_entropy",
        "0",
        "2",
        "guards.secret_rules.x = { pattern = 'acme_(?<secret>[0-9a-f]{8})', keywords = ['acme_'] }",
    ),
    ("ratchet.server_datasets", "'ignore'", "'trust'", ""),
    ("flow.flow_out", "'deny'", "'ask'", ""),
    ("flow.flow_in", "'ask'", "'deny'", ""),
    ("flow.flow_context", "'deny'", "'ask'", ""),
    ("flow.ask", "'always'", "'once_per_destination'", ""),
    ("ratchet.network.public", "'full'", "'none'", ""),
    ("ratchet.network.internal", "'full'", "'none'", ""),
    ("ratchet.network.confidential", "'full'", "'none'", ""),
    (
        "ratchet.network.secret",
        "'full'",
        "'none'",
        "ratchet.network.confidential = 'full'",
    ),
    (
        "ratchet.network.hosts",
        "['a.example']",
        "['b.example']",
        "ratchet.network.public = 'proxied'",
    ),
];

/// A file with this value of a key.
fn with(key: &str, value: &str, beside: &str) -> String {
    // A table that is written inline can have nothing added.
    match beside.split_once(" }") {
        Some((table, "")) => {
            let key = key.rsplit('.').next().unwrap();
            format!("upstream.command = ['server']\n{table}, {key} = {value} }}\n")
        }
        _ => format!("upstream.command = ['server']\n{beside}\n{key} = {value}\n"),
    }
}

#[test]
fn what_is_told_to_come_into_force_does_and_no_key_of_it_is_left_out() {
    for (key, one, two, beside) in LIVE {
        let [one, two] = [one, two].map(|value| with(key, value, beside));
        let (started, new) = (valid(&one), valid(&two));
        let merged = new.in_place_of(&started);
        assert_ne!(in_force(&started), in_force(&merged), "{key}");
        let changes = between(&one, &two);
        let told = changes.told().unwrap_or_default();
        assert!(told.contains(&format!("`{key}` ")), "{told}");
        assert_eq!(changes.restart, [""; 0], "{key}");
    }
    // What a rule of the author's own, or one of a tool, has stands behind a name.
    let named = ["guards.secret_rules.x", "guards.content_tools.x"];
    let shown = LIVE.iter().map(|(key, ..)| *key);
    let name = |key: &'static str| {
        let name = named.into_iter().find(|name| key.starts_with(name));
        name.unwrap_or(key)
    };
    let shown: BTreeSet<&str> = shown.map(name).collect();
    let is_table = |key: &str| {
        let inside = format!("{key}.");
        keys().iter().any(|other| other.starts_with(&inside))
    };
    let keys = keys();
    let live = keys
        .iter()
        .filter(|key| *key != "version" && !is_table(key) && is_live(key))
        // They need several servers.
        .filter(|key| !["flow.evidence", "flow.from.x"].contains(&key.as_str()))
        .filter(|key| !key.starts_with("servers."))
        // The place of other text.
        .filter(|key| *key != "servers_dir");
    let live: BTreeSet<&str> = live.map(String::as_str).collect();
    assert_eq!(live, shown);
}

/// What is not at single servers, of what comes into force.
const OF_ALL: [&str; 3] = [
    "limits.calls_per_session",
    "guards.suspicious_words",
    "guards.secret_rules",
];

#[test]
fn what_comes_into_force_at_one_server_is_as_it_was_at_the_others() {
    let file = |key: &str, value: &str, beside: &str| {
        valid(&format!(
            "listen = {{ transport = 'http', port = 0 }}\nservers.crm.command = ['a']\n\
             servers.mail.command = ['a']\n{beside}\n{key} = {value}\n"
        ))
    };
    let in_force_at = |config: &Config| {
        let each: Vec<String> = config.each().iter().map(in_force).collect();
        <[String; 2]>::try_from(each).unwrap()
    };
    let is_of_one = |key: &str| {
        let sections = ["limits.", "guards.", "truncation."];
        let begins = |with: &[&str]| with.iter().any(|it| key.starts_with(it));
        begins(&sections) && !begins(&OF_ALL)
    };
    let of_one = LIVE.iter().filter(|(key, ..)| is_of_one(key));
    for (key, one, two, beside) in of_one.clone() {
        let own = format!("servers.crm.{key}");
        let beside = match *beside {
            "" => String::new(),
            beside => format!("servers.crm.{beside}"),
        };
        let (started, new) = (file(&own, one, &beside), file(&own, two, &beside));
        let [crm, mail] = in_force_at(&started);
        let [crm_later, mail_later] = in_force_at(&new.in_place_of(&started));
        assert_ne!(crm, crm_later, "{key}");
        assert_eq!(mail, mail_later, "{key}");
        let changes = between(&format!("{own} = {one}"), &format!("{own} = {two}"));
        let told = changes.told().unwrap_or_default();
        assert!(told.contains(&format!("`{own}` ")), "{told}");
        assert_eq!(changes.restart, [""; 0], "{key}");
    }
    assert!(of_one.count() > 30);
}

#[test]
fn what_is_said_for_all_servers_holds_where_nothing_else_is_said() {
    let config = valid(
        "listen = { transport = 'http', port = 0 }
         policy.allow = ['crm/a']
         limits = { request_timeout = '7s', max_in_flight = 3, rates.global = '9/s' }
         guards = { secrets = 'redact', content_tags = 'all', secret_members = ['a'] }
         truncation = { max_bytes = 2048, resources.'file:///' = 'none' }
         [servers.crm]
         command = ['a']
         limits = { request_timeout = '8s', rates.principal = '1/s' }
         guards = { secrets = 'report', content = 'report' }
         truncation = { retain_bytes = 4096, resources.'http://' = 'log_search' }
         [servers.mail]
         command = ['a']",
    );
    let each = config.each();
    let [crm, mail] = &each[..] else {
        panic!("{each:?}");
    };
    let seconds = |config: &Config| config.limits.request_timeout.as_secs();
    assert_eq!((seconds(crm), seconds(mail)), (8, 7));
    assert_eq!(
        (crm.limits.max_in_flight, mail.limits.max_in_flight),
        (3, 3)
    );
    assert!(crm.limits.rates.global.is_some() && crm.limits.rates.principal.is_some());
    assert!(mail.limits.rates.global.is_some() && mail.limits.rates.principal.is_none());
    assert_eq!(crm.guards.secrets, Redaction::Report);
    assert_eq!(crm.guards.secret_members, ["a"]);
    assert_eq!(
        (&mail.guards, &mail.truncation),
        (&config.guards, &config.truncation)
    );
    let truncation = crm.truncation.as_ref().unwrap();
    assert_eq!(
        (truncation.max_bytes, truncation.retain_bytes),
        (2048, 4096)
    );
    assert_eq!(truncation.resources.len(), 2);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    // A server that is not in the file any more is removed.
    let started = config.clone();
    let new = valid(
        "listen = { transport = 'http', port = 0 }\nlimits.request_timeout = '9s'\n\
         servers.mail.command = ['a']",
    );
    let each = new.in_place_of(&started).each();
    let timeouts: Vec<_> = each.iter().map(seconds).collect();
    assert_eq!(timeouts, [9]);
}

#[test]
fn policies_of_one_server_come_into_force_and_stay_while_it_runs() {
    let file = |servers: &str| {
        valid(&format!(
            "listen = {{ transport = 'http', port = 0 }}\npolicy.dir = 'p'\n\
             servers.crm.command = ['a']\n{servers}\n"
        ))
    };
    let started = file("servers.mail = { command = ['a'], policy = 'mail' }");
    let check = |servers: &str, expected: &[(&str, &str)]| {
        let own = file(servers).in_place_of(&started).policy.own;
        let own: Vec<_> = own
            .iter()
            .map(|(key, dir)| (key.as_str(), dir.to_str().unwrap()))
            .collect();
        assert_eq!(own, expected, "{servers}");
    };
    check(
        "servers.mail = { command = ['a'], policy = 'more' }",
        &[("mail", "/etc/gate/more")],
    );
    check("servers.mail.command = ['a']", &[]);
    check(
        "servers.mail.command = ['a']\nservers.crm.policy = 'crm'",
        &[("crm", "/etc/gate/crm")],
    );
    check(
        "servers.web = { command = ['a'], policy = 'web' }",
        &[("web", "/etc/gate/web")],
    );
    let changes = between("servers.mail.policy = 'a'", "servers.mail.policy = 'b'");
    assert_eq!(changes.restart, [""; 0]);
}

#[test]
fn a_server_is_replaced_where_more_of_it_has_changed_than_comes_into_force_in_its_place() {
    let check = |before: &str, now: &str, expected: &[&str]| {
        let changes = between(before, now);
        let servers: Vec<&str> = changes.servers.iter().map(ServerKey::as_str).collect();
        assert_eq!(servers, expected, "{now}");
        assert_eq!(changes.restart, [""; 0], "{now}");
    };
    let crm = "servers.crm.command = ['a']\n";
    let both = &format!("{crm}servers.mail.command = ['a']\n");
    check(crm, crm, &[]);
    check(crm, both, &["mail"]);
    check(both, crm, &["mail"]);
    check(both, &both.replace("['a']", "['b']"), &["crm", "mail"]);
    for (in_place, line) in [
        (true, "servers.crm.policy = 'p'"),
        (true, "servers.crm.limits.request_timeout = '9s'"),
        (true, "servers.crm.guards.secrets = 'redact'"),
        (true, "servers.crm.truncation.max_bytes = 2048"),
        (false, "servers.crm.clearance = 'secret'"),
        (false, "servers.crm.enabled = false"),
        (false, "servers.crm.env.A = 'b'"),
        (false, "servers.crm.isolated.command = ['b']"),
    ] {
        let expected: &[&str] = if in_place { &[] } else { &["crm"] };
        check(both, &format!("{both}{line}\n"), expected);
    }
    // One server becomes several with a restart.
    let changes = between("upstream.command = ['a']", crm);
    assert!(changes.servers.is_empty());
    assert_eq!(changes.restart, ["servers", "upstream.command"]);
}

/// Files that differ in what needs a restart.
const RESTART: &[(&str, &str, &str)] = &[
    (
        "upstream.name",
        "upstream.name = 'a'",
        "upstream.name = 'b'",
    ),
    ("upstream.cwd", "upstream.cwd = 'a'", "upstream.cwd = 'b'"),
    ("audit.file", "audit.file = 'a'", "audit.file = 'b'"),
    (
        "limits.max_depth",
        "limits.max_depth = 8",
        "limits.max_depth = 9",
    ),
    (
        "limits.max_nodes",
        "limits.max_nodes = 100",
        "limits.max_nodes = 101",
    ),
    (
        "limits.max_message_bytes",
        "limits.max_message_bytes = 1024",
        "limits.max_message_bytes = 1025",
    ),
    (
        "limits.max_message_bytes_to_agent",
        "limits.max_message_bytes_to_agent = 1024",
        "limits.max_message_bytes_to_agent = 1025",
    ),
    (
        "limits.shutdown_grace_period",
        "limits.shutdown_grace_period = '1s'",
        "limits.shutdown_grace_period = '2s'",
    ),
    (
        "protocol.bridge",
        "protocol.bridge = true",
        "protocol.bridge = false",
    ),
    (
        "extensions.methods",
        "extensions.methods = ['a/b']",
        "extensions.methods = ['a/c']",
    ),
    (
        "consent.timeout",
        "consent = { channels = ['elicitation'], timeout = '1m' }",
        "consent = { channels = ['elicitation'], timeout = '2m' }",
    ),
    (
        "ratchet.max_sessions",
        "ratchet.max_sessions = 10",
        "ratchet.max_sessions = 20",
    ),
    (
        "listen.port",
        "listen = { transport = 'http', port = 1 }",
        "listen = { transport = 'http', port = 2 }",
    ),
    (
        "limits.session_idle_timeout",
        "listen = { transport = 'http', port = 1 }\nlimits.session_idle_timeout = '1s'",
        "listen = { transport = 'http', port = 1 }\nlimits.session_idle_timeout = '2s'",
    ),
    (
        "limits.max_sessions",
        "listen = { transport = 'http', port = 1 }\nlimits.max_sessions = 1",
        "listen = { transport = 'http', port = 1 }\nlimits.max_sessions = 2",
    ),
    (
        "limits.max_sessions_per_agent",
        "listen = { transport = 'http', port = 1 }\nlimits.max_sessions_per_agent = 1",
        "listen = { transport = 'http', port = 1 }\nlimits.max_sessions_per_agent = 2",
    ),
    (
        "limits.max_connections",
        "listen = { transport = 'http', port = 1 }\nlimits.max_connections = 1",
        "listen = { transport = 'http', port = 1 }\nlimits.max_connections = 2",
    ),
    (
        "limits.max_memory",
        "limits.max_memory = '512MiB'",
        "limits.max_memory = '513MiB'",
    ),
    ("admin.port", "admin.port = 1", "admin.port = 2"),
    (
        "admin.command_operators",
        "admin = { port = 1, operators = { olga = '0123456789abcdef' }, command_operators = ['olga'] }",
        "admin = { port = 1, operators = { olga = '0123456789abcdef' }, command_operators = [] }",
    ),
    (
        "telemetry.sample_ratio",
        "telemetry = { otlp_endpoint = 'https://a', sample_ratio = 0.1 }",
        "telemetry = { otlp_endpoint = 'https://a', sample_ratio = 0.2 }",
    ),
];

#[test]
fn nothing_of_what_needs_a_restart_comes_into_force() {
    for (key, one, two) in RESTART {
        let [one, two] = [one, two].map(|text| format!("upstream.command = ['server']\n{text}\n"));
        let (started, new) = (valid(&one), valid(&two));
        let says = |config: &Config| format!("{config:?}");
        assert_ne!(says(&started), says(&new), "{key}");
        let before = says(&started);
        assert_eq!(says(&new.in_place_of(&started)), before, "{key}");
        assert_eq!(between(&one, &two).restart, [*key]);
    }
}

#[test]
fn what_is_told_says_what_was_and_what_is() {
    let check = |before: &str, now: &str, expected: &str| {
        let told = between(before, now).told();
        assert_eq!(told.as_deref(), Some(expected), "{before} {now}");
    };
    check(
        "guards.secrets = 'redact'",
        "[guards]\nsecrets = \"off\"",
        "configuration: `guards.secrets` is \"off\" and was \"redact\"",
    );
    check(
        "policy.allow = ['a', 'b']",
        "policy.allow = ['b', 'c']\nlimits.max_in_flight = 0x10",
        "configuration: `policy.allow` with \"c\" and without \"a\", `limits.max_in_flight` is 16 and was not set",
    );
    check(
        "policy.allow = ['a', 'b']",
        "policy.allow = ['b', 'a']",
        "configuration: `policy.allow` in another order",
    );
    check(
        "truncation = {}",
        "",
        "configuration: `truncation` is not set and was {}",
    );
    // What a variable holds is no part of what is written.
    check(
        "policy.deny_response = '${SECRET}'",
        "policy.deny_response = '${EMPTY}\\n'",
        "configuration: `policy.deny_response` is \"${EMPTY}\\\\n\" and was \"${SECRET}\"",
    );
    let many = (10..30).map(|key| format!("limits.tool_timeouts.t{key} = '1s'\n"));
    let many = many.collect::<Vec<_>>().concat();
    let told = between("", &many).told().unwrap();
    assert!(
        told.contains(
            "`limits.tool_timeouts.t17` is \"1s\" and was not set, `limits.tool_timeouts.t18`, "
        ),
        "{told}"
    );
}

#[test]
fn guards_are_named_before_limits_and_what_rules_look_for_is_not_shown() {
    let text = |timeouts: &str, rest: &str| format!("{timeouts}{rest}");
    let many = (10..30).map(|key| format!("limits.tool_timeouts.t{key} = '1s'\n"));
    let many = many.collect::<Vec<_>>().concat();
    let now = text(&many, "policy.pinning = 'off'\nguards.content = 'off'\n");
    let told = between("", &now).told().unwrap();
    let first = "configuration: `guards.content` is \"off\" and was not set, `policy.pinning` is \"off\" and \
                 was not set, `limits.";
    assert!(told.starts_with(first), "{told}");
    let rule = |pattern: &str| {
        format!("[guards.secret_rules.a]\npattern = '{pattern}'\nkeywords = ['hunter2']\n")
    };
    let told = between(&rule("hunter2-a"), &rule("hunter2-b"))
        .told()
        .unwrap();
    assert_eq!(
        told,
        "configuration: `guards.secret_rules.a.pattern` has changed"
    );
}

#[test]
fn without_a_file_records_cannot_come_to_be_put_on_disk() {
    let strict = "audit.durability = 'strict'\n";
    let changes = between("", &format!("{strict}audit.file = 'a'\n"));
    assert_eq!(changes.restart, ["audit.durability", "audit.file"]);
    assert_eq!(changes.told(), None);
    let with_file = "audit.file = 'a'\n";
    let changes = between(with_file, &format!("{strict}{with_file}"));
    assert!(changes.restart.is_empty() && changes.told().is_some());
}

#[test]
fn secrets_are_never_shown_and_names_that_may_be_those_of_people_neither() {
    let text = |token: &str, name: &str| {
        format!("admin.approvers = {{ {name} = '{token}' }}\nupstream.auth.token = '{token}'\n")
    };
    let changes = between(&text("canary-one", "anna"), &text("canary-two", "ben"));
    assert_eq!(changes.restart, ["admin.approvers", "upstream.auth.token"]);
    let all = format!("{changes:?}");
    assert!(!all.contains("canary"), "{all}");
    let server = |secret: &str| {
        format!(
            "[servers.a]\nurl = 'https://a/{secret}'\nheaders = {{ x = '{secret}' }}\n\
             auth = {{ type = 'bearer', token = '{secret}' }}\n\
             [servers.b]\ncommand = ['b', '{secret}']\nenv = {{ A = '{secret}' }}\n"
        )
    };
    let none = "[servers.c]\nurl = 'https://c'\n";
    for (before, now) in [
        (none, &*server("canary-one")),
        (&*server("canary-one"), &*server("canary-two")),
        (&*server("canary-one"), none),
    ] {
        let told = between(before, now).told().unwrap();
        assert!(
            told.contains("`servers.a.auth.token` has changed"),
            "{told}"
        );
        assert!(!told.contains("canary"), "{told}");
    }
}

#[test]
fn what_may_be_missing_because_the_file_is_cut_is_missed() {
    let check = |before: &str, now: &str, expected: &[&str]| {
        assert_eq!(missed(&between(before, now)), expected, "{before} {now}");
    };
    let gone = "is in force and is not there";
    let whole = "[policy]\nallow = ['a']\n[guards]\nsecrets = 'redact'\ncontent = 'sanitize'\n[truncation]\nmax_bytes = 1024\n";
    check(whole, whole, &[]);
    check(
        whole,
        &format!("# new\n{whole}[limits]\nmax_depth = 9\n"),
        &[],
    );
    check(
        whole,
        "[policy]\nallow = ['a']\n",
        &[&format!("guards: {gone}"), &format!("truncation: {gone}")],
    );
    check(
        whole,
        "[policy]\nallow = ['a']\n[guards]\nsecrets = 'redact'\n",
        &[
            &format!("guards.content: {gone}"),
            &format!("truncation: {gone}"),
        ],
    );
    // A name that is gone from the list takes a permission back, and no array can be cut.
    check("policy.allow = ['a', 'b']\n", "policy.allow = ['a']\n", &[]);
    let cut = "limits.max_in_flight: is a number that may be cut: nothing follows it";
    let number = |text: &str| format!("limits.max_in_flight = {text}");
    check(&number("256\n"), &number("25"), &[cut]);
    check(&number("256\n"), &number("256"), &[]);
    check(&number("256\n"), &number("25\n"), &[]);
    check("", &number("25"), &[cut]);
    check(
        "telemetry.sample_ratio = 0.25\n",
        "telemetry.sample_ratio = 0.2",
        &["telemetry.sample_ratio: is a number that may be cut: nothing follows it"],
    );
}
