//! What the log of a gate says of its life, and of those of its sessions.

use std::process::Command;

use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

#[test]
fn the_log_says_where_a_gate_listens_who_comes_and_how_many_have_come() {
    let policy = r#"@id("open") permit (principal, action, resource);"#;
    let setup = Setup::of([fixture("everything-server")]);
    let mut gate = Serving::start(setup.policies(policy).over_http());
    let agents = [(); 2].map(|()| Agent::at(&gate.url).in_session());
    for agent in &agents {
        assert_eq!(agent.echo(1, "hello").status, 200);
    }
    let gate_process = gate.child.id().to_string();
    let told = Command::new("kill").arg(gate_process).status().unwrap();
    assert!(told.success());
    assert!(gate.child.wait().unwrap().success());
    // The last line may be read later than the end is seen.
    let said = eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        let is_last = said.contains("the gate stops");
        is_last.then_some(said.clone()).ok_or(said)
    });
    let line = |wanted: &[&str]| {
        let holds = |line: &&str| wanted.iter().all(|word| line.contains(word));
        said.lines().filter(holds).count()
    };
    assert_eq!(
        line(&[
            "the gate is up",
            "transport=\"http\"",
            "address=",
            "upstream="
        ]),
        1,
        "{said}"
    );
    assert_eq!(
        line(&[
            "a session begins",
            "transport=\"http\"",
            "session_id=",
            "upstream="
        ]),
        2,
        "{said}"
    );
    assert_eq!(line(&["a session ended", "session_id="]), 2, "{said}");
    assert_eq!(line(&["the gate stops", "sessions=2"]), 1, "{said}");
}
