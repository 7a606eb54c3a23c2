//! `validate-config`: checks everything that `proxy` would check, and starts nothing.

use miette::Diagnostic;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

use super::args::{Format, ValidateConfigArgs};
use super::exit::Exit;
use super::report;
use crate::config::{Config, ConfigError, ConfigErrors};
use crate::findings::{Finding, FindingLevel};
use crate::policy::{PolicyProblem, Roots};

mod files;
mod sandbox;
mod summary;

pub(super) use self::summary::way;

/// The result as a program reads it: one line on standard output, the one thing this command ever
/// writes there.
#[derive(Debug, Serialize)]
struct ValidationReport {
    /// Version of this format.
    schema: u32,
    file: String,
    valid: bool,
    /// Open methods, in words; only when valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    exposed: Option<String>,
    /// The revision of the policies; only when valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    problems: Vec<ReportedProblem>,
}

/// One problem as a program reads it.
#[derive(Debug, Serialize)]
pub(super) struct ReportedProblem {
    severity: FindingLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The dotted path of the field, when the problem is in the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

/// What policies that load come to, as the gate says it at its start.
#[derive(Debug)]
pub struct PolicyValidation {
    pub revision: String,
    /// What is open.
    pub exposed: String,
    pub notices: Vec<PolicyProblem>,
    /// Which the server's sandbox may be granted.
    pub roots: Roots,
}

/// What checking found.
enum ValidationResult<E> {
    Valid {
        config: Box<Config>,
        policies: PolicyValidation,
    },
    WrongConfig(ConfigErrors),
    WrongPolicies {
        /// What else there is to tell of the configuration.
        beside: Vec<ConfigError>,
        errors: E,
    },
}

/// Checks the file, then the policies it names through `load_policies`, then the other files that it
/// names and whether the server could be confined as it says. Reports for people go to `stderr`, those for programs to `stdout`.
pub fn run<E: Diagnostic>(
    args: &ValidateConfigArgs,
    load_policies: impl FnOnce(&Config) -> Result<PolicyValidation, E>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    let findings = match Config::load(&args.config) {
        Err(errors) => ValidationResult::WrongConfig(errors),
        Ok(config) => look(config, &args.config, load_policies),
    };
    let file = args.config.display().to_string();
    let written = match args.format {
        Format::Human => findings.tell_people(&file, stderr),
        Format::Json => findings.tell_programs(file, stdout),
    };
    // An unwritten report is a failure.
    match (findings, written) {
        (ValidationResult::Valid { .. }, Ok(())) => Exit::Success,
        _ => Exit::Invalid,
    }
}

/// What keeps a configuration from being valid.
#[derive(Debug)]
pub(super) struct InvalidConfig {
    /// For people.
    pub(super) report: String,
    /// The same for programs.
    pub(super) problems: Vec<ReportedProblem>,
}

impl InvalidConfig {
    /// For programs alone.
    pub(super) fn of(errors: &ConfigErrors) -> Self {
        let problems = errors.problems().iter();
        Self {
            report: report::text(errors),
            problems: problems.map(ReportedProblem::in_config).collect(),
        }
    }

    pub(super) fn of_policies(errors: &dyn Diagnostic) -> Self {
        let problems = Finding::all(errors).into_iter();
        Self {
            report: report::text(errors),
            problems: problems.map(ReportedProblem::from).collect(),
        }
    }
}

/// The configuration, unless something that it names is wrong.
pub(super) fn checked<E: Diagnostic>(
    config: Config,
    file: &Path,
    load_policies: impl FnOnce(&Config) -> Result<PolicyValidation, E>,
) -> Result<Config, InvalidConfig> {
    match look(config, file, load_policies) {
        ValidationResult::Valid { config, .. } => Ok(*config),
        wrong @ (ValidationResult::WrongConfig(_) | ValidationResult::WrongPolicies { .. }) => {
            let mut report = Vec::new();
            // Memory takes all.
            let _ = wrong.tell_people(&file.display().to_string(), &mut report);
            Err(InvalidConfig {
                report: String::from_utf8_lossy(&report).into_owned(),
                problems: wrong.problems(),
            })
        }
    }
}

/// What a configuration that is in order by itself comes to here.
fn look<E: Diagnostic>(
    mut config: Config,
    file: &Path,
    load_policies: impl FnOnce(&Config) -> Result<PolicyValidation, E>,
) -> ValidationResult<E> {
    let absent = files::absent(&config.policy);
    if !absent.is_empty() {
        // Without policies there are no roots.
        let others = here(&config, &Roots::default());
        let problems = absent.into_iter().chain(others).collect();
        if let Some(errors) = errors(&config, file, problems) {
            return ValidationResult::WrongConfig(errors);
        }
    }
    let warnings = errors(&config, file, files::warnings(&config));
    let warnings = warnings.iter().flat_map(ConfigErrors::problems);
    config.warnings.extend(warnings.cloned());
    match load_policies(&config) {
        Err(errors) => {
            let mut beside = here(&config, &Roots::default());
            beside.extend(config.warnings);
            ValidationResult::WrongPolicies { beside, errors }
        }
        Ok(policies) => match errors(&config, file, here(&config, &policies.roots)) {
            Some(errors) => ValidationResult::WrongConfig(errors),
            None => ValidationResult::Valid {
                config: Box::new(config),
                policies,
            },
        },
    }
}

fn errors(config: &Config, path: &Path, problems: Vec<ConfigError>) -> Option<ConfigErrors> {
    match &config.file {
        Some(file) => file.errors(problems),
        None => ConfigErrors::of(path, problems),
    }
}

/// What on this machine is not as the configuration says.
fn here(config: &Config, roots: &Roots) -> Vec<ConfigError> {
    let mut problems = Vec::new();
    for config in config.each() {
        problems.extend(sandbox::problems(&config, roots));
        problems.extend(files::problems(&config, roots, &problems));
    }
    problems
}

impl<E: Diagnostic> ValidationResult<E> {
    fn tell_people(&self, file: &str, out: &mut dyn Write) -> io::Result<()> {
        for beside in self.beside() {
            writeln!(out, "{}", report::text(beside))?;
        }
        match self {
            Self::Valid { config, policies } => {
                for notice in &policies.notices {
                    writeln!(out, "{}", report::text(notice))?;
                }
                write!(
                    out,
                    "{file}: valid\n\
                     {servers}{disabled}{listeners}  \
                     exposed   {exposed}\n  \
                     policies  revision {revision}\n",
                    servers = config
                        .each()
                        .iter()
                        .map(summary::server)
                        .collect::<String>(),
                    disabled = summary::disabled(config),
                    listeners = summary::listeners(config),
                    exposed = policies.exposed,
                    revision = policies.revision,
                )
            }
            Self::WrongConfig(errors) => writeln!(out, "{}", report::text(errors)),
            Self::WrongPolicies { errors, .. } => writeln!(out, "{}", report::text(errors)),
        }
    }

    fn tell_programs(&self, file: String, out: &mut dyn Write) -> io::Result<()> {
        let problems = self.problems();
        let mut outcome = ValidationReport {
            schema: 1,
            file,
            valid: false,
            exposed: None,
            revision: None,
            problems,
        };
        if let Self::Valid { policies, .. } = self {
            outcome.valid = true;
            outcome.exposed = Some(policies.exposed.clone());
            outcome.revision = Some(policies.revision.clone());
        }
        serde_json::to_writer(&mut *out, &outcome)?;
        writeln!(out)
    }

    fn problems(&self) -> Vec<ReportedProblem> {
        let mut problems: Vec<_> = self
            .beside()
            .iter()
            .map(ReportedProblem::in_config)
            .collect();
        match self {
            Self::Valid { policies, .. } => {
                let notices = policies.notices.iter();
                problems.extend(notices.map(|notice| Finding::of(notice).into()));
            }
            Self::WrongConfig(errors) => {
                problems.extend(errors.problems().iter().map(ReportedProblem::in_config));
            }
            Self::WrongPolicies { errors, .. } => {
                problems.extend(Finding::all(errors).into_iter().map(ReportedProblem::from));
            }
        }
        problems
    }

    /// Additional reports.
    fn beside(&self) -> &[ConfigError] {
        match self {
            Self::Valid { config, .. } => &config.warnings,
            Self::WrongConfig(_) => &[],
            Self::WrongPolicies { beside, .. } => beside,
        }
    }
}

impl ReportedProblem {
    fn in_config(error: &ConfigError) -> Self {
        let field = Some(error.field())
            .filter(|field| !field.is_empty())
            .map(str::to_owned);
        Self {
            field,
            ..Finding::of(error).into()
        }
    }
}

impl From<Finding> for ReportedProblem {
    fn from(finding: Finding) -> Self {
        let place = finding.place;
        Self {
            severity: finding.severity,
            code: finding.code,
            field: None,
            message: finding.message,
            help: finding.help,
            line: place.as_ref().map(|place| place.line),
            column: place.as_ref().map(|place| place.column),
            file: place.map(|place| place.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use miette::{MietteDiagnostic, NamedSource};

    use super::*;

    /// How the command ended, and what it wrote to standard output and standard error.
    fn run_on(
        text: &str,
        format: Format,
        policies: Result<&str, miette::Report>,
    ) -> (Exit, String, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("gate.toml");
        std::fs::write(&file, text).expect("written");
        std::fs::write(dir.path().join("token"), "hidden-0123456789").expect("written");
        let args = ValidateConfigArgs {
            config: file,
            format,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let load = |_: &Config| policies.map(loaded).map_err(BoxedReport);
        let exit = run(&args, load, &mut out, &mut err);
        let here = format!("{}/", dir.path().display());
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8").replace(&here, "");
        (exit, text(out), text(err))
    }

    fn loaded(revision: &str) -> PolicyValidation {
        PolicyValidation {
            revision: revision.to_owned(),
            exposed: "tools: read; open: prompts".to_owned(),
            notices: vec![PolicyProblem::warning("policy::x", "worth knowing")],
            roots: Roots::default(),
        }
    }

    #[derive(Debug)]
    struct BoxedReport(miette::Report);

    impl fmt::Display for BoxedReport {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.0)
        }
    }

    impl std::error::Error for BoxedReport {}

    impl Diagnostic for BoxedReport {
        fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
            let diagnostic: &dyn Diagnostic = self.0.as_ref();
            Some(Box::new(std::iter::once(diagnostic)))
        }
    }

    fn json(out: &str) -> serde_json::Value {
        assert_eq!(out.matches('\n').count(), 1, "one line: {out}");
        out.parse().expect("JSON")
    }

    const VALID: &str =
        "[upstream]\nname = \"files\"\ncommand = [\"sh\", \"a\"]\n[policy]\nallow = [\"read\"]\n";
    const INVALID: &str = "[upstream]\ncommand = [\"server\"]\n\n[policy]\nallow = [\"read\"]\ndeny_response = \"tool-result\"\n";

    #[test]
    fn what_is_valid_is_said_on_standard_error() {
        let (exit, out, err) = run_on(VALID, Format::Human, Ok("abc123"));
        assert_eq!((exit, out.as_str()), (Exit::Success, ""));
        let (notices, said) = err.split_once("gate.toml: valid").expect("valid");
        assert!(
            notices.contains("policy::x") && notices.contains("worth knowing"),
            "{err}"
        );
        assert_eq!(
            said,
            "
  upstream  `files`: `sh` over stdio, 1 argument
  exposed   tools: read; open: prompts
  policies  revision abc123
"
        );
    }

    #[test]
    fn what_is_over_http_is_said_without_what_may_be_secret() {
        let check = |text: &str, expected: &str| {
            let (exit, _, err) = run_on(text, Format::Human, Ok("abc123"));
            assert_eq!(exit, Exit::Success, "{err}");
            let (_, said) = err.split_once("gate.toml: valid\n").expect("valid");
            let (said, _) = said.split_once("  exposed ").expect("what is open");
            assert_eq!(said, expected, "{text}");
            assert!(!err.contains("hidden"), "{err}");
        };
        check(
            "[upstream]
             url = 'https://mcp.example.com:8443/hidden?hidden'
             auth = { type = 'bearer', token = 'hidden-0123456789' }
             [listen]
             transport = 'http'
             host = '::'
             port = 3000
             allowed_hosts = ['gate']
             auth = { type = 'bearer', tokens = { a = 'hidden-9876543210' } }
             [admin]
             port = 9090",
            "  upstream  `upstream`: https://mcp.example.com:8443, with a token
  listen    http://[::]:3000/mcp, agents show 1 token
  admin     http://127.0.0.1:9090
",
        );
        check(
            "[upstream]
             url = 'http://localhost'
             auth = { type = 'bearer', token_file = 'token' }
             [listen]
             transport = 'http'
             port = 0
             path = '/'
             auth = { type = 'jwt', issuer = 'https://i', audience = 'a', jwks_url = 'https://i/keys' }",
            "  upstream  `upstream`: http://localhost, with the token in `token`
  listen    http://127.0.0.1:0/, agents show tokens of `https://i`
",
        );
        for (server, said) in [
            ("token_url = 'https://login/hidden'", "`https://login`"),
            ("issuer = 'https://login/a'", "`https://login/a`"),
            ("scopes = []", "whom the server names"),
        ] {
            check(
                &format!(
                    "[upstream]
                     url = 'https://mcp'
                     auth = {{ type = 'client_credentials', client_id = 'gate', \
                     client_secret = 'hidden-0123456789', {server} }}"
                ),
                &format!("  upstream  `upstream`: https://mcp, as the client `gate` of {said}\n"),
            );
        }
        let untried = |more: &str, trial: &str, listeners: &str| {
            let text = format!("{more}[upstream]\nurl = 'https://mcp'\nstartup_probe = false");
            let server = "  upstream  `upstream`: https://mcp\n";
            check(&text, &format!("{server}{trial}{listeners}"));
        };
        untried("", "", "");
        untried(
            "[admin]\nport = 1\n",
            "  probe     none: `GET /health` does not wait for a handshake\n",
            "  admin     http://127.0.0.1:1\n",
        );
        check(
            "upstream.command = ['sh', 'b', 'hidden']
             listen = { transport = 'http', port = 1 }",
            "  upstream  `upstream`: `sh` over stdio, 2 arguments
  listen    http://127.0.0.1:1/mcp, agents show no token
",
        );
    }

    #[test]
    fn what_is_not_valid_is_said_on_standard_error() {
        let (exit, out, err) = run_on(INVALID, Format::Human, Ok("abc123"));
        assert_eq!((exit, out.as_str()), (Exit::Invalid, ""));
        assert!(
            err.contains("policy.deny_response: unknown value 'tool-result'"),
            "{err}"
        );
        assert!(err.contains("gate.toml:6:17"), "{err}");
    }

    #[test]
    fn a_configuration_that_denies_everything_is_valid_and_said_to_be_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("gate.toml");
        std::fs::write(&file, "upstream.command = [\"sh\"]").expect("written");
        let args = ValidateConfigArgs {
            config: file,
            format: Format::Human,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = run(&args, crate::cli::commands::policies, &mut out, &mut err);
        let err = String::from_utf8(err).expect("UTF-8");
        assert_eq!(exit, Exit::Success, "{err}");
        for said in ["no tool can be called", "exposed   tools: none; closed: "] {
            assert!(err.contains(said), "{err}");
        }
    }

    #[test]
    fn programs_get_one_line_of_json() {
        let (exit, out, err) = run_on(VALID, Format::Json, Ok("abc123"));
        assert_eq!((exit, err.as_str()), (Exit::Success, ""));
        let outcome = json(&out);
        assert_eq!(outcome["valid"], true);
        assert_eq!(outcome["revision"], "abc123");
        assert_eq!(outcome["exposed"], "tools: read; open: prompts");
        let notice = serde_json::json!(
            {"severity": "warning", "code": "policy::x", "message": "worth knowing"}
        );
        assert_eq!(outcome["problems"], serde_json::json!([notice]));
    }

    #[test]
    fn the_documented_json_is_what_is_written() {
        let (exit, out, err) = run_on(INVALID, Format::Json, Ok("abc123"));
        assert_eq!((exit, err.as_str()), (Exit::Invalid, ""));
        let documentation = include_str!("../../docs/config-schema.md");
        let (_, example) = documentation.split_once("```json\n").expect("an example");
        let (example, _) = example.split_once("```").expect("its end");
        assert_eq!(out, example);
    }

    #[test]
    fn policies_that_do_not_load_make_it_invalid() {
        let broken = || {
            miette::Report::new(
                MietteDiagnostic::new("unexpected token")
                    .with_code("policy::syntax")
                    .with_label(miette::LabeledSpan::new_primary_with_span(None, (7, 1))),
            )
            .with_source_code(NamedSource::new("a.cedar", "permit\n(!".to_owned()))
        };
        let (exit, out, err) = run_on(VALID, Format::Human, Err(broken()));
        assert_eq!((exit, out.as_str()), (Exit::Invalid, ""));
        assert!(
            err.contains("unexpected token") && err.contains("a.cedar"),
            "{err}"
        );
        let (exit, out, _) = run_on(VALID, Format::Json, Err(broken()));
        assert_eq!(exit, Exit::Invalid);
        let problem = json(&out)["problems"][0].clone();
        let expected = serde_json::json!({
            "severity": "error", "code": "policy::syntax", "message": "unexpected token",
            "file": "a.cedar", "line": 2, "column": 1,
        });
        assert_eq!(problem, expected);
    }

    #[test]
    fn policies_are_not_loaded_for_a_configuration_that_is_not_valid() {
        let args = ValidateConfigArgs {
            config: Path::new("/no/such/gate.toml").to_owned(),
            format: Format::Human,
        };
        let load = |_: &Config| -> Result<PolicyValidation, BoxedReport> { panic!("loaded") };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(run(&args, load, &mut out, &mut err), Exit::Invalid);
        assert!(String::from_utf8_lossy(&err).contains("cannot be read"));
    }

    #[test]
    fn a_report_that_cannot_be_written_is_no_success() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("gate.toml");
        std::fs::write(&file, VALID).expect("written");
        let args = ValidateConfigArgs {
            config: file,
            format: Format::Json,
        };
        let load = |_: &Config| -> Result<PolicyValidation, BoxedReport> { Ok(loaded("")) };
        let mut full: &mut [u8] = &mut [0; 8];
        assert_eq!(
            run(&args, load, &mut full, &mut std::io::sink()),
            Exit::Invalid
        );
    }
}
