//! What the configuration means to the loading of policies.

use std::collections::BTreeSet;
use std::path::{Component, MAIN_SEPARATOR, Path};
use std::sync::Arc;

use super::settings::servers;
use crate::config::{self, Config, HttpListen, Listen, ListenAuth, Upstream};
use crate::loading;
use crate::policy::{Base, ConfiguredClaims, TokenGrants};

pub(super) fn loading(config: &Config) -> loading::Settings {
    let policy = &config.policy;
    loading::Settings {
        allow: policy.allow.clone(),
        dir: policy.dir.clone(),
        own: policy.own.clone(),
        shadow: policy.shadow.clone(),
        other_methods: match policy.other_methods {
            config::OtherMethods::Allow => loading::OtherMethods::Allow,
            config::OtherMethods::Deny => loading::OtherMethods::Deny,
        },
        warnings: match policy.warnings {
            config::Warnings::Error => loading::WarningMode::Error,
            config::Warnings::Allow => loading::WarningMode::Allow,
        },
        lock: match policy.pinning {
            config::Pinning::Enforce => loading::Pinning::Enforce,
            config::Pinning::Locked => loading::Pinning::Locked,
            config::Pinning::TrustOnFirstUse => loading::Pinning::TrustOnFirstUse,
            config::Pinning::Off => loading::Pinning::Off,
        },
        passing: policy.passing,
        labels: match policy.labels {
            config::RequiredLabels::None => loading::RequiredLabels::None,
            config::RequiredLabels::Permission => loading::RequiredLabels::Permission,
        },
        // Of several servers each has another.
        base: base(&config.upstream).filter(|_| config.servers.is_empty()),
        reload: match policy.reload {
            config::Reload::Watch => loading::Reload::Watch,
            config::Reload::Off => loading::Reload::Off,
        },
        on_policy_removal: match policy.on_policy_removal {
            config::OnRemoval::Reject => loading::OnRemoval::Reject,
            config::OnRemoval::Apply => loading::OnRemoval::Apply,
        },
        network: policy.network.clone(),
        flow: config.flow.rules.clone(),
        egress: destinations(config),
        claims: Some(Arc::new(claims(&config.listen))),
        servers: config.servers.keys().cloned().collect(),
    }
}

/// The working directory of the server, or else that of its session, unless sessions move to one that works elsewhere.
fn base(upstream: &Upstream) -> Option<Base> {
    let mut isolated = upstream.isolated.iter();
    if isolated.any(|isolated| isolated.server.cwd != upstream.cwd) {
        return None;
    }
    match &upstream.cwd {
        Some(cwd) => Base::at(&policy_path(cwd)?).ok(),
        None => Some(Base::Own),
    }
}

/// How policies spell a directory. Tests of policies decide alike on every system, so a directory without a drive is one
/// of POSIX, on Windows too. A gate on Windows starts no server there (`StartError::NoDrive`).
fn policy_path(directory: &Path) -> Option<String> {
    let text = directory.to_str()?;
    Some(match directory.components().next() {
        Some(Component::RootDir) => text.replace(MAIN_SEPARATOR, "/"),
        _ => text.to_owned(),
    })
}

/// What any server may connect to. Each one's own proxy knows what it may.
fn destinations(config: &Config) -> Vec<String> {
    let confined = servers(config).filter_map(|server| server.sandbox.as_ref());
    let listed = confined.flat_map(|confinement| confinement.egress.iter());
    let listed: BTreeSet<String> = listed.map(ToString::to_string).collect();
    listed.into_iter().collect()
}

/// What policies may ask of agents' tokens: nothing where agents have none.
fn claims(listen: &Listen) -> ConfiguredClaims {
    let Listen::Http(HttpListen {
        auth: ListenAuth::Jwt(jwt),
        ..
    }) = listen
    else {
        return ConfiguredClaims::default();
    };
    let types = jwt.claims.iter();
    ConfiguredClaims {
        types: types
            .map(|claim| (claim.name.clone(), claim.claim_type))
            .collect(),
        grants: match jwt.capabilities_claim {
            Some(_) => TokenGrants::Capabilities,
            None => TokenGrants::Nothing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CommandLine;

    #[test]
    fn relative_paths_lie_in_the_working_directory_that_all_servers_share() {
        let at = |path: &str| Some(Base::at(path).unwrap());
        let check = |open: Option<&str>, isolated: Option<&str>, expected: Option<Base>| {
            let config = CommandLine {
                command: vec!["server".to_owned()],
                ..CommandLine::default()
            };
            let config = Config::from_command_line(config).unwrap();
            let server = |cwd: Option<&str>| Upstream {
                cwd: cwd.map(Into::into),
                ..config.upstream.clone()
            };
            let upstream = Upstream {
                isolated: isolated
                    .into_iter()
                    .map(|cwd| config::Isolated {
                        section: "upstream.isolated".to_owned(),
                        min_sensitivity: 2,
                        keep: config::Keep::Cold,
                        server: server(Some(cwd)),
                    })
                    .collect(),
                ..server(open)
            };
            assert_eq!(base(&upstream), expected, "{open:?} {isolated:?}");
        };
        check(Some("/srv/work"), None, at("/srv/work"));
        check(Some("/srv/work"), Some("/srv/work"), at("/srv/work"));
        check(Some("/srv/work"), Some("/srv/other"), None);
        check(None, None, Some(Base::Own));
        check(None, Some("/srv/work"), None);
        check(Some("work"), None, None);
    }
}
