//! `upstream.auth` with client credentials: who the gate is to an authorization server, and to which.

use std::path::Path;

use url::Url;

use crate::outward::PrivateAddresses;
use crate::upstream::http::{ClientAuth, ClientCredentials, ClientSecret, TokenServer};

use super::errors::ConfigReason;
use super::network::{is_loopback, web_url};
use super::section::ConfigSection;
use super::tokens::{SERVER_TOKEN, either, scopes, token_in, word};

pub(super) const KEYS: [&str; 10] = [
    "client_id",
    "client_secret",
    "client_secret_file",
    "client_auth",
    "token_url",
    "issuer",
    "scopes",
    "resource",
    "audience",
    "allow_private",
];

/// What is written of a client, before it is clear which kind of `auth` it is.
pub(super) struct ClientFields {
    pub(super) client_id: Option<String>,
    pub(super) secret: Option<ClientSecret>,
    pub(super) client_auth: Option<ClientAuth>,
    pub(super) token_url: Option<TokenServer>,
    issuer: Option<TokenServer>,
    pub(super) scopes: Vec<String>,
    pub(super) resource: Option<String>,
    pub(super) audience: Option<String>,
    private: PrivateAddresses,
}

impl ClientFields {
    pub(super) fn of(section: &mut ConfigSection<'_, '_>, base: &Path) -> Self {
        let client_id = word(section, "client_id");
        let secret = section.take("client_secret");
        let secret = secret.and_then(|field| token_in(section, &field, SERVER_TOKEN));
        let file = section.path("client_secret_file", base);
        let client_auth = section.one_of(
            "client_auth",
            &[("basic", ClientAuth::Basic), ("post", ClientAuth::Post)],
        );
        let token_url = section.trusted_url("token_url").map(TokenServer::At);
        let issuer = issuer(section).map(TokenServer::Of);
        let scopes = scopes(section);
        let resource = resource(section);
        let audience = word(section, "audience");
        let private = section.switch(
            "allow_private",
            PrivateAddresses::Allowed,
            PrivateAddresses::Refused,
        );
        Self {
            client_id,
            secret: secret
                .map(ClientSecret::Value)
                .or(file.map(ClientSecret::File)),
            client_auth,
            token_url,
            issuer,
            scopes: scopes.unwrap_or_default(),
            resource,
            audience,
            private: private.unwrap_or(PrivateAddresses::Refused),
        }
    }

    pub(super) fn credentials(self) -> Option<ClientCredentials> {
        let server = self.token_url.or(self.issuer);
        Some(ClientCredentials {
            client_id: self.client_id?,
            secret: self.secret?,
            server: server.unwrap_or(TokenServer::Named),
            client_auth: self.client_auth,
            scopes: self.scopes,
            resource: self.resource,
            audience: self.audience,
            private: self.private,
        })
    }
}

pub(super) fn require_what_it_needs(section: &mut ConfigSection<'_, '_>) {
    const WHEN: ConfigReason = ConfigReason::RequiredWhen("type is 'client_credentials'");
    if !section.has("client_id") {
        let help =
            "as in `client_id = \"mcp-gate\"`, by which the authorization server knows the gate";
        section.require("client_id", WHEN, help);
    }
    let help = "as in `client_secret = \"${CLIENT_SECRET}\"`, or `client_secret_file` with a file \
                that holds it";
    either(section, ["client_secret", "client_secret_file"], help);
    let (has_url, has_issuer) = (section.has("token_url"), section.has("issuer"));
    if has_url && has_issuer {
        let reason = ConfigReason::Invalid("does not apply beside `token_url`");
        section.refuse("issuer", reason, Some("keep one of the two"));
    } else if !has_url && !has_issuer {
        let reason =
            ConfigReason::Suspicious("the server itself says who is shown the client's secret");
        let help = "name the `issuer` of its tokens, or their `token_url`";
        section.refuse("type", reason, Some(help));
    }
    if has_url && section.has("allow_private") {
        let reason = ConfigReason::NoEffect("beside `token_url`: nothing is looked for");
        section.refuse("allow_private", reason, Some("remove it"));
    }
}

/// Compared byte for byte with what its metadata says.
fn issuer(section: &mut ConfigSection<'_, '_>) -> Option<String> {
    let text = section.string("issuer")?;
    let url = web_url(&text).and_then(|url| {
        if url.query().is_some() {
            // RFC 8414, section 2.
            Err(ConfigReason::Invalid("has a query"))
        } else if url.scheme() == "https" || is_loopback(&url) {
            Ok(text)
        } else {
            Err(ConfigReason::Invalid("is not `https`"))
        }
    });
    match url {
        Ok(issuer) => Some(issuer),
        Err(reason) => {
            let help = "as in `\"https://login.example.com\"`; `http` only for `localhost` and \
                        loopback addresses";
            section.refuse("issuer", reason, Some(help));
            None
        }
    }
}

/// An absolute URI without a fragment (RFC 8707, section 2), or nothing.
fn resource(section: &mut ConfigSection<'_, '_>) -> Option<String> {
    let text = section.string("resource")?;
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    let is_uri =
        !text.contains(is_odd) && Url::parse(&text).is_ok_and(|url| url.fragment().is_none());
    if !text.is_empty() && !is_uri {
        let reason = ConfigReason::Invalid("expected an absolute URI without a fragment");
        let help = "as in `\"https://mcp.example.com/mcp\"`; `\"\"` for servers that want none";
        section.refuse("resource", reason, Some(help));
        return None;
    }
    Some(text)
}
