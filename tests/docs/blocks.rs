//! Every block is of a kind that is known, and is what it seems to be.

use std::fs;
use std::path::Path;
use std::thread;

use mcp_protector::config::Config;
use mcp_protector::loading::{self, Settings};
use mcp_protector::wire::{Document, Limits, Message};
use serde_json::Value;

use crate::docs::commands;
use crate::docs::names;
use crate::docs::pages::{self, Block, Page, root};
use crate::docs::workshop::Workshop;
use crate::user_ci::snippets;

/// What is wrong with a block. Blocks of one page share a workshop, as its reader does.
fn problem(workshop: &Workshop, block: &Block) -> Option<String> {
    let checked = match block.language.as_str() {
        "sh" => commands::run_each(workshop, &block.text),
        "console" => commands::run_with_output(workshop, &block.text),
        "toml" => toml(workshop, &block.text),
        "json" => json(workshop, &block.text),
        "jsonl" => block.text.lines().try_for_each(|line| json(workshop, line)),
        "cedar" => policy(workshop, "snippet.cedar", &block.text),
        "rego" => policy(workshop, "snippet.rego", &block.text),
        "text" => names::drawing(&block.text),
        "yaml" => snippets::yaml(workshop, &block.text),
        "groovy" => snippets::groovy(workshop, &block.text),
        other => Err(format!("`{other}` is not a kind of block that is tested")),
    };
    checked.err()
}

fn toml(workshop: &Workshop, text: &str) -> Result<(), String> {
    if text.contains("[[test]]") {
        fixture(workshop, text)
    } else if text.contains("[tools.") {
        labels(workshop, text)
    } else if text.contains("[[rule]]") {
        policy(workshop, "snippet.cel.toml", text)
    } else if text.ends_with("# end\n") {
        server_file(workshop, text)
    } else if text.contains("[upstream]") || text.contains("[servers.") {
        configuration(workshop, text)
    } else {
        Err("neither a configuration nor a test of policies".to_owned())
    }
}

/// The file of one server, beside the configuration that the page showed last.
fn server_file(workshop: &Workshop, text: &str) -> Result<(), String> {
    let key = text.split("[servers.").nth(1);
    let key = key.and_then(|rest| rest.split(']').next()).unwrap();
    let dir = workshop.file("servers.d");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(format!("{key}.toml")), text).unwrap();
    let config = Config::load_offline(&workshop.file("gate.toml"))
        .map_err(|errors| format!("{:?}", miette::Report::new(errors)))?;
    let has_it = config.servers.keys().any(|it| it.as_str() == key);
    has_it
        .then_some(())
        .ok_or_else(|| "it is not read".to_owned())
}

/// Labels of tools for the policies that the page showed last, which load with them.
fn labels(workshop: &Workshop, text: &str) -> Result<(), String> {
    let dir = workshop.file("policies");
    fs::write(dir.join("tools.toml"), text).unwrap();
    loads(dir)
}

/// Tests of the policies that the page showed last, by the configuration that it showed if they name one;
/// they must pass.
fn fixture(workshop: &Workshop, text: &str) -> Result<(), String> {
    let tests = workshop.file("policies/tests");
    fs::create_dir_all(&tests).unwrap();
    fs::write(tests.join("snippet.toml"), text).unwrap();
    if text.starts_with("gate = ") {
        let gate = workshop.file("gate.toml");
        fs::copy(gate, workshop.file("policies/gate.toml")).unwrap();
    }
    let output = workshop.run("mcp-protector", &["test-policy", "policies"]);
    if output.status.success() {
        Ok(())
    } else {
        Err(commands::printed(&output))
    }
}

/// The same, with the files that it names: they are not on every machine that checks the documents.
fn with_files(workshop: &Workshop, text: &str) -> String {
    const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"a","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
    let mut written = text.to_owned();
    for (place, name, text) in [
        ("/run/secrets/", "token", "a-token-of-the-documents"),
        ("/etc/mcp-protector/jwks.json", "jwks.json", KEYS),
        ("/var/log/mcp-protector/", "audit.jsonl", ""),
    ] {
        let mut quoted = quoted_from(&written, place);
        quoted.sort_unstable();
        for path in quoted {
            let file = workshop.file(name);
            fs::write(&file, text).unwrap();
            written = written.replace(&path, &file.display().to_string());
        }
    }
    written
}

/// What is quoted and begins so.
fn quoted_from(text: &str, begins: &str) -> Vec<String> {
    let quoted = text.split('"').filter(|word| word.starts_with(begins));
    quoted.map(str::to_owned).collect()
}

/// A configuration, which the commands after it find as `gate.toml`.
fn configuration(workshop: &Workshop, text: &str) -> Result<(), String> {
    let path = workshop.file("gate.toml");
    let text = &with_files(workshop, text);
    fs::write(&path, text).unwrap();
    let config = Config::parse(text, &path, &workshop.file(""), &|_| None)
        .map_err(|errors| format!("{:?}", miette::Report::new(errors)))?;
    if config.warnings.is_empty() {
        Ok(())
    } else {
        Err(format!("{:?}", config.warnings))
    }
}

/// What agents read (`mcp.json`), a record, or a message.
fn json(workshop: &Workshop, text: &str) -> Result<(), String> {
    let document = Document::decode(text.as_bytes(), &Limits::default());
    let document = document.map_err(|error| error.to_string())?;
    let root = document.root();
    if let Some(servers) = root.get("mcpServers") {
        return servers
            .entries()
            .try_for_each(|(_, server)| commands::start_as_agents_do(workshop, server));
    }
    if root.get("kind").is_some() {
        return record(text);
    }
    let message = Message::decode(text.as_bytes(), &Limits::default());
    message.map(|_| ()).map_err(|error| error.to_string())
}

fn record(text: &str) -> Result<(), String> {
    let schema = fs::read_to_string(root().join("docs/schema/audit.schema.json")).unwrap();
    let schema: Value = schema.parse().unwrap();
    let record: Value = text.parse().unwrap();
    jsonschema::validate(&schema, &record).map_err(|error| error.to_string())
}

/// Policies that load without a warning.
fn policy(workshop: &Workshop, name: &str, text: &str) -> Result<(), String> {
    let dir = workshop.file("policies");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join(name), text).unwrap();
    loads(dir)
}

fn loads(dir: std::path::PathBuf) -> Result<(), String> {
    let settings = Settings {
        dir: Some(dir),
        ..Settings::default()
    };
    match loading::load(&settings) {
        Ok(_) => Ok(()),
        Err(errors) => Err(format!("{:?}", miette::Report::new(errors))),
    }
}

#[test]
fn every_block_of_the_documents_runs_or_is_valid() {
    let all = pages::ours();
    let checked: usize = all.iter().map(|page| page.blocks().len()).sum();
    assert!(checked > 5, "{checked}");
    // The commands of one page are at work while those of another are.
    let problems: Vec<String> = thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(AT_ONCE));
        let parts: Vec<_> = parts
            .map(|pages| scope.spawn(|| pages.iter().flat_map(problems_of).collect::<Vec<_>>()))
            .collect();
        let parts = parts.into_iter();
        parts.flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// Pages whose commands run at the same time.
const AT_ONCE: usize = 4;

/// The blocks of a page are followed in its order, in one directory.
fn problems_of(page: &Page) -> Vec<String> {
    let workshop = Workshop::new();
    let problem_of = |block: Block| {
        let problem = problem(&workshop, &block);
        problem.map(|why| format!("{}:{}: {why}", page.path, block.line))
    };
    page.blocks().into_iter().filter_map(problem_of).collect()
}

#[test]
fn a_block_that_is_wrong_is_a_problem() {
    let workshop = Workshop::new();
    let check = |language: &str, text: &str, says: &str| {
        let block = Block {
            language: language.to_owned(),
            line: 1,
            text: text.to_owned(),
        };
        let problem = problem(&workshop, &block).unwrap_or_default();
        assert!(problem.contains(says), "{text}: {problem}");
    };
    check("", "x", "not a kind of block");
    check("rust", "fn f() {}", "not a kind of block");
    check("toml", "a = 1", "neither a configuration");
    check(
        "toml",
        "[[test]]\nname = \"t\"\ncall = \"x\"\nexpcet = \"deny\"",
        "expcet",
    );
    check("toml", "[upstream]\ncomand = [\"x\"]", "comand");
    check("json", "{\"a\":1,\"a\":2}", "twice");
    check("json", "{\"a\":1}", "jsonrpc");
    check("json", "{\"kind\":\"tool_call\"}", "required");
    check(
        "json",
        "{\"mcpServers\":{\"x\":{\"command\":\"mcp-protector\",\"args\":[\"proxy\"]}}}",
        "required arguments",
    );
    check("cedar", "permit(principal, action, resourc);", "resourc");
    check(
        "cedar",
        "permit(principal, action == Mcp::Action::\"cal_tool\", resource);",
        "cal_tool",
    );
    check("text", "gate/ not_there/nowhere.rs", "nowhere.rs");
    check("sh", "frobnicate", "not a command that is tested");
    check("sh", "cargo frobnicate", "not a command that is tested");
    check("sh", "cargo test --test nothing", "nothing");
    check("sh", "cargo bench -p benches --bench nothing", "nothing");
    check("sh", "mcp-protector proxy --alow x -- npx", "alow");
    check(
        "console",
        "$ mcp-protector --version\nmcp-protector 0.0.0",
        "0.0.0",
    );
    check("console", "mcp-protector --version", "no command");
}

#[test]
fn a_block_that_is_right_is_none() {
    let workshop = Workshop::new();
    let check = |language: &str, text: &str| {
        let block = Block {
            language: language.to_owned(),
            line: 1,
            text: text.to_owned(),
        };
        assert_eq!(problem(&workshop, &block), None, "{text}");
    };
    check("console", "$ mcp-protector --version\nmcp-protector 0.1.0");
    check(
        "sh",
        "# A comment.\nmcp-protector proxy --allow x -- \\\n  npx y",
    );
    check(
        "toml",
        "[upstream]\ncommand = [\"npx\"]\n[policy]\nallow = [\"x\"]",
    );
    check("sh", "mcp-protector proxy --config gate.toml");
    check("json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    check(
        "cedar",
        "@id(\"call\") permit(principal, action == Mcp::Action::\"call_tool\", resource);",
    );
    check(
        "toml",
        "tools = [\"x\"]\n[[test]]\nname = \"t\"\ncall = \"x\"\nexpect = \"allow\"",
    );
    check("text", "gate/ decide.rs -> upstream/");
    assert!(Path::new(&workshop.file("gate.toml")).exists());
}
