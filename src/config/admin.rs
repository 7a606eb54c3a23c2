//! `[admin]`: where operators reach the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use secrecy::SecretString;

use super::authentication::{TokenOwner, tokens};
use super::errors::ConfigReason;
use super::listen::allowed_hosts;
use super::section::ConfigSection;
use super::settings::{Admin, Anonymous, Bearer, Listen, ListenAuth};
use super::tokens::{AGENT_TOKEN, APPROVER_TOKEN, token_in};
use crate::secret;

const APPROVERS: TokenOwner = TokenOwner {
    example: "one for each person, as in `approvers = { anna = \"${ANNA_TOKEN}\" }`",
    name: "the name of the person comes first, as in `anna = \"${ANNA_TOKEN}\"`",
    shared: "is the token of another person too",
    apart: "a token says who has answered: give each their own",
    length: APPROVER_TOKEN,
};

const OPERATORS: TokenOwner = TokenOwner {
    example: "one for each person or program, as in `operators = { olga = \"${OLGA_TOKEN}\" }`",
    name: "the name of the operator comes first, as in `olga = \"${OLGA_TOKEN}\"`",
    shared: "is the token of another operator too",
    apart: "a token says who has made a change: give each their own",
    length: APPROVER_TOKEN,
};

pub(super) fn admin(mut section: ConfigSection<'_, '_>, base: &Path, listen: &Listen) -> Admin {
    let default = Admin::default();
    let host = section.address("host");
    let port = section.port("port");
    let allowed_hosts = allowed_hosts(&mut section);
    let token = section.take("token");
    let token = token.and_then(|field| token_in(&mut section, &field, AGENT_TOKEN));
    let file = section.path("token_file", base);
    let anonymous = section
        .switch(
            "allow_anonymous",
            Anonymous::Allowed,
            Anonymous::LoopbackOnly,
        )
        .unwrap_or(default.anonymous);
    let approvers = tokens(section.section("approvers"), &APPROVERS);
    let operators = tokens(section.section("operators"), &OPERATORS);
    let command_operators = command_operators(&mut section, &operators);
    let admin = Admin {
        approvers,
        operators,
        command_operators,
        host: host.unwrap_or(default.host),
        port,
        allowed_hosts: allowed_hosts.unwrap_or_default(),
        token: token.map(Bearer::Value).or(file.map(Bearer::File)),
        anonymous,
    };
    if section.is_present() && !section.has("port") {
        let help = "as in `port = 9090`: without a port nothing can be asked here";
        section.require("port", ConfigReason::Required, help);
    }
    who_may_read(&mut section, &admin);
    who_may_approve(&mut section, &admin, listen);
    if let (Some(port), Listen::Http(agents)) = (admin.port, listen) {
        let meet = |one: IpAddr, other: IpAddr| {
            one == other || one.is_unspecified() || other.is_unspecified()
        };
        if port != 0 && port == agents.port && meet(admin.host, agents.host) {
            let reason = ConfigReason::Invalid("is the port of `listen` too");
            section.refuse("port", reason, Some("take another one"));
        }
    }
    section.finish();
    admin
}

/// What must be said where others than this machine reach the metrics.
fn who_may_read(section: &mut ConfigSection<'_, '_>, admin: &Admin) {
    let is_asked = section.has("token") || section.has("token_file");
    if section.has("token") && section.has("token_file") {
        let reason = ConfigReason::Invalid("does not apply beside `token`");
        section.refuse("token_file", reason, Some("keep one of the two"));
    }
    if is_asked && admin.anonymous == Anonymous::Allowed {
        let reason = ConfigReason::NoEffect("beside a token, which must be shown");
        section.refuse("allow_anonymous", reason, Some("remove one of the two"));
    } else if admin.host.is_loopback() {
        if admin.anonymous == Anonymous::Allowed {
            let reason = ConfigReason::NoEffect("on loopback, where no token is needed anyway");
            section.refuse("allow_anonymous", reason, Some("remove it"));
        }
    } else if is_asked {
        let reason =
            ConfigReason::Suspicious("the gate has no TLS, and the token crosses the network");
        let help = "end TLS in front of the gate, or keep others out by the network";
        section.refuse("host", reason, Some(help));
    } else if admin.anonymous == Anonymous::LoopbackOnly {
        let help = "as in `token = \"${METRICS_TOKEN}\"`, or `allow_anonymous = true` if everybody \
                    who reaches the port may read the metrics";
        let reason = ConfigReason::RequiredWhen("the gate listens beyond loopback");
        section.require("token", reason, help);
    }
}

/// The operators with the right to commands, each of whom has a token.
fn command_operators(
    section: &mut ConfigSection<'_, '_>,
    operators: &BTreeMap<String, SecretString>,
) -> BTreeSet<String> {
    let help = "the name of an operator, as in `[\"olga\"]`";
    let names = section.each("command_operators", help, |section, item| {
        section.read_item(item, help, |name| {
            if operators.contains_key(name) {
                Ok(name.to_owned())
            } else {
                Err(ConfigReason::Invalid("is no name in `operators`"))
            }
        })
    });
    names.unwrap_or_default().into_iter().collect()
}

/// Requires tokens of approvers and operators that no agent and no metrics reader has: an agent could otherwise
/// approve its own requests, or change servers.
fn who_may_approve(section: &mut ConfigSection<'_, '_>, admin: &Admin, listen: &Listen) {
    let of_agents = match listen {
        Listen::Http(http) => match &http.auth {
            ListenAuth::Bearer { tokens } => Some(tokens.values()),
            ListenAuth::Jwt(_) | ListenAuth::None => None,
        },
        Listen::Stdio | Listen::Local => None,
    };
    let of_metrics = match &admin.token {
        Some(Bearer::Value(token)) => Some(token),
        Some(Bearer::File(_)) | None => None,
    };
    let others: Vec<&SecretString> = of_agents.into_iter().flatten().chain(of_metrics).collect();
    let meets = |ours: &BTreeMap<String, SecretString>, others: &[&SecretString]| {
        let mut ours = ours.values();
        ours.any(|token| others.iter().any(|other| secret::are_same(token, other)))
    };
    if meets(&admin.approvers, &others) {
        let reason = ConfigReason::Invalid("has a token that agents or the metrics have too");
        let help = "its holder could approve in a person's name: use another token";
        section.refuse("approvers", reason, Some(help));
    }
    let of_approvers = admin.approvers.values();
    let others: Vec<&SecretString> = others.into_iter().chain(of_approvers).collect();
    if meets(&admin.operators, &others) {
        let reason =
            ConfigReason::Invalid("has a token that agents, the metrics or approvers have too");
        let help = "its holder could change servers in an operator's name: use another token";
        section.refuse("operators", reason, Some(help));
    }
    let has_people = !(admin.approvers.is_empty() && admin.operators.is_empty());
    if has_people && !admin.host.is_loopback() && admin.token.is_none() {
        let reason =
            ConfigReason::Suspicious("the gate has no TLS, and the tokens cross the network");
        let help = "end TLS in front of the gate, or keep others out by the network";
        section.refuse("host", reason, Some(help));
    }
}
