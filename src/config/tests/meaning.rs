//! What valid files mean.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::ExposeSecret;

use super::{valid, valid_with};
use crate::audit::syslog::{Facility, SyslogAddress};
use crate::config::{
    Audit, CommandLine, Config, DenyResponse, Durability, EventKinds, FlightRecorder, Limits,
    Listen, OnFault, OnRemoval, OtherMethods, Pinning, Policy, RecordedArguments, RecordedResults,
    Reload, RequiredLabels, Restart, Syslog, Truncation, TruncationPreset, Warnings,
};
use crate::guard::secrets::{CustomRules, SecretRule};
use crate::guard::text::{AnswerRules, Margins, StrippedTags};
use crate::policy::{ChangeKind, ChangeKinds};

#[test]
fn the_smallest_configuration_has_every_default() {
    let config = valid("[upstream]\ncommand = [\"server\"]\n");
    assert_eq!(config.upstream.name, "upstream");
    assert_eq!(config.upstream.command, ["server"]);
    assert_eq!(config.upstream.cwd, None);
    assert!(matches!(config.listen, Listen::Stdio));
    assert!(config.upstream.http.is_none());
    assert_eq!(config.admin.port, None);
    assert_eq!(config.policy, Policy::default());
    assert_eq!(config.audit, Audit::default());
    assert_eq!(config.limits, Limits::default());
}

#[test]
fn excerpts_are_made_only_where_they_are_asked_for() {
    let with = |guards: &str| {
        let text = format!("[upstream]\ncommand = [\"server\"]\n{guards}");
        valid(&text).truncation
    };
    assert_eq!(with("[guards]\nresults = \"report\""), None);
    let default = Truncation {
        max_bytes: 64 << 10,
        retain_bytes: 16 << 20,
        save: None,
        save_bytes: 64 << 20,
        save_for: Duration::from_hours(24),
        tools: BTreeMap::new(),
        resources: BTreeMap::new(),
        prompts: BTreeMap::new(),
    };
    assert_eq!(with("[truncation]"), Some(default));
    let asked = Truncation {
        max_bytes: 1024,
        retain_bytes: 2048,
        save: Some("workspace".to_owned()),
        save_bytes: 4096,
        save_for: Duration::from_mins(2),
        tools: BTreeMap::from([("q".to_owned(), TruncationPreset::SqlQuery)]),
        resources: BTreeMap::from([("file:///var/log/".to_owned(), TruncationPreset::LogSearch)]),
        prompts: BTreeMap::from([("p".to_owned(), TruncationPreset::None)]),
    };
    let text = "[truncation]\nmax_bytes = 1024\nretain_bytes = 2048\nsave = \"workspace\"\nsave_bytes = 4096\nsave_for = \"2m\"\ntools = { q = \"sql_query\" }\n\
        resources = { \"file:///var/log/\" = \"log_search\" }\nprompts = { p = \"none\" }";
    assert_eq!(with(text), Some(asked));
}

#[test]
fn rules_for_credentials_of_ones_own_are_read_in_their_order() {
    let text = "[upstream]\ncommand = [\"server\"]\n\
        [guards.secret_rules.door]\nkeywords = [\"door\"]\npattern = 'door [0-9]{4}$$'\n\
        [guards.secret_rules.badge]\nkeywords = [\"badge\", \"BDG\"]\n\
        pattern = 'badge-(?<secret>\\w+)'\nmin_entropy = 3.5\n";
    let rule = |id: &str, keywords: &[&str], pattern: &str, min_entropy| SecretRule {
        id: id.to_owned(),
        keywords: keywords.iter().map(ToString::to_string).collect(),
        pattern: pattern.to_owned(),
        min_entropy,
    };
    let expected = vec![
        rule("door", &["door"], "door [0-9]{4}$$", None),
        rule(
            "badge",
            &["badge", "BDG"],
            "badge-(?<secret>\\w+)",
            Some(35),
        ),
    ];
    assert_eq!(
        valid(text).guards.secret_rules,
        CustomRules::new(expected).unwrap()
    );
}

#[test]
fn the_defaults_are_the_published_ones() {
    let limits = Limits::default();
    assert_eq!(limits.max_message_bytes, 4 * 1024 * 1024);
    assert_eq!(limits.max_message_bytes_to_agent, 4 * 1024 * 1024);
    assert_eq!(
        (limits.max_depth, limits.max_nodes, limits.max_in_flight),
        (64, 50_000, 256)
    );
    assert_eq!(limits.request_timeout, Duration::from_mins(1));
    assert!(limits.progress_extends);
    assert_eq!(limits.max_request_timeout, Duration::from_mins(10));
    assert_eq!(limits.shutdown_grace_period, Duration::from_secs(10));
    assert!(limits.tool_timeouts.is_empty());
    assert_eq!(
        (
            limits.max_sessions,
            limits.session_idle_timeout,
            limits.max_connections
        ),
        (None, Duration::from_mins(5), 2_048)
    );
    assert_eq!(limits.max_memory, 512 * 1024 * 1024);
    let Audit {
        file,
        durability,
        on_fault,
        arguments,
        results,
        max_file_size,
        max_file_age,
        signing_key_file,
        checkpoint_interval,
        digest_key_file,
        syslog,
    } = Audit::default();
    assert_eq!(
        (file, durability, on_fault),
        (None, Durability::Async, OnFault::Deny)
    );
    assert_eq!(
        (arguments, results),
        (RecordedArguments::Digest, RecordedResults::Off)
    );
    assert_eq!((max_file_size, max_file_age, syslog), (None, None, None));
    assert_eq!(
        (signing_key_file, checkpoint_interval, digest_key_file),
        (None, Duration::from_mins(1), None)
    );
    let policy = Policy::default();
    assert_eq!((policy.allow, policy.dir), (None, None));
    assert_eq!(policy.other_methods, OtherMethods::Allow);
    assert_eq!(
        (policy.warnings, policy.deny_response),
        (Warnings::Error, DenyResponse::Error)
    );
    assert_eq!(
        (policy.reload, policy.on_policy_removal),
        (Reload::Watch, OnRemoval::Reject)
    );
    assert_eq!(policy.pinning, Pinning::Locked);
}

#[test]
fn restarts_have_the_delays_that_are_written() {
    let config =
        valid("upstream.command = ['server']\nupstream.restart = { first = '1m', tries = 2 }");
    let restart = Restart {
        first: Duration::from_mins(1),
        // Never shorter than the first.
        max: Duration::from_mins(1),
        tries: 2,
    };
    assert_eq!(config.upstream.restart, restart);
}

#[test]
fn every_key_arrives_where_it_belongs() {
    let config = valid(
        r#"
        version = 1
        [upstream]
        name = "files"
        url = "stdio"
        command = ["npx", "-y", "a b", "$(touch /tmp/x)"]
        cwd = "work"
        env = { A = "1" }
        [listen]
        transport = "stdio"
        [policy]
        allow = ["b", "a"]
        dir = "policies/"
        shadow = "next"
        allow_warnings = true
        deny_response = "tool_result"
        pinning = "trust_on_first_use"
        pinning_passes = ["rewords", "adds"]
        reload = "watch"
        require_labels = true
        on_policy_removal = "apply"
        [audit]
        file = "audit.jsonl"
        durability = "strict"
        on_fault = "warn"
        max_file_size = "64MiB"
        max_file_age = "24h"
        signing_key_file = "signing.pem"
        checkpoint_interval = "10s"
        digest_key_file = "digest.key"
        arguments = "redacted"
        results = "redacted"
        [limits]
        max_message_bytes = "1MiB"
        max_message_bytes_to_agent = 2_000_000
        max_depth = 0x20
        max_nodes = 1000
        max_in_flight = 8
        request_timeout = "1500ms"
        progress_extends = false
        max_request_timeout = "1500ms"
        shutdown_grace_period = "0s"
        tool_timeouts = { slow = "2h", "a.b" = "5s" }
        "#,
    );
    let upstream = &config.upstream;
    assert_eq!(upstream.name, "files");
    // Literal arguments: no shell ever splits or runs them.
    assert_eq!(upstream.command, ["npx", "-y", "a b", "$(touch /tmp/x)"]);
    assert_eq!(upstream.cwd, Some(PathBuf::from("/etc/gate/work")));
    assert_eq!(
        upstream.env.get("A").map(ExposeSecret::expose_secret),
        Some("1")
    );
    let policy = Policy {
        allow: Some(vec!["b".to_owned(), "a".to_owned()]),
        dir: Some(PathBuf::from("/etc/gate/policies/")),
        shadow: Some(PathBuf::from("/etc/gate/next")),
        warnings: Warnings::Allow,
        deny_response: DenyResponse::ToolResult,
        pinning: Pinning::TrustOnFirstUse,
        passing: ChangeKinds::from_iter([ChangeKind::Rewords, ChangeKind::Adds]),
        on_policy_removal: OnRemoval::Apply,
        labels: RequiredLabels::Permission,
        ..Policy::default()
    };
    assert_eq!(config.policy, policy);
    let audit = Audit {
        file: Some(PathBuf::from("/etc/gate/audit.jsonl")),
        durability: Durability::Strict,
        on_fault: OnFault::Warn,
        arguments: RecordedArguments::Redacted,
        results: RecordedResults::Redacted,
        max_file_size: Some(64 << 20),
        max_file_age: Some(Duration::from_hours(24)),
        signing_key_file: Some(PathBuf::from("/etc/gate/signing.pem")),
        checkpoint_interval: Duration::from_secs(10),
        digest_key_file: Some(PathBuf::from("/etc/gate/digest.key")),
        syslog: None,
    };
    assert_eq!(config.audit, audit);
    let timeouts = [
        ("slow", Duration::from_hours(2)),
        ("a.b", Duration::from_secs(5)),
    ];
    let limits = Limits {
        max_message_bytes: 1 << 20,
        max_message_bytes_to_agent: 2_000_000,
        max_depth: 32,
        max_nodes: 1000,
        max_in_flight: 8,
        request_timeout: Duration::from_millis(1500),
        progress_extends: false,
        max_request_timeout: Duration::from_millis(1500),
        tool_timeouts: timeouts.map(|(name, time)| (name.to_owned(), time)).into(),
        shutdown_grace_period: Duration::ZERO,
        ..Limits::default()
    };
    assert_eq!(config.limits, limits);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn a_flight_recorder_has_a_database_and_names_for_events() {
    let recorder = |text: &str| {
        let text = format!("audit.file = 'audit.jsonl'\n[flight_recorder]\n{text}");
        valid_with(&text).flight_recorder
    };
    let expected = |event_kinds| FlightRecorder {
        file: PathBuf::from("/etc/gate/flight.duckdb"),
        event_kinds,
    };
    assert_eq!(
        recorder("file = 'flight.duckdb'"),
        Some(expected(EventKinds::Tool))
    );
    assert_eq!(
        recorder("file = 'flight.duckdb'\nevent_kinds = 'mcp'"),
        Some(expected(EventKinds::Mcp))
    );
    assert_eq!(valid_with("").flight_recorder, None);
}

#[test]
fn a_syslog_server_has_an_address_a_facility_and_authorities() {
    let syslog = |text: &str| valid_with(&format!("[audit.syslog]\n{text}")).audit.syslog;
    let address = |text| SyslogAddress::parse(text).unwrap();
    let expected = Syslog {
        address: address("tls://log.example.com:6514"),
        facility: Facility::Authpriv,
        ca_file: Some(PathBuf::from("/etc/gate/log.pem")),
    };
    let all = "address = 'tls://Log.example.com'\nfacility = 'authpriv'\nca_file = 'log.pem'";
    assert_eq!(syslog(all), Some(expected));
    let least = Syslog {
        address: address("unix:/dev/log"),
        facility: Facility::Local0,
        ca_file: None,
    };
    assert_eq!(syslog("address = 'unix:/dev/log'"), Some(least));
}

#[test]
fn variables_are_replaced_in_any_string_and_never_split() {
    let config = valid(
        r#"
        [upstream]
        command = ["server", "${ARGUMENTS}", "$${HOME}", "pa$$word"]
        cwd = "${HOME}/work"
        [policy]
        allow = ["${TOOL}"]
        [audit]
        file = "${HOME}/audit.jsonl"
        durability = "${STRICT}"
        [limits]
        request_timeout = "${TIMEOUT}"
        max_message_bytes = "${SIZE}"
        "#,
    );
    assert_eq!(
        config.upstream.command,
        ["server", "--a --b", "${HOME}", "pa$$word"]
    );
    assert_eq!(config.upstream.cwd, Some(PathBuf::from("/home/ada/work")));
    assert_eq!(
        config.policy.allow.as_deref(),
        Some(["read_file,write_file".to_owned()].as_slice())
    );
    assert_eq!(
        config.audit.file,
        Some(PathBuf::from("/home/ada/audit.jsonl"))
    );
    assert_eq!(config.audit.durability, Durability::Strict);
    assert_eq!(config.limits.request_timeout, Duration::from_mins(2));
    assert_eq!(config.limits.max_message_bytes, 65_536);
}

#[cfg(unix)]
#[test]
fn the_server_gets_the_named_environment_and_little_else() {
    let config = valid_with("[upstream.env]\nHOME = \"/srv\"\nTOKEN = \"${SECRET}\"\n");
    let env: Vec<_> = config
        .upstream
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    // What is named wins over what is inherited; `LD_PRELOAD` is set for the gate and stays there.
    assert_eq!(
        env,
        [
            ("HOME", "/srv"),
            ("PATH", "/usr/bin"),
            ("TOKEN", super::CANARY)
        ]
    );
}

#[test]
fn a_program_with_a_path_starts_at_the_file() {
    let cases = [
        ("npx", "npx"),
        ("./server", "/etc/gate/./server"),
        ("bin/server", "/etc/gate/bin/server"),
        ("/usr/bin/server", "/usr/bin/server"),
    ];
    for (written, expected) in cases {
        let config = valid(&format!("upstream.command = [\"{written}\", \"./stays\"]"));
        assert_eq!(config.upstream.command, [expected, "./stays"]);
    }
}

#[test]
fn an_allowlist_keeps_names_byte_for_byte() {
    let config = valid_with(r#"policy.allow = ["Read", "read", "re\u0301ad", "réad", "*", " a"]"#);
    let names = config.policy.allow.expect("a list");
    assert_eq!(names, ["Read", "read", "re\u{301}ad", "réad", "*", " a"]);
}

#[test]
fn what_is_valid_but_odd_is_a_warning() {
    let cases: [(&str, &[&str]); 11] = [
        ("policy.allow = [\"a\"]", &[]),
        ("policy.dir = \"p\"", &[]),
        ("", &["policy: nothing is allowed: every call is denied"]),
        (
            "policy.allow = []",
            &["policy.allow: nothing is allowed: every call is denied"],
        ),
        ("policy = { allow = [], dir = \"p\" }", &[]),
        (
            "policy.allow = [\"a\", \"a\"]",
            &["policy.allow[1]: listed twice"],
        ),
        (
            "policy.allow = [\"read_*\"]",
            &["policy.allow[0]: names are compared as they are written"],
        ),
        (
            "policy.allow = [\"a \"]",
            &["policy.allow[0]: names are compared as they are written"],
        ),
        (
            "policy = { dir = \"p\", other_methods = \"deny\" }",
            &["policy.other_methods: has no effect beside files of policies, which alone decide"],
        ),
        (
            "policy = { allow = [\"a\"], reload = \"watch\", on_policy_removal = \"reject\" }",
            &[],
        ),
        (
            "policy = { dir = \"p\", reload = \"off\", on_policy_removal = \"apply\" }",
            &[
                "policy.on_policy_removal: has no effect where nothing is watched: a signal takes what is there",
            ],
        ),
    ];
    for (text, expected) in cases {
        let warnings: Vec<_> = valid_with(text)
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(warnings, expected, "{text}");
    }
    let config = valid("upstream.command = [\"npx -y server\"]\npolicy.allow = [\"a\"]");
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["upstream.command[0]: holds a space, and is started as one program"]
    );
}

#[test]
fn what_another_key_leaves_without_effect_is_told_where_it_stands() {
    let check = |text: &str, expected: &[(&str, usize)]| {
        let config = valid_with(&format!("policy.allow = ['a']\n{text}"));
        let told = config.warnings.iter().map(|it| {
            assert_eq!(it.reason().code(), "config::no_effect", "{it}");
            assert!(
                it.advice()
                    .is_some_and(|it| it.contains("set `") || it.contains("name a root"))
            );
            (it.field(), it.position().unwrap().0)
        });
        assert_eq!(told.collect::<Vec<_>>(), expected, "{text}");
    };
    let definitions = "tool_metadata_tags = 'all'\ndescription_length = 20\n";
    let results = "content_tags = 'all'\ncontent_length = 20\ncontent_trim = true\n\
                   content_tools.x = { trim = true }\n";
    let members = "secret_members = ['a']\n";
    let all = format!("[guards]\n{definitions}{results}{members}");
    check(
        &all,
        &[
            ("guards.tool_metadata_tags", 4),
            ("guards.description_length", 5),
            ("guards.content_tags", 6),
            ("guards.content_length", 7),
            ("guards.content_trim", 8),
            ("guards.content_tools", 9),
            ("guards.secret_members", 10),
        ],
    );
    for on in ["report", "sanitize"] {
        let on = format!("{all}tool_metadata = '{on}'\ncontent = '{on}'\nsecrets = 'report'");
        check(&on, &[]);
    }
    let table = "[guards.content_tools.x]\ntrim = true\n";
    check(table, &[("guards.content_tools", 3)]);
    for recorded in ["arguments = 'redacted'", "results = 'redacted'"] {
        let recorded = format!("[guards]\n{members}[audit]\nfile = 'a'\n{recorded}");
        check(&recorded, &[]);
    }
    let passes = "policy.pinning_passes = ['adds']\n";
    for pinning in ["locked", "off"] {
        let pinned = format!("{passes}policy.pinning = '{pinning}'");
        check(&pinned, &[("policy.pinning_passes", 3)]);
    }
    check(
        &format!("{passes}policy.pinning = 'trust_on_first_use'"),
        &[],
    );
    let saved = "[truncation]\nsave_bytes = 4096\nsave_for = '2m'\n";
    check(
        saved,
        &[("truncation.save_bytes", 4), ("truncation.save_for", 5)],
    );
    check(&format!("{saved}save = 'workspace'"), &[]);
}

#[test]
fn what_is_not_said_of_a_tool_s_results_is_as_for_all() {
    let config = valid_with(
        "policy.allow = [\"a\"]\n[guards]\ncontent_tags = 'suspicious'\ncontent_length = 20\n\
         content_tools.x = { tags = 'off' }\ncontent_tools.y = { length = 30, trim = true }",
    );
    let rules = |tags, longest, margins| AnswerRules {
        tags,
        longest: Some(longest),
        margins,
    };
    let all = rules(StrippedTags::Suspicious, 20, Margins::Kept);
    assert_eq!(config.guards.answers, all);
    let x = rules(StrippedTags::None, 20, Margins::Kept);
    let y = rules(StrippedTags::Suspicious, 30, Margins::Trimmed);
    let tools = [("x".to_owned(), x), ("y".to_owned(), y)].into();
    assert_eq!(config.guards.answers_of_tools, tools);
}

#[test]
fn a_rule_for_credentials_that_finds_nothing_of_what_it_is_for_is_told() {
    let check = |rule: &str, expected: &[&str]| {
        let text = format!("policy.allow = [\"a\"]\n[guards.secret_rules.own]\n{rule}");
        let config = valid_with(&text);
        let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, expected, "{rule}");
        assert_eq!(config.guards.secret_rules.names().count(), 1, "{rule}");
    };
    check("keywords = ['acme_']\npattern = 'acme_[a-z]{24}'", &[]);
    check(
        "keywords = ['acne_']\npattern = 'acme_[a-z]{24}'",
        &[
            "guards.secret_rules.own.keywords: nothing that the pattern matches holds any of these: it is found \
           only close to one",
        ],
    );
    check(
        "keywords = ['code']\npattern = 'code (?<secret>[0-9]{6})'\nmin_entropy = 3",
        &[
            "guards.secret_rules.own.min_entropy: no secret of this pattern has so much, and none is found",
        ],
    );
    check(
        "keywords = ['code']\npattern = 'code[^\\s\\S]'",
        &["guards.secret_rules.own.pattern: has no effect because the pattern matches no text"],
    );
}

#[test]
fn a_command_line_means_what_the_file_would() {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let config = Config::from_command_line(CommandLine {
        allow: Some(words(&["a", "b", "a"])),
        other_methods: OtherMethods::Allow,
        policies: Some(PathBuf::from("p")),
        audit: Some(PathBuf::from("log")),
        env: words(&["PATH"]),
        command: words(&["server", "${HOME}"]),
    })
    .expect("valid");
    assert_eq!(config.policy.allow, Some(words(&["a", "b"])));
    assert_eq!(config.policy.dir, Some(PathBuf::from("p")));
    assert_eq!(
        config.audit,
        Audit {
            file: Some(PathBuf::from("log")),
            ..Audit::default()
        }
    );
    assert_eq!(config.upstream.command, ["server", "${HOME}"]);
    assert_eq!(config.upstream.name, "upstream");
    assert!(config.upstream.env.contains_key("PATH"));
    assert_eq!(config.limits, Limits::default());
}

#[test]
fn all_that_is_wrong_with_a_command_line_is_told() {
    let errors = Config::from_command_line(CommandLine {
        allow: Some(vec!["a\u{7}".to_owned()]),
        env: vec!["A=canary".to_owned(), "NO_SUCH_VARIABLE_7D1F".to_owned()],
        ..CommandLine::default()
    })
    .expect_err("invalid");
    let problems: Vec<_> = errors.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "command: required",
            "--allow: contains a control character",
            "--env: expected only the name of an environment variable",
            "--env: environment variable `NO_SUCH_VARIABLE_7D1F` is not set",
        ]
    );
}
