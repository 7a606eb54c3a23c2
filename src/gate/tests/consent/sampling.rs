//! A sample needs a policy, an agentic agent, and an approval that a person gives now or gave before.

use super::servers::{SAMPLE, capable};
use super::*;
use crate::policy::{AgentLabels, Labels, SamplingTerms, StandingConsent};

fn never(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    match facts.action {
        Action::Sample { .. } => Ok(Verdict::Abstain),
        _ => open(facts),
    }
}

fn standing(until_ms: i64) -> Option<StandingConsent> {
    Some(StandingConsent {
        by: "security@example.com".to_owned(),
        until_ms,
    })
}

/// A session whose client samples, under terms as loading puts them in force.
async fn under(rule: Rule, ways: &[Way], sampling: SamplingTerms) -> Asked {
    let asked = Asked::new(rule, ways);
    let agent = AgentLabels {
        sampling,
        ..AgentLabels::default()
    };
    let labels = Labels {
        agents: HashMap::from([("stdio".to_owned(), agent)]),
        ..Labels::default()
    };
    let source = PolicySource::new("test", "on terms");
    let policies = PolicySnapshot::new(vec![Box::new(Scripted(rule))], vec![source], vec![]);
    let policies = policies.with_labels(labels);
    asked.bench.gate.policy.publish(policies);
    capable(asked).await
}

/// What becomes of a sample without an answer yet: the policies that the record names, and
/// whether a person is asked.
async fn sampled(asked: &Asked) -> (usize, Vec<String>, usize) {
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    let records = bench.records_of("server_request").await;
    let codes = records.iter().map(|record| record.get(&["reason", "code"]));
    (
        bench.to_agent().len(),
        codes.collect(),
        asked.desk.pending().len(),
    )
}

#[tokio::test]
async fn a_sample_needs_a_policy_and_an_agentic_agent_and_an_approval() {
    let check = async |rule: Rule, agentic, standing, sent, code: &str, asks| {
        let terms = SamplingTerms { agentic, standing };
        let asked = under(rule, &[Way::Page], terms).await;
        let codes: Vec<String> = match (sent, asks) {
            (0, 1) => Vec::new(),
            _ => vec![code.to_owned()],
        };
        assert_eq!(
            sampled(&asked).await,
            (sent, codes, asks),
            "{agentic} {code}"
        );
    };
    let forever = || standing(i64::MAX);
    check(open, true, forever(), 1, "", 0).await;
    check(never, true, forever(), 0, "not_permitted", 0).await;
    check(open, false, forever(), 0, "not_agentic", 0).await;
    check(open, true, None, 0, "", 1).await;
    // One that has ended is none.
    check(open, true, standing(0), 0, "", 1).await;
    check(open, false, None, 0, "not_agentic", 0).await;
    check(never, true, None, 0, "not_permitted", 0).await;
}

#[tokio::test]
async fn where_no_person_can_be_asked_a_sample_without_a_standing_approval_is_denied() {
    let terms = SamplingTerms {
        agentic: true,
        standing: None,
    };
    let asked = under(open, &[], terms).await;
    let (sent, codes, asks) = sampled(&asked).await;
    assert_eq!((sent, asks), (0, 0));
    assert_eq!(codes, ["consent_unavailable"]);
}

#[tokio::test]
async fn a_person_approves_one_sample_and_is_asked_about_the_next() {
    let terms = SamplingTerms {
        agentic: true,
        standing: None,
    };
    let asked = under(open, &[Way::Page], terms).await;
    let bench = &asked.bench;
    bench.upstream(SAMPLE).await;
    asked.answer(&asked.latest(), Answer::Approve).await;
    let sent = bench.to_agent();
    let minted = id_of(&sent[0]);
    let answer = r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}"#;
    bench.agent(&form_answer(&minted, answer)).await;
    bench.upstream(SAMPLE).await;
    assert_eq!((bench.to_agent().len(), asked.desk.pending().len()), (0, 1));
}

#[tokio::test]
async fn each_use_of_a_standing_approval_is_recorded() {
    let terms = SamplingTerms {
        agentic: true,
        standing: standing(1_893_456_000_000),
    };
    let asked = under(open, &[], terms).await;
    let bench = &asked.bench;
    let answer = r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}"#;
    for _ in 0..2 {
        bench.upstream(SAMPLE).await;
        let minted = id_of(&bench.to_agent()[0]);
        bench.agent(&form_answer(&minted, answer)).await;
    }
    // The same in a result.
    bench.to_upstream();
    bench.list(&["free"]).await;
    bench.agent(&call("7", "free")).await;
    let id = id_of(bench.to_upstream().last().unwrap());
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1}}}}}},"requestState":"s"}}}}"#))
        .await;
    let mut records = bench.records_of("server_request").await;
    records.extend(bench.records_of("tool_result").await);
    assert_eq!(records.len(), 3);
    for record in records {
        assert_eq!(record.get(&["decision"]), "ALLOW");
        assert_eq!(record.get(&["consent", "outcome"]), "granted");
        assert_eq!(
            record.get(&["consent", "by"]),
            "standing:security@example.com"
        );
        let told = "security@example.com has agreed to all samples of this agent until 2030-01-01T00:00:00Z";
        assert!(record.text().contains(r#""code":"standing_consent""#));
        assert!(record.text().contains(told), "{}", record.text());
    }
}
