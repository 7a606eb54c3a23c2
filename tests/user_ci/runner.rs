//! A runner of GitHub, as far as `action.yml` needs one: inputs, outputs, environments, and the end at the first step
//! that fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::user_ci::yaml::{self, fields, text};

type Values = BTreeMap<String, String>;

/// How a job with the action ended.
pub(crate) struct Job {
    pub(crate) succeeded: bool,
    /// What its steps printed.
    pub(crate) log: String,
    pub(crate) summary: String,
    /// Directories that are on the PATH of later steps.
    pub(crate) path: String,
    outputs: Values,
    /// What other actions were given.
    pub(crate) used: Vec<(String, Values)>,
}

impl Job {
    /// The text of a file that an output names.
    pub(crate) fn report(&self, output: &str) -> String {
        fs::read_to_string(&self.outputs[output]).unwrap()
    }

    pub(crate) fn output(&self, output: &str) -> &str {
        &self.outputs[output]
    }
}

/// A checkout of a repository and what the runner puts beside it.
pub(crate) struct Runner {
    pub(crate) workspace: PathBuf,
    directory: tempfile::TempDir,
    /// Programs that are found before others.
    programs: PathBuf,
}

impl Runner {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("work space");
        let programs = directory.path().join("programs");
        fs::create_dir(&workspace).unwrap();
        fs::create_dir(&programs).unwrap();
        fs::create_dir(directory.path().join("temp")).unwrap();
        let runner = Self {
            workspace,
            directory,
            programs,
        };
        runner.system("Linux", "x86_64");
        runner
    }

    /// What `uname` says of the machine.
    pub(crate) fn system(&self, name: &str, machine: &str) {
        let script = format!("case $1 in -s) echo '{name}' ;; -m) echo '{machine}' ;; esac\n");
        self.program("uname", &script);
    }

    pub(crate) fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.programs.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        let file = self.workspace.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Files that the job has left beside the checkout, outside of reports.
    pub(crate) fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.temp()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.contains("reports")).collect()
    }

    fn temp(&self) -> PathBuf {
        self.directory.path().join("temp")
    }

    /// Runs the action with these inputs.
    pub(crate) fn run(&self, given: &[(&str, &str)]) -> Job {
        let action = yaml::of_project("action.yml");
        let mut scope = Values::new();
        for (name, input) in fields(&action["inputs"]) {
            scope.insert(format!("inputs.{name}"), text(input, "default").to_owned());
        }
        for (name, value) in given {
            let before = scope.insert(format!("inputs.{name}"), (*value).to_owned());
            assert!(before.is_some(), "the action has no input `{name}`");
        }
        let mut job = Job {
            succeeded: true,
            log: String::new(),
            summary: String::new(),
            path: String::new(),
            outputs: Values::new(),
            used: Vec::new(),
        };
        for step in action["runs"]["steps"].as_array().unwrap() {
            if !job.succeeded || !is_wanted(step, &scope) {
                continue;
            }
            match step["uses"].as_str() {
                Some(other) => {
                    let with = resolved(&step["with"], &scope);
                    job.used.push((other.to_owned(), with));
                }
                None => self.step(step, &mut scope, &mut job),
            }
        }
        for (name, output) in fields(&action["outputs"]) {
            let value = expanded(text(output, "value"), &scope);
            job.outputs.insert(name.to_owned(), value);
        }
        job
    }

    fn step(&self, step: &Value, scope: &mut Values, job: &mut Job) {
        let [output, path, summary] = ["output", "path", "summary"].map(|name| {
            let file = self.directory.path().join(name);
            fs::write(&file, "").unwrap();
            file
        });
        let search = std::env::var("PATH").unwrap();
        let done = Command::new("bash")
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c"])
            .arg(text(step, "run"))
            .current_dir(&self.workspace)
            .envs(resolved(&step["env"], scope))
            .env("PATH", format!("{}:{search}", self.programs.display()))
            .env("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR"))
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_PATH", &path)
            .env("GITHUB_STEP_SUMMARY", &summary)
            .env("RUNNER_TEMP", self.temp())
            .output()
            .unwrap();
        job.succeeded = done.status.success();
        job.log += &String::from_utf8(done.stdout).unwrap();
        job.log += &String::from_utf8(done.stderr).unwrap();
        job.summary += &read(&summary);
        job.path += &read(&path);
        for line in read(&output).lines() {
            let (name, value) = line.split_once('=').unwrap();
            let name = format!("steps.{}.outputs.{name}", text(step, "id"));
            scope.insert(name, value.to_owned());
        }
    }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

/// A step without a condition, or with one of the form `name == 'text'`.
fn is_wanted(step: &Value, scope: &Values) -> bool {
    let Some(condition) = step["if"].as_str() else {
        return true;
    };
    let (name, value) = condition.split_once(" == ").unwrap();
    format!("'{}'", scope[name]) == value
}

fn resolved(table: &Value, scope: &Values) -> Values {
    let resolve = |(key, value): (&str, &Value)| {
        let value = value.as_str().unwrap();
        (key.to_owned(), expanded(value, scope))
    };
    fields(table).map(resolve).collect()
}

/// A text with the values of its expressions; a value of a step that has not run is empty.
fn expanded(text: &str, scope: &Values) -> String {
    let Some((before, rest)) = text.split_once("${{ ") else {
        return text.to_owned();
    };
    let (name, after) = rest.split_once(" }}").unwrap();
    let known = name.starts_with("steps.") || scope.contains_key(name);
    assert!(known, "`{name}` is nothing that the runner knows");
    let value = scope.get(name).map_or("", String::as_str);
    format!("{before}{value}{}", expanded(after, scope))
}
