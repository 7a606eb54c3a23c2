//! Data sets that servers name in their results.

use super::*;
use crate::gate::ServerDatasets;
use crate::policy::SessionSensitivity;

const TEXT: &str = r#""content":[{"type":"text","text":"names and numbers"}]"#;

async fn bench(server_datasets: ServerDatasets) -> Bench {
    let bench = Bench::with(open, |settings| {
        settings.terms.server_datasets = server_datasets;
    });
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench
}

/// Calls the tool, lets it answer with this word on data sets, and yields what the agent gets.
async fn answered(bench: &Bench, said: &str) -> String {
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let meta = format!(r#"{{"a":1,"mcp-protector/private_dataset":{said}}}"#);
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{TEXT},"_meta":{meta}}}}}"#);
    bench.upstream(&reply).await;
    bench.to_agent().remove(0)
}

fn held(bench: &Bench) -> Arc<SessionSensitivity> {
    Arc::clone(&bench.talk.session.state().security.held)
}

#[tokio::test]
async fn a_trusted_server_adds_a_name_and_raises_the_level_and_lowers_nothing() {
    let bench = bench(ServerDatasets::Trusted).await;
    let of = |level, names: &[&str]| SessionSensitivity {
        level,
        datasets: names.iter().map(|name| (*name).to_owned()).collect(),
        ..SessionSensitivity::default()
    };
    let steps: [(&str, i64, &[&str]); 4] = [
        (
            r#"{"name":"customers","sensitivity":"confidential"}"#,
            2,
            &["customers"],
        ),
        (
            r#"{"sensitivity":"public","name":"colours"}"#,
            2,
            &["colours", "customers"],
        ),
        (
            r#"{"name":"customers","sensitivity":"internal"}"#,
            2,
            &["colours", "customers"],
        ),
        (
            r#"{"name":"payroll","sensitivity":"SECRET"}"#,
            3,
            &["colours", "customers", "payroll"],
        ),
    ];
    for (said, level, names) in steps {
        let told = answered(&bench, said).await;
        assert!(told.contains(TEXT) && told.contains(said), "{told}");
        assert_eq!(*held(&bench), of(level, names), "{said}");
    }
    let results = bench.records_of("tool_result").await;
    let has = |at: usize, members: &str| {
        let text = results[at].text();
        assert!(text.contains(members), "{text}");
    };
    has(
        0,
        r#""sensitivity":{"before":"PUBLIC","after":"CONFIDENTIAL","datasets":["customers"],"added":["customers"]}"#,
    );
    has(2, r#""datasets":["colours","customers"]}"#);
}

#[tokio::test]
async fn what_a_server_that_is_not_trusted_says_is_taken_out_and_counts_for_nothing() {
    let bench = bench(ServerDatasets::Ignored).await;
    for said in [
        r#"{"name":"payroll","sensitivity":"secret"}"#,
        r#"{"name":"?"}"#,
        r#""payroll""#,
        "null",
    ] {
        let told = answered(&bench, said).await;
        assert!(
            told.contains(TEXT) && told.contains(r#""_meta":{"a":1}"#),
            "{told}"
        );
        assert!(held(&bench).is_nothing());
    }
    let results = bench.records_of("tool_result").await;
    let edit = r#"{"pointer":"/result/_meta/mcp-protector~1private_dataset","op":"remove","reason":"the server is not trusted to name data sets"}"#;
    assert!(results.iter().all(|it| it.text().contains(edit)));
}

#[tokio::test]
async fn a_data_set_in_another_form_is_rejected_since_what_it_would_have_raised_is_unknown() {
    let bench = bench(ServerDatasets::Trusted).await;
    let form = "is no object of `name` and `sensitivity` alone";
    let level = "has no `sensitivity` of `public`, `internal`, `confidential` or `secret`";
    for (said, problem) in [
        ("null", form),
        (r#""payroll""#, form),
        (r#"[{"name":"a","sensitivity":"secret"}]"#, form),
        (r#"{"name":"a","sensitivity":"secret","more":1}"#, form),
        (r#"{"sensitivity":"secret"}"#, "has no `name` of up to 64"),
        (
            r#"{"name":"?","sensitivity":"secret"}"#,
            "has no `name` of up to 64",
        ),
        (
            r#"{"name":"a b","sensitivity":"secret"}"#,
            "has no `name` of up to 64",
        ),
        (
            r#"{"name":["a"],"sensitivity":"secret"}"#,
            "has no `name` of up to 64",
        ),
        (r#"{"name":"a"}"#, level),
        (r#"{"name":"a","sensitivity":3}"#, level),
        (r#"{"name":"a","sensitivity":"top"}"#, level),
    ] {
        let told = answered(&bench, said).await;
        assert!(
            told.contains("\"error\"") && !told.contains("numbers"),
            "{told}"
        );
        assert!(held(&bench).is_nothing(), "{said}");
        let results = bench.records_of("tool_result").await;
        let last = results.last().unwrap();
        assert_eq!(last.get(&["reason", "code"]), "dataset_invalid", "{said}");
        let text = last.get(&["reason", "text"]);
        assert!(text.contains(problem), "{said}: {text}");
    }
}

#[tokio::test]
async fn there_is_an_end_to_the_names_that_servers_add() {
    let bench = bench(ServerDatasets::Trusted).await;
    let said = |name: &str| format!(r#"{{"name":"{name}","sensitivity":"internal"}}"#);
    {
        let mut state = bench.talk.session.state();
        state.security.held = Arc::new(SessionSensitivity {
            datasets: (0..127)
                .map(|at| format!("d{at}"))
                .chain(["?".to_owned()])
                .collect(),
            ..SessionSensitivity::default()
        });
    }
    assert!(answered(&bench, &said("last")).await.contains(TEXT));
    let before = held(&bench);
    let told = answered(&bench, &said("beyond")).await;
    assert!(
        told.contains("\"error\"") && !told.contains("numbers"),
        "{told}"
    );
    assert_eq!(held(&bench), before);
    let results = bench.records_of("tool_result").await;
    assert_eq!(results[1].get(&["reason", "code"]), "too_many_datasets");
    // What it has read already it may read again.
    assert!(answered(&bench, &said("d7")).await.contains(TEXT));
}

#[tokio::test]
async fn policies_on_results_see_the_level_that_a_trusted_server_names() {
    let no_secrets = r#"@id("all") permit (principal, action, resource);
@id("no-secrets") forbid (principal, action == Mcp::Action::"receive_result", resource is Mcp::Tool)
when { context.result.level >= 3 };"#;
    let bench = bench(ServerDatasets::Trusted).await;
    bench.gate.policy.publish(ratchet::policies(no_secrets));
    bench.list(&["t"]).await;
    let told = answered(&bench, r#"{"name":"a","sensitivity":"internal"}"#).await;
    assert!(told.contains(TEXT), "{told}");
    let told = answered(&bench, r#"{"name":"b","sensitivity":"secret"}"#).await;
    assert!(
        told.contains("\"error\"") && !told.contains("numbers"),
        "{told}"
    );
    // It has not been delivered.
    assert_eq!(held(&bench).datasets, ["a".to_owned()].into());
}
