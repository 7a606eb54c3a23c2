//! `explain`: why one message is allowed or denied.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use super::args::{ExplainArgs, Format, Sender};
use super::exit::Exit;
use super::{proxy, report, test_policy};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{self, Config, ConfigErrors};
use crate::explain::{
    self, Circumstances, Cover, Decision, Explanation, Message, NotExplained, Problem, RecordError,
    Recorded, Request, Settings,
};
use crate::loading;
use crate::policy::{Agent, Client, PolicyErrors};
use crate::wire::{Document, JsonError, JsonErrorKind, Limits, Side};

/// The longest message on standard input; the gate's own limits are for it to say.
const MAX_BYTES: u64 = 64 << 20;

/// Explains what the arguments name, or what `stdin` holds. The explanation goes to `stdout`; in the
/// format for people, what keeps it from being made goes to standard error.
pub fn run(args: &ExplainArgs, stdin: &mut dyn Read, stdout: &mut dyn Write) -> Exit {
    let done = explanation(args, stdin);
    let written = match (&done, args.format) {
        (Ok(explanation), Format::Human) => {
            let cover = if args.all { Cover::All } else { Cover::Nearest };
            explanation.write(stdout, cover, test_policy::paint())
        }
        (Ok(explanation), Format::Json) => json(explanation, stdout),
        (Err(failure), Format::Human) => {
            failure.tell_people();
            Ok(())
        }
        (Err(failure), Format::Json) => {
            json(&Explanation::not_explained(failure.problem()), stdout)
        }
    };
    let decision = done.ok().and_then(|explanation| explanation.decision);
    // An explanation that nobody could read explains nothing.
    match (decision, written.and_then(|()| stdout.flush())) {
        (_, Err(_)) | (None | Some(Decision::Unknown), _) => Exit::NotExplained,
        (Some(Decision::Allow), Ok(())) => Exit::Success,
        (Some(Decision::Deny), Ok(())) => Exit::Denied,
    }
}

/// Why there is no explanation.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum Failure {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Policies(#[from] PolicyErrors),
    #[error("`{path}` cannot be read: {why}")]
    #[diagnostic(code("explain::unreadable"))]
    Unreadable { path: String, why: io::Error },
    #[error("`--args` is no JSON: {0}")]
    #[diagnostic(
        code("explain::arguments"),
        help("quote the whole object for the shell, as in `--args '{{\"path\": \"/srv/a\"}}'`")
    )]
    Arguments(JsonError),
    #[error("`{place}` cannot be explained: {why}")]
    #[diagnostic(code("explain::record"))]
    Record { place: String, why: RecordError },
    #[error("there is nothing to explain: standard input is empty")]
    #[diagnostic(
        code("explain::nothing"),
        help(
            "say what with `--call`, `--read`, `--prompt` or `--audit`, or send a message on standard input"
        )
    )]
    Nothing,
    #[error("the message could not be judged: {0}")]
    #[diagnostic(code("explain::not-judged"))]
    NotJudged(String),
}

impl Failure {
    fn tell_people(&self) {
        report::tell(self);
    }

    fn problem(&self) -> Problem {
        use miette::Diagnostic as _;
        // Of several problems, people are told all and programs the first.
        let first = self.related().and_then(|mut all| all.next());
        let of = |one: &dyn miette::Diagnostic| Problem {
            code: one.code().map(|code| code.to_string()),
            message: one.to_string(),
            help: one.help().map(|help| help.to_string()),
        };
        first.map_or_else(|| of(self), of)
    }
}

fn explanation(args: &ExplainArgs, stdin: &mut dyn Read) -> Result<Explanation, Failure> {
    let config = args.config.as_deref().map(Config::load).transpose()?;
    let settings = settings(args, config.as_ref());
    let request = request(args, stdin)?;
    let circumstances = match &request {
        Request::Message(_) => Circumstances {
            agent: agent(args),
            now: args.now.unwrap_or_else(|| SystemClock::new().now()),
        },
        Request::Recorded(recorded) => Circumstances {
            agent: recorded.agent.clone(),
            now: recorded.now,
        },
    };
    explain::explain(&settings, &request, circumstances).map_err(|problem| match problem {
        NotExplained::Policies(errors) => Failure::Policies(errors),
        NotExplained::NotJudged(why) => Failure::NotJudged(why),
    })
}

fn settings(args: &ExplainArgs, config: Option<&Config>) -> Settings {
    match config {
        Some(config) => Settings {
            policies: proxy::policy_settings(&config.policy),
            server: config.upstream.name.clone(),
            gate: proxy::gate_settings(&config.limits, config.policy.denial),
        },
        None => Settings {
            policies: loading::Settings {
                dir: args.policies.clone(),
                allow: args.allow.clone(),
                ..loading::Settings::default()
            },
            server: "upstream".to_owned(),
            gate: proxy::gate_settings(
                &config::Limits::default(),
                config::Policy::default().denial,
            ),
        },
    }
}

fn request(args: &ExplainArgs, stdin: &mut dyn Read) -> Result<Request, Failure> {
    let arguments = || arguments(args.args.as_deref());
    let message = if let Some(tool) = &args.call {
        Message::Call {
            tool: tool.clone(),
            arguments: arguments()?,
        }
    } else if let Some(name) = &args.prompt {
        Message::Prompt {
            name: name.clone(),
            arguments: arguments()?,
        }
    } else if let Some(uri) = &args.read {
        Message::Read(uri.clone())
    } else if let (Some(log), Some(seq)) = (&args.audit, args.seq) {
        let text = fs::read_to_string(log).map_err(|why| unreadable(log, why))?;
        let recorded = Recorded::find(&text, seq).map_err(|why| Failure::Record {
            place: log.display().to_string(),
            why,
        })?;
        return Ok(Request::Recorded(Box::new(recorded)));
    } else {
        return from_stdin(args, stdin);
    };
    Ok(Request::Message(message))
}

/// A message or a record.
fn from_stdin(args: &ExplainArgs, stdin: &mut dyn Read) -> Result<Request, Failure> {
    let mut frame = String::new();
    let read = stdin.take(MAX_BYTES).read_to_string(&mut frame);
    read.map_err(|why| unreadable(Path::new("standard input"), why))?;
    let frame = frame.trim();
    if frame.is_empty() {
        return Err(Failure::Nothing);
    }
    if args.from.is_none() && is_record(frame) {
        let recorded = Recorded::read(frame).map_err(|why| Failure::Record {
            place: "standard input".to_owned(),
            why,
        })?;
        return Ok(Request::Recorded(Box::new(recorded)));
    }
    let from = match args.from {
        Some(Sender::Agent) | None => Side::Agent,
        Some(Sender::Server) => Side::Upstream,
    };
    let frame = frame.to_owned();
    Ok(Request::Message(Message::Frame { from, frame }))
}

/// What no message has, and every record.
fn is_record(text: &str) -> bool {
    let document = Document::decode(text.as_bytes(), &Limits::default());
    document
        .is_ok_and(|it| it.root().get("instance").is_some() && it.root().get("jsonrpc").is_none())
}

/// Checked only so far that a slip in quoting is told as such: whether the gate takes them is what
/// is asked.
fn arguments(typed: Option<&str>) -> Result<String, Failure> {
    let typed = typed.unwrap_or("{}");
    let slip = |kind: &JsonErrorKind| {
        matches!(
            kind,
            JsonErrorKind::UnexpectedEnd
                | JsonErrorKind::UnexpectedByte(_)
                | JsonErrorKind::BadEscape
                | JsonErrorKind::BadNumber
                | JsonErrorKind::TrailingText
        )
    };
    match Document::decode(typed.as_bytes(), &Limits::default()) {
        Err(error) if slip(&error.kind) => Err(Failure::Arguments(error)),
        Ok(_) | Err(_) => Ok(typed.to_owned()),
    }
}

fn agent(args: &ExplainArgs) -> Agent {
    Agent {
        id: args.agent.clone(),
        roles: args.role.clone(),
        teams: args.team.clone(),
        user: args.user.clone(),
        client: Client {
            name: args.client.clone(),
            version: "1".to_owned(),
        },
        trust: args.trust,
        capabilities: Vec::new(),
    }
}

fn unreadable(path: &Path, why: io::Error) -> Failure {
    Failure::Unreadable {
        path: path.display().to_string(),
        why,
    }
}

fn json(explanation: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, explanation)?;
    writeln!(out)
}
