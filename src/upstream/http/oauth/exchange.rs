//! One access token for the client's credentials.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use secrecy::SecretString;
use url::form_urlencoded::Serializer;

use crate::outward::HttpResponse;
use crate::wire::Document;

use super::super::conceal::Conceal;
use super::super::connections::Connections;
use super::super::settings::{HttpClientError, HttpSettings};
use super::client_secret;
use super::discovery::{Discovery, Endpoint};
use super::fault::{Of, TokenFault};
use super::read;
use super::settings::ClientCredentials;

/// Bytes of an answer with a token.
const MAX_BYTES: usize = 256 * 1024;

/// Gets tokens.
pub(super) struct Exchange {
    credentials: ClientCredentials,
    discovery: Discovery,
    conceal: Arc<dyn Conceal>,
}

/// What was given.
pub(super) struct Granted {
    pub(super) token: SecretString,
    /// `None` if nobody said how long it is good.
    pub(super) lifetime: Option<Duration>,
    pub(super) renewal: Renewal,
}

/// When another token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewal {
    /// Some time before it expires, while it is still shown.
    Early,
    /// Once it has expired.
    Late,
}

impl Exchange {
    /// A file is read to see whether it can be; nothing is asked of anybody.
    pub(super) fn new(
        credentials: &ClientCredentials,
        settings: &HttpSettings,
        upstream: Connections,
    ) -> Result<Self, HttpClientError> {
        let exchange = Self {
            credentials: credentials.clone(),
            discovery: Discovery::new(credentials, settings, upstream)?,
            conceal: Arc::clone(&settings.conceal),
        };
        let key = "upstream.auth.client_secret_file";
        client_secret::check(&credentials.secret, key, &*exchange.conceal)?;
        Ok(exchange)
    }

    pub(super) async fn token(&self) -> Result<Granted, TokenFault> {
        let endpoint = self.discovery.endpoint().await?;
        // Read last, so that it is the one that is meant now.
        let secret = client_secret::present(&self.credentials.secret, &self.conceal).await?;
        let granted = self.ask(&endpoint, &secret).await;
        if granted.is_err() {
            // What was found may be out of date.
            self.discovery.forget();
        }
        granted
    }

    async fn ask(&self, endpoint: &Endpoint, secret: &SecretString) -> Result<Granted, TokenFault> {
        let (form, authorization) = self.request(endpoint, secret);
        let asked = &endpoint.asker;
        let asked = asked.post(&endpoint.url, form, authorization, MAX_BYTES);
        let of = Of::Endpoint;
        let answer = asked
            .await
            .map_err(|cause| TokenFault::Unasked { of, cause })?;
        granted(&answer)
    }

    /// The form and what stands in the header.
    fn request(&self, endpoint: &Endpoint, secret: &SecretString) -> (String, Option<HeaderValue>) {
        let credentials = &self.credentials;
        let id = &*credentials.client_id;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        let auth = credentials.client_auth.unwrap_or(endpoint.client_auth);
        let authorization = client_secret::show(&mut form, id, secret, auth);
        if !credentials.scopes.is_empty() {
            form.append_pair("scope", &credentials.scopes.join(" "));
        }
        let resource = credentials.resource.as_deref();
        let resource = resource.unwrap_or(&endpoint.resource);
        if !resource.is_empty() {
            form.append_pair("resource", resource);
        }
        if let Some(audience) = &credentials.audience {
            form.append_pair("audience", audience);
        }
        (form.finish(), authorization)
    }
}

fn granted(answer: &HttpResponse) -> Result<Granted, TokenFault> {
    let of = Of::Endpoint;
    let read = answered(answer)?;
    let unfit = |what| TokenFault::Unfit { of, what };
    let (token, lifetime) = read::token(read.root()).map_err(unfit)?;
    Ok(Granted {
        token: SecretString::from(&*token),
        lifetime,
        renewal: Renewal::Early,
    })
}

/// The document of a token endpoint that gives a token.
pub(super) fn answered(answer: &HttpResponse) -> Result<Document, TokenFault> {
    let of = Of::Endpoint;
    let read = read::json(answer);
    if answer.status != 200 {
        let named = read.as_ref().and_then(|read| read::error(read.root()));
        return Err(match (named, answer.status) {
            (Some(name), 400..=499) => TokenFault::Refused(name),
            (None, 401) => TokenFault::Refused("invalid_client"),
            (_, status) => TokenFault::Status { of, status },
        });
    }
    let what = "is no JSON";
    read.ok_or(TokenFault::Unfit { of, what })
}

#[cfg(test)]
mod tests {
    use hyper::header::{CONTENT_TYPE, HeaderMap};
    use secrecy::ExposeSecret;

    use super::*;

    fn told(status: u16, kind: &str, body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
        let answer = HttpResponse {
            status,
            headers,
            body: body.into(),
        };
        match granted(&answer) {
            Ok(granted) => format!("{} {:?}", granted.token.expose_secret(), granted.lifetime),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn a_token_is_one_that_a_bearer_may_use_and_for_how_long() {
        let check = |body: &str, expected: &str| {
            assert_eq!(told(200, "application/json", body), expected, "{body}");
        };
        let with =
            |rest: &str| format!(r#"{{"access_token":"t0k3n","token_type":"Bearer"{rest}}}"#);
        check(&with(""), "t0k3n None");
        check(&with(r#","expires_in":3600"#), "t0k3n Some(3600s)");
        check(&with(r#","expires_in":"3600""#), "t0k3n Some(3600s)");
        check(&with(r#","expires_in":null"#), "t0k3n None");
        check(&with(r#","expires_in":1e300"#), "t0k3n None");
        let never =
            "what the authorization server answers has an `expires_in` that is no time to come";
        for odd in ["0", "-1", "\"soon\"", "\"NaN\"", "{}", "true"] {
            check(&with(&format!(r#","expires_in":{odd}"#)), never);
        }
        let no_token = "what the authorization server answers holds no `access_token`";
        check(r#"{"token_type":"bearer"}"#, no_token);
        check(r#"{"token_type":"bearer","access_token":7}"#, no_token);
        let no_bearer = "what the authorization server answers is no bearer token";
        check(r#"{"access_token":"t0k3n"}"#, no_bearer);
        check(r#"{"access_token":"t0k3n","token_type":"mac"}"#, no_bearer);
        let no_json = "what the authorization server answers is no JSON";
        check("", no_json);
        check("access_token=t0k3n", no_json);
        check("[]", no_json);
        check(&with(r#","access_token":"other""#), no_json);
        assert_eq!(told(200, "text/html", &with("")), no_json);
    }

    #[test]
    fn an_error_is_told_by_its_name_and_never_in_the_words_of_the_server() {
        let check = |status: u16, body: &str, expected: &str| {
            assert_eq!(told(status, "application/json", body), expected, "{body}");
        };
        let refused = "the authorization server refuses the gate as its client (invalid_client)";
        check(
            401,
            r#"{"error":"invalid_client","error_description":"call me"}"#,
            refused,
        );
        check(401, "call me", refused);
        check(
            400,
            r#"{"error":"invalid_target"}"#,
            "the authorization server refuses the gate as its client (invalid_target)",
        );
        check(
            400,
            r#"{"error":"call me"}"#,
            "the authorization server answers with the status 400",
        );
        check(
            503,
            r#"{"error":"invalid_client"}"#,
            "the authorization server answers with the status 503",
        );
        check(
            302,
            "",
            "the authorization server answers with the status 302",
        );
    }
}
