//! The files for CI systems on the documents' pages: they are of a known kind, name what exists, and their scripts pass
//! policies in order and fail others.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::Value;

use crate::docs::commands::printed;
use crate::docs::workshop::Workshop;
use crate::user_ci::release::{ASSET, VERSION, checksum, program};
use crate::user_ci::yaml::{self, fields, text};

/// What stands on a page for the checksum of a release.
const CHECKSUM: &str = "CHECKSUM-OF-THE-PROGRAM";

const ACTION: &str = "mcp-protector/mcp-protector@";

/// Built by cargo for these tests.
const BUILD: &str = "cargo install --locked --path mcp-protector";

/// One script of a job.
struct Step {
    script: String,
    /// Whether later steps run although it failed.
    is_caught: bool,
    /// Whether it runs although an earlier step failed.
    is_always: bool,
}

/// Steps of a job, and the reports that they leave, whether or not they fail.
#[derive(Default)]
struct Job {
    variables: Vec<(String, String)>,
    steps: Vec<Step>,
    reports: Vec<String>,
}

/// A workflow of GitHub, a configuration of pre-commit, or a pipeline of GitLab.
pub(crate) fn yaml(workshop: &Workshop, text: &str) -> Result<(), String> {
    let file = yaml::parse(text)?;
    if file.get("jobs").is_some() {
        fields(&file["jobs"]).try_for_each(|(_, job)| workflow(workshop, job))
    } else if let Some(repos) = file["repos"].as_array() {
        repos.iter().try_for_each(hooks)
    } else {
        fields(&file).try_for_each(|(_, job)| gitlab(workshop, job))
    }
}

fn workflow(workshop: &Workshop, job: &Value) -> Result<(), String> {
    let mut own = Job::default();
    for step in job["steps"].as_array().ok_or("a job without steps")? {
        if let Some(action) = step["uses"].as_str() {
            uses(action, step)?;
            if action.starts_with("actions/upload-artifact@") {
                let files = text(&step["with"], "path").lines().map(str::to_owned);
                own.reports
                    .extend(files.filter(|file| !file.contains("${{")));
            }
        } else if text(step, "run") != BUILD {
            own.steps.push(Step {
                script: text(step, "run").to_owned(),
                is_caught: false,
                is_always: step["if"] == "always()",
            });
        }
    }
    own.check(workshop)
}

/// Ours with inputs that it has, and others by their commit.
fn uses(action: &str, step: &Value) -> Result<(), String> {
    if let Some(version) = action.strip_prefix(ACTION) {
        is_released(version)?;
        let known = yaml::of_project("action.yml");
        let unknown = fields(&step["with"]).find(|(key, _)| known["inputs"].get(key).is_none());
        return unknown.map_or(Ok(()), |(key, _)| {
            Err(format!("no input is called `{key}`"))
        });
    }
    // The sources that are built.
    let repository = step["with"]["repository"].as_str();
    let is_ours = |it: &str| env!("CARGO_PKG_REPOSITORY").ends_with(&format!("/{it}"));
    if let Some(other) = repository.filter(|it| !is_ours(it)) {
        return Err(format!("`{other}` is not this project"));
    }
    let commit = action.split_once('@').map(|(_, commit)| commit);
    let is_commit = |it: &str| it.len() == 40 && it.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = commit.is_some_and(is_commit);
    named
        .then_some(())
        .ok_or_else(|| format!("`{action}` names no commit"))
}

fn is_released(tag: &str) -> Result<(), String> {
    let same = tag == format!("v{VERSION}");
    same.then_some(())
        .ok_or_else(|| format!("`{tag}` is not v{VERSION}"))
}

fn hooks(repo: &Value) -> Result<(), String> {
    is_released(text(repo, "rev"))?;
    let known = yaml::of_project(".pre-commit-hooks.yaml");
    let known: Vec<&str> = known
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| text(it, "id"))
        .collect();
    for hook in repo["hooks"]
        .as_array()
        .ok_or("a repository without hooks")?
    {
        let id = text(hook, "id");
        if !known.contains(&id) {
            return Err(format!("no hook is called `{id}`"));
        }
    }
    Ok(())
}

fn gitlab(workshop: &Workshop, job: &Value) -> Result<(), String> {
    let lines = job["script"].as_array().ok_or("a job without a script")?;
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    let own = |(key, value): (&str, &Value)| Some((key.to_owned(), value.as_str()?.to_owned()));
    let reports = fields(&job["artifacts"]["reports"]).filter_map(own);
    let job = Job {
        variables: fields(&job["variables"]).filter_map(own).collect(),
        // One shell runs all lines.
        steps: vec![Step {
            script: lines.join("\n"),
            is_caught: false,
            is_always: false,
        }],
        reports: reports.map(|(_, file)| file).collect(),
    };
    job.check(workshop)
}

/// A declarative pipeline of Jenkins.
pub(crate) fn groovy(workshop: &Workshop, text: &str) -> Result<(), String> {
    let opened = text.matches(['{', '(']).count();
    if opened != text.matches(['}', ')']).count() {
        return Err("brackets do not match".to_owned());
    }
    let mut job = Job::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("sh '") {
        let (script, after) = match after.strip_prefix("''") {
            Some(several) => several.split_once("'''"),
            None => after.split_once('\''),
        }
        .ok_or("a script has no end")?;
        job.steps.push(Step {
            script: script.to_owned(),
            is_caught: before.trim_end().ends_with("catchError {"),
            is_always: false,
        });
        rest = after;
    }
    for line in text.lines().map(str::trim) {
        let quoted: Vec<&str> = line.split('\'').collect();
        match quoted.as_slice() {
            [name, value, ""] if name.ends_with(" = ") => {
                let name = name.trim_end_matches(" = ").to_owned();
                job.variables.push((name, (*value).to_owned()));
            }
            [step, file, _] if step.starts_with("junit") || step.contains("pattern:") => {
                job.reports.push((*file).to_owned());
            }
            _ => {}
        }
    }
    job.check(workshop)
}

impl Job {
    /// It passes the policies of the packs of this project, and fails others, with all reports.
    fn check(&self, workshop: &Workshop) -> Result<(), String> {
        if self.steps.is_empty() {
            return Ok(());
        }
        for (policy, passes) in [(GOOD, true), (SUSPICIOUS, false)] {
            write(workshop, policy, GOOD_TEST);
            self.ends(workshop, passes)?;
        }
        write(workshop, GOOD, FAILING_TEST);
        self.ends(workshop, false)
    }

    fn ends(&self, workshop: &Workshop, passes: bool) -> Result<(), String> {
        for report in &self.reports {
            let _ = fs::remove_file(workshop.file(report));
        }
        let (mut failed, mut stopped) = (false, false);
        let mut said = String::new();
        for step in &self.steps {
            if !stopped || step.is_always {
                let output = self.run(workshop, &step.script);
                let fails = !output.status.success();
                failed |= fails;
                stopped |= fails && !step.is_caught;
                said += &printed(&output);
            }
        }
        let ended = if failed { "fails" } else { "passes" };
        if failed == passes {
            return Err(format!("it {ended}: {said}"));
        }
        let missing = self.reports.iter().find(|it| !workshop.file(it).exists());
        missing.map_or(Ok(()), |it| {
            Err(format!("it {ended} without `{it}`: {said}"))
        })
    }

    fn run(&self, workshop: &Workshop, script: &str) -> Output {
        let mut text = "set -eo pipefail\n".to_owned();
        for (name, value) in &self.variables {
            let value = value.replace(CHECKSUM, &checksum(&program()));
            writeln!(text, "export {name}='{value}'").unwrap();
        }
        workshop.run("bash", &["-c", &(text + script)])
    }
}

const GOOD: &str = r#"@id("read")
permit (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
"#;

const SUSPICIOUS: &str = r#"@id("read")
permit (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"read")
when { resource.name == "read" && resource.name == "read" };
"#;

const GOOD_TEST: &str = "[[test]]\nname = 't'\ncall = 'read'\nexpect = 'allow'\n";

const FAILING_TEST: &str = "[[test]]\nname = 't'\ncall = 'read'\nexpect = 'deny'\n";

/// The repository of a reader, and `curl`, which knows the assets of the release.
fn write(workshop: &Workshop, policy: &str, test: &str) {
    let pack = workshop.file("policies/reading");
    let _ = fs::remove_dir_all(workshop.file("policies"));
    fs::create_dir_all(pack.join("tests")).unwrap();
    fs::write(pack.join("p.cedar"), policy).unwrap();
    fs::write(pack.join("tests/t.toml"), test).unwrap();
    fs::write(workshop.file("asset"), program()).unwrap();
    let address = format!(
        "https://github.com/mcp-protector/mcp-protector/releases/download/v{VERSION}/{ASSET}"
    );
    let curl = workshop.file("bin/curl");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*' --output mcp-protector {address}') cp asset mcp-protector ;;\n\
         *) echo \"not an asset: $*\" >&2; exit 22 ;;\nesac\n"
    );
    fs::write(&curl, script).unwrap();
    fs::set_permissions(&curl, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_names_what_is_not_there_or_lets_bad_policies_pass_is_a_problem() {
    let workshop = Workshop::new();
    let check = |text: &str, says: &str| {
        let problem = yaml(&workshop, text).unwrap_err();
        assert!(problem.contains(says), "{text}: {problem}");
    };
    let step = |step: &str| format!("jobs:\n  a:\n    steps:\n      - {step}\n");
    check(&step("uses: mcp-protector/mcp-protector@v9"), "is not v");
    check(&step("uses: actions/checkout@v4"), "names no commit");
    let action = format!("uses: {ACTION}v{VERSION}\n        with: {{pahts: x}}");
    check(&step(&action), "no input is called `pahts`");
    check(
        &step("run: mcp-protector check policies || true"),
        "it passes",
    );
    check(&step("run: mcp-protector check nowhere"), "it fails");
    let hooks = format!("repos:\n  - rev: v{VERSION}\n    hooks: [{{id: x}}]\n");
    check(&hooks, "no hook is called `x`");
    check("a:\n  script: [curl https://example.com]\n", "not an asset");
    let reports = "a:\n  script: [mcp-protector check policies, mcp-protector test-policy policies]\n  \
                   artifacts: {reports: {junit: t.xml}}\n";
    check(reports, "without `t.xml`");
    check("a: [", "while parsing");
    assert!(groovy(&workshop, "pipeline {").is_err());
}
