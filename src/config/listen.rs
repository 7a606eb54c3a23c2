//! `[listen]`: where agents reach the gate.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use url::Url;

use super::authentication::of_agents;
use super::errors::ConfigReason;
use super::network::{host, origin};
use super::section::ConfigSection;
use super::settings::{Anonymous, HttpListen, Listen, ListenAuth};
use crate::inward::TlsFiles;

/// How agents reach the gate, as far as the file can be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenTransport {
    Stdio,
    Http,
    Local,
    Unclear,
}

const HTTP_KEYS: [&str; 8] = [
    "host",
    "port",
    "path",
    "allowed_hosts",
    "allowed_origins",
    "auth",
    "allow_anonymous",
    "tls",
];

/// Why a key is refused that means something over HTTP alone.
pub(super) const HTTP_ONLY: &str = "only applies when transport is 'http'";

pub(super) fn listen(mut section: ConfigSection<'_, '_>, base: &Path) -> (Listen, ListenTransport) {
    let choices = [
        ("stdio", ListenTransport::Stdio),
        ("http", ListenTransport::Http),
        ("local", ListenTransport::Local),
    ];
    let transport = match section.one_of("transport", &choices) {
        Some(transport) => transport,
        None if section.has("transport") => ListenTransport::Unclear,
        None => ListenTransport::Stdio,
    };
    let address = section.address("host");
    let port = section.port("port");
    let path = path(&mut section);
    let allowed_hosts = allowed_hosts(&mut section);
    let allowed_origins = allowed_origins(&mut section);
    let auth = of_agents(section.section("auth"), base);
    let anonymous = section
        .switch(
            "allow_anonymous",
            Anonymous::Allowed,
            Anonymous::LoopbackOnly,
        )
        .unwrap_or(Anonymous::LoopbackOnly);
    let tls = tls(section.section("tls"), base);
    if matches!(transport, ListenTransport::Stdio | ListenTransport::Local) {
        let help = "remove it, or write `transport = \"http\"`";
        section.only_when(&HTTP_KEYS, HTTP_ONLY, help);
    }
    let listen = if transport == ListenTransport::Http {
        if !section.has("port") {
            let reason = ConfigReason::RequiredWhen("transport is 'http'");
            section.require("port", reason, "as in `port = 3000`");
        }
        let written = section.has("host");
        let host = address.or((!written).then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        if let Some(host) = host {
            who_may_come(&mut section, host, &auth, anonymous);
        }
        agrees_with_tls(&mut section, &auth);
        host.zip(port).map(|(host, port)| {
            Listen::Http(HttpListen {
                host,
                port,
                path: path.unwrap_or_else(|| HttpListen::PATH.to_owned()),
                allowed_hosts: allowed_hosts.unwrap_or_default(),
                allowed_origins: allowed_origins.unwrap_or_default(),
                auth,
                anonymous,
                tls,
            })
        })
    } else {
        (transport == ListenTransport::Local).then_some(Listen::Local)
    };
    section.finish();
    (listen.unwrap_or(Listen::Stdio), transport)
}

/// What must be said where others than this machine reach the gate.
fn who_may_come(
    section: &mut ConfigSection<'_, '_>,
    host: IpAddr,
    auth: &ListenAuth,
    anonymous: Anonymous,
) {
    let is_asked = section.has("auth");
    if host.is_loopback() {
        if anonymous == Anonymous::Allowed && !is_asked {
            let reason = ConfigReason::NoEffect("on loopback, where agents need no token anyway");
            section.refuse("allow_anonymous", reason, Some("remove it"));
        }
    } else {
        if section.has("allowed_hosts") {
            let reason = "expected at least one host where the gate listens beyond loopback";
            let help = "as in `[\"gate.example.com\"]`: the names by which agents know the gate";
            section.refuse_empty("allowed_hosts", reason, help);
        } else {
            let help = "the names by which agents know the gate, as in `allowed_hosts = \
                        [\"gate.example.com\"]`: other names in `Host` are refused";
            let reason = ConfigReason::RequiredWhen("the gate listens beyond loopback");
            section.require("allowed_hosts", reason, help);
        }
        if !is_asked && anonymous == Anonymous::LoopbackOnly {
            let help = "as in `auth = { type = \"bearer\", tokens = { alice = \"${ALICE_TOKEN}\" } \
                        }`, or `allow_anonymous = true` if everybody who reaches the port may \
                        be an agent";
            let reason = ConfigReason::RequiredWhen("the gate listens beyond loopback");
            section.require("auth", reason, help);
        } else if !matches!(auth, ListenAuth::None) && !section.has("tls") {
            let reason =
                ConfigReason::Suspicious("the gate has no TLS, and tokens cross the network");
            let help = "set `listen.tls`, or end TLS in front of the gate, on the same machine or in a \
                        network that you trust";
            section.refuse("host", reason, Some(help));
        }
    }
    if is_asked && anonymous == Anonymous::Allowed {
        let reason = ConfigReason::NoEffect("beside `auth`: every agent must show a token");
        section.refuse("allow_anonymous", reason, Some("remove one of the two"));
    }
}

/// `listen.tls`.
fn tls(mut section: ConfigSection<'_, '_>, base: &Path) -> Option<TlsFiles> {
    let certificate = section.path("cert_file", base);
    let key = section.path("key_file", base);
    let client_ca = section.path("client_ca_file", base);
    if section.is_present() {
        for (key, help) in [
            (
                "cert_file",
                "as in `cert_file = \"gate.pem\"`: the certificate, and behind it those of its authorities",
            ),
            (
                "key_file",
                "as in `key_file = \"gate.key\"`: the private key of the certificate",
            ),
        ] {
            if !section.has(key) {
                section.require(key, ConfigReason::Required, help);
            }
        }
    }
    section.finish();
    Some(TlsFiles {
        certificate: certificate?,
        key: key?,
        client_ca,
    })
}

/// Agents go where the gate's own metadata says that it is.
fn agrees_with_tls(section: &mut ConfigSection<'_, '_>, auth: &ListenAuth) {
    let ListenAuth::Jwt(jwt) = auth else { return };
    let is_plain = |url: &Url| url.scheme() == "http";
    if section.has("tls") && jwt.resource.as_ref().is_some_and(is_plain) {
        let reason = ConfigReason::Suspicious(
            "`auth.resource` is an `http` URL, by which agents get no further",
        );
        let help = "write the `https` URL, by which agents reach the gate";
        section.refuse("auth", reason, Some(help));
    }
}

fn path(section: &mut ConfigSection<'_, '_>) -> Option<String> {
    let path = section.string("path")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    let mut segments = path.split('/').skip(1).peekable();
    let mut is_odd = false;
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        is_odd |= segment == "." || segment == ".." || (segment.is_empty() && !is_last);
    }
    if !path.starts_with('/') || !path.chars().all(is_plain) || is_odd {
        let reason =
            ConfigReason::Invalid("expected a path of letters, digits, `-`, `.`, `_` and `~`");
        section.refuse("path", reason, Some("as in `\"/mcp\"`"));
        return None;
    }
    let is_taken = |taken: &str| {
        path.strip_prefix(taken)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if ["/health", "/metrics", "/.well-known"]
        .into_iter()
        .any(is_taken)
    {
        let reason = ConfigReason::Invalid("is taken: the gate answers there itself");
        section.refuse("path", reason, Some("as in `\"/mcp\"`"));
        return None;
    }
    Some(path)
}

pub(super) fn allowed_hosts(section: &mut ConfigSection<'_, '_>) -> Option<Vec<String>> {
    let help = "as in `[\"gate.example.com\", \"10.0.0.7:3000\"]`: each host by its name, with a \
                port or without";
    section.each("allowed_hosts", help, |section, item| {
        section.read_item(item, help, host)
    })
}

fn allowed_origins(section: &mut ConfigSection<'_, '_>) -> Option<Vec<String>> {
    let help = "as in `[\"https://app.example.com\"]`: each origin as browsers write it, without \
                a path";
    section.each("allowed_origins", help, |section, item| {
        section.read_item(item, help, origin)
    })
}
