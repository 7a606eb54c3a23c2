//! The official inspector, on the command line.

use std::process::{Command, Output};

use serde_json::Value;

use crate::real_servers::real::{ALL, Call, DUAL, Real, each, installed};
use crate::support::json::json;
use crate::support::processes;
use crate::support::setup::{GATE, Policy, Setup};

/// One run of the inspector against a command.
fn inspect(real: &Real, era: &str, method: &[String], server: &[String]) -> Output {
    let mut inspector = Command::new(installed("mcp-inspector"));
    inspector
        .args(["--cli", "--format", "json", "-q", "--protocol-era", era])
        .args(["--method"])
        .args(method)
        .arg("--")
        .args(server)
        .env("HOME", real.home());
    inspector.output().unwrap()
}

/// What it prints when it succeeds.
#[track_caller]
pub(crate) fn printed(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {stderr}", output.status);
    json(str::from_utf8(&output.stdout).unwrap())
}

pub(crate) fn call_of(call: &Call) -> Vec<String> {
    let mut words = vec![
        "tools/call".to_owned(),
        "--tool-name".to_owned(),
        call.tool.to_owned(),
    ];
    for (name, value) in call.arguments.as_object().unwrap() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        words.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
    }
    words
}

/// The command line of a server without a gate.
fn direct(real: &Real) -> Vec<String> {
    let direct = real.direct();
    let env = direct
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_str()?, value?.to_str()?)));
    let words = [direct.get_program()].into_iter().chain(direct.get_args());
    ["env".to_owned()]
        .into_iter()
        .chain(env)
        .chain(words.map(|word| word.to_str().unwrap().to_owned()))
        .collect()
}

/// A gate without a configuration file: everything on one line, as in an agent's settings.
fn gate(setup: &Setup) -> Vec<String> {
    let env = setup
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let names: Vec<&str> = setup.env.iter().map(|(name, _)| name.as_str()).collect();
    let permits = match &setup.policy {
        Policy::Allow(tools) => ["--allow".to_owned(), tools.join(",")],
        Policy::Directory(directory) => ["--policies", directory.to_str().unwrap()].map(Into::into),
    };
    let audit = ["--audit", setup.audit_file().to_str().unwrap()].map(str::to_owned);
    let passed = ["--env".to_owned(), names.join(","), "--".to_owned()];
    ["env".to_owned()]
        .into_iter()
        .chain(env)
        .chain([GATE, "proxy"].map(str::to_owned))
        .chain(permits)
        .chain(audit)
        .chain(passed)
        .chain(setup.command.iter().cloned())
        .collect()
}

/// Lists, calls, and tries to call what is not allowed; all through one kind of gate, and what is
/// allowed without it.
fn check(real: &Real, era: &str) {
    let setup = real.guarded().allow(&real.allow);
    let run = |method: &[String], server: &[String]| inspect(real, era, method, server);
    let list = ["tools/list".to_owned()];

    let shown = printed(&run(&list, &gate(&setup)));
    let offered = printed(&run(&list, &direct(real)));
    let tools = |listed: &Value| listed["result"]["tools"].as_array().unwrap().clone();
    let mut expected = tools(&offered);
    expected.retain(|tool| real.allow.contains(&tool["name"].as_str().unwrap()));
    assert_eq!(tools(&shown), expected);
    assert_eq!(expected.len(), real.allow.len() - 1);

    let allowed = call_of(&real.read);
    let through = printed(&run(&allowed, &gate(&setup)));
    assert_eq!(through, printed(&run(&allowed, &direct(real))));

    let refused = run(&call_of(&real.denied), &gate(&setup));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("tool_not_found"), "{stderr}");

    processes::all_end(setup.mark());
    real.got_only(&real.read);
    let audit = setup.audit_text();
    let audit: Vec<Value> = audit.lines().map(json).collect();
    let of = |kind: &str| audit.iter().filter(|it| it["kind"] == kind).count();
    // Three gates wrote to one file, one after the other, and all ended as they should.
    assert_eq!(
        [of("session_start"), of("session_end"), of("shutdown")],
        [3; 3]
    );
    assert_eq!([of("tool_call"), of("tool_result")], [1, 1]);
    assert!(of("tools_list") >= 3, "{audit:#?}");
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_lists_and_calls_what_is_allowed_of_a_real_server() {
    each(ALL, |real| check(real, "legacy"));
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_gets_what_a_policy_on_arguments_permits_and_no_more() {
    each(ALL, |real| {
        // The inspector sets the log level of every server that logs, and takes a denial for a failure.
        let logging = "permit (principal, action == Mcp::Action::\"set_level\", resource);\n";
        let setup = real
            .guarded()
            .policies(&format!("{}@id(\"logging\")\n{logging}", real.policy));
        let run = |call: &Call, server: &[String]| inspect(real, "legacy", &call_of(call), server);
        let through = printed(&run(&real.read, &gate(&setup)));
        assert_eq!(through, printed(&run(&real.read, &direct(real))));

        let refused = run(&real.refused, &gate(&setup));
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success(), "{stderr}");
        assert!(stderr.contains("denied by policy"), "{stderr}");
        processes::all_end(setup.mark());
        real.got_only(&real.read);
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_does_the_same_without_a_session_where_the_server_can() {
    each(DUAL, |real| {
        check(real, "modern");
        let received = real.received();
        assert!(received.contains("server/discover"), "{received}");
        assert!(!received.contains(r#""method":"initialize""#), "{received}");
    });
}

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_inspector_finds_out_which_era_a_real_server_speaks() {
    each(ALL, |real| {
        check(real, "auto");
        let received = real.received();
        assert!(received.contains("server/discover"), "{received}");
        let dual = ["git", "time", "fastmcp"].contains(&real.name);
        let session = received.contains(r#""method":"initialize""#);
        assert_eq!(session, !dual, "{received}");
    });
}
