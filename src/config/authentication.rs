//! `auth` of either side: what the gate shows to the server, and what agents show to the gate.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::SecretString;
use toml::de::DeValue;

use super::claims;
use super::client::{self, ClientFields};
use super::errors::ConfigReason;
use super::network::web_url;
use super::section::{ConfigField, ConfigSection};
use super::settings::{Bearer, Jwks, Jwt, JwtAlgorithm, ListenAuth, ServerAuth};
use super::token_exchange::{self, ExchangeFields};
use super::tokens::{
    AGENT_TOKEN, SERVER_TOKEN, SHORTEST_AGENT_TOKEN, TokenLength, either, scopes, token_in, word,
};
use crate::secret;

const JWT_KEYS: [&str; 11] = [
    "issuer",
    "audience",
    "jwks_url",
    "jwks_file",
    "algorithms",
    "session_claim",
    "groups_claim",
    "capabilities_claim",
    "claims",
    "scopes",
    "resource",
];

/// `upstream.auth`.
pub(super) fn to_the_server(mut section: ConfigSection<'_, '_>, base: &Path) -> Option<ServerAuth> {
    #[derive(Clone, Copy)]
    enum UpstreamAuthKind {
        Bearer,
        Client,
        Exchange,
    }
    let kinds = [
        ("bearer", UpstreamAuthKind::Bearer),
        ("client_credentials", UpstreamAuthKind::Client),
        ("token_exchange", UpstreamAuthKind::Exchange),
    ];
    let not_bearer = "only applies when type is 'bearer'";
    let not_exchange = "only applies when type is 'token_exchange'";
    let kind = section.one_of("type", &kinds);
    let token = section.take("token");
    let token = token.and_then(|field| token_in(&mut section, &field, SERVER_TOKEN));
    let file = section.path("token_file", base);
    let client = ClientFields::of(&mut section, base);
    let exchange = ExchangeFields::of(&mut section, base);
    let auth = match kind {
        Some(UpstreamAuthKind::Bearer) => {
            let help = "as in `{ type = \"bearer\", token = \"${TOKEN}\" }`, or `token_file` with \
                        a file that holds it";
            either(&mut section, ["token", "token_file"], help);
            let reason = "only applies when type is 'client_credentials'";
            section.only_when(&client::KEYS, reason, "remove it");
            section.only_when(&token_exchange::KEYS, not_exchange, "remove it");
            let bearer = token.map(Bearer::Value).or(file.map(Bearer::File));
            bearer.map(ServerAuth::Bearer)
        }
        Some(UpstreamAuthKind::Client) => {
            client::require_what_it_needs(&mut section);
            section.only_when(&["token", "token_file"], not_bearer, "remove it");
            section.only_when(&token_exchange::KEYS, not_exchange, "remove it");
            let client = client.credentials();
            client.map(|client| ServerAuth::Client(Box::new(client)))
        }
        Some(UpstreamAuthKind::Exchange) => {
            token_exchange::require_what_it_needs(&mut section, &client);
            section.only_when(&["token", "token_file"], not_bearer, "remove it");
            let exchange = exchange.resolve(client);
            exchange.map(|exchange| ServerAuth::Exchange(Box::new(exchange)))
        }
        None => {
            if section.is_present() && !section.has("type") {
                let help = "`\"bearer\"` for a token that you have, `\"client_credentials\"` for \
                            those that an authorization server gives, `\"token_exchange\"` for \
                            those that it gives in exchange for an agent's";
                section.require("type", ConfigReason::Required, help);
            }
            None
        }
    };
    section.finish();
    auth
}

/// `listen.auth`.
pub(super) fn of_agents(mut section: ConfigSection<'_, '_>, base: &Path) -> ListenAuth {
    #[derive(Clone, Copy)]
    enum ListenAuthKind {
        Bearer,
        Jwt,
    }
    let kind = section.one_of(
        "type",
        &[
            ("bearer", ListenAuthKind::Bearer),
            ("jwt", ListenAuthKind::Jwt),
        ],
    );
    let tokens = tokens(section.section("tokens"), &AGENTS);
    let jwt = jwt(&mut section, base);
    let auth = match kind {
        Some(ListenAuthKind::Bearer) => {
            if !section.has("tokens") {
                let help = "one for each agent, as in `tokens = { alice = \"${ALICE_TOKEN}\" }`";
                let reason = ConfigReason::RequiredWhen("type is 'bearer'");
                section.require("tokens", reason, help);
            }
            section.only_when(&JWT_KEYS, "only applies when type is 'jwt'", "remove it");
            Some(ListenAuth::Bearer { tokens })
        }
        Some(ListenAuthKind::Jwt) => {
            require_what_a_jwt_needs(&mut section);
            let reason = "only applies when type is 'bearer'";
            section.only_when(&["tokens"], reason, "remove it");
            jwt.map(ListenAuth::Jwt)
        }
        None => {
            if section.is_present() && !section.has("type") {
                let help = "`\"bearer\"` for tokens in this file, `\"jwt\"` for those of an \
                            authorization server";
                section.require("type", ConfigReason::Required, help);
            }
            None
        }
    };
    section.finish();
    auth.unwrap_or(ListenAuth::None)
}

/// Whose tokens a table holds, as reports say it.
pub(super) struct TokenOwner {
    /// How such a table is written.
    pub(super) example: &'static str,
    /// What stands in front of a token.
    pub(super) name: &'static str,
    /// Two of them have one token.
    pub(super) shared: &'static str,
    /// What to do about that.
    pub(super) apart: &'static str,
    pub(super) length: TokenLength,
}

const AGENTS: TokenOwner = TokenOwner {
    example: "one for each agent, as in `tokens = { alice = \"${ALICE_TOKEN}\" }`",
    name: "the name of the agent comes first, as in `alice = \"${ALICE_TOKEN}\"`",
    shared: "is the token of another agent too",
    apart: "a token says which agent it is: give each its own",
    length: AGENT_TOKEN,
};

/// Tokens that are hard to guess, by the names of those who have them.
pub(super) fn tokens(
    mut section: ConfigSection<'_, '_>,
    holders: &TokenOwner,
) -> BTreeMap<String, SecretString> {
    let mut tokens: BTreeMap<String, SecretString> = BTreeMap::new();
    let fields = section.entries();
    if fields.is_empty() && section.is_present() {
        section.refuse_section(
            ConfigReason::Invalid("expected at least one token"),
            holders.example,
        );
    }
    if fields.iter().any(is_swapped) {
        section.hide_keys();
        let reason =
            ConfigReason::Invalid("expected names in front of tokens of at least 16 bytes");
        section.refuse_section(reason, holders.name);
        return tokens;
    }
    for field in fields {
        if field.key.is_empty() || field.key.len() > 128 || field.key.chars().any(char::is_control)
        {
            let reason =
                ConfigReason::Invalid("expected a name of 1 to 128 bytes in front of the token");
            section.tell(&field, reason, None);
        }
        let Some(token) = token_in(&mut section, &field, holders.length) else {
            continue;
        };
        let is_same = |other: &SecretString| secret::are_same(other, &token);
        if tokens.values().any(is_same) {
            section.tell(
                &field,
                ConfigReason::Invalid(holders.shared),
                Some(holders.apart),
            );
        }
        tokens.insert(field.key.to_owned(), token);
    }
    tokens
}

/// Other programs have the token in front of the agent: then the key is a secret, and reports show
/// keys.
fn is_swapped(field: &ConfigField<'_>) -> bool {
    let could_be_a_token = match field.value {
        DeValue::String(text) => text.len() >= SHORTEST_AGENT_TOKEN || text.contains("${"),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => false,
    };
    field.key.len() >= SHORTEST_AGENT_TOKEN && !could_be_a_token
}

fn jwt(section: &mut ConfigSection<'_, '_>, base: &Path) -> Option<Jwt> {
    let issuer = word(section, "issuer");
    let audience = word(section, "audience");
    let url = section.trusted_url("jwks_url").map(Jwks::Url);
    let file = section.path("jwks_file", base).map(Jwks::File);
    let algorithms = algorithms(section);
    let session_claim = word(section, "session_claim");
    let groups_claim = word(section, "groups_claim");
    let capabilities_claim = claims::path(section, "capabilities_claim");
    let claims = claims::named(section.section("claims"));
    let scopes = scopes(section);
    let resource = section.trusted_url("resource");
    let audience = audience?;
    Some(Jwt {
        issuer: issuer?,
        jwks: url.or(file)?,
        algorithms: algorithms.unwrap_or_else(|| Jwt::ALGORITHMS.to_vec()),
        session_claim: session_claim.unwrap_or_else(|| Jwt::SESSION_CLAIM.to_owned()),
        groups_claim: groups_claim.unwrap_or_else(|| Jwt::GROUPS_CLAIM.to_owned()),
        capabilities_claim,
        claims,
        scopes: scopes.unwrap_or_default(),
        resource: resource.or_else(|| web_url(&audience).ok()),
        audience,
    })
}

fn require_what_a_jwt_needs(section: &mut ConfigSection<'_, '_>) {
    const WHEN: ConfigReason = ConfigReason::RequiredWhen("type is 'jwt'");
    let needed = [
        ("issuer", "as in `issuer = \"https://login.example.com\"`"),
        (
            "audience",
            "as in `audience = \"https://gate.example.com/mcp\"`",
        ),
    ];
    for (key, help) in needed {
        if !section.has(key) {
            section.require(key, WHEN, help);
        }
    }
    if !section.has("jwks_url") && !section.has("jwks_file") {
        let help = "as in `jwks_url = \"https://login.example.com/keys\"`, or `jwks_file` with a \
                    file that holds the keys";
        section.require("jwks_url", WHEN, help);
    } else if section.has("jwks_url") && section.has("jwks_file") {
        let reason = ConfigReason::Invalid("does not apply beside `jwks_url`");
        section.refuse("jwks_file", reason, Some("keep one of the two"));
    }
}

fn algorithms(section: &mut ConfigSection<'_, '_>) -> Option<Vec<JwtAlgorithm>> {
    let choices = Jwt::ALGORITHMS.map(|algorithm| (algorithm.name(), algorithm));
    let words = choices.iter().map(|(word, _)| *word);
    section.reading.words.extend(words);
    let help = "as in `[\"ES256\"]`; signatures with shared secrets are not accepted";
    let algorithms = section.each("algorithms", help, |section, item| {
        section.one_of_in(item, &choices)
    })?;
    if algorithms.is_empty() {
        section.refuse_empty("algorithms", "expected at least one algorithm", help);
    }
    Some(algorithms)
}
