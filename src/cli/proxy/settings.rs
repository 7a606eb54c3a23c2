//! What the configuration means to each component.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use secrecy::SecretString;

use crate::audit::{self, Audit, DigestKey, OpenError, Redactor, SecretTooShort};
use crate::bridge;
use crate::clock::Clock;
use crate::config::{self, Bearer, Config, HttpListen, Listen, ListenAuth, ServerAuth};
use crate::egress;
use crate::gate;
use crate::guard::Preset;
use crate::guard::secrets::{SecretMembers, SecretRules};
use crate::policy::PolicyStore;
use crate::secret;
use crate::session::{OverHttp, PerInstance, Thresholds};
use crate::upstream::http::ClientSecret;
use crate::upstream::sandbox::Sandbox;
use crate::upstream::{self, Backoff, Concealing};
use crate::wire::{Extensions, Limits};

/// Words in the name of a variable that holds a secret.
const SECRET_WORDS: [&str; 15] = [
    "TOKEN",
    "_PAT",
    "DATABASE_URL",
    "DSN",
    "COOKIE",
    "PRIVATE",
    "SIGNING",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "_KEY",
    "AUTH",
];

/// Bytes that a secret has at least; what is shorter cannot be told from ordinary text.
pub(super) const SHORTEST_SECRET: usize = 8;

pub(super) fn audit(
    config: &Config,
    followers: Vec<Box<dyn audit::Follower>>,
    clock: Arc<dyn Clock>,
    secrets: Redactor,
) -> Result<Audit, OpenError> {
    let settings = audit::Settings {
        file: config.audit.file.clone(),
        // Stdout is the protocol's while the agent is on stdio (requirement A14).
        stream: match config.listen {
            Listen::Stdio => audit::Stream::Stderr,
            Listen::Http(_) => audit::Stream::Stdout,
            // It has a file, and its standard error goes into one that the gate does not shorten.
            Listen::Local => audit::Stream::None,
        },
        rotation: audit::Rotation {
            max_size: config.audit.max_file_size.map(|size| size as u64),
            max_age: config.audit.max_file_age,
        },
        durability: durability(&config.audit),
        on_fault: on_fault(&config.audit),
        checkpoints: config
            .audit
            .signing_key_file
            .clone()
            .map(|key_file| audit::Checkpoints {
                key_file,
                interval: config.audit.checkpoint_interval,
            }),
    };
    Audit::open(&settings, followers, clock, secrets)
}

/// The key of the digests of arguments.
pub(super) fn digests(audit: &config::Audit) -> Result<DigestKey, String> {
    match &audit.digest_key_file {
        None => DigestKey::random().map_err(|cause| format!("`audit`: a key {cause}")),
        Some(path) => DigestKey::read(path)
            .map_err(|cause| format!("`audit.digest_key_file`: `{}` {cause}", path.display())),
    }
}

/// What records have of arguments.
pub(super) fn arguments(audit: &config::Audit, key: DigestKey) -> gate::RecordedArguments {
    match audit.arguments {
        config::RecordedArguments::Off => gate::RecordedArguments::Nothing,
        config::RecordedArguments::Digest => gate::RecordedArguments::Digest(key),
        config::RecordedArguments::Redacted => gate::RecordedArguments::Redacted(key),
    }
}

/// What records have of results.
pub(super) fn results(audit: &config::Audit) -> gate::RecordedResults {
    match audit.results {
        config::RecordedResults::Off => gate::RecordedResults::Nothing,
        config::RecordedResults::Redacted => gate::RecordedResults::Redacted,
    }
}

pub(super) fn durability(audit: &config::Audit) -> audit::Durability {
    match audit.durability {
        config::Durability::Async => audit::Durability::Async,
        config::Durability::Strict => audit::Durability::Strict,
    }
}

pub(super) fn on_fault(audit: &config::Audit) -> audit::OnFault {
    match audit.on_fault {
        config::OnFault::Deny => audit::OnFault::Deny,
        config::OnFault::Warn => audit::OnFault::Warn,
    }
}

/// What the configuration holds and nobody may see: tokens of both sides, and variables whose name
/// says so. Others (`HOME`, `LOG_LEVEL`) stand in ordinary text, which would suffer.
///
/// # Errors
///
/// One is too short to be kept out of what others see. Without it none would be.
pub(super) fn secrets(
    config: &Config,
    operators: Option<&SecretString>,
) -> Result<Redactor, SecretTooShort> {
    Redactor::new(secret_values(config).chain(operators))
}

pub(super) fn secret_values(config: &Config) -> impl Iterator<Item = &SecretString> {
    let says_so = |name: &str| {
        let name = name.to_ascii_uppercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    };
    // A secret may be known by its name here or there, and be only a part of a value.
    let named = configured_servers(config).flat_map(|server| &server.env);
    let named = named.chain(&config.variables);
    named
        .filter(move |(name, value)| says_so(name) && secret::length(value) >= SHORTEST_SECRET)
        .map(|(_, value)| value)
        .chain(tokens(config))
}

/// What one side shows to the other to be known. The configuration accepts none that is too short
/// to be told from ordinary text.
fn tokens(config: &Config) -> impl Iterator<Item = &SecretString> {
    let shown_to_the_server = configured_servers(config).flat_map(shown_to);
    let in_headers = configured_servers(config).filter_map(|server| server.http.as_ref());
    let in_headers = in_headers.flat_map(|http| &http.header_secrets);
    let shown_by_operators = match &config.admin.token {
        Some(Bearer::Value(token)) => Some(token),
        Some(Bearer::File(_)) | None => None,
    };
    let shown_by_agents = match &config.listen {
        Listen::Http(HttpListen {
            auth: ListenAuth::Bearer { tokens },
            ..
        }) => Some(tokens.values()),
        Listen::Http(_) | Listen::Stdio | Listen::Local => None,
    };
    shown_to_the_server
        .chain(in_headers)
        .chain(shown_by_operators)
        .chain(config.admin.approvers.values())
        .chain(config.admin.operators.values())
        .chain(&config.telemetry.secrets)
        .chain(shown_by_agents.into_iter().flatten())
}

/// The instances of each server, its open one first.
pub(super) fn servers(config: &Config) -> impl Iterator<Item = &config::Upstream> {
    config.upstreams().flat_map(instances)
}

/// The same of those that are disabled, too: their secrets are secrets.
fn configured_servers(config: &Config) -> impl Iterator<Item = &config::Upstream> {
    config.configured_upstreams().flat_map(instances)
}

fn instances(upstream: &config::Upstream) -> impl Iterator<Item = &config::Upstream> {
    let isolated = upstream.isolated.iter();
    iter::once(upstream).chain(isolated.map(|isolated| &isolated.server))
}

/// What is shown to a server over HTTP, or to the authorization server before it. Files are read where their
/// secret is sent, and learned then.
fn shown_to(server: &config::Upstream) -> Vec<&SecretString> {
    let auth = server.http.as_ref().and_then(|http| http.auth.as_ref());
    match auth {
        Some(ServerAuth::Bearer(Bearer::Value(token))) => vec![token],
        Some(ServerAuth::Client(client)) => value_of(&client.secret).into_iter().collect(),
        Some(ServerAuth::Exchange(exchange)) => {
            let client = exchange.client.as_ref().and_then(|it| it.secret.as_ref());
            let actor = exchange.actor.as_ref().map(|it| &it.token);
            let secrets = [client, actor].into_iter().flatten();
            secrets.filter_map(value_of).collect()
        }
        Some(ServerAuth::Bearer(Bearer::File(_))) | None => Vec::new(),
    }
}

fn value_of(secret: &ClientSecret) -> Option<&SecretString> {
    match secret {
        ClientSecret::Value(secret) => Some(secret),
        ClientSecret::File(_) => None,
    }
}

pub(super) fn upstream(
    config: &Config,
    server: &config::Upstream,
    sandbox: Option<Sandbox>,
    concealing: Concealing,
) -> upstream::Settings {
    let mut settings = upstream::Settings::new(server.name.clone(), server.command.clone());
    settings.env = server.env.clone();
    settings.secrets = secret_values(config).cloned().collect();
    settings.concealing = concealing;
    // The configuration has put together the whole environment.
    settings.inherit = Vec::new();
    settings.cwd.clone_from(&server.cwd);
    settings.max_message_bytes = config.limits.max_message_bytes_to_agent;
    settings.sandbox = sandbox;
    if let Some(confinement) = &server.sandbox {
        settings.egress = egress::Settings::listing(confinement.egress.clone());
    }
    settings.backoff = Backoff {
        first: server.restart.first,
        max: server.restart.max,
        tries: server.restart.tries,
        ..Backoff::default()
    };
    settings
}

/// Limits of a frame from the agent.
pub(super) fn from_agent(limits: &config::Limits) -> Limits {
    within(limits, limits.max_message_bytes)
}

/// Limits of a frame from the upstream.
pub(super) fn from_upstream(limits: &config::Limits) -> Limits {
    within(limits, limits.max_message_bytes_to_agent)
}

fn within(limits: &config::Limits, max_bytes: usize) -> Limits {
    Limits {
        max_bytes,
        max_depth: limits.max_depth,
        max_nodes: limits.max_nodes,
    }
}

pub(super) fn gate(limits: &config::Limits, terms: gate::Terms) -> gate::Settings {
    gate::Settings {
        from_agent: from_agent(limits),
        from_upstream: from_upstream(limits),
        terms,
        secrets: Redactor::default(),
        arguments: gate::RecordedArguments::Nothing,
        results: gate::RecordedResults::Nothing,
        tracing: gate::Tracing::Off,
        thresholds: Thresholds::default(),
        warm: PerInstance::default(),
        unconfined: gate::Unconfined::default(),
        eras: gate::Eras::Unasked,
        over_http: OverHttp::default(),
        extensions: Extensions::default(),
        own_directories: gate::OwnDirectories::Stated,
        user_identities: Arc::default(),
    }
}

/// What holds until another configuration is in force.
pub(super) fn terms(config: &Config) -> gate::Terms {
    let mut terms = terms_of(&config.limits, config.policy.deny_response, &config.guards);
    terms.guards.symlinks = symlinks(config);
    terms.server_datasets = match config.ratchet.server_datasets {
        config::ServerDatasets::Ignore => gate::ServerDatasets::Ignored,
        config::ServerDatasets::Trust => gate::ServerDatasets::Trusted,
    };
    terms.asked_again = config.flow.ask;
    terms.evidence = config.flow.evidence;
    terms.guards.excerpts = config.truncation.as_ref().map(excerpts);
    terms
}

/// The same where nothing is known of servers.
pub(super) fn terms_of(
    limits: &config::Limits,
    deny_response: config::DenyResponse,
    guards: &config::Guards,
) -> gate::Terms {
    gate::Terms {
        request_timeout: limits.request_timeout,
        progress_extends: limits
            .progress_extends
            .then_some(limits.max_request_timeout),
        tool_timeouts: limits.tool_timeouts.clone().into_iter().collect(),
        max_in_flight: limits.max_in_flight,
        rates: gate::Rates {
            rest: Some(limits.session_idle_timeout),
            ..limits.rates.clone()
        },
        denial: match deny_response {
            config::DenyResponse::Error => gate::DenialForm::Error,
            config::DenyResponse::ToolResult => gate::DenialForm::ToolResult,
        },
        guards: gate::Guards {
            arguments: level(guards.arguments),
            arguments_unknown: level(guards.arguments_unknown),
            results: level(guards.results),
            secrets: of_others(guards),
            texts: gate::Texts {
                definitions: cleaning(guards.tool_metadata),
                content: cleaning(guards.content),
                definition_tags: guards.tool_metadata_tags,
                longest: guards.description_length,
                answers: guards.answers,
                tools: guards.answers_of_tools.clone(),
                words: guards.suspicious_words.clone(),
            },
            tool_names: match guards.tool_names {
                config::ToolNames::Ascii => gate::ToolNames::Ascii,
                config::ToolNames::Any => gate::ToolNames::Any,
            },
            excerpts: None,
            on_fatal_tool_error: guards.on_fatal_tool_error,
            asking: gate::Asking {
                secrets: level(guards.secret_fields),
                pages: gate::Pages::Only(guards.page_hosts.clone()),
            },
            uris: level(guards.uris),
            symlinks: gate::Symlinks::AsWritten,
        },
        server_datasets: gate::ServerDatasets::Ignored,
        asked_again: gate::QuestionsAgain::Always,
        evidence: gate::Evidence::Off,
    }
}

/// Which servers are reached over HTTP.
pub(super) fn over_http(config: &Config) -> OverHttp {
    OverHttp::from_first(servers(config).map(|server| server.http.is_some()))
}

/// The isolated servers that are started with a session.
pub(super) fn warm(config: &Config) -> PerInstance<bool> {
    let isolated = config.upstream.isolated.iter();
    let isolated = isolated.map(|isolated| isolated.keep == config::Keep::Warm);
    PerInstance::from_first(iter::once(false).chain(isolated))
}

/// From which levels on sessions speak to isolated servers.
pub(super) fn thresholds(config: &Config) -> Thresholds {
    let isolated = config.upstream.isolated.iter();
    Thresholds::new(isolated.map(|isolated| isolated.min_sensitivity))
}

/// Whether the gate sees the disk on which the server opens paths: that of a server which it starts itself
/// is taken for its own.
pub(super) fn symlinks(config: &Config) -> gate::Symlinks {
    let starts_one = || servers(config).any(|server| server.http.is_none());
    match config.guards.symlinks {
        Some(config::Symlinks::Block) => gate::Symlinks::Block(gate::Disk::Local),
        Some(config::Symlinks::Resolve) => gate::Symlinks::Resolve(gate::Disk::Local),
        None if starts_one() => gate::Symlinks::Resolve(gate::Disk::Local),
        Some(config::Symlinks::AsWritten) | None => gate::Symlinks::AsWritten,
    }
}

fn excerpts(truncation: &config::Truncation) -> gate::Excerpts {
    gate::Excerpts {
        over: truncation.max_bytes,
        tools: presets(&truncation.tools).collect(),
        resources: presets(&truncation.resources).collect(),
        prompts: presets(&truncation.prompts).collect(),
        keep: truncation.retain_bytes,
        save: truncation.save.as_ref().map(|root| gate::Save {
            root: root.clone(),
            bytes: u64::try_from(truncation.save_bytes).unwrap_or(u64::MAX),
            keep: truncation.save_for,
        }),
    }
}

fn presets(
    presets: &BTreeMap<String, config::TruncationPreset>,
) -> impl Iterator<Item = (String, Preset)> {
    presets.iter().map(|(whose, preset)| {
        let preset = match preset {
            config::TruncationPreset::Default => Preset::Default,
            config::TruncationPreset::SqlQuery => Preset::SqlQuery,
            config::TruncationPreset::LogSearch => Preset::LogSearch,
            config::TruncationPreset::None => Preset::Whole,
        };
        (whose.clone(), preset)
    })
}

fn cleaning(cleaning: config::Sanitizing) -> gate::Cleaning {
    match cleaning {
        config::Sanitizing::Off => gate::Cleaning::Off,
        config::Sanitizing::Report => gate::Cleaning::Warn,
        config::Sanitizing::Sanitize => gate::Cleaning::Clean,
    }
}

/// What is done about credentials that are not the configuration's own.
fn of_others(guards: &config::Guards) -> Option<gate::Secrets> {
    let received = match guards.secrets {
        config::Redaction::Off => gate::Treatment::Off,
        config::Redaction::Report => gate::Treatment::Warn,
        config::Redaction::Redact => gate::Treatment::Redact,
    };
    let sent = level(guards.secrets_outbound);
    let is_off = received == gate::Treatment::Off && sent == gate::Level::Off;
    // Policies may ask for kinds that only the configuration knows.
    let is_off = is_off && guards.secret_rules.is_empty();
    // Records of arguments hold no such member, whatever the guards are set to.
    let is_off = is_off && guards.secret_members == config::Guards::default().secret_members;
    // The rules take some time to compile.
    (!is_off).then(|| {
        let members = SecretMembers::named(guards.secret_members.iter().map(String::as_str));
        let rules = SecretRules::with_own(&guards.secret_rules).with_members(members);
        rules.compile();
        gate::Secrets {
            sent,
            received,
            rules: Arc::new(rules),
        }
    })
}

/// What is done to a line that the server writes to its stderr, where credentials are taken out.
pub(super) fn concealing(guards: &gate::Guards) -> Concealing {
    let guards = guards.clone();
    Concealing::by(move |line| without_credentials(line, &guards))
}

/// The same by the terms that are in force when it is written.
pub(super) fn concealing_by(policies: &Arc<PolicyStore>) -> Concealing {
    let policies = Arc::clone(policies);
    Concealing::by(move |line| {
        let current = policies.current();
        let terms = current.terms::<gate::Terms>();
        terms.map_or_else(
            || line.to_owned(),
            |terms| without_credentials(line, &terms.guards),
        )
    })
}

fn without_credentials(line: &str, guards: &gate::Guards) -> String {
    let secrets = guards.secrets.as_ref();
    let secrets = secrets.filter(|it| it.received == gate::Treatment::Redact);
    secrets.map_or_else(
        || line.to_owned(),
        |secrets| secrets.rules.redact(line).text.into_owned(),
    )
}

fn level(strictness: config::Strictness) -> gate::Level {
    match strictness {
        config::Strictness::Off => gate::Level::Off,
        config::Strictness::Report => gate::Level::Warn,
        config::Strictness::Block => gate::Level::Strict,
    }
}

/// What may stand before an agent whose server speaks another revision.
pub(super) fn bridge(config: &Config) -> Option<bridge::Settings> {
    match config.protocol.bridge {
        config::Bridging::Off => None,
        config::Bridging::On => Some(bridge::Settings {
            server: config.upstream.name.clone(),
            from_agent: from_agent(&config.limits),
            from_upstream: from_upstream(&config.limits),
            max_in_flight: config.limits.max_in_flight,
            request_timeout: config.limits.request_timeout,
        }),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;
    use crate::config::CommandLine;

    #[test]
    fn a_secret_is_known_by_its_name_on_either_side() {
        let mut config = Config::from_command_line(CommandLine {
            command: vec!["server".to_owned()],
            ..CommandLine::default()
        })
        .unwrap();
        let secret = |text: &str| SecretString::from(text.to_owned());
        config.upstream.env = [
            ("API_TOKEN".to_owned(), secret("token-12345")),
            ("HEADER".to_owned(), secret("Bearer hidden-12345")),
        ]
        .into();
        config.variables = [
            ("MY_API_TOKEN".to_owned(), secret("hidden-12345")),
            ("HOME".to_owned(), secret("/home/somebody")),
        ]
        .into();
        let text = "token-12345 hidden-12345 /home/somebody";
        let secrets = secrets(&config, None).unwrap();
        assert_eq!(secrets.redact(text), "[redacted] [redacted] /home/somebody");
    }

    #[test]
    fn a_secret_of_a_server_that_is_disabled_is_one() {
        let text = "listen = { transport = 'http', port = 0 }\npolicy.allow = ['crm/a']\n\
                    servers.crm.command = ['crm']\n\
                    servers.mail = { command = ['mail'], enabled = false, env.API_TOKEN = 'token-12345' }\n";
        let path = std::path::Path::new("/gate.toml");
        let config = Config::parse(text, path, path, &|_| None).unwrap();
        let secrets = secrets(&config, None).unwrap();
        assert_eq!(secrets.redact("token-12345"), "[redacted]");
    }

    #[test]
    fn a_gate_that_serves_has_the_rates_of_the_file_and_their_pause() {
        let text = "upstream.command = ['server']\nlimits.calls_per_session = 5\n\
                    listen = { transport = 'http', port = 0 }\nlimits.session_idle_timeout = '7s'\n";
        let path = std::path::Path::new("/gate.toml");
        let config = Config::parse(text, path, path, &|_| None).unwrap();
        let rates = terms(&config).rates;
        assert_eq!(rates.calls_per_session, Some(5));
        assert_eq!(rates.rest, Some(std::time::Duration::from_secs(7)));
        let serving = super::super::limited_gate_settings(&config);
        assert_eq!(serving.terms.rates, rates);
    }

    #[test]
    fn a_started_server_is_started_again_as_the_configuration_says() {
        let text = "upstream.command = ['server']\nupstream.restart = { first = '1s', max = '2s', tries = 7 }";
        let path = std::path::Path::new("/gate.toml");
        let config = Config::parse(text, path, path, &|_| None).unwrap();
        let settings = upstream(&config, &config.upstream, None, Concealing::default());
        let backoff = settings.backoff;
        let seconds = std::time::Duration::from_secs;
        assert_eq!(
            (backoff.first, backoff.max, backoff.tries),
            (seconds(1), seconds(2), 7)
        );
    }

    #[test]
    fn links_are_followed_where_the_gate_starts_the_server_unless_the_configuration_says_otherwise()
    {
        let check = |text: &str, expected: gate::Symlinks| {
            let path = std::path::Path::new("/gate.toml");
            let config = Config::parse(text, path, path, &|_| None).unwrap();
            assert_eq!(symlinks(&config), expected, "{text}");
        };
        let command = "upstream.command = ['server']\n";
        let url = "upstream.url = 'https://x.example'\n";
        let (resolve, as_written) = (
            "guards.symlinks = 'resolve'",
            "guards.symlinks = 'as_written'",
        );
        check(command, gate::Symlinks::Resolve(gate::Disk::Local));
        check(url, gate::Symlinks::AsWritten);
        check(&format!("{command}{as_written}"), gate::Symlinks::AsWritten);
        check(
            &format!("{url}{resolve}"),
            gate::Symlinks::Resolve(gate::Disk::Local),
        );
        let block = "guards.symlinks = 'block'";
        let blocked = gate::Symlinks::Block(gate::Disk::Local);
        check(&format!("{url}{block}"), blocked);
    }

    #[test]
    fn a_secret_that_is_too_short_to_be_redacted_is_refused_and_not_left_out() {
        let config = Config::from_command_line(CommandLine {
            command: vec!["server".to_owned()],
            ..CommandLine::default()
        });
        let mut config = config.unwrap();
        let secret = |text: &str| SecretString::from(text.to_owned());
        assert!(secrets(&config, Some(&secret("abc"))).is_err());
        config.upstream.env = [("API_TOKEN".to_owned(), secret("token-12345"))].into();
        let told = secrets(&config, Some(&secret("abc"))).unwrap_err();
        assert_eq!(
            told.to_string(),
            "a secret of fewer than 4 bytes cannot be kept out of the audit log"
        );
        let of_both = secrets(&config, Some(&secret("abcdefgh"))).unwrap();
        assert_eq!(
            of_both.redact("token-12345 abcdefgh"),
            "[redacted] [redacted]"
        );
    }

    #[test]
    fn a_token_of_either_side_is_a_secret_whatever_its_name() {
        let text = "
            upstream = { url = 'https://x.example', auth = { type = 'bearer', token = '${A}' } }
            [listen]
            transport = 'http'
            port = 0
            auth = { type = 'bearer', tokens = { ada = '${B}', bob = 'bobs-token-012345' } }
            [admin]
            port = 0
            token = '${C}'
        ";
        let path = std::path::Path::new("/gate.toml");
        let config = Config::parse(text, path, path, &|name| {
            Some(format!("held-by-{name}-0123456789").into())
        });
        let secrets = secrets(&config.unwrap(), None).unwrap();
        let text = "held-by-A-0123456789 held-by-B-0123456789 bobs-token-012345 ada \
                    held-by-C-0123456789";
        let expected = "[redacted] [redacted] [redacted] ada [redacted]";
        assert_eq!(secrets.redact(text), expected);
    }
}
