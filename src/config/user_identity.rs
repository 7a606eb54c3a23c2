//! `identity` of a server: how it knows the user.

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::server_section::at_server;
use super::settings::{Config, HttpListen, Jwt, Listen, ListenAuth, Upstream, UserIdentity};
use super::token_exchange::{check_target, exchange_of};
use super::tokens::word;

/// What is written of it, before it is clear how the server is reached.
pub(super) struct IdentityFields {
    /// `None` where it is not written, or is no word that is known.
    kind: Option<IdentityKind>,
    audience: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IdentityKind {
    None,
    Meta,
    Header,
    Forward,
}

/// How the server is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Process,
    Http,
}

impl IdentityFields {
    pub(super) fn of(section: &mut ConfigSection<'_, '_>) -> Self {
        let kinds = [
            ("none", IdentityKind::None),
            ("meta", IdentityKind::Meta),
            ("header", IdentityKind::Header),
            ("forward", IdentityKind::Forward),
        ];
        Self {
            kind: section.one_of("identity", &kinds),
            audience: word(section, "identity_audience"),
        }
    }

    /// The setting for a server of this name.
    pub(super) fn resolve(
        self,
        section: &mut ConfigSection<'_, '_>,
        name: &str,
        reached: Reached,
    ) -> UserIdentity {
        let Some(kind) = self.kind.or_else(|| unwritten(section)) else {
            return UserIdentity::None;
        };
        let over_headers = matches!(kind, IdentityKind::Header | IdentityKind::Forward);
        if over_headers && reached == Reached::Process {
            let reason =
                ConfigReason::Invalid("needs a server over HTTP: a process gets no headers");
            let help = "write `identity = \"meta\"`, which works on standard streams";
            section.refuse("identity", reason, Some(help));
            return UserIdentity::None;
        }
        let audience = || self.audience.clone().unwrap_or_else(|| name.to_owned());
        match kind {
            IdentityKind::None => {
                without_effect(section);
                UserIdentity::None
            }
            IdentityKind::Meta => UserIdentity::Meta {
                audience: audience(),
            },
            IdentityKind::Header => UserIdentity::Header {
                audience: audience(),
            },
            IdentityKind::Forward => {
                forward(section);
                match self.audience {
                    Some(audience) => UserIdentity::Forward { audience },
                    None => UserIdentity::None,
                }
            }
        }
    }

    /// The setting for a server that knows the user by the token that it gets.
    pub(super) fn exchanged(&self, section: &mut ConfigSection<'_, '_>) -> UserIdentity {
        let reason = "does not apply when auth.type is 'token_exchange'";
        let help = "remove it: the server knows the user by the token that it gets";
        if !matches!(self.kind, Some(IdentityKind::None) | None) {
            section.only_when(&["identity"], reason, help);
        }
        section.only_when(&["identity_audience"], reason, help);
        UserIdentity::Exchange
    }
}

/// Nothing is written. What is written wrong has been told, and is not taken for that.
fn unwritten(section: &ConfigSection<'_, '_>) -> Option<IdentityKind> {
    (!section.has("identity")).then_some(IdentityKind::None)
}

fn without_effect(section: &mut ConfigSection<'_, '_>) {
    if section.has("identity_audience") {
        let reason = ConfigReason::NoEffect("unless the server learns who the user is");
        let help = "add `identity = \"meta\"`, `\"header\"` or `\"forward\"`, or remove it";
        section.refuse("identity_audience", reason, Some(help));
    }
}

fn forward(section: &mut ConfigSection<'_, '_>) {
    if !section.has("identity_audience") {
        let reason = ConfigReason::RequiredWhen("identity is 'forward'");
        let help = "the name by which the server knows itself in `aud` of tokens, as in \
                    `identity_audience = \"https://mcp.example.com/mcp\"`";
        section.require("identity_audience", reason, help);
    }
    let reason = "does not apply when identity is 'forward'";
    let help = "remove it: `Authorization` has the agent's token; or write `identity = \"header\"`";
    section.only_when(&["auth"], reason, help);
}

/// Compares how servers know users with how the gate knows them, and with where it publishes its key.
pub(super) fn known_by(root: &mut ConfigSection<'_, '_>, config: &Config) {
    let signs = |identity: &UserIdentity| {
        matches!(
            identity,
            UserIdentity::Meta { .. } | UserIdentity::Header { .. }
        )
    };
    let mut servers = config.upstreams();
    let is_signed = servers.any(|open| {
        signs(&open.identity) || open.isolated.iter().any(|it| signs(&it.server.identity))
    });
    if is_signed && config.admin.port.is_none() && !root.section("admin").has("port") {
        let reason = ConfigReason::RequiredWhen("upstream.identity is 'meta' or 'header'");
        let help = "as in `port = 9090`: there the gate publishes the key by which the server checks \
                    assertions";
        root.section("admin").require("port", reason, help);
    }
    let agents = AgentTokens::of(root, &config.listen);
    for config in config.each() {
        at_server(root, &config, |section| {
            forwards(section, &config.upstream, &agents);
        });
    }
}

/// Checks the server in this section, and its isolated instances.
fn forwards(section: &mut ConfigSection<'_, '_>, open: &Upstream, agents: &AgentTokens<'_>) {
    check_tokens(section, open, agents);
    for isolated in &open.isolated {
        let item = section.item("isolated", &isolated.section);
        let table = item.and_then(|item| section.table_in(&item));
        if let Some(mut table) = table {
            check_tokens(&mut table, &isolated.server, agents);
        } else {
            check_tokens(&mut section.section("isolated"), &isolated.server, agents);
        }
    }
}

fn check_tokens(section: &mut ConfigSection<'_, '_>, server: &Upstream, agents: &AgentTokens<'_>) {
    match &server.identity {
        UserIdentity::Forward { audience } => check_forward(section, audience, agents),
        UserIdentity::Exchange => check_exchange(section, server, agents),
        UserIdentity::None | UserIdentity::Meta { .. } | UserIdentity::Header { .. } => {}
    }
}

fn check_exchange(
    section: &mut ConfigSection<'_, '_>,
    server: &Upstream,
    agents: &AgentTokens<'_>,
) {
    let http = server.http.as_ref();
    let exchange = http.and_then(|http| Some((exchange_of(http)?, &http.url)));
    match (agents, exchange) {
        (AgentTokens::Jwt(jwt), Some(exchange)) => check_target(section, exchange, jwt),
        (AgentTokens::Jwt(_), None) | (AgentTokens::Unclear, _) => {}
        (AgentTokens::NoJwt, _) => {
            let reason = ConfigReason::Invalid("needs agents with JSON Web Tokens");
            let help = "set `listen.auth` with `type = \"jwt\"`, or write `\"client_credentials\"`";
            section.section("auth").refuse("type", reason, Some(help));
        }
    }
}

/// The tokens that agents have.
enum AgentTokens<'c> {
    Jwt(&'c Jwt),
    NoJwt,
    Unclear,
}

impl<'c> AgentTokens<'c> {
    fn of(root: &mut ConfigSection<'_, '_>, listen: &'c Listen) -> Self {
        let Listen::Http(HttpListen { auth, .. }) = listen else {
            return Self::NoJwt;
        };
        match auth {
            ListenAuth::Jwt(jwt) => Self::Jwt(jwt),
            // What is wrong with it has been told.
            ListenAuth::None if root.section("listen").has("auth") => Self::Unclear,
            ListenAuth::Bearer { .. } | ListenAuth::None => Self::NoJwt,
        }
    }
}

fn check_forward(section: &mut ConfigSection<'_, '_>, audience: &str, agents: &AgentTokens<'_>) {
    match agents {
        AgentTokens::Jwt(jwt) if jwt.audience == audience => {
            let reason =
                ConfigReason::Invalid("is the audience of the gate (`listen.auth.audience`)");
            let help = "every token for the gate has it: give the server an audience of its own, and \
                        agents tokens that have both";
            section.refuse("identity_audience", reason, Some(help));
        }
        AgentTokens::Jwt(_) | AgentTokens::Unclear => {}
        AgentTokens::NoJwt => {
            let reason = ConfigReason::Invalid("needs agents with JSON Web Tokens");
            let help = "set `listen.auth` with `type = \"jwt\"`, or write `identity = \"header\"`";
            section.refuse("identity", reason, Some(help));
        }
    }
}
