//! What the gate says of itself as a protected resource (RFC 9728).

use url::Url;

/// Where the document stands, before the path of the resource (RFC 9728 §3.1).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The gate as a resource that tokens are issued for.
#[derive(Debug, Clone)]
pub struct ProtectedResource {
    resource: Url,
    document: String,
    scopes: Vec<String>,
}

/// Why a resource cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    #[error("`{0}` is not an absolute http or https URL without a fragment")]
    Url(String),
    #[error("at least one authorization server is needed")]
    NoServer,
    #[error("`{0}` is no scope")]
    Scope(String),
}

impl ProtectedResource {
    /// `resource` is the gate's canonical URL, as agents reach it: what tokens name as their
    /// audience. `scopes` are those that a token needs.
    pub fn new(
        resource: &str,
        authorization_servers: &[String],
        scopes: &[String],
    ) -> Result<Self, ResourceError> {
        let url = absolute(resource)?;
        if authorization_servers.is_empty() {
            return Err(ResourceError::NoServer);
        }
        for server in authorization_servers {
            absolute(server)?;
        }
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(ResourceError::Scope(scope.clone()));
        }
        let document = serde_json::json!({
            "resource": resource,
            "authorization_servers": authorization_servers,
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
        });
        Ok(Self {
            resource: url,
            document: document.to_string(),
            scopes: scopes.to_vec(),
        })
    }

    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The metadata document, as JSON.
    pub fn document(&self) -> &str {
        &self.document
    }

    /// The path of the document for a resource with the gate's path, and the one at the root, which
    /// agents try next.
    pub fn serves(&self, path: &str) -> bool {
        path.strip_prefix(WELL_KNOWN)
            .is_some_and(|rest| rest.is_empty() || rest == self.path())
    }

    /// Where an agent finds the document.
    pub fn metadata_url(&self) -> String {
        let origin = self.resource.origin().ascii_serialization();
        format!("{origin}{WELL_KNOWN}{}", self.path())
    }

    /// RFC 9728 §3.1: a path that is only a slash is left out.
    fn path(&self) -> &str {
        match self.resource.path() {
            "/" => "",
            path => path,
        }
    }
}

fn absolute(text: &str) -> Result<Url, ResourceError> {
    let refused = || ResourceError::Url(text.to_owned());
    let url = Url::parse(text).map_err(|_| refused())?;
    let good = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if good { Ok(url) } else { Err(refused()) }
}

/// RFC 6749 §3.3: visible ASCII but `"` and `\`.
fn is_scope(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}
