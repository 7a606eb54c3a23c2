//! `upstream.auth` with token exchange: how the gate gets a token for one server and one agent (RFC 8693).

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use url::Url;

use crate::upstream::http::{
    Actor, ClientAuth, ClientSecret, ExchangeClient, TokenExchange, TokenServer, TokenType,
};

use super::client::ClientFields;
use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::settings::{HttpUpstream, Jwt, ServerAuth};
use super::tokens::{SERVER_TOKEN, token_in};

/// Those that no other kind of `auth` has.
pub(super) const KEYS: [&str; 6] = [
    "subject_token_type",
    "requested_token_type",
    "actor_token",
    "actor_token_file",
    "actor_token_type",
    "max_lifetime",
];

/// Less is over before it is used, and more is no bound.
const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_hours(24);

/// What is written of it, before it is clear which kind of `auth` it is.
pub(super) struct ExchangeFields {
    subject: Option<TokenType>,
    requested: Option<TokenType>,
    actor: Option<ClientSecret>,
    actor_type: Option<TokenType>,
    max_lifetime: Option<Duration>,
}

impl ExchangeFields {
    pub(super) fn of(section: &mut ConfigSection<'_, '_>, base: &Path) -> Self {
        let kinds = [
            ("access_token", TokenType::AccessToken),
            ("jwt", TokenType::Jwt),
        ];
        let subject = section.one_of("subject_token_type", &kinds);
        let requested = section.one_of("requested_token_type", &kinds);
        let actor = section.take("actor_token");
        let actor = actor.and_then(|field| token_in(section, &field, SERVER_TOKEN));
        let file = section.path("actor_token_file", base);
        Self {
            subject,
            requested,
            actor: actor
                .map(ClientSecret::Value)
                .or(file.map(ClientSecret::File)),
            actor_type: section.one_of("actor_token_type", &kinds),
            max_lifetime: section.duration("max_lifetime", &LIFETIMES),
        }
    }

    pub(super) fn resolve(self, client: ClientFields) -> Option<TokenExchange> {
        let Some(TokenServer::At(token_url)) = client.token_url else {
            return None;
        };
        let (secret, auth) = (client.secret, client.client_auth);
        let client_of = |id| ExchangeClient {
            id,
            secret,
            auth: auth.unwrap_or(ClientAuth::Basic),
        };
        let actor_type = self.actor_type.unwrap_or(TokenType::AccessToken);
        Some(TokenExchange {
            token_url,
            client: client.client_id.map(client_of),
            scopes: client.scopes,
            resource: client.resource,
            audience: client.audience,
            subject_type: self.subject.unwrap_or(TokenType::AccessToken),
            requested_type: self.requested.unwrap_or(TokenType::AccessToken),
            actor: self.actor.map(|token| Actor {
                token,
                token_type: actor_type,
            }),
            max_lifetime: self.max_lifetime.unwrap_or(TokenExchange::MAX_LIFETIME),
        })
    }
}

pub(super) fn require_what_it_needs(section: &mut ConfigSection<'_, '_>, client: &ClientFields) {
    if !section.has("token_url") {
        let reason = ConfigReason::RequiredWhen("type is 'token_exchange'");
        let help = "as in `token_url = \"https://login.example.com/token\"`, the only place that is \
                    sent the tokens of agents";
        section.require("token_url", reason, help);
    }
    let reason = "only applies when type is 'client_credentials'";
    section.only_when(&["issuer", "allow_private"], reason, "write `token_url`");
    let has_secret = section.has("client_secret") || section.has("client_secret_file");
    if has_secret && !section.has("client_id") {
        let reason = ConfigReason::RequiredWhen("there is a client secret");
        let help =
            "as in `client_id = \"mcp-gate\"`, by which the authorization server knows the gate";
        section.require("client_id", reason, help);
    }
    if !has_secret {
        let help = "add `client_secret`, or remove it";
        section.without_effect(&["client_auth"], "without a client secret", help);
    }
    let pairs = [
        (
            "client_secret",
            "client_secret_file",
            "does not apply beside `client_secret`",
        ),
        (
            "actor_token",
            "actor_token_file",
            "does not apply beside `actor_token`",
        ),
    ];
    for (value, file, reason) in pairs {
        if section.has(value) {
            section.only_when(&[file], reason, "keep one of the two");
        }
    }
    if !section.has("actor_token") && !section.has("actor_token_file") {
        let help = "add `actor_token`, or remove it";
        section.without_effect(&["actor_token_type"], "without an actor token", help);
    }
    let names_nothing = client.resource.as_deref() == Some("");
    if names_nothing && client.audience.is_none() && !section.has("audience") {
        let reason = ConfigReason::Invalid("names no server, and there is no `audience`");
        let help = "a token must be for this server alone: write `audience`, or remove `resource`";
        section.refuse("resource", reason, Some(help));
    }
}

/// The exchange of a server's.
pub(super) fn exchange_of(http: &HttpUpstream) -> Option<&TokenExchange> {
    match &http.auth {
        Some(ServerAuth::Exchange(exchange)) => Some(exchange),
        Some(ServerAuth::Bearer(_) | ServerAuth::Client(_)) | None => None,
    }
}

/// A server that gets a token which the gate accepts could use the gate as the agent, and one that is its own
/// authorization server would be sent the tokens of agents.
pub(super) fn check_target(
    section: &mut ConfigSection<'_, '_>,
    (exchange, server): (&TokenExchange, &Url),
    agents: &Jwt,
) {
    let mut auth = section.section("auth");
    if (exchange.token_url.origin(), path(&exchange.token_url)) == (server.origin(), path(server)) {
        let reason = ConfigReason::Invalid("is the server's own URL");
        let help = "the server must not be sent the tokens of agents: write where the authorization \
                    server gives tokens";
        auth.refuse("token_url", reason, Some(help));
    }
    let resource = exchange.resource_for(server);
    let targets = [
        ("audience", exchange.audience.as_deref()),
        ("resource", Some(&*resource)),
    ];
    let gate = normal(&agents.audience);
    for (key, target) in targets {
        if target.is_some_and(|target| normal(target) == gate) {
            let reason =
                ConfigReason::Invalid("is the audience of the gate (`listen.auth.audience`)");
            let help = "the server could use such a token at the gate: write the server's own name";
            auth.refuse(key, reason, Some(help));
        }
    }
}

/// The same of all names that readers take for one: a host in other letters, or a last slash.
fn normal(name: &str) -> String {
    let url = Url::parse(name).ok();
    let text = url.map_or_else(|| name.to_owned(), |url| url.to_string());
    text.trim_end_matches('/').to_owned()
}

fn path(url: &Url) -> &str {
    url.path().trim_end_matches('/')
}
