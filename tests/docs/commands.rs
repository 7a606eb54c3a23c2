//! Commands of the documents: run where they are ours, and otherwise known to be run by `.ci/run`.

use std::fs;
use std::process::Output;

use mcp_protector::wire::Value;

use crate::docs::pages::root;
use crate::docs::workshop::Workshop;

/// What stands for lines that a page leaves out.
const GAP: &str = "[…]";

/// Runs the commands of a `sh` block.
pub(crate) fn run_each(workshop: &Workshop, text: &str) -> Result<(), String> {
    let joined = text.replace("\\\n", " ");
    let commands = joined.lines().map(str::trim);
    commands
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .try_for_each(|command| run(workshop, command).map(|_| ()))
}

/// Runs the commands of a `console` block, and looks for what it shows of their output.
pub(crate) fn run_with_output(workshop: &Workshop, text: &str) -> Result<(), String> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => return Err("it begins with no command".to_owned()),
        }
    }
    for (command, shown) in commands {
        let output = run(workshop, command)?;
        shows(&output, &shown)
            .map_err(|missing| format!("`{command}` does not print {missing}"))?;
    }
    Ok(())
}

/// Starts a server as the entry of an `mcp.json` says, and expects it to speak MCP.
pub(crate) fn start_as_agents_do(workshop: &Workshop, server: Value<'_>) -> Result<(), String> {
    let text = |value: Value<'_>| value.as_str().unwrap_or_default().into_owned();
    let program = server.get("command").map(text).unwrap_or_default();
    if program != "mcp-protector" {
        return Err(format!("`{program}` is not the gate"));
    }
    let arguments = server.get("args").into_iter().flat_map(Value::items);
    let arguments: Vec<String> = arguments
        .map(text)
        // The page's own file, wherever it says that it is.
        .map(|argument| match argument.rsplit_once('/') {
            Some((_, "gate.toml")) => workshop.file("gate.toml").display().to_string(),
            _ => argument,
        })
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = workshop.run("mcp-protector", &arguments);
    speaks_mcp(&output)
}

/// Runs one command; what it printed, where it was run.
fn run(workshop: &Workshop, command: &str) -> Result<String, String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["mcp-protector", "proxy", rest @ ..] => {
            if let ["--config", file] = rest
                && let Some(pack) = file.strip_prefix("policies/")
                && let Some(pack) = pack.strip_suffix("/gate.toml")
            {
                workshop.bring(pack);
            }
            let output = workshop.run("sh", &["-c", command]);
            speaks_mcp(&output).map(|()| printed(&output))
        }
        // Into a copy: tests leave the project as it is.
        ["mcp-protector", "policy", "manifest", pack] => {
            let pack = root().join(pack);
            let command = format!(
                "copy=$(mktemp -d) && cp -r '{}/.' \"$copy\" && \
                 mcp-protector policy manifest \"$copy\" && \
                 cd \"$copy\" && sha256sum --strict -c MANIFEST",
                pack.display()
            );
            succeeds(&workshop.run("sh", &["-c", &command]))
        }
        ["mcp-protector", "test-policy" | "check", ..]
        | [
            "mcp-protector",
            "validate-config",
            "--config",
            "docs/gate.toml",
        ] => {
            let gate = env!("CARGO_BIN_EXE_mcp-protector");
            let mut tests = std::process::Command::new(gate);
            // Packs are named from the root of the project.
            let output = tests
                .args(words.iter().skip(1))
                .current_dir(root())
                .output();
            succeeds(&output.unwrap())
        }
        // Denied is an answer as well; packs are named from the root of the project.
        ["mcp-protector", "explain", ..] => {
            let from_root = format!("cd '{}' && {command}", root().display());
            let output = workshop.run("sh", &["-c", &from_root]);
            match output.status.code() {
                Some(0 | 1) => Ok(printed(&output)),
                _ => succeeds(&output),
            }
        }
        // No process listens there: the check proves only that the command line parses. Who answers is
        // tested with a gate (`tests/real_servers/approvals.rs`).
        ["mcp-protector", "approvals", ..] => {
            let command = command.replace("127.0.0.1:9090", "127.0.0.1:1");
            let command = format!("MCP_PROTECTOR_APPROVER_TOKEN=tulip-4f9d1c2b7a60 {command}");
            let output = workshop.run("sh", &["-c", &command]);
            let said = printed(&output);
            if output.status.code() == Some(2) && said.contains("cannot be asked") {
                Ok(String::new())
            } else {
                Err(said)
            }
        }
        // Only a program with a flight recorder reads databases (`tests/flight_recorder/recorded.rs`).
        ["mcp-protector", "audit", ..] if command.contains(".duckdb") => {
            let output = workshop.run("sh", &["-c", command]);
            let said = printed(&output);
            let is_without = said.contains("built without the flight recorder");
            if cfg!(feature = "flight-recorder") || is_without {
                Ok(String::new())
            } else {
                Err(said)
            }
        }
        // A log of a real gate, of which the older files are empty.
        ["mcp-protector", "audit", _, rest @ ..] => {
            let is_log = |word: &&&str| word.contains(".jsonl");
            let logs: Vec<&str> = rest.iter().filter(is_log).copied().collect();
            let (newest, older) = logs.split_last().ok_or("it names no log")?;
            let older = older.join(" ");
            let script = format!(
                "touch {newest} {older} && mcp-protector demo --keep log >/dev/null && \
                 mv log/notes/audit.jsonl {newest} && rm -r log && {command}"
            );
            succeeds(&workshop.run("sh", &["-c", &script]))
        }
        ["mkdir", _] | ["sed", "-i", ..] | ["mcp-protector", ..] => {
            succeeds(&workshop.run("sh", &["-c", command]))
        }
        ["cp", "-r", from, to] => copies(workshop, from, to),
        // Cargo has built the program for this test.
        ["cargo", "run", "--", arguments @ ..] => {
            succeeds(&workshop.run("mcp-protector", arguments))
        }
        _ => is_known(&words, command),
    }
}

/// Commands of those who work on the project, which other checks run.
fn is_known(words: &[&str], command: &str) -> Result<String, String> {
    match words {
        ["cargo", "install", "--locked", "--path", "."] => {
            manifest_has("Cargo.toml", "[[bin]]", "mcp-protector")
        }
        ["cargo", "test", "--test", name, ..]
        | [
            "UPDATE_DOCS=1" | "UPDATE_CONTRACTS=1",
            "cargo",
            "test",
            "--test",
            name,
            ..,
        ] => manifest_has("Cargo.toml", "[[test]]", name),
        ["cargo", "bench", "-p", "benches", "--bench", name, ..] => {
            manifest_has("benches/Cargo.toml", "[[bench]]", name)
        }
        ["cargo", "test", "--lib", filter] => is_a_module(filter),
        ["cargo", ..] => ci_runs(command),
        // `.ci/run` runs the second one. The third shows what that one has built, until it is interrupted.
        [".ci/run" | ".ci/docs-site"]
        | ["python3", "-m", "http.server", "--directory", "target/site"] => Ok(String::new()),
        _ => Err(format!("`{command}` is not a command that is tested")),
    }
}

/// Copies a part of the project, which lies beside the reader's directory.
fn copies(workshop: &Workshop, from: &str, to: &str) -> Result<String, String> {
    let part = from.strip_prefix("../mcp-protector/");
    let part = root().join(part.ok_or("it copies nothing of the project")?);
    let command = format!("cp -r '{}' '{to}'", part.display());
    succeeds(&workshop.run("sh", &["-c", &command]))
}

fn speaks_mcp(output: &Output) -> Result<(), String> {
    let printed = printed(output);
    let answered = printed.contains(r#""serverInfo":{"name":""#);
    if output.status.success() && answered {
        Ok(())
    } else {
        Err(format!("{}: {printed}", output.status))
    }
}

fn succeeds(output: &Output) -> Result<String, String> {
    let printed = printed(output);
    if output.status.success() {
        Ok(printed)
    } else {
        Err(format!("{}: {printed}", output.status))
    }
}

pub(crate) fn printed(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)
}

/// Cargo's own commands are not run inside a test that cargo runs; `.ci/run` runs the very same,
/// with the lock file.
fn ci_runs(command: &str) -> Result<String, String> {
    let script = fs::read_to_string(root().join(".ci/run")).unwrap();
    let known = script.lines().any(|line| {
        let line = line.replace(" --locked", "");
        let rest = line.split_once(command).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" -- -D warnings"))
    });
    if known {
        Ok(String::new())
    } else {
        Err(format!(
            "`{command}` is not a command that is tested: `.ci/run` does not run it"
        ))
    }
}

fn manifest_has(manifest: &str, kind: &str, name: &str) -> Result<String, String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let entry = format!("{kind}\nname = \"{name}\"\n");
    if text.contains(&entry) {
        Ok(String::new())
    } else {
        Err(format!("`{manifest}` has no {kind} `{name}`"))
    }
}

/// `gate::tests::lists::` is a module of the library.
fn is_a_module(filter: &str) -> Result<String, String> {
    let path = filter.trim_end_matches("::").replace("::", "/");
    let source = root().join("src").join(path);
    if source.is_dir() || source.with_extension("rs").is_file() {
        Ok(String::new())
    } else {
        Err(format!("`{filter}` is no module"))
    }
}

/// Whether lines stand in an output, in this order; `[…]` stands for any others.
fn shows(output: &str, shown: &[&str]) -> Result<(), String> {
    let lines: Vec<String> = output.lines().map(masked).collect();
    let mut from = 0;
    let mut anywhere = false;
    for (at, part) in shown.split(|line| *line == GAP).enumerate() {
        anywhere |= at > 0;
        if part.is_empty() {
            continue;
        }
        let part: Vec<String> = part.iter().map(|line| masked(line)).collect();
        let rest = lines.get(from..).unwrap_or_default();
        let mut places = rest.windows(part.len());
        let found = if anywhere {
            places.position(|place| place == part)
        } else {
            places.next().filter(|place| *place == part).map(|_| 0)
        };
        let found = found.ok_or_else(|| format!("{}\nbut\n{output}", part.join("\n")))?;
        from += found + part.len();
    }
    Ok(())
}

/// A line without the random part of what the gate calls a message: `f6e84f1ea77a-13`.
fn masked(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('-') {
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let plain = before.trim_end_matches(hex);
        let counts = after.starts_with(|c: char| c.is_ascii_digit());
        if before.len() - plain.len() == 12 && counts {
            masked += plain;
            masked += "RANDOM";
        } else {
            masked += before;
        }
        masked.push('-');
        rest = after;
    }
    masked + rest
}

#[test]
fn output_is_found_with_gaps_and_without_what_is_random() {
    let output = "a\nb \"f6e84f1ea77a-13\"\nc\nd\n";
    let check = |shown: &[&str], found: bool| {
        assert_eq!(shows(output, shown).is_ok(), found, "{shown:?}");
    };
    check(&["a", "b \"000000000000-13\""], true);
    check(&["a", "b \"000000000000-14\""], false);
    check(&[GAP, "c", GAP], true);
    check(&["c"], false);
    check(&["a", GAP, "d"], true);
    check(&["a", GAP, "c", "b"], false);
    check(&[GAP, "d", GAP, "a"], false);
}

#[test]
fn a_command_of_cargo_is_one_that_the_ci_runs() {
    assert!(ci_runs("cargo test").is_ok());
    assert!(ci_runs("cargo test --release").is_err());
    assert!(ci_runs("cargo clippy --workspace --all-targets").is_ok());
    assert!(ci_runs("cargo publish").is_err());
}
