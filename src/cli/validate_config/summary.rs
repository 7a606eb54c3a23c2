//! A valid configuration in a few words: who is protected, and where the gate is reached.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::config::{
    Bearer, Config, HttpListen, HttpUpstream, Listen, ListenAuth, ServerAuth, StartupProbe,
    Upstream,
};
use crate::upstream::http::TokenServer;

/// A server, with a line for each of its instances.
pub(super) fn server(config: &Config) -> String {
    format!(
        "  upstream  {}\n{}{}",
        upstream(&config.upstream),
        isolated(&config.upstream),
        startup_probe(config)
    )
}

/// The server, without what may be secret.
fn upstream(upstream: &Upstream) -> String {
    format!("`{}`: {}", upstream.name, way(upstream))
}

/// How it is reached, without what may be secret.
pub(in crate::cli) fn way(upstream: &Upstream) -> String {
    match &upstream.http {
        Some(http) => format!("{}{}", http.place(), token(http)),
        None => format!(
            "`{}` over stdio, {}{}",
            upstream.program(),
            count(upstream.command.len().saturating_sub(1), "argument"),
            match upstream.sandbox {
                Some(_) => ", in a sandbox",
                None => "",
            },
        ),
    }
}

/// A line for each isolated instance.
fn isolated(open: &Upstream) -> String {
    let lines = open.isolated.iter().map(|isolated| {
        format!(
            "  isolated  {}, for sessions that are {}\n",
            upstream(&isolated.server),
            match isolated.min_sensitivity {
                ..=1 => "internal or more",
                2 => "confidential or more",
                3.. => "secret",
            }
        )
    });
    lines.collect()
}

/// A line that says that the startup probe is off, where it would run otherwise.
fn startup_probe(config: &Config) -> &'static str {
    let is_possible = match config.listen {
        Listen::Http(_) | Listen::Local => true,
        Listen::Stdio => config.upstream.http.is_some() && config.admin.port.is_some(),
    };
    match config.upstream.startup_probe {
        StartupProbe::Off if is_possible => {
            "  probe     none: `GET /health` does not wait for a handshake\n"
        }
        StartupProbe::Off | StartupProbe::On => "",
    }
}

/// A line for each server that is not started.
pub(super) fn disabled(config: &Config) -> String {
    let lines = config
        .disabled()
        .map(|key| format!("  disabled  `{key}`\n"));
    lines.collect()
}

/// A line for each socket that the gate would open.
pub(super) fn listeners(config: &Config) -> String {
    let mut lines = String::new();
    if let Listen::Http(http) = &config.listen {
        let at = SocketAddr::new(http.host, http.port);
        // Writing to a string cannot fail.
        let _ = writeln!(
            lines,
            "  listen    {}://{at}{}, {}",
            if http.tls.is_some() { "https" } else { "http" },
            http.path,
            agents(http)
        );
    }
    if let Listen::Local = config.listen {
        lines.push_str("  listen    a socket of this user, for `attach`\n");
    }
    if let Some(port) = config.admin.port {
        let at = SocketAddr::new(config.admin.host, port);
        let approvers: Vec<_> = config.admin.approvers.keys().collect();
        let approvers = match approvers.as_slice() {
            [] => String::new(),
            _ => format!(
                ", approvals by {}",
                approvers
                    .iter()
                    .map(|name| format!("`{}`", name.escape_debug()))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        let _ = writeln!(lines, "  admin     http://{at}{approvers}");
    }
    lines
}

fn token(http: &HttpUpstream) -> String {
    match &http.auth {
        Some(ServerAuth::Bearer(Bearer::Value(_))) => ", with a token".to_owned(),
        Some(ServerAuth::Bearer(Bearer::File(file))) => {
            format!(", with the token in `{}`", file.display())
        }
        Some(ServerAuth::Client(client)) => {
            let id = client.client_id.escape_debug();
            match &client.server {
                TokenServer::At(url) => {
                    let origin = url.origin().ascii_serialization();
                    format!(", as the client `{id}` of `{origin}`")
                }
                TokenServer::Of(issuer) => format!(", as the client `{id}` of `{issuer}`"),
                TokenServer::Named => format!(", as the client `{id}` of whom the server names"),
            }
        }
        Some(ServerAuth::Exchange(exchange)) => {
            let origin = exchange.token_url.origin().ascii_serialization();
            format!(", with tokens that `{origin}` gives in exchange for those of agents")
        }
        None => String::new(),
    }
}

fn agents(http: &HttpListen) -> String {
    match &http.auth {
        ListenAuth::None => "agents show no token".to_owned(),
        ListenAuth::Bearer { tokens } => {
            format!("agents show {}", count(tokens.len(), "token"))
        }
        ListenAuth::Jwt(jwt) => format!("agents show tokens of `{}`", jwt.issuer),
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}
