//! Whether the server could be confined as the configuration says, here and now.

use crate::cli::proxy;
use crate::config::{Config, ConfigError, Upstream};
use crate::policy::Roots;
use crate::upstream::sandbox::{self, Network, SandboxError};
use crate::upstream::{self, Launcher};

/// Everything that would keep it, or an isolated instance, from being so.
pub(super) fn problems(config: &Config, roots: &Roots) -> Vec<ConfigError> {
    let open = of_server(
        &format!("{}.sandbox", config.upstream.section),
        &config.upstream,
        roots,
    );
    let isolated = config.upstream.isolated.iter();
    let isolated =
        isolated.flat_map(|it| of_server(&format!("{}.sandbox", it.section), &it.server, roots));
    open.into_iter().chain(isolated).collect()
}

fn of_server(field: &str, server: &Upstream, roots: &Roots) -> Vec<ConfigError> {
    match proxy::upstream_sandbox(server, roots) {
        Ok(None) => Vec::new(),
        Ok(Some(sandbox)) => {
            let checked = sandbox::check(&sandbox).err().unwrap_or_default();
            let tried = (sandbox.network == Network::Proxied)
                .then(|| upstream::try_network(&Launcher::Own).err())
                .flatten();
            let errors = checked.iter().chain(&tried);
            errors.map(|error| problem(field, error)).collect()
        }
        Err(nested) => vec![ConfigError::of_the_sandbox(
            &format!("{field}.roots"),
            nested.to_string(),
            "make the outer root read-only, or name directories in `write` instead of `roots = true`",
        )],
    }
}

fn problem(field: &str, error: &SandboxError) -> ConfigError {
    match error {
        SandboxError::Place {
            setting,
            path,
            cause,
        } => ConfigError::of_the_sandbox(
            setting,
            format!("`{path}` {cause}"),
            "make it before the gate starts, or remove it here",
        ),
        SandboxError::Kernel(lacks) => ConfigError::of_the_sandbox(
            field,
            lacks.clone(),
            "with `required = false` the server is confined as far as the kernel can",
        ),
        SandboxError::Network(lacks) => ConfigError::of_the_sandbox(
            &format!("{field}.network"),
            lacks.clone(),
            "permit it to the gate's user, or write `network = \"none\"`",
        ),
        SandboxError::Absent | SandboxError::NoLauncher => ConfigError::of_the_sandbox(
            field,
            sandbox::ABSENT.to_owned(),
            "remove the section, or run the gate on Linux, built with its default features",
        ),
    }
}

// Elsewhere there is no sandbox to look at.
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::super::run;
    use crate::cli::args::{Format, ValidateConfigArgs};
    use crate::cli::exit::Exit;

    /// What is said of a file beside which there are `here/` and these policies.
    fn check(text: &str, roots: &str, expected: (Exit, &[&str])) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["here", "policies"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let here = dir.path().display().to_string();
        let write = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text.replace("HERE", &here)).unwrap();
        };
        write("policies/roots.toml", roots);
        write(
            "policies/a.cedar",
            "@id(\"a\") forbid(principal, action, resource);",
        );
        let text = format!("upstream.command = ['sh']\npolicy.dir = 'policies'\n{text}");
        write("gate.toml", &text);
        let args = ValidateConfigArgs {
            config: dir.path().join("gate.toml"),
            format: Format::Json,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = run(&args, crate::cli::commands::policies, &mut out, &mut err);
        let outcome: serde_json::Value = String::from_utf8(out).unwrap().parse().unwrap();
        let problems = outcome["problems"].as_array().unwrap().iter();
        let problems = problems.filter(|it| it["severity"] == "error").map(|it| {
            let [code, message] = [&it["code"], &it["message"]].map(|it| it.as_str().unwrap());
            format!("{code} {}", message.replace(&here, "HERE"))
        });
        assert_eq!(
            (exit, problems.collect::<Vec<_>>()),
            (
                expected.0,
                expected.1.iter().map(ToString::to_string).collect()
            ),
            "{text}"
        );
    }

    #[test]
    fn what_a_sandbox_names_and_is_not_there_makes_the_configuration_invalid() {
        let missing = "cannot be opened: No such file or directory (os error 2)";
        check(
            "upstream.sandbox.read = ['here', '/usr']",
            "",
            (Exit::Success, &[]),
        );
        check(
            "upstream.sandbox.read = ['here', 'there']\nupstream.sandbox.write = ['/no/such']",
            "",
            (
                Exit::Invalid,
                &[
                    &format!("config::sandbox upstream.sandbox.read[1]: `HERE/there` {missing}"),
                    &format!("config::sandbox upstream.sandbox.write[0]: `/no/such` {missing}"),
                ],
            ),
        );
    }

    #[test]
    fn the_roots_of_a_sandbox_are_those_of_the_policies() {
        let missing = "cannot be opened: No such file or directory (os error 2)";
        let roots = "[roots.a]\npath = 'HERE/here'\n[roots.b]\npath = 'HERE/there'\n[roots.c]\nuri = 'notes://x'";
        check(
            "upstream.sandbox.roots = false",
            roots,
            (Exit::Success, &[]),
        );
        let told = format!("config::sandbox roots.b: `HERE/there` {missing}");
        check(
            "upstream.sandbox.roots = true",
            roots,
            (Exit::Invalid, &[&told]),
        );
        let nested =
            "[roots.a]\npath = 'HERE/here'\nwritable = true\n[roots.b]\npath = 'HERE/here/inner'";
        let told = "config::sandbox upstream.sandbox.roots: the root `b` is not writable and lies in `a`, which \
                    is; no sandbox can keep a server from writing to it there";
        check(
            "upstream.sandbox.roots = true",
            nested,
            (Exit::Invalid, &[told]),
        );
    }
}
