//! What is published about the format (schema, documentation) and what the code does agree.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{parse, render, valid, variables};
use crate::config::Config;
use crate::config::file::ParsedFile;
use crate::config::reader::{ConfigReader, KeyAvailability};
use crate::config::resolve::resolve;

const SCHEMA: &str = include_str!("../../../docs/schema/gate.schema.json");
const DOCUMENTATION: &str = include_str!("../../../docs/config-schema.md");

pub(super) fn schema() -> Value {
    SCHEMA.parse().expect("the schema is JSON")
}

/// Every key that the code can be asked for, as `section.key`; `*` is a key that authors choose.
pub(super) fn known(availability: KeyAvailability) -> BTreeSet<String> {
    known_in("", availability)
}

/// The same of a file that says something.
fn known_in(text: &str, availability: KeyAvailability) -> BTreeSet<String> {
    let written = ParsedFile::parse(text);
    let mut reading = ConfigReader::new(&written, &variables);
    resolve(&mut reading, std::path::Path::new("/"));
    let known = reading
        .known
        .iter()
        .filter(|(_, available)| **available == availability);
    known
        .map(|((section, key), _)| format!("{section}.{key}"))
        .collect()
}

/// Every key of the schema, and what the schema says of it.
fn properties<'s>(
    schema: &'s Value,
    object: &'s Value,
    path: &str,
    found: &mut Vec<(String, &'s Value)>,
) {
    let mut object = object;
    while let Some(reference) = object["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        object = schema.pointer(pointer).expect("a definition");
    }
    for (key, property) in object["properties"].as_object().into_iter().flatten() {
        found.push((format!("{path}.{key}"), property));
        let inside = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        properties(schema, property, &inside, found);
    }
    // One table, or an array of them.
    for way in object["anyOf"].as_array().into_iter().flatten() {
        if !way["$ref"].is_null() {
            properties(schema, way, path, found);
        }
    }
    if object["type"] == "object" {
        let chosen = &object["additionalProperties"];
        if *chosen != Value::Bool(false) {
            found.push((format!("{path}.*"), chosen));
        }
    }
}

#[test]
fn the_schema_has_every_key_that_the_code_knows_and_no_other() {
    let schema = schema();
    let mut found = Vec::new();
    properties(&schema, &schema, "", &mut found);
    let found: BTreeSet<_> = found.into_iter().map(|(path, _)| path).collect();
    assert_eq!(found, known(KeyAvailability::Now));
}

#[test]
fn the_schema_has_every_key_of_one_of_several_servers() {
    let schema = schema();
    let mut found = Vec::new();
    let server = &schema["definitions"]["server"];
    properties(&schema, server, ".servers.crm", &mut found);
    let found: BTreeSet<_> = found.into_iter().map(|(path, _)| path).collect();
    let known = known_in("servers.crm = {}", KeyAvailability::Now);
    let known = known.into_iter().map(|path| format!(".{path}"));
    let known: BTreeSet<_> = known
        .filter(|path| path.starts_with(".servers.crm."))
        .collect();
    assert!(known.len() > 20, "{known:?}");
    assert_eq!(found, known);
}

/// Where everything can be written that means something over HTTP alone, or beside a key that is required.
const OVER_HTTP: &str = "
    upstream.url = 'https://mcp.example.com/mcp'
    listen.transport = 'http'
    listen.port = 0
    listen.auth.type = 'jwt'
    listen.auth.issuer = 'https://login.example.com'
    listen.auth.audience = 'gate'
    listen.auth.jwks_file = 'keys.json'
    admin.port = 0
    upstream.auth.type = 'client_credentials'
    upstream.auth.client_id = 'gate'
    upstream.auth.client_secret = '0123456789'
    upstream.auth.issuer = 'https://login.example.com'
    upstream.isolated.url = 'https://isolated.example.com/mcp'
    upstream.isolated.auth.type = 'client_credentials'
    upstream.isolated.auth.client_id = 'gate'
    upstream.isolated.auth.client_secret = '0123456789'
    telemetry.otlp_endpoint = 'http://127.0.0.1:4318'
";

const ONLY_OVER_HTTP: [&str; 15] = [
    "admin.",
    "limits.max_connections",
    "limits.max_sessions",
    "limits.max_sessions_per_agent",
    "limits.session_idle_timeout",
    "listen.allow",
    "listen.auth",
    "listen.host",
    "listen.path",
    "telemetry.",
    "upstream.allow_http",
    "upstream.auth",
    "upstream.headers",
    "upstream.isolated.auth",
    "upstream.isolated.headers",
];

/// Where there is a sandbox: without one its keys mean nothing, and each of them begins one.
const CONFINED: &str = "
    upstream.command = [\"server\"]
    upstream.sandbox.write = []
    upstream.isolated.command = [\"isolated\"]
    upstream.isolated.sandbox.write = []
";

/// Sections that must be there for their defaults to count, and that change something by being there.
const SECTIONS: &str = "
    upstream.command = [\"server\"]
    upstream.isolated.command = [\"isolated\"]
    truncation.prompts.a = 'none'
    consent.channels = ['elicitation']
    audit.signing_key_file = 'signing.pem'
    audit.syslog.address = 'unix:/dev/log'
    audit.file = 'audit.jsonl'
    flight_recorder.file = 'flight.duckdb'
";

const SEVERAL: &str = "
    listen = { transport = 'http', port = 0 }
    servers.crm.command = ['crm']
    servers.mail.command = ['mail']
    [unified]
";

const OF_SECTIONS: [&str; 9] = [
    "audit.checkpoint_interval",
    "audit.syslog.",
    "flight_recorder.",
    "upstream.isolated.identity",
    "upstream.isolated.keep",
    "upstream.isolated.min_sensitivity",
    "upstream.isolated.restart.",
    "truncation.",
    "consent.",
];

#[test]
fn the_schema_has_the_defaults_of_the_code() {
    let schema = schema();
    let mut found = Vec::new();
    properties(&schema, &schema, "", &mut found);
    let (mut over_stdio, mut over_http) = (Vec::new(), Vec::new());
    let (mut confined, mut of_sections) = (Vec::new(), Vec::new());
    let mut of_several = Vec::new();
    for (path, property) in found {
        if let Some(default) = property.get("default") {
            let value = if default.is_object() {
                "{}".to_owned()
            } else {
                default.to_string()
            };
            let path = path.trim_start_matches('.');
            let line = format!("{path} = {value}\n");
            if ONLY_OVER_HTTP.iter().any(|only| path.starts_with(only)) {
                over_http.push(line);
            } else if path.contains(".sandbox.") {
                // The text that begins a sandbox has two of its defaults.
                if !CONFINED.contains(&line) {
                    confined.push(line);
                }
            } else if path.starts_with("unified.") {
                of_several.push(line.trim_start_matches("unified.").to_owned());
            } else if OF_SECTIONS.iter().any(|of| path.starts_with(of)) {
                of_sections.push(line);
            } else {
                over_stdio.push(line);
            }
        }
    }
    assert!(over_stdio.len() >= 15, "{over_stdio:?}");
    assert!(over_http.len() >= 12, "{over_http:?}");
    let base = "upstream.command = [\"server\"]\n";
    assert_eq!(confined.len(), 12, "{confined:?}");
    assert_eq!(of_sections.len(), 17, "{of_sections:?}");
    assert_eq!(of_several.len(), 2, "{of_several:?}");
    let groups = [
        (base, over_stdio),
        (OVER_HTTP, over_http),
        (CONFINED, confined),
        (SECTIONS, of_sections),
        (SEVERAL, of_several),
    ];
    for (base, defaults) in groups {
        let defaults = defaults.concat();
        let (with, without) = (valid(&format!("{base}{defaults}")), valid(base));
        // A warning says where it stands.
        let (with, without) = (
            Config {
                warnings: Vec::new(),
                ..with
            },
            Config {
                warnings: Vec::new(),
                ..without
            },
        );
        assert_eq!(format!("{with:?}"), format!("{without:?}"), "{defaults}");
    }
}

#[test]
fn the_documentation_has_every_key() {
    for availability in [KeyAvailability::Now, KeyAvailability::Later] {
        for path in known(availability) {
            let key = path.rsplit('.').next().expect("a key");
            let section = format!("`[{key}]`");
            let heading = format!("## `{key}`");
            let mentions = [format!("`{key}`"), format!(".{key}`"), section, heading];
            assert!(
                key == "*" || mentions.iter().any(|it| DOCUMENTATION.contains(it)),
                "{path}"
            );
        }
    }
}

#[test]
fn the_documentation_has_every_variable_that_is_inherited() {
    for name in crate::config::INHERITED {
        assert!(DOCUMENTATION.contains(&format!("`{name}`")), "{name}");
    }
}

/// The fenced blocks of one language, each with the line it starts on.
fn snippets(language: &str) -> Vec<(usize, String)> {
    let mut snippets = Vec::new();
    let mut current: Option<(usize, String)> = None;
    for (number, line) in DOCUMENTATION.lines().enumerate() {
        match &mut current {
            Some(_) if line == "```" => snippets.extend(current.take()),
            Some((_, text)) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line == format!("```{language}") => current = Some((number + 2, String::new())),
            None => {}
        }
    }
    snippets
}

/// A snippet that shows one section gets the one thing that every file needs.
fn complete(snippet: &str) -> String {
    let has_upstream = snippet.lines().any(|line| {
        line.starts_with("command") || line.starts_with("url") || line.contains(".command")
    });
    if has_upstream {
        snippet.to_owned()
    } else {
        format!("upstream.command = [\"server\"]\n{snippet}")
    }
}

#[test]
fn every_snippet_of_the_documentation_is_valid_for_the_code_and_for_the_schema() {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is a schema");
    let snippets = snippets("toml");
    assert!(snippets.len() >= 9, "{}", snippets.len());
    for (line, snippet) in snippets {
        // Variables of the reader's environment exist, whatever they are called.
        let text = complete(&snippet);
        let config = Config::parse(
            &text,
            std::path::Path::new("gate.toml"),
            std::path::Path::new("/etc/gate"),
            &|name| Some(format!("the-value-of-{name}").into()),
        );
        if let Err(errors) = config {
            panic!("docs/config-schema.md:{line}\n{}", render(&errors));
        }
        let instance: Value = toml::from_str(&text).expect("TOML");
        let problems: Vec<_> = validator
            .iter_errors(&instance)
            .map(|it| it.to_string())
            .collect();
        assert!(
            problems.is_empty(),
            "docs/config-schema.md:{line}\n{problems:?}"
        );
    }
}

/// What neither takes.
const REFUSED: &[&str] = &[
    "version = 2",
    "typo = 1",
    "upstream.typo = 1",
    "upstream.name = \"a b\"",
    "upstream.url = \"https://example.com\"",
    "upstream.url = \"ws://example.com\"",
    "upstream.type = \"sse\"",
    "upstream.type = \"http\"",
    "upstream.auth = { type = \"bearer\", token = \"0123456789\" }",
    "upstream.ca_file = \"a.pem\"",
    "upstream.allow_http = true",
    "upstream.identity = \"jwt\"",
    "upstream.identity = \"header\"",
    "upstream.identity = \"forward\"",
    "upstream.identity_audience = \"a b\"",
    "upstream.isolated = true",
    "upstream.isolated = {}",
    "upstream.isolated.name = \"isolated\"",
    "upstream.isolated.min_sensitivity = \"public\"",
    "upstream.isolated = { at = 2, command = [\"isolated\"] }",
    "upstream.isolated.url = \"stdio\"",
    "upstream.isolated = { url = \"https://example.com\", command = [\"isolated\"] }",
    "upstream.isolated = { url = \"http://example.com\" }",
    "upstream.isolated = { command = [\"isolated\"], isolated = {} }",
    "upstream.env.A = 1",
    "upstream.env.\"A=B\" = \"\"",
    "upstream.cwd = \"\"",
    "upstream.sandbox = true",
    "upstream.restart = 3",
    "upstream.restart.tries = 0",
    "upstream.restart.often = 1",
    "upstream.sandbox.raed = []",
    "upstream.sandbox.read = \"/srv\"",
    "upstream.sandbox.read = [\"\"]",
    "upstream.sandbox.write = [1]",
    "upstream.sandbox.network = \"off\"",
    "upstream.sandbox.network = []",
    "upstream.sandbox.network = [0]",
    "upstream.sandbox.network = [65536]",
    "upstream.sandbox.network = [\"443\"]",
    "upstream.sandbox.network = true",
    "upstream.sandbox.roots = [\"work\"]",
    "upstream.sandbox.system = \"no\"",
    "upstream.sandbox.local_sockets = 1",
    "upstream.sandbox.required = \"yes\"",
    "listen.transport = \"http\"",
    "listen.transport = \"tcp\"",
    "listen.port = 1",
    "listen.host = \"127.0.0.1\"",
    "listen.path = \"/mcp\"",
    "listen.allowed_hosts = []",
    "listen.allowed_origins = []",
    "listen.allow_anonymous = false",
    "listen.auth = { type = \"bearer\", tokens = { a = \"0123456789abcdef\" } }",
    "limits.max_sessions = 5",
    "limits.max_sessions_per_agent = 5",
    "limits.session_idle_timeout = \"5m\"",
    "limits.max_connections = 5",
    "admin.host = \"127.0.0.1\"",
    "admin.port = 65536",
    "admin = { port = 1, host = \"example.com\" }",
    "flight_recorder = {}",
    "flight_recorder.file = \"a\"",
    "audit.file = \"a\"\nflight_recorder = { file = \"b\", event_kinds = \"all\" }",
    "telemetry = {}",
    "telemetry.otlp_endpoint = \"127.0.0.1:4318\"",
    "telemetry.otlp_endpoint = \"http://collector:4318\"",
    "telemetry.otlp_endpoint = \"https://a/v1/traces\"",
    "telemetry.otlp_endpoint = \"https://a?b=c\"",
    "telemetry = { otlp_endpoint = \"https://a\", sample_ratio = 1.5 }",
    "telemetry = { otlp_endpoint = \"https://a\", sample = -1 }",
    "telemetry = { otlp_endpoint = \"https://a\", sample = \"1\" }",
    "upstream.headers = { x-a = \"b\" }",
    "listen.tls = { cert_file = \"a\", key_file = \"b\" }",
    "listen = { transport = \"http\", port = 1, tls = { cert_file = \"a\" } }",
    "listen = { transport = \"http\", port = 1, tls = { key_file = \"a\" } }",
    "listen = { transport = \"http\", port = 1, tls = { cert_file = \"\", key_file = \"b\" } }",
    "telemetry = { otlp_endpoint = \"https://a\", service_name = \" \" }",
    "telemetry = { otlp_endpoint = \"https://a\", headers = { \"a b\" = \"c\" } }",
    "telemetry = { otlp_endpoint = \"https://a\", headers = { host = \"c\" } }",
    "telemetry = { otlp_endpoint = \"https://a\", headers = { a = \"\" } }",
    "policy.allow = \"a\"",
    "policy.allow = [\"\"]",
    "policy.other_methods = \"base\"",
    "policy.allow_warnings = \"yes\"",
    "policy.deny_response = \"no\"",
    "policy.reload = \"poll\"",
    "policy.on_policy_removal = \"refuse\"",
    "policy.pinning = \"first_use\"",
    "policy.require_labels = \"yes\"",
    "guards.tool_names = \"utf8\"",
    "guards.arguments_unknown = \"reject\"",
    "ratchet.server_datasets = \"add\"",
    "truncation.max_bytes = 1023",
    "truncation.tools.a = \"rows\"",
    "truncation.tools.\"\" = \"default\"",
    "truncation.resources.\"file:\" = \"rows\"",
    "truncation.resources.\"\" = \"default\"",
    "truncation.prompts.a = true",
    "truncation.prompts.\"\" = \"default\"",
    "truncation = true",
    "guards.on_fatal_tool_error = \"stop\"",
    "guards.elicitation.hosts = \"a.example\"",
    "guards.elicitation.hosts = [\"https://a.example\"]",
    "guards.elicitation.hosts = [\"A.example\"]",
    "guards.elicitation.secret_fields = \"no\"",
    "guards.uris = \"sanitize\"",
    "guards.symlinks = \"follow\"",
    "guards.secret_members = \"password\"",
    "guards.secret_members = [\"pass word\"]",
    "guards.secret_rules = []",
    "guards.secret_rules.a = \"abc\"",
    "guards.secret_rules.a = {}",
    "guards.secret_rules.A = { pattern = \"abc\", keywords = [\"abc\"] }",
    "guards.secret_rules.a = { pattern = \"abc\", keywords = [] }",
    "guards.secret_rules.a = { pattern = \"abc\", keywords = [\"ab\"] }",
    "guards.secret_rules.a = { pattern = \"abc\", keywords = [\"abc\"], min_entropy = 9 }",
    "guards.secret_rules.a = { pattern = \"abc\", keywords = [\"abc\"], typo = 1 }",
    "guards.elicitation.typo = 1",
    "consent = {}",
    "consent.timeout = \"1m\"",
    "consent.channels = []",
    "consent.channels = \"elicitation\"",
    "consent.channels = [\"email\"]",
    "consent = { channels = [\"elicitation\"], timeout = 60 }",
    "consent = { channels = [\"elicitation\"], max_pending = 0 }",
    "consent = { channels = [\"elicitation\"], max_pending_per_agent = 1001 }",
    "consent = { channels = [\"elicitation\"], max_prompt_bytes = 1 }",
    "policy.pinning = \"enforce\"",
    "policy.require_labels = true",
    "audit.durability = \"strict\"",
    "audit.on_fault = \"allow\"",
    "audit.max_file_size = \"10MiB\"",
    "audit.max_file_age = \"1h\"",
    "audit.checkpoint_interval = \"1m\"",
    "audit = { file = \"a\", max_file_size = 1000 }",
    "audit = { file = \"a\", max_file_age = \"1d\" }",
    "audit.signing_key_file = \"\"",
    "audit = { signing_key_file = \"k\", checkpoint_interval = 60 }",
    "limits.max_message_bytes = 1",
    "limits.max_message_bytes = \"4 MiB\"",
    "limits.max_depth = 65",
    "limits.max_depth = 7",
    "limits.max_nodes = 99",
    "limits.max_in_flight = 0",
    "limits.request_timeout = 60",
    "limits.request_timeout = \"1d\"",
    "limits.shutdown_grace_period = \"\"",
    "limits.tool_timeouts.\"\" = \"1s\"",
    "limits.tool_timeouts.a = 1",
    "limits.calls_per_session = 0",
    "limits.rates = \"5/s\"",
    "limits.rates.typo = \"5/s\"",
    "limits.rates.global = 5",
    "limits.rates.global = \"5\"",
    "limits.rates.principal = \"0/s\"",
    "limits.rates.principal = \"5/d\"",
    "limits.rates.tools.a = \"5/s burst 0\"",
    "limits.rates.tools.a = \"1000000/s\"",
    "limits.rates.tools.\"\" = \"5/s\"",
    "tools.a.permission = \"read\"",
];

/// The same of one of several servers.
const REFUSED_OF_SEVERAL: &[&str] = &[
    "name = \"crm\"",
    "typo = 1",
    "enabled = \"no\"",
    "required = 1",
    "limits.max_memory = \"1GiB\"",
    "limits.calls_per_session = 5",
    "limits.request_timeout = 60",
    "limits.rates.typo = \"5/s\"",
    "limits.typo = 1",
    "guards.secret_rules.a = { pattern = \"abc\", keywords = [\"abc\"] }",
    "guards.suspicious_words.a = \"abc\"",
    "guards.content = \"off\"\nguards.typo = 1",
    "truncation.max_bytes = 1023",
];

#[test]
fn the_schema_and_the_code_refuse_the_same_of_several_servers() {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is a schema");
    let text = |line: &str| {
        format!(
            "[listen]\ntransport = \"http\"\nport = 0\n[policy]\nallow = [\"crm/a\"]\n\
             [servers.crm]\ncommand = [\"server\"]\n{line}\n"
        )
    };
    let is_valid = |text: &str| {
        let instance: Value = toml::from_str(text).expect("TOML");
        (parse(text).is_ok(), validator.is_valid(&instance))
    };
    assert_eq!(is_valid(&text("")), (true, true));
    for line in REFUSED_OF_SEVERAL {
        assert_eq!(is_valid(&text(line)), (false, false), "{line}");
    }
}

#[test]
fn the_schema_and_the_code_refuse_the_same() {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is a schema");
    for text in REFUSED {
        let text = format!("upstream.command = [\"server\"]\n{text}");
        let instance: Value = toml::from_str(&text).expect("TOML");
        assert!(parse(&text).is_err(), "the code accepts\n{text}");
        assert!(!validator.is_valid(&instance), "the schema accepts\n{text}");
    }
    for text in [
        "version = 1",
        "[upstream]",
        "upstream.command = []",
        "upstream.command = [1]",
        "upstream.command = \"npx -y server\"",
        "upstream.command = \"\"",
        "upstream = { type = \"http\", url = \"stdio\" }",
        "upstream = { type = \"stdio\", url = \"https://example.com\" }",
        "upstream = { url = \"https://a\", headers = { \"a b\" = \"c\" } }",
        "upstream = { url = \"https://a\", headers = { host = \"c\" } }",
        "upstream = { url = \"https://a\", headers = { content-type = \"c\" } }",
        "upstream = { url = \"https://a\", headers = { mcp-session-id = \"c\" } }",
        "upstream = { url = \"https://a\", headers = { a = \"\" } }",
    ] {
        let instance: Value = toml::from_str(text).expect("TOML");
        assert!(parse(text).is_err(), "the code accepts\n{text}");
        assert!(!validator.is_valid(&instance), "the schema accepts\n{text}");
    }
}
