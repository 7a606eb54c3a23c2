//! What the configuration of networks means to those who use them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Once};
use std::time::Duration;

use secrecy::SecretString;

use crate::agent::http::{self, Endpoint, EndpointPaths, Endpoints};
use crate::audit::{MARKER, Redactor};
use crate::clock::{Clock, SystemClock};
use crate::config::{
    self, Bearer, Config, HttpListen, Jwks, JwtAlgorithm, Listen, ListenAuth, ServerAuth,
};
use crate::identity::{
    Algorithm, Anonymous, AnonymousReach, Authenticate, Identity, Jwt, JwtError, JwtSettings,
    KeyFault, KeyFile, KeySource, KeyUrl, ProtectedResource, ResourceError, StaticToken,
    StaticTokens, StaticTokensError,
};
use crate::inward::Tls;
use crate::memory::Memory;
use crate::policy::ServerKey;
use crate::secret;
use crate::upstream::http::{
    Auth, Conceal, HttpClientError, HttpSettings, MAX_EXCHANGED_TOKENS, PlainHttp, TooShort,
    client_tls,
};
use crate::upstream::open_files;

use super::numbers::Numbers;
use super::settings::{self, SHORTEST_SECRET};
use super::user_identity;

/// Why the configuration of a network cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum NetworkError {
    #[error("`{key}`: `{}`: {cause}", .file.display())]
    TokenFile {
        key: &'static str,
        file: PathBuf,
        cause: std::io::Error,
    },
    #[error(
        "`{key}`: `{}`: a token of fewer than {} bytes cannot be told from ordinary text; use a \
         longer one", .file.display(), secret::SHORTEST
    )]
    TokenShort { key: &'static str, file: PathBuf },
    #[error(
        "`admin.token_file`: `{}`: it has the token of an approver or operator too; a reader of metrics could act in \
         that name: use another token", .0.display()
    )]
    TokenShared(PathBuf),
    #[error("`listen.auth`: {0}")]
    Tokens(StaticTokensError),
    #[error("`listen.auth.jwks_url`: {0}")]
    Tls(HttpClientError),
    #[error("`listen.auth.jwks_file`: `{}`: {cause}", .file.display())]
    JwksFile { file: PathBuf, cause: KeyFault },
    #[error("`listen.auth`: {0}")]
    Jwt(JwtError),
    #[error("`listen.auth.resource`: {0}")]
    Resource(ResourceError),
}

/// The token that operators show, read now if it is in a file: the whole text but for white space
/// around it.
pub(super) fn operators_token(config: &Config) -> Result<Option<SecretString>, NetworkError> {
    let admin = &config.admin;
    let token = token("admin.token_file", admin.token.as_ref())?;
    let mut people = admin.approvers.values().chain(admin.operators.values());
    match (&token, &admin.token) {
        (Some(read), Some(Bearer::File(file)))
            if people.any(|token| secret::are_same(token, read)) =>
        {
            Err(NetworkError::TokenShared(file.clone()))
        }
        _ => Ok(token),
    }
}

/// What the gate takes from a file or from an authorization server while it runs, the redactor learns.
#[derive(Debug)]
struct Learning {
    redactor: Redactor,
    /// A secret is read again with each token.
    told: Once,
}

impl Conceal for Learning {
    fn conceal(&self, secret: &SecretString) -> Result<(), TooShort> {
        self.redactor.learn(secret).map_err(|_| TooShort)?;
        let what = "a token or secret that the gate shows to others";
        if is_short(secret) {
            self.told.call_once(|| warn_of_a_short(what));
        }
        Ok(())
    }
}

fn is_short(secret: &SecretString) -> bool {
    secret::length(secret) < SHORTEST_SECRET
}

fn warn_of_a_short(what: &str) {
    tracing::warn!(
        "{what} has fewer than {SHORTEST_SECRET} bytes: it can be guessed, and the gate replaces \
         these characters by `{MARKER}` wherever they occur in its messages, logs and records, in \
         ordinary words too"
    );
}

fn token(
    key: &'static str,
    written: Option<&Bearer>,
) -> Result<Option<SecretString>, NetworkError> {
    match written {
        None => Ok(None),
        Some(Bearer::Value(token)) => Ok(Some(token.clone())),
        Some(Bearer::File(file)) => {
            let text = std::fs::read_to_string(file).map_err(|cause| NetworkError::TokenFile {
                key,
                file: file.clone(),
                cause,
            })?;
            let token = SecretString::from(text.trim());
            if secret::length(&token) < secret::SHORTEST {
                let file = file.clone();
                return Err(NetworkError::TokenShort { key, file });
            }
            if is_short(&token) {
                warn_of_a_short(key);
            }
            Ok(Some(token))
        }
    }
}

/// How the server is reached, if it is not started.
pub(super) fn over_http(
    config: &Config,
    server: &config::Upstream,
    secrets: &Redactor,
    clock: &Arc<dyn Clock>,
) -> Option<HttpSettings> {
    let written = server.http.as_ref()?;
    let mut settings = HttpSettings::new(server.name.clone(), written.url.clone());
    settings.auth = written.auth.as_ref().map(|auth| match auth {
        ServerAuth::Bearer(Bearer::Value(token)) => Auth::Token(token.clone()),
        ServerAuth::Bearer(Bearer::File(file)) => Auth::TokenFile(file.clone()),
        ServerAuth::Client(client) => Auth::Client(client.clone()),
        ServerAuth::Exchange(exchange) => {
            secrets.make_room(MAX_EXCHANGED_TOKENS);
            Auth::Exchange(exchange.clone())
        }
    });
    settings.headers.clone_from(&written.headers);
    settings.conceal = Arc::new(Learning {
        redactor: secrets.clone(),
        told: Once::new(),
    });
    settings.clock = Arc::clone(clock);
    settings.ca_file.clone_from(&written.ca_file);
    settings.plain_http = match written.plain_http {
        config::PlainHttp::LoopbackOnly => PlainHttp::LoopbackOnly,
        config::PlainHttp::Allowed => PlainHttp::Allowed,
    };
    settings.from_upstream = settings::from_upstream(&config.limits);
    Some(settings)
}

/// Which part of the memory may be bodies of agents.
const PART_OF_BODIES: usize = 4;

/// Where agents are listened for.
pub(super) fn listener(
    config: &Config,
    listen: &HttpListen,
    tls: Option<Tls>,
    memory: &Memory,
) -> http::Settings {
    let usual = http::Settings::default();
    http::Settings {
        listen: SocketAddr::new(listen.host, listen.port),
        tls,
        endpoints: Endpoints::new(endpoint_paths(config, listen, &at_start(config))),
        endpoints_below: (!config.servers.is_empty()).then(|| listen.path.clone()),
        allowed_hosts: listen.allowed_hosts.clone(),
        allowed_origins: listen.allowed_origins.clone(),
        session_header: config.ratchet.session_header.clone(),
        limits: settings::from_agent(&config.limits),
        max_connections: connections(config, open_files::ask_for_all()),
        max_sessions: most_sessions(config),
        max_sessions_per_agent: sessions_per_agent(config, listen),
        starts_a_minute: starts_a_minute(config),
        session_idle_timeout: config.limits.session_idle_timeout,
        max_waiting_bodies: memory.part(PART_OF_BODIES, usual.max_waiting_bodies),
        memory: memory.clone(),
        ..usual
    }
}

/// The endpoints of the servers that the gate is started with, in their order.
fn at_start(config: &Config) -> Vec<(Option<ServerKey>, Endpoint)> {
    let mut numbers = Numbers::after_views(config);
    let each = config.each().into_iter();
    each.map(|config| {
        let number = numbers.next(config.key.as_ref());
        (config.key, number.endpoint)
    })
    .collect()
}

/// The path of each server: that of the only one, or each below it; that of all, if there is one, and those of views.
pub(super) fn endpoint_paths(
    config: &Config,
    listen: &HttpListen,
    servers: &[(Option<ServerKey>, Endpoint)],
) -> EndpointPaths {
    let each = servers.iter();
    let each = each.map(|(key, number)| (endpoint(listen, key.as_ref()), *number));
    let of_all = config.unified.iter().map(|_| endpoint(listen, None));
    let views = config.views.keys();
    let views = views.map(|name| format!("{}/view/{name}", listen.path.trim_end_matches('/')));
    let of_several = of_all.chain(views).enumerate();
    let of_several = of_several.map(|(number, path)| (path, Endpoint(number)));
    let disabled = config.disabled();
    EndpointPaths {
        open: each.chain(of_several).collect(),
        disabled: disabled.map(|key| endpoint(listen, Some(key))).collect(),
    }
}

fn endpoint(listen: &HttpListen, key: Option<&ServerKey>) -> String {
    match key {
        Some(key) => format!("{}/{key}", listen.path.trim_end_matches('/')),
        None => listen.path.clone(),
    }
}

/// As many connections as there may be, so that files are left for policies that are read again, for
/// secrets and for servers: who holds connections and says nothing must not take those.
fn connections(config: &Config, files: Option<u64>) -> usize {
    let most = config.limits.max_connections;
    let starts_one = config.upstreams().any(|server| server.http.is_none());
    let of_servers = if starts_one {
        most_sessions(config).saturating_mul(FILES_OF_A_SERVER)
    } else {
        most
    };
    let wanted = most.saturating_add(of_servers).saturating_add(OWN_FILES);
    match files.and_then(|files| usize::try_from(files).ok()) {
        Some(files) if files < wanted => {
            let fewer = most.min(files / 3);
            tracing::warn!(
                "this process may have {files} files open (`ulimit -Hn`), and `max_connections` and \
                 `max_sessions` could take {wanted}: there are {fewer} connections at most, and \
                 sessions are refused when there are no files left"
            );
            fewer
        }
        Some(_) | None => most,
    }
}

/// Three streams, and what watches the process.
const FILES_OF_A_SERVER: usize = 4;

/// Policies, logs, secrets, listeners and the runtime.
const OWN_FILES: usize = 128;

/// Whether any process that reaches the listener makes the gate start processes.
pub(super) fn starts_for_anybody(config: &Config) -> bool {
    let is_open = match &config.listen {
        Listen::Stdio | Listen::Local => false,
        Listen::Http(listen) => matches!(listen.auth, ListenAuth::None),
    };
    is_open && config.upstreams().any(|server| server.http.is_none())
}

/// As many conversations as there may be at once.
fn most_sessions(config: &Config) -> usize {
    let usual = if starts_for_anybody(config) {
        FOR_ANYBODY
    } else {
        1000
    };
    config.limits.max_sessions.unwrap_or(usual)
}

/// As many conversations as may begin within a minute, if that is limited.
fn starts_a_minute(config: &Config) -> Option<u32> {
    let most = most_sessions(config).max(FOR_ANYBODY);
    starts_for_anybody(config).then(|| u32::try_from(most).unwrap_or(u32::MAX))
}

/// Conversations that may each make the gate start a process, without anybody having shown who they are.
const FOR_ANYBODY: usize = 64;

/// Without tokens all agents are one.
fn sessions_per_agent(config: &Config, listen: &HttpListen) -> usize {
    let all = most_sessions(config);
    let usual = match listen.auth {
        ListenAuth::None => all,
        ListenAuth::Bearer { .. } | ListenAuth::Jwt { .. } => all.div_ceil(4),
    };
    config.limits.max_sessions_per_agent.unwrap_or(usual)
}

/// How agents show who they are.
pub(super) fn authenticate(
    config: &Config,
    listen: &HttpListen,
) -> Result<Arc<dyn Authenticate>, NetworkError> {
    match &listen.auth {
        ListenAuth::None => Ok(Arc::new(Anonymous(match listen.anonymous {
            config::Anonymous::LoopbackOnly => AnonymousReach::ThisMachine,
            config::Anonymous::Allowed => AnonymousReach::Anywhere,
        }))),
        ListenAuth::Bearer { tokens } => {
            let token = |(subject, token): (&String, &SecretString)| StaticToken {
                token: token.clone(),
                identity: Identity::named(subject),
            };
            let tokens = StaticTokens::new(tokens.iter().map(token).collect());
            Ok(Arc::new(tokens.map_err(NetworkError::Tokens)?))
        }
        ListenAuth::Jwt(written) => Ok(Arc::new(jwt(written, config)?)),
    }
}

/// How far the issuer's clock and ours may differ.
const SKEW: Duration = Duration::from_secs(30);

fn jwt(written: &config::Jwt, config: &Config) -> Result<Jwt, NetworkError> {
    let keys: Arc<dyn KeySource> = match &written.jwks {
        Jwks::File(file) => {
            let source = KeyFile(file.clone());
            // It is read again while the gate runs; one that was never good is a mistake.
            source.check().map_err(|cause| NetworkError::JwksFile {
                file: file.clone(),
                cause,
            })?;
            Arc::new(source)
        }
        Jwks::Url(url) => {
            let tls = client_tls(url, None).map_err(NetworkError::Tls)?;
            Arc::new(KeyUrl::new(url.clone(), tls))
        }
    };
    let algorithm = |algorithm: &JwtAlgorithm| match algorithm {
        JwtAlgorithm::Rs256 => Algorithm::Rs256,
        JwtAlgorithm::Es256 => Algorithm::Es256,
        JwtAlgorithm::EdDsa => Algorithm::EdDsa,
    };
    let settings = JwtSettings {
        issuer: written.issuer.clone(),
        audience: written.audience.clone(),
        algorithms: written.algorithms.iter().map(algorithm).collect(),
        skew: SKEW,
        session_claim: written.session_claim.clone(),
        groups_claim: written.groups_claim.clone(),
        capabilities_claim: written.capabilities_claim.clone(),
        claims: written.claims.clone(),
        scopes: written.scopes.clone(),
        servers: user_identity::forwarded(config),
        kept: user_identity::kept(config),
    };
    let issuer = std::slice::from_ref(&written.issuer);
    let resource = written.resource.as_ref();
    let resource = resource
        .map(|url| ProtectedResource::new(url.as_str(), issuer, &written.scopes))
        .transpose()
        .map_err(NetworkError::Resource)?;
    Jwt::new(settings, keys, Arc::new(SystemClock::new()), resource).map_err(NetworkError::Jwt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CommandLine;
    use crate::upstream::http::HttpClient;

    #[test]
    fn agents_without_a_token_start_few_servers() {
        const ANYBODY: &str = "upstream.command = 'server'\n";
        const KNOWN: &str = "upstream.command = 'server'\n\
            listen.auth = { type = 'bearer', tokens = { ada = 'ada-0123456789-0123456789' } }\n";
        const ELSEWHERE: &str = "upstream.url = 'http://127.0.0.1:1/mcp'\n";
        for (text, sessions, starts) in [
            (ANYBODY, 64, Some(64)),
            (KNOWN, 1000, None),
            (ELSEWHERE, 1000, None),
            (&format!("{ANYBODY}limits.max_sessions = 5"), 5, Some(64)),
            (
                &format!("{ANYBODY}limits.max_sessions = 500"),
                500,
                Some(500),
            ),
            (&format!("{KNOWN}limits.max_sessions = 5"), 5, None),
        ] {
            let text =
                format!("policy.allow = ['a']\nlisten.transport = 'http'\nlisten.port = 1\n{text}");
            let here = std::path::Path::new("/");
            let config = Config::parse(&text, &here.join("gate.toml"), here, &|_| None).unwrap();
            let Listen::Http(listen) = &config.listen else {
                panic!("{text}");
            };
            let settings = listener(&config, listen, None, &Memory::default());
            let told = (settings.max_sessions, settings.starts_a_minute);
            assert_eq!(told, (sessions, starts), "{text}");
        }
    }

    #[test]
    fn a_token_in_a_file_that_is_too_short_to_be_redacted_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("token");
        let mut config = Config::from_command_line(CommandLine {
            command: vec!["server".to_owned()],
            ..CommandLine::default()
        })
        .unwrap();
        config.upstream.http = Some(config::HttpUpstream {
            url: "http://127.0.0.1:1/mcp".parse().unwrap(),
            auth: Some(ServerAuth::Bearer(Bearer::File(file.clone()))),
            headers: std::collections::BTreeMap::new(),
            header_secrets: Vec::new(),
            ca_file: None,
            plain_http: config::PlainHttp::LoopbackOnly,
        });
        config.admin.token = Some(Bearer::File(file.clone()));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        for (text, accepted) in [("", false), ("abc\n", false), ("  long-enough\n", true)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(operators_token(&config).is_ok(), accepted, "{text:?}");
            let secrets = Redactor::default();
            let settings = over_http(&config, &config.upstream, &secrets, &clock).unwrap();
            assert_eq!(HttpClient::new(&settings).is_ok(), accepted, "{text:?}");
            assert_eq!(secrets.redact(text) != text, accepted, "{text:?}");
        }
    }

    #[test]
    fn no_approver_or_operator_has_the_token_of_the_metrics() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("token");
        let mut config = Config::from_command_line(CommandLine {
            command: vec!["server".to_owned()],
            ..CommandLine::default()
        })
        .unwrap();
        let person = |name: &str, token: &str| [(name.to_owned(), token.to_owned().into())].into();
        config.admin.token = Some(Bearer::File(file.clone()));
        config.admin.approvers = person("anna", "annas-0123456789abcdef");
        config.admin.operators = person("olga", "olgas-0123456789abcdef");
        for (text, expected) in [
            ("annas-0123456789abcdef\n", false),
            ("olgas-0123456789abcdef", false),
            ("other-0123456789abcdef", true),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(operators_token(&config).is_ok(), expected, "{text:?}");
        }
    }
}
