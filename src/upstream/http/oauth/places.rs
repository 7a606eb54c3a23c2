//! Where metadata may be, about whom, and what it says of clients.

use url::Url;

use crate::wire::Value;

use super::settings::ClientAuth;

/// The server's canonical URI (RFC 8707; MCP, authorization): its URL without the query, which may be a
/// secret, without a fragment, and without a path that says nothing.
pub(super) fn resource_of(url: &Url) -> String {
    let url = plain(url);
    let text = url.as_str();
    let bare = text.strip_suffix('/').filter(|_| url.path() == "/");
    bare.unwrap_or(text).to_owned()
}

/// A URL as far as it says where something is.
fn plain(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// A server may have one document for all that is below a path.
pub(super) fn is_within(server: &Url, resource: &Url) -> bool {
    let (path, above) = (server.path(), resource.path().trim_end_matches('/'));
    let rest = path.strip_prefix(above);
    server.origin() == resource.origin()
        && resource.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The document of a path, which is put behind the name, and that of the whole host.
pub(super) fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let at = |path: &str| {
        let mut place = plain(url);
        place.set_path(&format!("/.well-known/{name}{path}"));
        place
    };
    let path = url.path().trim_end_matches('/');
    // An issuer with a path has its own document; that of the host is another issuer's, and refused.
    let mut places = vec![at(path)];
    if !path.is_empty() && name == "oauth-protected-resource" {
        places.push(at(""));
    }
    places
}

/// Where OpenID Connect puts it for an issuer with a path.
pub(super) fn appended(issuer: &Url) -> Option<Url> {
    let path = issuer.path().trim_end_matches('/');
    (!path.is_empty()).then(|| {
        let mut place = plain(issuer);
        place.set_path(&format!("{path}/.well-known/openid-configuration"));
        place
    })
}

/// `Basic` where nothing is said (RFC 8414, section 2), and where there is a choice.
pub(super) fn client_auth(methods: Option<Value<'_>>) -> Option<ClientAuth> {
    let Some(methods) = methods else {
        return Some(ClientAuth::Basic);
    };
    let names = |name: &str| {
        methods
            .items()
            .any(|it| it.as_str().as_deref() == Some(name))
    };
    if names("client_secret_basic") {
        Some(ClientAuth::Basic)
    } else {
        names("client_secret_post").then_some(ClientAuth::Post)
    }
}

/// `resource_metadata` of a challenge (RFC 9728, section 5.1). What cannot be read is none: the document
/// may be where it usually is.
pub(super) fn pointer(challenge: &str) -> Option<Url> {
    const NAME: &str = "resource_metadata=\"";
    let (before, rest) = challenge.split_once(NAME)?;
    let is_name = before.is_empty() || before.ends_with([' ', ',', '\t']);
    let (url, _) = rest.split_once('"')?;
    Url::parse(url).ok().filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_document_is_about_the_server_or_what_it_is_below() {
        let check = |resource: &str, expected: bool| {
            let server = url("https://mcp.example/a/b?key=1");
            assert_eq!(is_within(&server, &url(resource)), expected, "{resource}");
        };
        check("https://mcp.example/a/b", true);
        check("https://mcp.example/a/b/", true);
        check("https://mcp.example/a", true);
        check("https://mcp.example", true);
        check("https://mcp.example:443/", true);
        check("https://mcp.example/a/b/c", false);
        check("https://mcp.example/a/bb", false);
        check("https://mcp.example/a/bc/..", true);
        check("https://mcp.example/aa", false);
        check("https://mcp.example.evil/a/b", false);
        check("http://mcp.example/a/b", false);
        check("https://mcp.example:8443/a/b", false);
        check("https://mcp.example/a/b#c", false);
    }

    #[test]
    fn metadata_is_looked_for_where_it_can_be_about_whom_it_is_asked_for() {
        let check = |found: Vec<Url>, expected: &[&str]| {
            let found: Vec<_> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected);
        };
        let (server, issuer) = (url("https://m.example/a?b"), url("https://i.example/t/"));
        check(
            well_known(&server, "oauth-protected-resource"),
            &[
                "https://m.example/.well-known/oauth-protected-resource/a",
                "https://m.example/.well-known/oauth-protected-resource",
            ],
        );
        check(
            well_known(&issuer, "oauth-authorization-server"),
            &["https://i.example/.well-known/oauth-authorization-server/t"],
        );
        check(
            appended(&issuer).into_iter().collect(),
            &["https://i.example/t/.well-known/openid-configuration"],
        );
        check(
            appended(&url("https://i.example")).into_iter().collect(),
            &[],
        );
    }

    #[test]
    fn a_challenge_points_to_metadata() {
        let check = |challenge: &str, expected: Option<&str>| {
            let found = pointer(challenge);
            assert_eq!(found.as_ref().map(Url::as_str), expected);
        };
        check(
            r#"Bearer error="x", resource_metadata="https://a.example/b", scope="c""#,
            Some("https://a.example/b"),
        );
        check(
            r#"Bearer resource_metadata="https://a.example/b""#,
            Some("https://a.example/b"),
        );
        check(r#"Bearer my_resource_metadata="https://a.example/b""#, None);
        check(r#"Bearer resource_metadata="/b""#, None);
        check(r#"Bearer resource_metadata="https://a.example/b"#, None);
        check("Bearer", None);
    }

    #[test]
    fn a_server_is_called_by_its_url_without_what_may_be_secret() {
        let check = |server: &str, expected: &str| assert_eq!(resource_of(&url(server)), expected);
        check("https://m.example", "https://m.example");
        check("https://m.example/?key=1", "https://m.example");
        check("https://m.example/mcp?key=1", "https://m.example/mcp");
        check("https://m.example/mcp/", "https://m.example/mcp/");
        check("https://m.example/mcp?a#b?key=1", "https://m.example/mcp");
        check("https://m.example/#b", "https://m.example");
    }
}
