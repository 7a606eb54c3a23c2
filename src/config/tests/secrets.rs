//! Secrets are never seen: not in settings that are printed, not in reports about the file.

use proptest::prelude::*;

use super::{CANARY, parse, render, valid};

#[track_caller]
fn never_seen(text: &str) {
    let text = text.replace("CANARY", CANARY);
    let (debug, report) = match parse(&text) {
        Ok(config) => {
            let warnings: Vec<_> = config.warnings.iter().map(|it| render(it)).collect();
            (format!("{config:?} {config:#?}"), warnings.concat())
        }
        Err(errors) => (format!("{errors:?} {errors:#?} {errors}"), render(&errors)),
    };
    assert!(!debug.contains(CANARY), "{text}\n{debug}");
    assert!(!report.contains(CANARY), "{text}\n{report}");
}

#[test]
fn settings_do_not_print_what_the_server_is_given() {
    never_seen("upstream.command = [\"a\"]\nupstream.env.TOKEN = \"CANARY\"");
    never_seen("upstream.command = [\"a\"]\nupstream.env.TOKEN = \"${SECRET}\"");
    never_seen("upstream.command = [\"a\", \"--token\", \"CANARY\"]");
    never_seen("upstream.command = [\"a\", \"--token=${SECRET}\"]");
    let config = valid("upstream.command = [\"a\"]\nupstream.env.TOKEN = \"${SECRET}\"");
    assert!(format!("{config:?}").contains("REDACTED"));
}

#[test]
fn settings_do_not_print_the_tokens_of_either_side() {
    // With a tail behind it, the canary is long enough for a token of an agent.
    let token = "token = \"CANARY-0123456789\"";
    let tokens = "tokens = { a = \"CANARY-0123456789\", b = \"${SECRET}-9876543210\" }";
    let listen = format!(
        "[listen]\ntransport = \"http\"\nhost = \"::\"\nport = 1\nallowed_hosts = [\"a\"]\n\
         auth = {{ type = \"bearer\", {tokens} }}"
    );
    // The last two come with warnings: of the way, and of one token for both sides.
    for server in [
        "url = \"https://a/CANARY?CANARY=CANARY\"".to_owned(),
        "url = \"http://localhost/CANARY\"".to_owned(),
        format!("url = \"https://a\"\nauth = {{ type = \"bearer\", {token} }}"),
        format!(
            "url = \"http://a/CANARY\"\nallow_http = true\nauth = {{ type = \"bearer\", {token} }}"
        ),
    ] {
        let text = format!("[upstream]\n{server}\n{listen}");
        valid(&text.replace("CANARY", CANARY));
        never_seen(&text);
    }
}

#[test]
fn settings_and_reports_do_not_print_what_a_collector_is_shown() {
    let telemetry = |rest: &str| format!("upstream.command = ['a']\n[telemetry]\n{rest}");
    for rest in [
        "otlp_endpoint = 'https://a/CANARY'\nheaders = { a = 'Bearer CANARY' }",
        // With warnings: of the way, and of the port.
        "otlp_endpoint = 'http://a:4317/CANARY'\nallow_http = true\nheaders = { a = 'CANARY' }",
    ] {
        valid(&telemetry(rest).replace("CANARY", CANARY));
        never_seen(&telemetry(rest));
    }
    for rest in [
        "otlp_endpoint = 'https://CANARY@a'",
        "otlp_endpoint = 'https://a?CANARY'",
        "otlp_endpoint = 'http://a/CANARY'\nheaders = { a = 'CANARY' }",
        "otlp_endpoint = 'https://a'\nheaders = { a = \"CANARY\\n\", b = 1 }",
        // The other way round.
        "otlp_endpoint = 'https://a'\nheaders = { 'Bearer CANARY' = 'authorization' }",
        "otlp_endpoint = 'https://a'\nheaders = 'a=CANARY'",
        "otlp_endpoint = 'https://a'\nheader = { a = 'CANARY' }",
    ] {
        never_seen(&telemetry(rest));
    }
}

#[test]
fn variables_that_took_part_are_known_by_their_names() {
    let config = valid(
        "upstream.command = [\"a\", \"--x=${HOME}\"]\nupstream.env.HEADER = \"Bearer ${SECRET}\"",
    );
    let names: Vec<&str> = config.variables.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "SECRET"]);
}

#[test]
fn reports_hide_values_that_may_be_secret() {
    for text in [
        // Beside a mistake, on the same line and on the next.
        "[upstream]\nenv = { TOKEN = \"CANARY\", A = 1 }",
        "[upstream]\nenv = { TOKEN = \"CANARY\", TOKEN = \"CANARY\" }",
        "[upstream.env]\nA = 1\nTOKEN = \"CANARY\"\nB = 1",
        "[upstream.env]\nTOKEN = \"CANARY ${NOPE}\"",
        "[upstream.env]\nTOKEN = \"CANARY\\u0000\"",
        "[upstream.env]\nTOKEN = \"\"\"\nCANARY\n\"\"\"\nTOKEN = \"\"\"\nCANARY\n\"\"\"",
        // In a section or key that is misspelt.
        "[upstream]\nevn = { TOKEN = \"CANARY\" }",
        "[upstream.evn]\nTOKEN = \"CANARY\"",
        "[upstream]\ncomand = [\"npx\", \"CANARY\"]",
        "[upstream]\ntoken = \"CANARY\"",
        "[upstream]\ncommand = \"npx CANARY\"",
        "[upstream]\ncommand = [\"npx CANARY\"]",
        "[upstream]\ncommand = [\"npx\", 1, \"CANARY\"]",
        // With a type or form that is wrong.
        "[upstream]\nenv = \"CANARY\"",
        "[upstream]\nenv = [\"CANARY\"]",
        "[upstream.env.TOKEN]\nvalue = \"CANARY\"",
        "[upstream]\nname = { token = \"CANARY\" }",
        "[upstream]\nname = [\"CANARY\"]",
        "policy.allow = { a = \"CANARY\" }",
        "[upstream]\nurl = \"https://user:CANARY@example.com\"",
        "[upstream]\nauth = { type = \"basic\", token = \"CANARY\" }",
        "[upstream]\nauth = \"CANARY\"",
        "[upstream]\nurl = \"http://a/CANARY\"",
        "[upstream]\nurl = \"https://a/CANARY\"\nauth = { type = \"bearer\", token = \"CANARY \" }",
        "[upstream]\nurl = \"https://a\"\nauth = { type = \"bearer\", token = [\"CANARY\"] }",
        "[upstream]\nurl = \"https://a\"\nauth = { type = \"bearer\", token = \"CANARY\", token_file = \"x\" }",
        "[upstream]\nurl = \"https://a\"\nauth = { type = \"bearer\", tokne = \"CANARY\" }",
        "[upstream]\nauth = { type = \"bearer\", token = \"CANARY-0123456789\" }",
        "[upstream]\nurl = \"https://a\"\nauth = { type = \"client_credentials\", client_secret = \"CANARY\", token_url = \"http://a/CANARY\" }",
        "[listen.auth]\ntype = \"bearer\"\ntokens = { a = \"CANARY-0123456789\", b = \"CANARY-0123456789\" }",
        "[listen.auth]\ntype = \"bearer\"\ntokens = { a = \"CANARY\" }",
        "[listen.auth]\ntype = \"bearer\"\ntokens = [\"CANARY\"]",
        // With the token where the name of the agent belongs.
        "[listen.auth]\ntype = \"bearer\"\ntokens = { CANARY-0123456789 = \"alice\" }",
        "[listen.auth]\ntype = \"bearer\"\ntokens = { \"CANARY-0123456789\" = 1, \"CANARY-9876543210\" = \"0123456789abcdef\" }",
        "[listen.auth.tokens]\nCANARY-0123456789 = \"alice\"\n[listen.auth.tokens.CANARY-9876543210]\na = 1",
        "[listen.auth]\ntype = \"bearer\"\ntoken = \"CANARY-0123456789\"",
        "[listen.auth]\ntype = \"jwt\"\njwks_url = \"https://u:CANARY@a\"\nresource = \"http://a/?CANARY\"",
        "[listen]\nallowed_origins = [\"https://u:CANARY@a\"]\nallowed_hosts = [\"u:CANARY@a\"]",
        // Out of a variable, in a field that quotes what it does not know.
        "[upstream]\nname = \"${SECRET} \"",
        "[audit]\ndurability = \"${SECRET}\"",
        "[upstream]\nurl = \"${SECRET}\"",
        "[limits]\nrequest_timeout = \"${SECRET}\"",
        "[policy]\nallow = [\"${SECRET}\\u0007\"]",
        // In a comment.
        "[upstream] # CANARY\n# CANARY\nx = 1 # CANARY",
        // Where the text is not TOML.
        "[upstream.env]\nTOKEN = CANARY",
        "[upstream.env]\nTOKEN = \"CANARY",
        "[upstream.env]\nTOKEN = 'CANARY\nA = 1",
        "[upstream.env]\nTOKEN \"CANARY\"",
        "[upstream.env]\nTOKEN: CANARY",
        "[upstream.env]\nTOKEN = \"it\"s CANARY = 1\"",
        "[upstream.env]\nTOKEN = 'it's CANARY = 1'",
        "[upstream.env]\nTOKEN = \"\"\"x\nCANARY = 1\n",
        "[upstream.env]\nTOKEN = \"\\q CANARY\"",
        "[upstream]\nenv = { TOKEN = \"CANARY\"",
        "[upstream]\nenv = { TOKEN = \"CANARY\" \"CANARY\" }",
        "[upstream]\ncommand = [\"a\" CANARY",
        "CANARY",
        "= CANARY",
    ] {
        never_seen(text);
    }
}

#[test]
fn what_cannot_be_secret_is_shown() {
    let cases = [
        ("limits.max_depth = 65", "max_depth = 65"),
        ("policy.deny_response = \"no\"", "deny_response = \"no\""),
        (
            "limits.request_timeout = \"1 s\"",
            "request_timeout = \"1 s\"",
        ),
        ("[upstream.evn]\nA = \"x\"", "[upstream.evn]"),
        (
            "policy.dir = \"${NOPE}/policies\"",
            "dir = \"${NOPE}/policies\"",
        ),
    ];
    for (text, line) in cases {
        let report = render(&parse(text).expect_err(text));
        assert!(report.contains(line), "{report}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// One character is lost or put somewhere: most such files are wrong, and none tells its
    /// secrets.
    #[test]
    fn a_slip_of_the_finger_does_not_show_a_secret(at in 0..FILE.len(), typed in "[\\[\\]{}\"'=.,# \n\\\\a]?") {
        let mut text: Vec<char> = FILE.chars().collect();
        let at = at.min(text.len() - 1);
        text.splice(at..=at, typed.chars());
        never_seen(&text.into_iter().collect::<String>());
    }
}

const FILE: &str = r#"
[upstream]
command = ["server", "--token", "CANARY"]
env = { TOKEN = "CANARY", OTHER = 'CANARY', LONG = """
CANARY
""" }
extra = "CANARY"
auth = { type = "bearer", token = "CANARY-0123456789" }

[listen]
transport = "http"
host = "::"
auth = { type = "bearer", tokens = { alice = "CANARY-0123456789", bob = 'CANARY-9876543210' } }

[extra]
one = ["CANARY", { two = "CANARY" }]
"#;
