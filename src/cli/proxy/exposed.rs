//! Files of the gate that the protected server could change.

use std::path::{Path, PathBuf};

use crate::config::{Bearer, Config, Jwks, Listen, ListenAuth, ServerAuth, Upstream};
use crate::policy::Roots;
use crate::upstream::http::ClientSecret;
use crate::upstream::sandbox::Access;

/// Each file that lies where the server may write, told with both settings.
///
/// A journal, a log or a token that the server can replace protects nothing from it.
pub(super) fn files(config: &Config, roots: &Roots) -> Vec<String> {
    let places = places(config, roots);
    let told = named(config).into_iter().filter_map(|(field, file)| {
        let (place, _) = places.iter().find(|(_, place)| lies_in(file, place))?;
        let file = file.display();
        Some(format!(
            "`{field}`: `{file}` lies in `{place}`, where the server may write; move the file out \
             of it"
        ))
    });
    told.collect()
}

/// Where the server may write, by the settings that grant it. A writable root counts without a
/// sandbox too: agents are permitted to have files changed there.
fn places(config: &Config, roots: &Roots) -> Vec<(String, PathBuf)> {
    let granted = servers(config).filter_map(|(_, server)| server.sandbox.as_ref());
    let granted = granted.flat_map(|it| &it.sandbox.places);
    let granted = granted.filter(|place| place.access == Access::Write);
    let granted = granted.map(|place| (place.setting.clone(), place.path.clone()));
    let roots = roots.iter().filter(|root| root.writable);
    let roots = roots.filter_map(|root| {
        let path = PathBuf::from(root.path()?);
        Some((format!("roots.{}", root.name), path))
    });
    granted.chain(roots).collect()
}

/// The files that the gate relies on, by the keys that name them.
fn named(config: &Config) -> Vec<(String, &Path)> {
    let mut named = vec![
        ("audit.file".to_owned(), config.audit.file.as_deref()),
        ("ratchet.file".to_owned(), config.ratchet.file.as_deref()),
    ];
    if let Some(Bearer::File(file)) = &config.admin.token {
        named.push(("admin.token_file".to_owned(), Some(file)));
    }
    if let Listen::Http(listen) = &config.listen
        && let ListenAuth::Jwt(jwt) = &listen.auth
        && let Jwks::File(file) = &jwt.jwks
    {
        named.push(("listen.auth.jwks_file".to_owned(), Some(file)));
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
            Some(ServerAuth::Bearer(Bearer::Value(_))) | None => {}
        }
    }
    let present = named
        .into_iter()
        .filter_map(|(field, file)| Some((field, file?)));
    present.collect()
}

fn servers(config: &Config) -> impl Iterator<Item = (&'static str, &Upstream)> {
    let isolated = config.upstream.isolated.as_ref();
    let isolated = isolated.map(|it| ("upstream.isolated", &it.server));
    std::iter::once(("upstream", &config.upstream)).chain(isolated)
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

    /// What is told of a configuration beside a root at `HERE/work`, where `HERE` is a directory
    /// of its own with `kept/`, `work/` and a link `way` to `work/`.
    #[track_caller]
    fn check(text: &str, writable: bool, expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["kept", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path().join("work"), dir.path().join("way")).unwrap();
        let here = dir.path().to_str().unwrap();
        let text = text.replace("HERE", here);
        let path = dir.path().join("gate.toml");
        let config = Config::parse(&text, &path, dir.path(), &|_| None).unwrap();
        let mut root = Root::at("work", &format!("{here}/work")).unwrap();
        root.writable = writable;
        let told = files(&config, &Roots::new(vec![root]));
        let told: Vec<_> = told.iter().map(|it| it.replace(here, "HERE")).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|it| format!("{it}, where the server may write; move the file out of it"))
            .collect();
        assert_eq!(told, expected, "{text}");
    }

    const STARTED: &str = "upstream.command = 'server'\npolicy.allow = ['a']\n";

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
