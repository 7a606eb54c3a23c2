//! Fixtures that name the gate that judges them.

use super::*;

const POLICIES: &str = r#"
@id("use")
permit (principal, action in Mcp::Action::"call_tool", resource is Mcp::Tool);
"#;

const LABELS: &str = "
tools.look.permission = 'read'
tools.open = { permission = 'read', paths = ['/path'] }
tools.diary = { permission = 'read', sensitivity = 'confidential' }
";

const GATE: &str = "
upstream.command = ['server']
policy.dir = '.'
";

/// A pack whose fixture names `gate.toml` beside the policies.
fn pack(gate: &str, tests: &str) -> Pack {
    let pack = Pack::new(POLICIES, &format!("gate = '../gate.toml'\n{tests}"));
    pack.write("tools.toml", LABELS);
    pack.write("gate.toml", &format!("{GATE}{gate}"));
    pack
}

fn steps(steps: &str) -> String {
    format!("[[test]]\nname = 'x'\nsteps = [{steps}]")
}

/// What is wrong with the one test of a pack.
fn problems(pack: &Pack) -> Vec<String> {
    let report = pack.run().unwrap();
    report.suites[0].tests[0].problems.clone()
}

const LOOK: &str = "{ call = 'look', expect = 'allow' },";
const SPENT: &str =
    "{ call = 'look', expect = { decision = 'deny', reason = 'session_quota_exceeded' } },";
const OFTEN: &str = "{ call = 'look', expect = { decision = 'deny', reason = 'rate_limited' } },";

/// A report of a session that moves, with an excerpt.
pub(super) fn everything_a_gate_adds() -> Report {
    let said = format!(
        "{{ call = 'look', expect = {{ decision = 'allow', upstream_receives = 'primary' }}, result = {{ text = '{}' }}, \
         received = {{ decision = 'allow', edits = [] }} }}",
        "x".repeat(2000)
    );
    let gate = format!("{ISOLATED}truncation = {{ max_bytes = '1KiB' }}");
    pack(&gate, &steps(&said)).run().unwrap()
}

#[test]
fn a_fixture_is_judged_by_the_gate_that_it_names() {
    let check = |gate: &str, said: &str| {
        let found = problems(&pack(gate, &steps(said)));
        assert_eq!(found, [""; 0], "{gate}: {said}");
    };
    check("", &LOOK.repeat(5));
    check(
        "limits.calls_per_session = 2",
        &[LOOK, LOOK, SPENT].concat(),
    );
    let rate = "limits.rates.tools.look = '1/s'";
    check(rate, &[LOOK, OFTEN].concat());
    let later = LOOK.replace("{ ", "{ after = '1s', ");
    check(rate, &[LOOK, &later, OFTEN].concat());
    let late = OFTEN.replace("{ call", "{ after = '999ms', call");
    check(rate, &[LOOK, &late].concat());
    // Each test begins with a gate of its own.
    let twice = format!(
        "{}\n{}",
        steps(&[LOOK, OFTEN].concat()),
        steps(&[LOOK, OFTEN].concat()).replace("'x'", "'y'")
    );
    let report = pack(rate, &twice).run().unwrap();
    assert_eq!(report.summary.passed, 2);
    check(
        "truncation = { max_bytes = '1KiB' }",
        &format!(
            "{{ call = 'look', expect = 'allow', result = {{ text = '{}' }}, \
             received = {{ decision = 'allow', edits = ['an excerpt of 2000 bytes: /result/content/0/text'] }} }}",
            "x".repeat(2000)
        ),
    );
}

/// Tests have no disk: only stated links are there.
#[cfg(unix)]
#[test]
fn a_gate_that_blocks_links_blocks_those_that_a_test_states_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("/etc", &link).unwrap();
    let check = |gate: &str, links: &str, path: &str, expect: &str| {
        let said = format!("{{ call = 'open', args = {{ path = '{path}' }}, expect = {expect} }}");
        let test = steps(&said).replace("steps", &format!("{links}\nsteps"));
        let found = problems(&pack(gate, &test));
        assert_eq!(found, [""; 0], "{gate} {links} {path}");
    };
    let (block, blocked) = (
        "guards.symlinks = 'block'",
        "{ decision = 'deny', reason = 'symlink_blocked' }",
    );
    let local = link.to_str().unwrap();
    check(block, "", local, "'allow'");
    let links = format!("links = {{ '{local}' = '/etc' }}");
    check(block, &links, local, blocked);
    check(block, &links, "/srv/a", "'allow'");
    check(block, "", "a", blocked);
    check("", &links, local, "'allow'");
}

const ISOLATED: &str = "
upstream.isolated = { command = ['server', '--apart'] }
";

#[test]
fn a_test_says_which_of_two_servers_a_message_reaches() {
    let check = |said: &str, expected: &[&str]| {
        let found = problems(&pack(ISOLATED, &steps(said)));
        assert_eq!(found, expected, "{said}");
    };
    let at = |tool: &str, place: &str| {
        format!(
            "{{ call = '{tool}', expect = {{ decision = 'allow', upstream_receives = '{place}' }} }},"
        )
    };
    let moved = [at("diary", "primary"), at("look", "isolated")].concat();
    check(&moved, &[]);
    // The agent asks for lists there as well, and answers come from where they were asked.
    let listed = "{ list = 'tools', listed = ['diary', 'look'] },";
    check(&format!("{moved}{listed}{}", at("look", "isolated")), &[]);
    let said = "{ call = 'diary', expect = 'allow', result = { text = 'dear diary' }, received = 'allow' },";
    check(&format!("{said}{}", at("look", "isolated")), &[]);
    check(
        &[at("look", "primary"), at("diary", "isolated")].concat(),
        &["step 2 (line 4): expected it at the isolated server, got the primary one"],
    );
    check(
        &[at("diary", "primary"), at("look", "primary")].concat(),
        &["step 2 (line 4): expected it at the primary server, got the isolated one"],
    );
}

const IN_TURN: &str = "upstream.isolated = [
    { min_sensitivity = 'internal', command = ['server', '--apart'] },
    { min_sensitivity = 'confidential', command = ['server', '--far'] },
]\n";

#[test]
fn a_call_that_moves_a_session_on_arrives_at_the_isolated_server_before() {
    let said = steps(
        "{ call = 'diary', expect = { decision = 'allow', upstream_receives = 'isolated' }, \
         result = { text = 'dear diary' }, received = 'allow' },
         { call = 'look', expect = { decision = 'allow', upstream_receives = 'isolated 2' } },",
    );
    let internal = said.replace("steps", "session = { level = 'internal' }\nsteps");
    assert_eq!(problems(&pack(IN_TURN, &internal)), [""; 0]);
}

#[test]
fn a_test_names_each_of_several_isolated_servers() {
    let steps = steps(
        "{ call = 'diary', expect = { decision = 'allow', upstream_receives = 'primary' } },
         { call = 'look', expect = { decision = 'allow', upstream_receives = 'isolated 2' } },
         { call = 'look', expect = { decision = 'allow', upstream_receives = 'isolated' } },",
    );
    assert_eq!(
        problems(&pack(IN_TURN, &steps)),
        ["step 3 (line 6): expected it at the isolated server, got the isolated 2 one"]
    );
}

#[test]
fn without_two_servers_there_is_no_telling_which_one_is_reached() {
    let said = "{ call = 'look', expect = { decision = 'allow', upstream_receives = 'primary' } }";
    assert_eq!(
        problems(&pack("", &steps(said))),
        ["step 1 (line 4): expected it at the primary server, and there are no two"]
    );
}

#[test]
fn a_change_of_the_gates_is_compared_exactly() {
    let long = "x".repeat(2000);
    let check = |edits: &str, text: &str, expected: &[&str]| {
        let said = format!(
            "{{ call = 'look', expect = 'allow', result = {{ text = '{text}' }}, \
             received = {{ decision = 'allow', edits = [{edits}] }} }}"
        );
        let found = problems(&pack("truncation = { max_bytes = '1KiB' }", &steps(&said)));
        assert_eq!(found, expected, "{edits}");
    };
    check("", "short", &[]);
    check(
        "",
        &long,
        &[
            "step 1 (line 4): the answer: the gate changed `an excerpt of 2000 bytes: /result/content/0/text`, which \
           is not in `edits`",
        ],
    );
    check(
        "'an excerpt of 2000 bytes: /result/content/0/text'",
        "short",
        &[
            "step 1 (line 4): the answer: the gate did not change `an excerpt of 2000 bytes: /result/content/0/text`",
        ],
    );
}

#[test]
fn a_gate_that_cannot_be_the_one_of_these_policies_is_refused_with_its_reason() {
    let check = |named: &str, gate: &str, expected: &str| {
        let pack = Pack::new(POLICIES, &format!("gate = '{named}'\n{}", steps(LOOK)));
        pack.write("gate.toml", gate);
        pack.write("other/policies.cedar", POLICIES);
        let not_run = pack.run().unwrap_err();
        let problems = &not_run.fixtures.unwrap().problems;
        let [problem] = problems.as_slice() else {
            panic!("{named}: {problems:?}");
        };
        assert_eq!(problem.code, "test::gate", "{named}");
        assert!(
            problem.message.contains(expected),
            "{named}: {}",
            problem.message
        );
    };
    let here = "../gate.toml";
    check("../../gate.toml", GATE, "is outside of the pack");
    check("/etc/gate.toml", GATE, "is outside of the pack");
    check("gate.toml", GATE, "cannot be read");
    check(
        here,
        "upstream.command = ['x']",
        "is no configuration of these policies",
    );
    let other = "upstream.command = ['x']\npolicy.dir = 'other'";
    check(here, other, "is no configuration of these policies");
    let limits = format!("{GATE}limits.rats = 1");
    check(here, &limits, "line 4: limits.rats: unknown key");
    let variable = format!("{GATE}upstream.name = '${{HOME}}'");
    check(here, &variable, "environment variable `HOME` is not set");
}

#[test]
fn what_is_denied_reaches_no_server_and_is_not_changed() {
    for key in ["upstream_receives = 'primary'", "edits = []"] {
        let said = format!("{{ call = 'look', expect = {{ decision = 'deny', {key} }} }}");
        let not_run = pack("", &steps(&said)).run().unwrap_err();
        let problems = not_run.fixtures.unwrap().problems;
        assert_eq!(problems[0].code, "test::conflict", "{key}");
    }
}

#[test]
fn whoever_names_a_configuration_tests_under_that_one_and_its_limits() {
    let pack = pack("limits.calls_per_session = 1", &steps(&LOOK.repeat(2)));
    assert_eq!(pack.run().unwrap().summary.failed, 1);
    let mut settings = settings(&[pack.path()]);
    let named = |text: &str| {
        let file = pack.path().join("gate.toml");
        let text = format!("{GATE}{text}");
        let config = crate::config::Config::parse(&text, &file, pack.path(), &|_| None).unwrap();
        Some(crate::cli::test_policy::configured(&config, &file))
    };
    settings.configured = named("limits.calls_per_session = 2");
    assert_eq!(run(&settings).unwrap().summary.failed, 0);
    settings.configured = named("limits.calls_per_session = 1");
    assert_eq!(run(&settings).unwrap().summary.failed, 1);
}
