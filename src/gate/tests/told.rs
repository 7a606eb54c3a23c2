//! Log messages and notifications of progress are recorded whole.

use super::*;
use crate::guard::secrets::SecretRules;

/// No file shows what looks like a credential: it is put together here.
fn token() -> String {
    ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
}

/// The JSON text of `params`.
fn params(line: &crate::wire::Document, path: &[&str]) -> String {
    let params = line.root().at(path);
    params.map_or_else(String::new, |params| params.text().to_owned())
}

async fn ready(rule: Rule, received: Treatment) -> Bench {
    let bench = Bench::with(rule, |settings| {
        settings.terms.guards.secrets = Some(Secrets {
            sent: Level::Off,
            received,
            rules: Arc::new(SecretRules::builtin()),
        });
    });
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}"#)
        .await;
    bench.to_agent();
    bench
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#)
}

/// What the agent gets and what the record has of one notification.
async fn told(bench: &Bench, method: &str, said: &str) -> (String, String) {
    bench.upstream(&notification(method, said)).await;
    let got = bench.to_agent().pop().map_or_else(String::new, |line| {
        let line = crate::wire::Document::decode(line.as_bytes(), &Limits::default());
        params(&line.unwrap(), &["params"])
    });
    let record = bench.records_of("notification").await.pop().unwrap();
    assert_eq!(record.get(&["method"]), format!("notifications/{method}"));
    (got, params(&record.0, &["params"]))
}

#[tokio::test]
async fn log_messages_and_progress_are_recorded_whole_as_the_agent_gets_them() {
    let bench = ready(open, Treatment::Redact).await;
    for (method, said) in [
        (
            "message",
            r#"{"level":"warning","logger":"db","data":{"rows":[1,2.50,{"a":null}],"text":"line\nline"},"_meta":{"k":true}}"#,
        ),
        ("message", r#"{"level":"info","data":"text"}"#),
        (
            "progress",
            r#"{"progressToken":7,"progress":0.5,"total":1,"message":"half"}"#,
        ),
    ] {
        let (got, recorded) = told(&bench, method, said).await;
        assert_eq!(got, said);
        assert_eq!(recorded, said);
    }
    // No other notification has them.
    bench
        .upstream(&notification("resources/list_changed", "{}"))
        .await;
    let record = bench.records_of("notification").await.pop().unwrap();
    assert!(!record.text().contains("params"), "{record:?}");
}

#[tokio::test]
async fn a_credential_is_in_no_record_of_what_is_told() {
    let token = token();
    let said = format!(r#"{{"level":"info","data":{{"text":"see {token}","{token}":1}}}}"#);
    for received in [Treatment::Redact, Treatment::Warn, Treatment::Off] {
        let bench = ready(open, received).await;
        let (got, recorded) = told(&bench, "message", &said).await;
        assert!(
            !recorded.is_empty() && !recorded.contains(&token),
            "{recorded}"
        );
        match received {
            Treatment::Redact => assert!(!got.contains(&token), "{got}"),
            Treatment::Warn | Treatment::Off => assert_eq!(got, said),
        }
    }
}

#[tokio::test]
async fn what_is_refused_or_too_long_is_recorded_as_well() {
    let silent: Rule = |facts| {
        Ok(match &facts.action {
            Action::Notify { method } if *method == "notifications/message" => Verdict::Abstain,
            _ => allow(),
        })
    };
    let bench = ready(silent, Treatment::Off).await;
    let said = r#"{"level":"info","data":"x"}"#;
    let (got, recorded) = told(&bench, "message", said).await;
    assert_eq!((&*got, &*recorded), ("", said));
    let record = bench.records_of("notification").await.pop().unwrap();
    assert_eq!(record.get(&["decision"]), "BLOCK");

    let bench = ready(open, Treatment::Off).await;
    let long = "\\u001b".repeat(100_000);
    let said = format!(r#"{{"level":"info","data":"{long}","logger":"l"}}"#);
    let (_, recorded) = told(&bench, "message", &said).await;
    assert!(recorded.starts_with(r#"{"level":"info","data":"\u001b\u001b"#));
    assert!(recorded.contains(" bytes more]\""), "{}", recorded.len());
    assert!(recorded.ends_with(r#""…":"[1 more]"}"#));
}

#[tokio::test]
async fn a_request_by_the_name_of_a_notification_is_recorded_without_its_params() {
    for method in ["message", "progress"] {
        let bench = Bench::new(open);
        let request = notification(method, r#"{"data":"x","progressToken":7,"progress":1}"#)
            .replace(r#""method""#, r#""id":9,"method""#);
        bench.agent(&request).await;
        bench.upstream(&request).await;
        for kind in ["request", "server_request"] {
            let record = bench.records_of(kind).await.remove(0);
            assert_eq!(record.get(&["decision"]), "BLOCK", "{kind}");
            assert_eq!(params(&record.0, &["params"]), "", "{kind}");
        }
    }
}
