//! `env_file`: variables for `${NAME}` that stand in a file of their own, beside those of the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use toml::{Spanned, Table, Value};

use super::errors::{ConfigErrors, ConfigReason};
use super::file;
use super::reader::UnsetVariable;

/// Variables by their names, which come before those of the environment: the process that starts the gate
/// does not choose other secrets for its servers.
#[derive(Default)]
pub(super) struct EnvFile(BTreeMap<String, String>);

impl EnvFile {
    /// The file that a configuration names. What is wrong with the key itself, the reader of keys tells.
    pub(super) fn of(text: &str, base: &Path, unset: UnsetVariable) -> Result<Self, ConfigErrors> {
        let table: Table = text.parse().unwrap_or_default();
        match table.get("env_file").and_then(Value::as_str) {
            None | Some("") => Ok(Self::default()),
            Some(named) => Self::read(&base.join(named), unset),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<OsString> {
        self.0.get(name).map(OsString::from)
    }

    fn read(path: &Path, unset: UnsetVariable) -> Result<Self, ConfigErrors> {
        let refuse = |reason, help: &str| Err(ConfigErrors::about_file(path, reason, help));
        match private(path) {
            Ok(true) => {}
            Ok(false) => {
                let reason = ConfigReason::Invalid("can be read by other users");
                return refuse(reason, "make it yours alone: `chmod 600`");
            }
            // A repository has no secrets.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && unset == UnsetVariable::StandIn =>
            {
                return Ok(Self::default());
            }
            Err(error) => {
                let reason = ConfigReason::Unreadable(error.to_string());
                return refuse(reason, "`env_file` names it: write it, or remove the key");
            }
        }
        let text = file::read(path)?;
        let form = "one line for each variable, as in `TOKEN = \"…\"`";
        let line = |at: usize| {
            let before = text.get(..at).unwrap_or_default();
            memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1
        };
        let wrong = |at: usize, what: &str| {
            let reason = ConfigReason::UnusableFile(format!("line {}: {what}", line(at)));
            Err(ConfigErrors::about_file(path, reason, form))
        };
        let parsed: Result<BTreeMap<Spanned<String>, Spanned<Value>>, _> = toml::from_str(&text);
        let parsed = match parsed {
            Ok(parsed) => parsed,
            // The parser's other words could quote a secret.
            Err(error) => return wrong(error.span().unwrap_or_default().start, "is not TOML"),
        };
        let mut variables = BTreeMap::new();
        for (name, value) in parsed {
            let at = name.span().start;
            let mut characters = name.get_ref().chars();
            let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
            if !characters.next().is_some_and(begins)
                || !characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
            {
                return wrong(at, "expected letters, digits and `_` as a name");
            }
            let Value::String(value) = value.into_inner() else {
                return wrong(at, "expected a string");
            };
            variables.insert(name.into_inner(), value);
        }
        Ok(Self(variables))
    }
}

/// Whether no other user can read it.
fn private(path: &Path) -> io::Result<bool> {
    let found = fs::metadata(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let others = 0o077;
        Ok(found.permissions().mode() & others == 0)
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        Ok(true)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::settings::Config;
    use super::*;

    const CONFIG: &str = "env_file = 'env.toml'\nupstream.url = 'https://a.example'\n\
                          upstream.auth = { type = 'bearer', token = '${ENV_FILE_TOKEN}' }\n";

    /// What `load` and what `load_offline` say.
    fn loaded(env: Option<(&str, u32)>) -> [Result<(), String>; 2] {
        let dir = tempfile::tempdir().unwrap();
        let (config, file) = (dir.path().join("gate.toml"), dir.path().join("env.toml"));
        fs::write(&config, CONFIG).unwrap();
        if let Some((text, mode)) = env {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let told = |errors: ConfigErrors| {
            let problems = errors.problems().iter().map(ToString::to_string);
            problems.collect::<Vec<_>>().concat()
        };
        [Config::load(&config), Config::load_offline(&config)]
            .map(|config| config.map(drop).map_err(told))
    }

    #[test]
    fn variables_stand_in_a_file_that_is_its_owners_alone() {
        let token = "ENV_FILE_TOKEN = \"0123456789abcdef\"\n";
        assert_eq!(loaded(Some((token, 0o600))), [Ok(()), Ok(())]);
        let check = |env: Option<(&str, u32)>, why: &str| {
            let [online, _] = loaded(env);
            let told = online.unwrap_err();
            assert!(told.contains(why) && !told.contains("0123456"), "{told}");
        };
        check(Some((token, 0o640)), "can be read by other users");
        check(Some((token, 0o604)), "can be read by other users");
        check(None, "cannot be read");
        check(Some(("", 0o600)), "`ENV_FILE_TOKEN` is not set");
        check(Some(("\nENV_FILE_TOKEN = \"0123456", 0o600)), "line 2");
        check(
            Some(("\n\nENV_FILE_TOKEN = 1", 0o600)),
            "line 3: expected a string",
        );
        check(
            Some(("\"A-B\" = \"0123456\"", 0o600)),
            "line 1: expected letters",
        );
    }

    #[test]
    fn what_is_checked_offline_needs_no_secrets() {
        assert_eq!(loaded(None)[1], Ok(()));
    }
}
