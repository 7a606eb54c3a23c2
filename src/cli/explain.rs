//! `explain`: why one message is allowed or denied.

mod endpoint;

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use super::args::{ExplainArgs, Format, Sender};
use super::exit::{Exit, heard};
use super::{proxy, report, test_policy};
use crate::audit::read::{Piece, ReadError, Source, read};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, ConfigErrors};
use crate::egress::{Destination, DestinationError};
use crate::explain::{
    self, ConsentChannels, ExplainError, ExplainProblem, ExplainRequest, ExplainedDecision,
    Explanation, HypotheticalMessage, PolicyScope, RecordError, RecordSelector, RecordedMessage,
    SenderContext, Settings,
};
use crate::loading;
use crate::policy::{Agent, Client, ConfiguredClaims, Host, PolicyErrors, ServerKey};
use crate::policy_tests::{
    ConfiguredServer, FixtureProblem, check_granted, read_claims, read_start,
};
use crate::wire::{Document, JsonError, JsonErrorKind, Limits, Side};

/// The longest message on standard input; the gate's own limits are for it to say.
const MAX_BYTES: u64 = 64 << 20;

/// Explains what the arguments name, or what `stdin` holds. The explanation goes to `stdout`; in the
/// format for people, what keeps it from being made goes to standard error.
pub fn run(args: &ExplainArgs, stdin: &mut dyn Read, stdout: &mut dyn Write) -> Exit {
    let done = explanation(args, stdin);
    let written = match (&done, args.format) {
        (Ok(explanation), Format::Human) => {
            let cover = if args.all {
                PolicyScope::All
            } else {
                PolicyScope::Nearest
            };
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
    // An unwritten explanation is a failure.
    match (decision, heard(written.and_then(|()| stdout.flush()))) {
        (_, Err(_)) | (None | Some(ExplainedDecision::Unknown), _) => Exit::NotExplained,
        (Some(ExplainedDecision::Allow), Ok(())) => Exit::Success,
        (Some(ExplainedDecision::Deny), Ok(())) => Exit::Denied,
    }
}

/// Why there is no explanation.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum ExplainFailure {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Policies(#[from] PolicyErrors),
    #[error("the options cannot be used")]
    Start(#[related] Vec<FixtureProblem>),
    #[error("`{path}` cannot be read: {why}")]
    #[diagnostic(code("explain::unreadable"))]
    Unreadable { path: String, why: io::Error },
    #[error(transparent)]
    #[diagnostic(code("explain::unreadable"))]
    Log(ReadError),
    #[error("`--args` is no JSON: {0}")]
    #[diagnostic(
        code("explain::arguments"),
        help("quote the whole object for the shell, as in `--args '{{\"path\": \"/srv/a\"}}'`")
    )]
    Arguments(JsonError),
    #[error("`--connect` {0}")]
    #[diagnostic(
        code("explain::destination"),
        help("name a host and its port, as in `--connect api.example.com:443`")
    )]
    Destination(DestinationError),
    #[error("`{place}` cannot be explained: {why}")]
    #[diagnostic(code("explain::record"))]
    Record { place: String, why: RecordError },
    #[error("there is nothing to explain: standard input is empty")]
    #[diagnostic(
        code("explain::nothing"),
        help(
            "say what with `--call`, `--read`, `--prompt`, `--connect` or `--audit`, or send a message on standard input"
        )
    )]
    Nothing,
    #[error("{0}")]
    #[diagnostic(code("explain::server"))]
    Server(String),
    #[error("the message could not be judged: {0}")]
    #[diagnostic(code("explain::not_judged"))]
    NotJudged(String),
}

impl ExplainFailure {
    fn tell_people(&self) {
        report::tell(self);
    }

    fn problem(&self) -> ExplainProblem {
        use miette::Diagnostic as _;
        // Of several problems, people are told all and programs the first.
        let first = self.related().and_then(|mut all| all.next());
        let of = |one: &dyn miette::Diagnostic| ExplainProblem {
            code: one.code().map(|code| code.to_string()),
            message: one.to_string(),
            help: one.help().map(|help| help.to_string()),
        };
        first.map_or_else(|| of(self), of)
    }
}

fn explanation(args: &ExplainArgs, stdin: &mut dyn Read) -> Result<Explanation, ExplainFailure> {
    let config = args
        .config
        .as_deref()
        .map(Config::load_offline)
        .transpose()?;
    let mut request = request(args, stdin)?;
    let routed = endpoint::routed(args, config.as_ref(), &request);
    let routed = routed.map_err(ExplainFailure::Server)?;
    let mut key = args.server.clone();
    if let Some((to_server, of)) = routed {
        request = to_server;
        key = Some(of.to_string());
    }
    let settings = settings(args, config.as_ref(), key.as_deref(), &request)?;
    let circumstances = match &request {
        ExplainRequest::Message(_) => SenderContext {
            agent: agent(args, settings.policies.claims.as_deref())?,
            now: args.now.unwrap_or_else(|| SystemClock::new().now()),
            start: read_start(args.session.as_deref(), args.consent.as_deref())
                .map_err(|errors| ExplainFailure::Start(errors.problems))?,
        },
        ExplainRequest::Recorded(recorded) => SenderContext {
            agent: recorded.agent.clone(),
            now: recorded.now,
            start: recorded.start(),
        },
    };
    explain::explain(&settings, &request, circumstances).map_err(|problem| match problem {
        ExplainError::Policies(errors) => ExplainFailure::Policies(errors),
        ExplainError::NotJudged(why) => ExplainFailure::NotJudged(why),
    })
}

fn settings(
    args: &ExplainArgs,
    config: Option<&Config>,
    key: Option<&str>,
    request: &ExplainRequest,
) -> Result<Settings, ExplainFailure> {
    Ok(match config {
        Some(config) => {
            let servers = config.each();
            let of_server = about(&servers, key, request).map_err(ExplainFailure::Server)?;
            Settings {
                policies: proxy::policy_settings(config),
                server: ConfiguredServer {
                    server: proxy::server(of_server),
                    gate: proxy::gate_settings(of_server),
                },
                people: match &config.consent {
                    Some(consent) => ConsentChannels::Asked(consent.channels.clone()),
                    None => ConsentChannels::NoChannel,
                },
            }
        }
        None => Settings {
            policies: loading::Settings {
                dir: args.policies.clone(),
                allow: args.allow.clone(),
                ..loading::Settings::default()
            },
            server: test_policy::any_server(),
            people: ConsentChannels::Unknown,
        },
    })
}

/// The server that the message is about, of all that are enabled; or why none of them.
fn about<'c>(
    servers: &'c [Config],
    key: Option<&str>,
    request: &ExplainRequest,
) -> Result<&'c Config, String> {
    if let ([only], None) = (servers, key)
        && only.key.is_none()
    {
        return Ok(only);
    }
    let keys: Vec<&ServerKey> = servers.iter().filter_map(|it| it.key.as_ref()).collect();
    if keys.is_empty() {
        return Err(
            "the configuration has one server, without a key: leave out `--server`".to_owned(),
        );
    }
    let listed: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let listed = listed.join(", ");
    let named = match (request, key) {
        (ExplainRequest::Recorded(recorded), _) => recorded.upstream(),
        (ExplainRequest::Message(_), Some(named)) => named,
        (ExplainRequest::Message(_), None) => {
            return Err(format!(
                "the configuration has several servers: say with `--server KEY` which one the message is \
                 about; the servers are {listed}"
            ));
        }
    };
    let mut all = servers.iter();
    let found = all.find(|it| it.key.as_ref().is_some_and(|key| key.as_str() == named));
    found.ok_or_else(|| {
        format!(
            "no enabled server of the configuration has the key `{}`; the servers are {listed}",
            named.escape_debug()
        )
    })
}

fn request(args: &ExplainArgs, stdin: &mut dyn Read) -> Result<ExplainRequest, ExplainFailure> {
    let arguments = || arguments(args.args.as_deref());
    let message = if let Some(tool) = &args.call {
        HypotheticalMessage::Call {
            tool: tool.clone(),
            arguments: arguments()?,
        }
    } else if let Some(name) = &args.prompt {
        HypotheticalMessage::Prompt {
            name: name.clone(),
            arguments: arguments()?,
        }
    } else if let Some(uri) = &args.read {
        HypotheticalMessage::Read(uri.clone())
    } else if let Some(to) = &args.connect {
        let to = Destination::read(to).map_err(ExplainFailure::Destination)?;
        HypotheticalMessage::Connection(Host {
            name: to.host().to_owned(),
            port: to.port(),
        })
    } else if let Some((log, which)) = args.audit.as_ref().zip(which(args)) {
        let text = read_log(log)?;
        let recorded =
            RecordedMessage::find(&text, &which).map_err(|why| ExplainFailure::Record {
                place: log.display().to_string(),
                why,
            })?;
        return Ok(ExplainRequest::Recorded(Box::new(recorded)));
    } else {
        return from_stdin(args, stdin);
    };
    Ok(ExplainRequest::Message(message))
}

/// The lines of a log: also of a rotated one, which may be compressed, and of a flight recorder's database.
fn read_log(path: &Path) -> Result<String, ExplainFailure> {
    let mut text = String::new();
    let lines = |piece: &Piece| -> String {
        let lines = piece.lines().map(|(_, line)| String::from_utf8_lossy(line));
        lines.flat_map(|line| [line, "\n".into()]).collect()
    };
    read(&[Source::File(path.to_owned())], lines, |_, lines| {
        text.push_str(&lines);
        ControlFlow::<()>::Continue(())
    })
    .map_err(ExplainFailure::Log)?;
    Ok(text)
}

fn which(args: &ExplainArgs) -> Option<RecordSelector> {
    let reference = args.record.clone().map(RecordSelector::Reference);
    args.seq.map(RecordSelector::Seq).or(reference)
}

/// A message or a record.
fn from_stdin(args: &ExplainArgs, stdin: &mut dyn Read) -> Result<ExplainRequest, ExplainFailure> {
    let mut frame = String::new();
    let read = stdin.take(MAX_BYTES).read_to_string(&mut frame);
    read.map_err(|why| unreadable(Path::new("standard input"), why))?;
    let frame = frame.trim();
    if frame.is_empty() {
        return Err(ExplainFailure::Nothing);
    }
    if args.from.is_none() && is_record(frame) {
        let recorded = RecordedMessage::read(frame).map_err(|why| ExplainFailure::Record {
            place: "standard input".to_owned(),
            why,
        })?;
        return Ok(ExplainRequest::Recorded(Box::new(recorded)));
    }
    let from = match args.from {
        Some(Sender::Agent) | None => Side::Agent,
        Some(Sender::Server) => Side::Upstream,
    };
    let frame = frame.to_owned();
    Ok(ExplainRequest::Message(HypotheticalMessage::Frame {
        from,
        frame,
    }))
}

/// What no message has, and every record.
fn is_record(text: &str) -> bool {
    let document = Document::decode(text.as_bytes(), &Limits::default());
    document
        .is_ok_and(|it| it.root().get("instance").is_some() && it.root().get("jsonrpc").is_none())
}

/// Checked only so far that a quoting mistake is reported as such: whether the gate takes them is what
/// is asked.
fn arguments(typed: Option<&str>) -> Result<String, ExplainFailure> {
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
        Err(error) if slip(&error.kind) => Err(ExplainFailure::Arguments(error)),
        Ok(_) | Err(_) => Ok(typed.to_owned()),
    }
}

fn agent(
    args: &ExplainArgs,
    configured: Option<&ConfiguredClaims>,
) -> Result<Agent, ExplainFailure> {
    let claims = read_claims(args.claims.as_deref(), configured)
        .map_err(|errors| ExplainFailure::Start(errors.problems))?;
    check_granted(&args.capability, configured)
        .map_err(|errors| ExplainFailure::Start(errors.problems))?;
    Ok(Agent {
        id: args.agent.clone(),
        roles: args.role.clone(),
        teams: args.team.clone(),
        user: args.user.clone(),
        client: Client {
            name: args.client.clone(),
            version: "1".to_owned(),
        },
        trust: args.trust,
        capabilities: args.capability.clone(),
        claims,
        ..Agent::default()
    })
}

fn unreadable(path: &Path, why: io::Error) -> ExplainFailure {
    ExplainFailure::Unreadable {
        path: path.display().to_string(),
        why,
    }
}

fn json(explanation: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, explanation)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::args::{self, Command};
    use super::*;

    const POLICIES: &str = r#"
        @id("read")
        permit (principal in Mcp::Role::"reader", action, resource == Mcp::Tool::"read");
        @id("guides")
        permit (principal, action in Mcp::Action::"read_resource", resource)
        when { resource.scheme == "guide" };
        @id("out")
        permit (principal, action == Mcp::Action::"connect_host", resource == Mcp::Host::"api.example:443");
    "#;

    const RECORD: &str = r#"{"version":1,"seq":7,"timestamp":"2026-11-21T20:14:03Z","instance":"5f","kind":"request","agent":{"id":"a"},"method":"resources/read","target":"guide://x","decision":"ALLOW"}"#;

    fn told(typed: &str, stdin: &str) -> (Exit, String) {
        let dir = tempfile::tempdir().unwrap();
        let policies = dir.path().join("policies");
        fs::create_dir(&policies).unwrap();
        fs::write(policies.join("p.cedar"), POLICIES).unwrap();
        // Three requests: one that passed, one that was not answered, and the first once more, by name.
        let named = RECORD.replacen("\"seq\":7", r#""seq":9,"reference":"5f-7""#, 1);
        let asked = RECORD.replacen("\"seq\":7", r#""seq":10,"reference":"5f-8""#, 1);
        let outcome = r#"{"version":1,"seq":11,"timestamp":"2026-11-21T20:14:33Z","instance":"5f","kind":"gate_decision","reference":"5f-8","agent":{"id":"a"},"method":"resources/read","target":"guide://x","decision":"ERROR","stage":"forward","reason":{"code":"timeout"}}"#;
        let lines = [RECORD, &named, &asked, outcome].map(|line| format!("{line}\n"));
        fs::write(dir.path().join("log"), lines.concat()).unwrap();
        let log = dir.path().join("log");
        let compressed = ruzstd::encoding::compress_to_vec(
            lines.concat().as_bytes(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        fs::write(dir.path().join("log.zst"), compressed).unwrap();
        let typed = typed.replace("DIR", &policies.to_string_lossy());
        let typed = typed.replace("LOG", &log.to_string_lossy());
        let line = ["mcp-protector", "explain"].into_iter();
        let line = line.chain(typed.split_whitespace());
        let Command::Explain(args) = args::parse(line).unwrap().command else {
            panic!("{typed}")
        };
        let mut out = Vec::new();
        let exit = run(&args, &mut stdin.as_bytes(), &mut out);
        (exit, String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_exit_code_says_what_became_of_the_message() {
        let check = |typed: &str, stdin: &str, expected: Exit, holds: &str| {
            let (exit, json) = told(&format!("{typed} --format json"), stdin);
            assert_eq!(exit, expected, "{typed} {stdin}: {json}");
            assert!(json.contains(holds), "{typed} {stdin}: {json}");
            assert_eq!(json.matches('\n').count(), 1);
            let (exit, human) = told(typed, stdin);
            assert_eq!(exit, expected, "{typed} {stdin}: {human}");
            assert_eq!(human.is_empty(), expected == Exit::NotExplained, "{human}");
            let first = [(Exit::Success, "allow  "), (Exit::Denied, "deny  ")];
            let first = first.iter().find(|(exit, _)| *exit == expected);
            let first = first.map_or("", |(_, word)| word);
            assert!(human.starts_with(first), "{typed} {stdin}: {human}");
        };
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#;
        let roots = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
        check(
            "DIR --call read --role reader",
            "",
            Exit::Success,
            r#""decision":"allow""#,
        );
        check("DIR --call read", "", Exit::Denied, "not_permitted");
        check("DIR --read guide://x", "", Exit::Success, r#""guides""#);
        check("DIR --read file:///x", "", Exit::Denied, "read_resource");
        check("DIR --prompt x", "", Exit::Denied, "get_prompt");
        check(
            "DIR --connect api.example:443",
            "",
            Exit::Success,
            r#""out""#,
        );
        check(
            "DIR --connect api.example:80",
            "",
            Exit::Denied,
            "connect_host",
        );
        check("DIR --role reader", call, Exit::Success, "call_tool");
        check("DIR", roots, Exit::Denied, "unknown_method");
        check("DIR --from server", roots, Exit::Denied, "list_roots");
        check("DIR", RECORD, Exit::Success, "is not in the record");
        check("DIR --audit LOG --seq 7", "", Exit::Success, "guides");
        check("DIR --audit LOG --record 5f-7", "", Exit::Success, "guides");
        check("DIR --audit LOG.zst --seq 7", "", Exit::Success, "guides");
        check("DIR --audit LOG --record 5f-8", "", Exit::Denied, "timeout");
        check("--allow read --call read", "", Exit::Success, "allowlist");
        check("DIR", "no json", Exit::Denied, "decode");

        let not = Exit::NotExplained;
        check("DIR", "", not, "explain::nothing");
        check("DIR --connect api.example", "", not, "explain::destination");
        check(
            "DIR --call read --args {path:1}",
            "",
            not,
            "explain::arguments",
        );
        check("DIR --audit LOG --seq 8", "", not, "explain::record");
        check("DIR --audit LOG --record 5f", "", not, "explain::record");
        check("DIR --audit DIR/no --seq 8", "", not, "explain::unreadable");
        check("DIR/none --call x", "", not, "not_explained");
        check("--config DIR/none.toml --call x", "", not, "not_explained");
    }

    #[test]
    fn whether_a_person_would_be_asked_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let policies = r#"
            @id("any") permit (principal, action, resource);
            @id("ask") @requires_consent
            forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"write");
            @id("hard")
            forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"drop");
        "#;
        fs::create_dir(dir.path().join("p")).unwrap();
        fs::write(dir.path().join("p/p.cedar"), policies).unwrap();
        let config = dir.path().join("gate.toml");
        let check = |more: &str, tool: &str, says: Option<&str>| {
            let text = format!("upstream.command = ['ls']\npolicy.dir = 'p'\n{more}");
            fs::write(&config, text).unwrap();
            let file = config.display().to_string();
            let line = ["mcp-protector", "explain", "--config", &file];
            let line = line.into_iter().chain(["--format=json", "--call", tool]);
            let Command::Explain(args) = args::parse(line).unwrap().command else {
                panic!("{tool}")
            };
            let mut out = Vec::new();
            assert_eq!(run(&args, &mut &b""[..], &mut out), Exit::Denied);
            let out = String::from_utf8(out).unwrap();
            let json: serde_json::Value = out.parse().unwrap();
            let told = json["consent"].as_str();
            assert_eq!(told, says, "{more}: {json}");
        };
        let no_channel = "no person can be asked: there is no `[consent]`";
        check("", "write", Some(no_channel));
        let form = "a person would be asked, by a form of the agent's client (`elicitation`)";
        check("consent.channels = ['elicitation']\n", "write", Some(form));
        check("", "drop", None);
    }

    #[test]
    fn paths_are_explained_for_a_gate_that_looks_at_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().canonicalize().unwrap();
        let config = here.join("gate.toml");
        let write = |name: &str, text: &str| {
            let text = text.replace("HERE", &here.to_string_lossy());
            fs::write(here.join(name), text).unwrap();
        };
        fs::create_dir(here.join("p")).unwrap();
        write("gate.toml", "upstream.command = ['ls']\npolicy.dir = 'p'\n");
        write("p/roots.toml", "[roots.work]\npath = 'HERE/work'\n");
        write("p/tools.toml", "[tools.read]\npaths = ['/path']\n");
        write(
            "p/p.cedar",
            r#"@id("call") permit (principal, action == Mcp::Action::"call_tool", resource)
            when { !context.targets.outside };
            @id("read") permit (principal, action == Mcp::Action::"read_resource", resource)
            when { resource in Mcp::Root::"work" };"#,
        );
        let check = |words: &[&str], expected: Exit| {
            let line = ["mcp-protector", "explain", "--config"].map(str::to_owned);
            let words = words
                .iter()
                .map(|word| word.replace("HERE", &here.to_string_lossy()));
            let line = line.into_iter().chain([config.display().to_string()]);
            let line = line.chain(words).chain(["--format=json".to_owned()]);
            let Command::Explain(args) = args::parse(line).unwrap().command else {
                panic!("{config:?}")
            };
            let mut out = Vec::new();
            let exit = run(&args, &mut &b""[..], &mut out);
            let out = String::from_utf8(out).unwrap();
            assert!(!out.contains("panic"), "{out}");
            assert_eq!(exit, expected, "{out}");
        };
        let call = ["--call", "read", "--args"];
        let with = |path: &'static str| [call.as_slice(), &[path]].concat();
        check(&with(r#"{"path":"HERE/work/a"}"#), Exit::Success);
        check(&with(r#"{"path":"HERE/other"}"#), Exit::Denied);
        check(&["--read", "file://HERE/work/a"], Exit::Success);
        check(&["--read", "file://HERE/other"], Exit::Denied);
    }

    #[test]
    fn whoever_has_read_enough_gets_the_exit_of_the_decision() {
        struct OutputClosed(io::ErrorKind);
        impl Write for OutputClosed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let check = |format: &str, kind, expected| {
            let line = "mcp-protector explain --allow read --call other --format";
            let line = line.split(' ').chain([format]);
            let Command::Explain(args) = args::parse(line).unwrap().command else {
                panic!()
            };
            let exit = run(&args, &mut &b""[..], &mut OutputClosed(kind));
            assert_eq!(exit, expected, "{format} {kind}");
        };
        for format in ["human", "json"] {
            check(format, io::ErrorKind::BrokenPipe, Exit::Denied);
            check(format, io::ErrorKind::StorageFull, Exit::NotExplained);
        }
    }

    #[test]
    fn an_option_that_is_no_table_is_told_as_such() {
        let check = |option: &str, example: &str| {
            let typed = format!("DIR --call read --{option} nope --format json");
            let (exit, json) = told(&typed, "");
            assert_eq!(exit, Exit::NotExplained);
            let json: serde_json::Value = json.parse().unwrap();
            let problem = &json["problems"][0];
            assert_eq!(
                problem["message"],
                format!("`--{option}` is no table: `nope`")
            );
            let help = problem["help"].as_str().unwrap();
            assert!(help.contains(example), "{help}");
        };
        check("claims", "{ tools = [\"read_file\"]");
        check("consent", "{ scope = \"writes\"");
        check("session", "{ level = \"confidential\"");
        let nope = ExplainFailure::Start(read_start(None, Some("nope")).unwrap_err().problems);
        let text = report::text(&nope);
        assert!(text.contains("the options cannot be used"), "{text}");
        assert!(
            text.contains("`--consent` is no table") && !text.contains("tests"),
            "{text}"
        );
    }

    #[test]
    fn what_the_session_has_been_through_is_said_as_in_a_fixture() {
        let dir = tempfile::tempdir().unwrap();
        let policies = r#"
            @id("read") permit (principal, action, resource == Mcp::Tool::"read")
            when { context.env.session.level < 2 && context.env.session.calls < 3 };
            @id("hr") forbid (principal, action in Mcp::Action::"call_tool", resource)
            when { context.env.session.labels.contains("hr") };
            @id("write") permit (principal, action, resource == Mcp::Tool::"write")
            when { context.env.consent.granted && context.env.consent.scope == "writes" };
        "#;
        fs::write(dir.path().join("p.cedar"), policies).unwrap();
        let check = |tool: &str, key: &str, table: &str, expected: Exit| {
            let line = [
                "mcp-protector",
                "explain",
                dir.path().to_str().unwrap(),
                "--call",
                tool,
            ];
            let more = ["--format", "json", key, table];
            let Command::Explain(args) = args::parse(line.into_iter().chain(more)).unwrap().command
            else {
                panic!("{table}")
            };
            let mut out = Vec::new();
            let exit = run(&args, &mut &b""[..], &mut out);
            let out = String::from_utf8(out).unwrap();
            assert_eq!(exit, expected, "{table}: {out}");
            out
        };
        check(
            "read",
            "--session",
            "{ level = \"internal\", calls = 2 }",
            Exit::Success,
        );
        check("read", "--session", "{ level = 2 }", Exit::Denied);
        check("read", "--session", "{ calls = 3 }", Exit::Denied);
        check("read", "--session", "{ labels = [\"hr\"] }", Exit::Denied);
        check("write", "--session", "{}", Exit::Denied);
        check(
            "write",
            "--consent",
            "{ scope = \"writes\", age = \"2m\" }",
            Exit::Success,
        );
        check(
            "write",
            "--consent",
            "{ scope = \"writes\", granted = false }",
            Exit::Denied,
        );

        let not = Exit::NotExplained;
        let told = check("read", "--session", "{ levl = 2 }", not);
        assert!(told.contains("did you mean `level`?"), "{told}");
        check("read", "--session", "{ level = 9 }", not);
        check("read", "--session", "level = 2", not);
        check("read", "--session", "{}\nother = 1", not);
        check("write", "--consent", "{ age = \"soon\" }", not);
        let told = check("write", "--consent", "\"approve\"", not);
        assert!(told.contains("no person is asked here"), "{told}");
    }

    #[test]
    fn the_claims_and_capabilities_of_a_token_are_said_as_in_a_fixture() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        fs::create_dir(place.path().join("p")).unwrap();
        write(
            "gate.toml",
            "upstream.command = ['ls']\npolicy.dir = 'p'\nlisten.transport = 'http'\nlisten.port = 1\n\
             [listen.auth]\ntype = 'jwt'\nissuer = 'i'\naudience = 'a'\njwks_file = 'k'\n\
             capabilities_claim = 'c'\nclaims = { tier = 'string' }\n",
        );
        write("p/tools.toml", "[tools.read]\ncapabilities = ['fs.read']\n");
        write(
            "p/p.cedar",
            r#"@id("gold") permit (principal is Mcp::Agent, action, resource is Mcp::Tool) when {
              principal.claims.hasTag("tier") && principal.claims.getTag("tier") has string &&
              principal.claims.getTag("tier").string == "gold"
            };"#,
        );
        let config = place.path().join("gate.toml").display().to_string();
        let check = |words: &[&str], expected: Exit| {
            let line = [
                "mcp-protector",
                "explain",
                "--config",
                &config,
                "--call",
                "read",
            ];
            let line = line.iter().chain(words).chain(&["--format=json"]);
            let Command::Explain(args) = args::parse(line.copied()).unwrap().command else {
                panic!("{words:?}")
            };
            let mut out = Vec::new();
            let exit = run(&args, &mut &b""[..], &mut out);
            let out = String::from_utf8(out).unwrap();
            assert_eq!(exit, expected, "{out}");
            out
        };
        let gold = ["--claims", "{ tier = \"gold\" }"];
        check(
            &[&gold[..], &["--capability", "fs"]].concat(),
            Exit::Success,
        );
        check(&gold, Exit::Denied);
        check(&["--capability", "fs"], Exit::Denied);
        let told = check(&["--claims", "{ tyer = \"gold\" }"], Exit::NotExplained);
        assert!(told.contains("did you mean `tier`?"), "{told}");
        check(&["--claims", "{ tier = 1 }"], Exit::NotExplained);
        write(
            "gate.toml",
            &fs::read_to_string(&config)
                .unwrap()
                .replace("capabilities_claim = 'c'", ""),
        );
        let told = check(&["--capability", "fs"], Exit::NotExplained);
        assert!(told.contains("no token grants a capability"), "{told}");
    }

    #[test]
    fn arguments_that_the_gate_refuses_are_explained_and_slips_in_quoting_are_not() {
        let twice = r#"DIR --call read --args {"a":1,"a":2}"#;
        let (exit, json) = told(&format!("{twice} --format json"), "");
        assert_eq!(exit, Exit::Denied);
        assert!(json.contains("duplicate_key"), "{json}");
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        let deep = format!(r#"DIR --call read --args {{"a":{deep}}}"#);
        let (exit, json) = told(&format!("{deep} --format json"), "");
        assert_eq!(exit, Exit::Denied, "{json}");
    }

    /// Explains what these words name, before two servers, with these lines of the configuration.
    #[track_caller]
    fn check_several(more: &str, words: &[&str], stdin: &str, expected: Exit, holds: &str) {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        fs::create_dir(place.path().join("p")).unwrap();
        let gate = "policy.dir = 'p'\nlisten.transport = 'http'\nlisten.port = 1\n\
             [servers.crm]\ncommand = ['ls']\n[servers.mail]\ncommand = ['ls']\nclearance = 'public'\n\
             [flow]\nflow_out = 'deny'\n";
        write("gate.toml", &format!("{gate}{more}"));
        let labels = "[tools.\"crm/read\"]\npermission = 'read'\n[tools.\"mail/send\"]\npermission = 'read'\n";
        write("p/tools.toml", labels);
        write(
            "p/p.cedar",
            r#"@id("read") permit (principal, action in Mcp::Action::"call_tool", resource)
            when { [Mcp::Tool::"crm/read", Mcp::Tool::"mail/send"].contains(resource) };"#,
        );
        let config = place.path().join("gate.toml").display().to_string();
        let line = [
            "mcp-protector",
            "explain",
            "--config",
            &config,
            "--format=json",
        ];
        let line = line.iter().chain(words);
        let Command::Explain(args) = args::parse(line.copied()).unwrap().command else {
            panic!("{words:?}")
        };
        let mut out = Vec::new();
        let exit = run(&args, &mut stdin.as_bytes(), &mut out);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(exit, expected, "{words:?} {stdin}: {out}");
        assert!(out.contains(holds), "{words:?} {stdin}: {out}");
    }

    #[test]
    fn of_several_servers_the_option_or_the_record_says_which() {
        let check = |words: &[&str], stdin: &str, expected: Exit, holds: &str| {
            check_several("", words, stdin, expected, holds);
        };
        let read = ["--call", "read"];
        check(
            &read,
            "",
            Exit::NotExplained,
            "the servers are `crm`, `mail`",
        );
        let at = |key: &'static str, tool: &'static str| ["--server", key, "--call", tool];
        check(&at("crm", "read"), "", Exit::Success, "tool `crm/read`");
        check(&at("mail", "read"), "", Exit::Denied, "tool `mail/read`");
        check(
            &at("mial", "read"),
            "",
            Exit::NotExplained,
            "has the key `mial`",
        );
        let after =
            |session: &'static str| [&at("mail", "send")[..], &["--session", session]].concat();
        let flow_out = "builtin.flow_out";
        check(&at("mail", "send"), "", Exit::Success, "");
        check(
            &after("{ level = 2, sources = [\"crm\"] }"),
            "",
            Exit::Denied,
            flow_out,
        );
        let own = after("{ level = 2, sources = [\"mail\"] }");
        check(&own, "", Exit::Success, "mail before this message");
        // The record says which server, and what the session has read from.
        let record = |upstream: &str, decision: &str, sources: &str| {
            RECORD
                .replace("resources/read", "tools/call")
                .replace("guide://x", "send")
                .replace("\"ALLOW\"", &format!(
                    r#""{decision}","stage":"decide","upstream":"{upstream}","sensitivity":{{"before":"SECRET","after":"SECRET","sources":[{sources}]}}"#
                ))
        };
        let denied = record("mail (isolated)", "BLOCK", "\"crm\"");
        check(
            &[],
            &denied,
            Exit::Denied,
            "crm before this message: the record says so",
        );
        check(&[], &denied, Exit::Denied, "tool `mail/send`");
        let passed = record("mail", "ALLOW", "\"mail\"");
        check(&[], &passed, Exit::Success, "this one among them");
        check(
            &[],
            &record("other", "ALLOW", ""),
            Exit::NotExplained,
            "has the key `other`",
        );
    }

    #[test]
    fn usage_that_names_no_policies_or_two_messages_is_an_error() {
        for line in [
            "--call x",
            "p --call x --read y",
            "p --audit log",
            "p --seq 1",
            "p --record x",
            "p --audit log --seq 1 --record x",
            "p --read x --args {}",
            "p --config c --call x",
            "p --audit log --seq 1 --role x",
        ] {
            let words = ["mcp-protector", "explain"]
                .into_iter()
                .chain(line.split(' '));
            let nothing = args::parse(words).expect_err(line);
            assert_eq!(nothing.exit, Exit::NotExplained, "{line}");
        }
    }

    #[test]
    fn at_an_endpoint_the_name_says_which_server() {
        let unified = "[unified]\naliases = { post = 'mail__send' }\n[views.reads]\nservers = ['crm']\ntools = ['crm__r*']\n";
        let check = |words: &[&str], stdin: &str, expected: Exit, holds: &str| {
            check_several(unified, words, stdin, expected, holds);
        };
        let all = |tool: &'static str| ["--endpoint", "unified", "--call", tool];
        check(&all("crm__read"), "", Exit::Success, "tool `crm/read`");
        check(&all("mail__read"), "", Exit::Denied, "tool `mail/read`");
        check(&all("post"), "", Exit::Success, "tool `mail/send`");
        let nothing = "no server gets it: ";
        check(&all("mail__send"), "", Exit::NotExplained, nothing);
        let view = |name: &'static str, tool: &'static str| ["--view", name, "--call", tool];
        check(
            &view("reads", "crm__read"),
            "",
            Exit::Success,
            "tool `crm/read`",
        );
        for tool in ["crm__send", "post", "mail__read"] {
            check(&view("reads", tool), "", Exit::NotExplained, nothing);
        }
        check(
            &view("raeds", "crm__read"),
            "",
            Exit::NotExplained,
            "the views are `reads`",
        );
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"post"}}"#;
        let all = &all("")[..2];
        check(all, call, Exit::Success, "tool `mail/send`");
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        check(
            all,
            ping,
            Exit::NotExplained,
            "all servers of the endpoint get this message",
        );
        check(
            all,
            RECORD,
            Exit::NotExplained,
            "a record names its own server",
        );
        check_several("", all, call, Exit::NotExplained, "no `[unified]`");
    }
}
