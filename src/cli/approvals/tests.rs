//! What is asked, and what people read.

use super::*;

fn place_of(text: &str) -> Result<String, String> {
    place(text)
        .map(String::from)
        .map_err(|failure| failure.to_string())
}

#[test]
fn a_token_is_shown_to_this_machine_or_over_tls_alone() {
    for text in [
        "http://127.0.0.1:9090",
        "http://localhost:9090/",
        "http://[::1]:9090",
        "https://gate.example.com",
    ] {
        assert!(place_of(text).is_ok(), "{text}");
    }
    for (text, problem) in [
        (
            "http://gate.example.com:9090",
            "use `https` for `gate.example.com`",
        ),
        ("http://10.0.0.1:9090", "use `https` for `10.0.0.1`"),
        ("http://localhost.example.com", "use `https`"),
        ("ftp://127.0.0.1", "expected `http://HOST:PORT`"),
        ("127.0.0.1:9090", "expected `http://HOST:PORT`"),
        (
            "http://127.0.0.1:9090/approvals",
            "expected `http://HOST:PORT`",
        ),
        ("http://127.0.0.1:9090/?x", "expected `http://HOST:PORT`"),
        ("http://anna@127.0.0.1:9090", "expected `http://HOST:PORT`"),
        ("", "expected `http://HOST:PORT`"),
    ] {
        let failure = place_of(text).unwrap_err();
        assert!(failure.contains(problem), "{text}: {failure}");
    }
}

fn listed(text: &str) -> String {
    let mut out = Vec::new();
    match list(text, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn people_read_what_waits_whole_and_without_what_deceives_them() {
    let one = r#"{"schema":1,"pending":[{"id":"3f0a91c27e","asked_at":"2026-11-22T20:00:00.000Z","expires_at":"2026-11-22T20:02:00.000Z","question":{"server":"files","method":"tools/call","name":"write_file","arguments":"{\n  \"path\": \"/srv/project/a\u202etxt\"\n}","principal":"reviewer","client":"agent\u001b[2J","session":"s","advice":"A person has to agree.","policies":["needs-a-yes"],"found":{"roots":["workspace"],"outside":true,"hosts":[],"secrets":["github-token"]}}}]}"#;
    insta::assert_snapshot!(listed(one));
    let of_session = one.replace(r#""policies""#, r#""holds":"session","policies""#);
    assert!(listed(&of_session).contains("a yes holds   for all calls of this tool"));
    assert_eq!(
        listed(r#"{"schema":1,"pending":[]}"#),
        "nothing waits for an answer\n"
    );
    let foreign = "the gate's answer is not of this version";
    assert_eq!(listed(r#"{"schema":2,"pending":[]}"#), foreign);
    assert_eq!(listed("{}"), foreign);
    assert!(listed("<html>").contains("cannot be read"));
}

#[test]
fn a_gate_that_cannot_be_asked_is_not_a_gate_that_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "annas-0123456789abcdef\n").unwrap();
    let gate = |url: &str, token_file: &Path| GateArgs {
        url: url.to_owned(),
        token_file: Some(token_file.to_owned()),
        ca_file: None,
        format: Format::Human,
    };
    let check = |command: ApprovalsCommand, exit: Exit, told: &str| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let ended = run(&ApprovalsArgs { command }, &mut out, &mut err);
        let err = String::from_utf8(err).unwrap();
        assert_eq!((ended, out.len()), (exit, 0), "{err}");
        assert!(err.contains(told), "{err}");
    };
    // No process listens at the port that was just released.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    drop(socket);
    let list = |url: &str, file: &Path| ApprovalsCommand::List {
        gate: gate(url, file),
    };
    check(list(&url, &file), Exit::NotAsked, "cannot be asked");
    check(
        list(&url, &dir.path().join("none")),
        Exit::NotAsked,
        "cannot be read",
    );
    check(list("x", &file), Exit::NotAsked, "`--url`");
    let odd = dir.path().join("odd");
    std::fs::write(&odd, "annas\u{1}token").unwrap();
    check(list(&url, &odd), Exit::NotAsked, "no header can hold");
    let id = "../metrics".to_owned();
    let approve = ApprovalsCommand::Approve {
        id,
        gate: gate(&url, &file),
    };
    check(approve, Exit::NotAsked, "is not a number");
}
