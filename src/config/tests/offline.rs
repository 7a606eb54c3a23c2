//! A configuration that is read where its server, and what belongs to it, is not there.

use std::path::Path;

use super::super::{Config, ConfigErrors};

fn offline(text: &str) -> Result<Config, ConfigErrors> {
    Config::parse_offline(
        text,
        Path::new("gate.toml"),
        Path::new("/etc/gate"),
        &|_| None,
    )
}

#[test]
fn what_no_decision_depends_on_need_not_be_set() {
    for text in [
        "[upstream]\ncommand = [\"server\", \"--key=${KEY}\"]\nenv = { TOKEN = \"${TOKEN}\" }",
        "[upstream]\nurl = \"${URL}\"\nauth = { type = \"bearer\", token = \"${TOKEN}\" }",
        "[upstream]\nurl = \"https://${HOST}/mcp?key=${KEY}\"",
        "[upstream]\nurl = \"http://localhost:${PORT}/mcp\"",
        "[upstream]\nurl = \"http://${HOST}:3000/mcp\"",
        "telemetry.otlp_endpoint = \"http://${HOST}:4318\"\n[upstream]\ncommand = [\"server\"]",
        "[upstream]\nurl = \"https://mcp.example.com\"\nauth = { type = \"client_credentials\", \
         client_id = \"gate\", client_secret = \"${SECRET}\", token_url = \"${TOKEN_URL}\" }",
        "listen.transport = \"http\"\nlisten.port = 8080\n\
         [listen.auth]\ntype = \"bearer\"\ntokens = { a = \"${A}\", b = \"${B}\" }\n\
         [upstream]\ncommand = [\"server\"]",
        "[upstream]\ncommand = [\"server\"]\n[telemetry]\notlp_endpoint = \"${COLLECTOR}\"\n\
         headers = { authorization = \"Bearer ${OTLP}\" }",
    ] {
        if let Err(errors) = offline(text) {
            panic!("{text}\n{}", super::render(&errors));
        }
    }
}

#[test]
fn what_a_decision_may_depend_on_has_to_be_set() {
    for (line, field) in [
        ("policy.allow = [\"${TOOL}\"]", "policy.allow[0]"),
        ("policy.dir = \"${POLICIES}\"", "policy.dir"),
        ("upstream.name = \"${NAME}\"", "upstream.name"),
        (
            "guards.elicitation.hosts = [\"${HOST}\"]",
            "guards.elicitation.hosts[0]",
        ),
        ("limits.max_depth = \"${DEPTH}\"", "limits.max_depth"),
    ] {
        let errors = offline(&format!("{line}\nupstream.command = [\"server\"]"));
        let errors = errors.expect_err(line);
        let fields = errors.problems().iter().map(|it| it.field.as_str());
        assert_eq!(fields.collect::<Vec<_>>(), [field], "{line}");
    }
}

#[test]
fn a_gate_that_runs_has_all_of_its_variables() {
    let text = "[upstream]\ncommand = [\"server\"]\nenv = { TOKEN = \"${TOKEN}\" }";
    let read = Config::parse(text, Path::new("gate.toml"), Path::new("/"), &|_| None);
    let errors = read.expect_err("refused");
    assert_eq!(errors.problems().len(), 1);
}
