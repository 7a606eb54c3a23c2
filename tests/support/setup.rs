//! A gate in front of a server: its configuration in a directory of its own, and the command that
//! starts it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::schema;

/// The program under test.
pub(crate) const GATE: &str = env!("CARGO_BIN_EXE_mcp-protector");

/// Names a variable that every process of one test has: [`super::processes`] finds them by it.
pub(crate) const MARK: &str = "E2E_MARK";

/// The policy that lets everything pass. It is valid under strict checking as it stands: it reads
/// no attribute, so it needs no scope to be well typed.
pub(crate) const ALLOW_ALL: &str = "@id(\"all\") permit (principal, action, resource);\n";

/// Labels of tools whose results bring nothing: beside other labels, tools without any are the worst case.
pub(crate) const READING: &str = "[default]\npermission = \"read\"\n";

/// Labels of agents that lend their models.
pub(crate) const AGENTIC: &str = "\
[agents.stdio]
agentic = true
consent = { standing = true, by = \"tests\", until = \"9000-01-01\" }
[agents.anonymous]
agentic = true
consent = { standing = true, by = \"tests\", until = \"9000-01-01\" }
";

/// What a gate is told.
#[derive(Debug)]
pub(crate) struct Setup {
    directory: TestDirectory,
    pub(crate) command: Vec<String>,
    /// Its key, if it is one of several; the others are among [`Setup::more`].
    pub(crate) key: Option<&'static str>,
    /// The server, if it is reached over HTTP instead.
    pub(crate) url: Option<String>,
    /// Whether the gate shakes hands before an agent does, where that is said.
    pub(crate) trial: Option<bool>,
    /// Lines of `[upstream]` besides it.
    pub(crate) reaching: String,
    /// The lines of `[upstream.sandbox]`, if there is one.
    pub(crate) sandbox: Option<String>,
    /// `[upstream.isolated]` and the tables in it, if there is one.
    pub(crate) isolated: String,
    /// The lines of `[listen]`.
    pub(crate) listen: String,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) policy: Policy,
    /// The lines of `[policy]` besides what the gate permits.
    pub(crate) reload: String,
    /// The lines of `[audit]` besides the file.
    pub(crate) audit: String,
    /// The lines of `[limits]`.
    pub(crate) limits: String,
    /// The lines of `[guards]`.
    pub(crate) guards: String,
    /// Whole sections besides these.
    pub(crate) more: String,
    /// Keys above all sections.
    pub(crate) top: String,
}

/// A directory in which a gate writes its log. Fails the test that drops it where a record is not as the
/// schema of its kind says.
#[derive(Debug)]
struct TestDirectory(TempDir);

impl TestDirectory {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let files = fs::read_dir(self.path()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        let logs = paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        for log in logs {
            let text = fs::read_to_string(log).unwrap();
            // A gate that was killed may leave half a line.
            let lines = text.lines().filter(|line| line.ends_with('}'));
            let problems: Vec<_> = lines.flat_map(schema::problems).collect();
            assert!(problems.is_empty(), "{problems:#?}");
        }
    }
}

/// What the gate permits.
#[derive(Debug)]
pub(crate) enum Policy {
    Allow(Vec<String>),
    Directory(PathBuf),
}

impl Setup {
    /// A gate in front of a command; it permits nothing yet.
    pub(crate) fn of<A: AsRef<str>>(command: impl IntoIterator<Item = A>) -> Self {
        let directory = TestDirectory(tempfile::tempdir().unwrap());
        let mark = directory.path().to_str().unwrap().to_owned();
        Self {
            directory,
            command: command.into_iter().map(|it| it.as_ref().into()).collect(),
            key: None,
            url: None,
            trial: None,
            reaching: String::new(),
            sandbox: None,
            isolated: String::new(),
            listen: String::new(),
            env: vec![(MARK.to_owned(), mark)],
            policy: Policy::Allow(Vec::new()),
            reload: String::new(),
            audit: String::new(),
            limits: String::new(),
            guards: String::new(),
            more: String::new(),
            top: String::new(),
        }
    }

    pub(crate) fn allow(mut self, tools: &[&str]) -> Self {
        self.policy = Policy::Allow(tools.iter().map(|tool| (*tool).to_owned()).collect());
        self
    }

    /// Judges by these policies alone.
    pub(crate) fn policies(mut self, cedar: &str) -> Self {
        let directory = self.path("policies");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("test.cedar"), cedar).unwrap();
        self.policy = Policy::Directory(directory);
        self
    }

    /// The server is the first of two, which have the same policies and no built-in rules between them.
    pub(crate) fn among_others(mut self) -> Self {
        self.key = Some("everything");
        let other = format!(
            "[servers.other]\ncommand = {:?}\n[flow]\nflow_in = \"off\"\nflow_context = \"off\"\n",
            self.command
        );
        self.more.push_str(&other);
        self
    }

    /// The same, and servers may use the models of agents without an identity, which somebody approved.
    pub(crate) fn agentic(self) -> Self {
        fs::write(self.path("policies/agents.toml"), AGENTIC).unwrap();
        self
    }

    /// A variable of the server's.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A place of this test's own.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What all processes of this test carry in their environment.
    pub(crate) fn mark(&self) -> &str {
        &self.env[0].1
    }

    /// Where the gate writes its audit records, besides stderr.
    pub(crate) fn audit_file(&self) -> PathBuf {
        self.path("audit.jsonl")
    }

    /// The audit records so far, but for one that is half written.
    pub(crate) fn audit_text(&self) -> String {
        let mut text = fs::read_to_string(self.audit_file()).unwrap_or_default();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    }

    /// The gate's command line after its program.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let file = self.path("gate.toml");
        fs::write(&file, self.text()).unwrap();
        ["proxy", "--config", file.to_str().unwrap()]
            .map(str::to_owned)
            .to_vec()
    }

    /// The gate, ready to start.
    pub(crate) fn gate(&self) -> Command {
        let mut gate = Command::new(GATE);
        gate.args(self.arguments()).env(MARK, self.mark());
        gate
    }

    fn text(&self) -> String {
        let policy = match &self.policy {
            Policy::Allow(tools) => format!("allow = {tools:?}"),
            Policy::Directory(directory) => format!("dir = {directory:?}"),
        };
        let mut env = String::new();
        for (name, value) in &self.env {
            writeln!(env, "{name} = {value:?}").unwrap();
        }
        let upstream = match &self.url {
            Some(url) => format!("url = {url:?}\n{}", self.reaching),
            None => format!(
                "command = {:?}\n{}\n[upstream.env]\n{env}",
                self.command, self.reaching
            ),
        };
        let trial = self.trial.map(|it| format!("startup_probe = {it}\n"));
        let upstream = trial.unwrap_or_default() + &upstream;
        let sandbox = self.sandbox.as_ref();
        let sandbox = sandbox.map_or(String::new(), |lines| {
            format!("[upstream.sandbox]\n{lines}")
        });
        let text = format!(
            "{}
[upstream]
{upstream}
{sandbox}
{}
[listen]
{}
[policy]
{policy}
{}
[audit]
file = {:?}
{}
\
             [limits]
{}
[guards]
{}
[guards.elicitation]
hosts = [\"confirm.example\", \"vendor.example\"]
{}",
            self.top,
            self.isolated,
            self.listen,
            self.reload,
            self.audit_file(),
            self.audit,
            self.limits,
            self.guards,
            self.more
        );
        match self.key {
            Some(key) => text.replace("[upstream", &format!("[servers.{key}")),
            None => text,
        }
    }
}
