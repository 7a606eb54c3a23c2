//! What the records of a call say beside its decision.

use super::consent::{Asked, with_consent};
use super::*;
use crate::consent::{Answer, Way};
use crate::policy::{AgentLabels, Labels, ToolLabels};

/// The JSON text of a field.
fn field(record: &Entry, path: &[&str]) -> String {
    let value = record.0.root().at(path);
    value.map_or_else(String::new, |value| value.text().to_owned())
}

fn labels() -> Labels {
    let mut labels = Labels::default();
    let tool = ToolLabels {
        capabilities: vec!["fs.write".to_owned(), "net".to_owned()],
        ..ToolLabels::default()
    };
    labels.tools.insert("write".to_owned(), tool);
    let agent = AgentLabels {
        roles: vec!["writer".to_owned()],
        capabilities: vec!["net".to_owned()],
        ..AgentLabels::default()
    };
    labels.agents.insert("stdio".to_owned(), agent);
    let granted = vec!["fs".to_owned(), "fs.write".to_owned()];
    labels.roles.insert("writer".to_owned(), granted);
    labels
}

#[tokio::test]
async fn a_call_and_its_result_name_the_capabilities_and_the_definition_of_the_tool() {
    let bench = Bench::new(open);
    let labelled = snapshot("labelled", open).with_labels(labels());
    bench.talk.session.described_by(labelled.labels());
    bench.talk.introduce();
    bench.gate.policy.publish(labelled);
    bench.shake_hands().await;
    bench.list(&["write", "read"]).await;
    for (id, tool, capabilities) in [
        (
            "1",
            "write",
            r#"{"needed":["fs.write","net"],"held":["net","fs","fs.write"]}"#,
        ),
        ("2", "read", r#"{"held":["net","fs","fs.write"]}"#),
    ] {
        bench.agent(&call(id, tool)).await;
        let asked = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"content":[]}}}}"#
            ))
            .await;
        let definition = format!(r#"{{"inputSchema":{{"type":"object"}},"name":"{tool}"}}"#);
        let digest = super::super::digest::locked_digest(&definition);
        let records = bench.records().await;
        let [.., decided, ended] = &records[..] else {
            panic!("{records:?}")
        };
        for record in [decided, ended] {
            assert_eq!(field(record, &["capabilities"]), capabilities);
            assert_eq!(
                field(record, &["tool"]),
                format!(r#"{{"digest":"sha256:{digest}","server_version":"1"}}"#)
            );
            assert_eq!(field(record, &["agent", "roles"]), r#"["writer"]"#);
        }
    }
    // A tool that no server offers has no definition.
    bench.agent(&call("3", "none")).await;
    let record = bench.records_of("tool_call").await.pop().unwrap();
    assert_eq!(field(&record, &["tool"]), r#"{"server_version":"1"}"#);
}

#[tokio::test]
async fn the_version_of_a_hostile_server_is_cut_and_escaped() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    let id = id_of(&bench.to_upstream()[0]);
    let version = format!(r"\u001b[2J\n{}", "x".repeat(100_000));
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"{version}"}}}}}}"#
        ))
        .await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench.to_upstream();
    bench.list(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    let record = bench.records_of("tool_call").await.pop().unwrap();
    let recorded = field(&record, &["tool", "server_version"]);
    assert!(recorded.starts_with(r#""\u001b[2J\nxxx"#), "{recorded}");
    assert!(recorded.ends_with("bytes more]\""), "{recorded}");
    assert!(recorded.len() < 1200, "{}", recorded.len());
}

/// What happens to a question.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Answer(Answer),
    Nothing,
    Cancelled,
    Policies,
}

#[tokio::test]
async fn a_call_says_whether_it_needed_consent_and_what_came_of_the_question() {
    let olga = r#","by":"web:olga""#;
    for (happens, outcome, by) in [
        (Happens::Answer(Answer::Approve), "granted", olga),
        (Happens::Answer(Answer::Deny), "denied", olga),
        (Happens::Nothing, "timeout", ""),
        (Happens::Cancelled, "cancelled", ""),
        (Happens::Policies, "cancelled", ""),
    ] {
        let asked = Asked::session(with_consent, &[Way::Page]).await;
        let bench = &asked.bench;
        let ticket = asked.call("1", "ask").await;
        match happens {
            Happens::Answer(answer) => asked.answer(&ticket, answer).await,
            Happens::Nothing => asked.wait(Duration::from_mins(5)).await,
            Happens::Cancelled => {
                let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
                bench.agent(cancel).await;
                asked.go_on().await;
            }
            Happens::Policies => {
                let before = bench.gate.policy.current();
                bench.gate.policy.publish(snapshot("others", with_consent));
                asked.desk.retire(before.revision().as_str());
                asked.go_on().await;
            }
        }
        let ticket = ticket.as_str();
        let expected =
            format!(r#"{{"required":true,"outcome":"{outcome}","ticket":"{ticket}"{by}}}"#);
        let record = bench.records_of("tool_call").await.pop().unwrap();
        assert_eq!(field(&record, &["consent"]), expected, "{happens:?}");
        for sent in bench
            .to_upstream()
            .iter()
            .filter(|it| it.contains("tools/call"))
        {
            let id = id_of(sent);
            bench
                .upstream(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#
                ))
                .await;
            let record = bench.records_of("tool_result").await.pop().unwrap();
            assert_eq!(field(&record, &["consent"]), expected, "{happens:?}");
        }
        // The question's own records say nothing of a message.
        for question in bench.records_of("consent").await {
            assert!(!question.text().contains("required"), "{question:?}");
        }
    }
}

#[tokio::test]
async fn consent_without_a_channel_for_questions_was_required_all_the_same() {
    let bench = Bench::ready(with_consent, &["ask", "free"]).await;
    bench.agent(&call("1", "ask")).await;
    bench.agent(&call("2", "free")).await;
    let records = bench.records_of("tool_call").await;
    let consents: Vec<_> = records.iter().map(|it| field(it, &["consent"])).collect();
    assert_eq!(consents, [r#"{"required":true}"#, ""]);
}
