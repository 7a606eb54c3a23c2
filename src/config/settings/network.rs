//! What a configuration says of networks: a server over HTTP, and agents that come over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use secrecy::SecretString;
use url::Url;

use crate::identity::{ClaimPath, NamedClaim};
use crate::inward::TlsFiles;
use crate::upstream::http::{ClientCredentials, TokenExchange};

/// A server that is reached over HTTP.
#[derive(Clone)]
pub struct HttpUpstream {
    /// `https`, or `http` where [`HttpUpstream::plain_http`] permits it; without credentials and
    /// fragment. Its path and query may be secrets of the operator.
    pub url: Url,
    /// What the gate shows to the server with each request.
    pub auth: Option<ServerAuth>,
    /// Sent with each request besides, by their names in lower case.
    pub headers: BTreeMap<String, SecretString>,
    /// What of them is replaced in what the gate writes.
    pub header_secrets: Vec<SecretString>,
    /// A PEM file of authorities that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    pub plain_http: PlainHttp,
}

/// Where messages may travel without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// To this machine alone.
    LoopbackOnly,
    /// Anywhere: the operator said so.
    Allowed,
}

/// Where the token comes from that the gate shows to the server.
#[derive(Debug, Clone)]
pub enum ServerAuth {
    Bearer(Bearer),
    /// An authorization server gives it.
    Client(Box<ClientCredentials>),
    /// It gives one for each agent, in exchange for the agent's own.
    Exchange(Box<TokenExchange>),
}

/// A token that the gate shows to the server, or is shown by an operator.
#[derive(Debug, Clone)]
pub enum Bearer {
    Value(SecretString),
    /// A file that holds nothing else; not opened by checking the configuration.
    File(PathBuf),
}

/// Where agents come from.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of it, and it never moves"
)]
pub enum Listen {
    /// One agent, on the gate's standard streams.
    Stdio,
    /// Many, over HTTP.
    Http(HttpListen),
    /// Many of the gate's own user, through `attach`.
    Local,
}

/// A listener for agents that come over HTTP.
#[derive(Debug, Clone)]
pub struct HttpListen {
    pub host: IpAddr,
    /// 0: any port that is free.
    pub port: u16,
    /// The one path at which MCP is spoken.
    pub path: String,
    /// Names in `Host` besides those of loopback: `name`, with any port, or `name:port`; in lower
    /// case. Never empty beyond loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may talk to the gate, as browsers write them: `scheme://host`,
    /// and the port where it is not the scheme's own.
    pub allowed_origins: Vec<String>,
    pub auth: ListenAuth,
    pub anonymous: Anonymous,
    /// Without it agents come over plain HTTP.
    pub tls: Option<TlsFiles>,
}

/// From where an agent may come without saying who it is; has no meaning beside
/// [`HttpListen::auth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anonymous {
    LoopbackOnly,
    /// From anywhere: the operator said so.
    Allowed,
}

/// How agents show who they are.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of it, and it never moves"
)]
pub enum ListenAuth {
    None,
    Bearer {
        /// The token of each subject; at least one, all different.
        tokens: BTreeMap<String, SecretString>,
    },
    Jwt(Jwt),
}

/// Tokens that an authorization server signs.
#[derive(Debug, Clone)]
pub struct Jwt {
    /// Compared byte for byte with `iss`.
    pub issuer: String,
    /// Compared byte for byte with `aud`, or with one of its items.
    pub audience: String,
    pub jwks: Jwks,
    /// At least one, each once.
    pub algorithms: Vec<JwtAlgorithm>,
    /// The claim that names a session.
    pub session_claim: String,
    /// The claim that names groups.
    pub groups_claim: String,
    /// The claim that names capabilities.
    pub capabilities_claim: Option<ClaimPath>,
    /// The claims that policies may look at, each of another name.
    pub claims: Vec<NamedClaim>,
    /// Scopes that a token must have, all of them.
    pub scopes: Vec<String>,
    /// The gate's own address as agents know it (RFC 9728).
    pub resource: Option<Url>,
}

/// Where the keys of an authorization server are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    File(PathBuf),
    /// `https`, or `http` on this machine.
    Url(Url),
}

/// How a token may be signed. With keys that only the authorization server has: none of these
/// makes of a verifier a signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwtAlgorithm {
    Rs256,
    Es256,
    EdDsa,
}

/// A listener of its own for health, metrics and approvals.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Who may answer what agents wait for, by name.
    pub approvers: BTreeMap<String, SecretString>,
    /// Who may use the admin API, by name.
    pub operators: BTreeMap<String, SecretString>,
    /// Operators whose servers may run commands and use variables and files of this machine.
    pub command_operators: BTreeSet<String>,
    pub host: IpAddr,
    /// `None`: there is no such listener. 0: any port that is free.
    pub port: Option<u16>,
    /// Names in `Host` besides those of loopback and the address itself; as in
    /// [`HttpListen::allowed_hosts`].
    pub allowed_hosts: Vec<String>,
    /// What must be shown to read the metrics.
    pub token: Option<Bearer>,
    /// From where they may be read without one; has no meaning beside a token.
    pub anonymous: Anonymous,
}

impl HttpUpstream {
    /// Scheme, host and port for people to read, without what may be secret.
    pub fn place(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

impl HttpListen {
    /// The path unless another one is configured.
    pub const PATH: &'static str = "/mcp";
}

impl Jwt {
    pub const ALGORITHMS: [JwtAlgorithm; 3] = [
        JwtAlgorithm::Es256,
        JwtAlgorithm::Rs256,
        JwtAlgorithm::EdDsa,
    ];
    pub const SESSION_CLAIM: &'static str = "session_id";
    pub const GROUPS_CLAIM: &'static str = "groups";
}

impl JwtAlgorithm {
    /// As `alg` says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl Default for Admin {
    fn default() -> Self {
        Self {
            approvers: BTreeMap::new(),
            operators: BTreeMap::new(),
            command_operators: BTreeSet::new(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: None,
            allowed_hosts: Vec::new(),
            token: None,
            anonymous: Anonymous::LoopbackOnly,
        }
    }
}

/// Shows where the server is, but neither path nor query.
impl fmt::Debug for HttpUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpUpstream")
            .field("place", &self.place())
            .field("auth", &self.auth)
            .field("headers", &self.headers)
            .field("ca_file", &self.ca_file)
            .field("plain_http", &self.plain_http)
            .finish_non_exhaustive()
    }
}
