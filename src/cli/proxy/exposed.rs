//! Files and directories of the gate that the protected server could change.

use std::path::{Path, PathBuf};

use crate::config::{
    Bearer, Config, ConfigFile, ConfinedFiles, HttpListen, Jwks, Listen, ListenAuth, ServerAuth,
    Upstream,
};
use crate::policy::Roots;
use crate::upstream::http::ClientSecret;
use crate::upstream::sandbox::Access;

/// What the gate relies on, and where its servers may write whatever policies say.
#[derive(Debug)]
pub(super) struct Exposed {
    /// By the keys that name them.
    named: Vec<(String, PathBuf)>,
    granted: Vec<(String, PathBuf)>,
}

/// The writable roots that a gate was started with: a sandbox goes on granting them.
#[derive(Debug)]
pub(super) struct Started(Vec<(String, PathBuf)>);

impl Started {
    pub(super) fn with(roots: &Roots) -> Self {
        Self(writable(roots).collect())
    }
}

/// Each file and directory that lies where the server may write, told with both settings.
///
/// A journal, a log, a policy or a token that the server can replace protects nothing from it.
pub(super) fn files(config: &Config, roots: &Roots) -> Vec<String> {
    Exposed::by(config).with(roots)
}

/// The servers that are started as the gate's user with all of that user's rights.
pub(super) fn unconfined(config: &Config) -> impl Iterator<Item = (&str, &Upstream)> {
    let has_all_files = |it: &Upstream| {
        let confinement = it.sandbox.as_ref();
        confinement.is_none_or(|it| it.files == ConfinedFiles::All)
    };
    let started = servers(config);
    started.filter(move |(_, it)| it.http.is_none() && has_all_files(it))
}

impl Exposed {
    pub(super) fn by(config: &Config) -> Self {
        let granted = servers(config).filter_map(|(_, server)| server.sandbox.as_ref());
        let granted = granted.flat_map(|it| &it.sandbox.places);
        let granted = granted.filter(|place| place.access == Access::Write);
        let granted = granted.map(|place| (place.setting.clone(), place.path.clone()));
        Self {
            named: named(config),
            granted: granted.collect(),
        }
    }

    /// The same beside what a running gate was started with.
    pub(super) fn since(mut self, started: &Started) -> Self {
        self.granted.extend(started.0.iter().cloned());
        self
    }

    /// The same with these roots. A writable one counts without a sandbox too: agents are permitted to
    /// have files changed there.
    pub(super) fn with(&self, roots: &Roots) -> Vec<String> {
        let granted = self.granted.iter().cloned();
        let places: Vec<_> = granted.chain(writable(roots)).collect();
        let told = self.named.iter().filter_map(|(field, file)| {
            let (place, lies) = places
                .iter()
                .find_map(|(name, place)| Some((name, how(file, place)?)))?;
            let file = file.display();
            Some(match lies {
                Lies::Within => format!(
                    "`{field}`: `{file}` lies in `{place}`, where the server may write; move it out \
                     of there"
                ),
                Lies::Around => format!(
                    "`{field}`: `{place}`, where the server may write, lies in `{file}`; move one out \
                     of the other"
                ),
            })
        });
        told.collect()
    }
}

fn writable(roots: &Roots) -> impl Iterator<Item = (String, PathBuf)> {
    let roots = roots.iter().chain(roots.of_each());
    let roots = roots.filter(|root| root.writable);
    roots.filter_map(|root| {
        let path = PathBuf::from(root.path()?);
        Some((format!("roots.{}", root.name), path))
    })
}

enum Lies {
    Within,
    /// What is written there becomes part of it.
    Around,
}

fn how(file: &Path, place: &Path) -> Option<Lies> {
    if lies_in(file, place) {
        Some(Lies::Within)
    } else {
        lies_in(place, file).then_some(Lies::Around)
    }
}

/// The files that the gate relies on, by the keys that name them.
fn named(config: &Config) -> Vec<(String, PathBuf)> {
    let (journal, key) = config.ratchet.journal().unzip();
    let read = config.file.as_ref().map(ConfigFile::path);
    let servers_dir = config.file.as_ref().and_then(ConfigFile::servers_dir);
    let mut named = vec![
        // The configuration itself.
        ("--config".to_owned(), read),
        ("servers_dir".to_owned(), servers_dir.as_deref()),
        ("audit.file".to_owned(), config.audit.file.as_deref()),
        (
            "audit.signing_key_file".to_owned(),
            config.audit.signing_key_file.as_deref(),
        ),
        (
            "audit.digest_key_file".to_owned(),
            config.audit.digest_key_file.as_deref(),
        ),
        (
            "audit.syslog.ca_file".to_owned(),
            config
                .audit
                .syslog
                .as_ref()
                .and_then(|it| it.ca_file.as_deref()),
        ),
        (
            "flight_recorder.file".to_owned(),
            config.flight_recorder.as_ref().map(|it| it.file.as_path()),
        ),
        ("ratchet.file".to_owned(), journal),
        ("ratchet.key_file".to_owned(), key.as_deref()),
    ];
    let policies = config.policy.directories().into_iter();
    named.extend(policies.map(|(field, dir)| (field, Some(dir))));
    if let Some(Bearer::File(file)) = &config.admin.token {
        named.push(("admin.token_file".to_owned(), Some(file)));
    }
    if let Listen::Http(listen) = &config.listen
        && let ListenAuth::Jwt(jwt) = &listen.auth
        && let Jwks::File(file) = &jwt.jwks
    {
        named.push(("listen.auth.jwks_file".to_owned(), Some(file)));
    }
    if let Listen::Http(HttpListen { tls: Some(tls), .. }) = &config.listen {
        let files = tls.each();
        named.extend(files.map(|(file, path)| (file.key().to_owned(), Some(path))));
    }
    for (section, server) in servers(config) {
        let Some(http) = &server.http else { continue };
        named.push((format!("{section}.ca_file"), http.ca_file.as_deref()));
        match &http.auth {
            Some(ServerAuth::Bearer(Bearer::File(file))) => {
                named.push((format!("{section}.auth.token_file"), Some(file)));
            }
            Some(ServerAuth::Client(client)) => {
                if let ClientSecret::File(file) = &client.secret {
                    named.push((format!("{section}.auth.client_secret_file"), Some(file)));
                }
            }
            Some(ServerAuth::Exchange(exchange)) => {
                let client = exchange.client.as_ref().and_then(|it| it.secret.as_ref());
                let actor = exchange.actor.as_ref().map(|it| &it.token);
                let files = [("client_secret_file", client), ("actor_token_file", actor)];
                for (key, secret) in files {
                    if let Some(ClientSecret::File(file)) = secret {
                        named.push((format!("{section}.auth.{key}"), Some(file)));
                    }
                }
            }
            Some(ServerAuth::Bearer(Bearer::Value(_))) | None => {}
        }
    }
    let present = named
        .into_iter()
        .filter_map(|(field, file)| Some((field, std::path::absolute(file?).ok()?)));
    present.collect()
}

fn servers(config: &Config) -> impl Iterator<Item = (&str, &Upstream)> {
    config.upstreams().flat_map(|open| {
        let isolated = open.isolated.iter();
        let isolated = isolated.map(|it| (it.section.as_str(), &it.server));
        std::iter::once((open.section.as_str(), open)).chain(isolated)
    })
}

/// By the paths as they are written, and by those that links lead to.
fn lies_in(file: &Path, place: &Path) -> bool {
    file.starts_with(place) || real(file).starts_with(real(place))
}

/// Without links, also of a file that is not there yet.
fn real(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let beside = || {
        let above = path.parent()?.canonicalize().ok()?;
        Some(above.join(path.file_name()?))
    };
    whole.or_else(beside).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Root;

    /// The errors for a configuration beside a root at `HERE/work`, where `HERE` is a directory
    /// of its own with `kept/`, `work/` and a link `way` to `work/`.
    #[track_caller]
    fn check(text: &str, writable: bool, expected: &[&str]) {
        check_beside("/work", text, writable, expected);
    }

    #[track_caller]
    fn check_beside(root: &str, text: &str, writable: bool, expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["kept", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path().join("work"), dir.path().join("way")).unwrap();
        let here = dir.path().to_str().unwrap();
        let text = text.replace("HERE", here);
        let path = dir.path().join("gate.toml");
        std::fs::write(&path, &text).unwrap();
        let config = Config::load(&path).unwrap();
        let mut root = Root::at("work", &format!("{here}{root}")).unwrap();
        root.writable = writable;
        let told = files(&config, &Roots::new(vec![root]));
        let told: Vec<_> = told.iter().map(|it| it.replace(here, "HERE")).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|it| match it.split_once(" around ") {
                Some((file, place)) => format!(
                    "`policy.dir`: {place}, where the server may write, lies in {file}; move one out of \
                     the other"
                ),
                None => format!("{it}, where the server may write; move it out of there"),
            })
            .collect();
        assert_eq!(told, expected, "{text}");
    }

    const STARTED: &str = "upstream.command = 'server'\npolicy.allow = ['a']\n";

    #[test]
    fn a_root_that_was_writable_at_the_start_counts_for_as_long_as_the_gate_runs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gate.toml");
        std::fs::write(
            &path,
            format!("{STARTED}policy.dir = '/srv/work/policies'\n"),
        )
        .unwrap();
        let config = Config::load(&path).unwrap();
        let mut root = Root::at("work", "/srv/work").unwrap();
        root.writable = true;
        let started = Started::with(&Roots::new(vec![root]));
        let now = Roots::default();
        assert!(Exposed::by(&config).with(&now).is_empty());
        let told = Exposed::by(&config).since(&started).with(&now);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("lies in `roots.work`"), "{told:?}");
    }

    #[test]
    fn a_file_of_the_gate_where_the_server_may_write_is_told_with_both_settings() {
        let check = |rest: &str, writable: bool, expected: &[&str]| {
            check(&format!("{STARTED}{rest}"), writable, expected);
        };
        check(
            "audit.file = 'kept/a.jsonl'\nratchet.file = 'kept/r'",
            true,
            &[],
        );
        let log = "audit.file = 'work/a.jsonl'";
        check(log, false, &[]);
        check(
            log,
            true,
            &["`audit.file`: `HERE/work/a.jsonl` lies in `roots.work`"],
        );
        check("audit.file = 'workshop.jsonl'", true, &[]);
        check(
            "ratchet.file = 'kept/r'\n[upstream.sandbox]\nread = ['kept']\nwrite = ['work', 'kept/r']",
            false,
            &["`ratchet.file`: `HERE/kept/r` lies in `upstream.sandbox.write[1]`"],
        );
        check(
            "audit.file = 'kept/a'\n[upstream.isolated]\ncommand = 'server'\n\
             [upstream.isolated.sandbox]\nwrite = ['kept']",
            false,
            &["`audit.file`: `HERE/kept/a` lies in `upstream.isolated.sandbox.write[0]`"],
        );
    }

    #[test]
    fn the_policies_and_the_configuration_are_among_them_and_no_place_may_lie_in_the_policies() {
        let judged = |dir: &str| format!("upstream.command = 'server'\npolicy.dir = '{dir}'\n");
        check(&judged("kept"), true, &[]);
        let within = "`policy.dir`: `HERE/work/policies` lies in `roots.work`";
        check(&judged("work/policies"), true, &[within]);
        check(&judged("work/policies"), false, &[]);
        check(&judged("."), true, &["`HERE` around `roots.work`"]);
        let confined = "[upstream.sandbox]\nread = ['kept']\nwrite = ['kept/tests', 'gate.toml']";
        check(
            &format!("{}{confined}", judged("kept")),
            false,
            &[
                "`--config`: `HERE/gate.toml` lies in `upstream.sandbox.write[1]`",
                "`HERE/kept` around `upstream.sandbox.write[0]`",
            ],
        );
        check_beside(
            "",
            STARTED,
            true,
            &["`--config`: `HERE/gate.toml` lies in `roots.work`"],
        );
        check_beside("", STARTED, false, &[]);
    }

    #[test]
    fn a_key_beside_the_journal_is_among_them() {
        let confined = "ratchet.file = 'kept/r'\n[upstream.sandbox]\nwrite = ['kept/r.key']";
        check(
            &format!("{STARTED}{confined}"),
            false,
            &["`ratchet.key_file`: `HERE/kept/r.key` lies in `upstream.sandbox.write[0]`"],
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_where_the_server_may_write_is_followed() {
        check(
            &format!("{STARTED}audit.file = 'way/new.jsonl'"),
            true,
            &["`audit.file`: `HERE/way/new.jsonl` lies in `roots.work`"],
        );
    }

    #[test]
    fn files_of_tokens_and_keys_are_among_them() {
        check(
            "[policy]\nallow = ['a']\n[upstream]\nurl = 'https://a'\nca_file = 'work/ca.pem'\n\
             auth = { type = 'bearer', token_file = 'work/token' }\n\
             [upstream.isolated]\nurl = 'https://b'\n[upstream.isolated.auth]\n\
             type = 'client_credentials'\nissuer = 'https://i'\nclient_id = 'a'\n\
             client_secret_file = 'work/secret'\n\
             [admin]\nport = 2\ntoken_file = 'work/operator'\n\
             [listen]\ntransport = 'http'\nport = 1\n[listen.auth]\ntype = 'jwt'\nissuer = 'i'\n\
             audience = 'a'\njwks_file = 'work/keys'",
            true,
            &[
                "`admin.token_file`: `HERE/work/operator` lies in `roots.work`",
                "`listen.auth.jwks_file`: `HERE/work/keys` lies in `roots.work`",
                "`upstream.ca_file`: `HERE/work/ca.pem` lies in `roots.work`",
                "`upstream.auth.token_file`: `HERE/work/token` lies in `roots.work`",
                "`upstream.isolated.auth.client_secret_file`: `HERE/work/secret` lies in `roots.work`",
            ],
        );
    }
}
