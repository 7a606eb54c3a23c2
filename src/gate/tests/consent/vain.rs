//! Nobody is asked for a yes that would not be enough.

use super::servers::capable;
use super::*;

/// Asked about is what nothing permits, unless it is little, or Olga has agreed.
fn of_little(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let (permitted, scope) = match (&facts.action, &facts.resource) {
        (Action::Sample { max_tokens, .. }, _) => (*max_tokens <= 1000, "sampling/createMessage"),
        (Action::CallTool { .. }, Resource::Tool(tool)) => {
            let by_olga = facts.env.consent.by.as_deref() == Some("cli:olga");
            (tool.name != "ask_more" || by_olga, tool.name.as_str())
        }
        _ => return open(facts),
    };
    let consent = &facts.env.consent;
    Ok(if !(consent.granted && consent.scope == scope) {
        Verdict::Deny {
            reasons: vec![reason("wants-consent", Some(OnDeny::AskConsent))],
        }
    } else if permitted {
        allow()
    } else {
        Verdict::Abstain
    })
}

#[tokio::test]
async fn nobody_is_asked_whose_yes_would_be_refused() {
    let sample = |tokens: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{{"messages":[],"maxTokens":{tokens}}}}}"#
        )
    };
    for (tokens, waiting) in [(1000, 1), (1001, 0)] {
        let asked = capable(Asked::new(of_little, &Way::ALL)).await;
        asked.bench.upstream(&sample(tokens)).await;
        assert_eq!(asked.desk.pending().len(), waiting, "{tokens}");
        let records = asked.bench.records_of("server_request").await;
        let codes: Vec<_> = records
            .iter()
            .map(|it| it.get(&["reason", "code"]))
            .collect();
        let expected: &[&str] = if waiting == 1 {
            &[]
        } else {
            &["not_permitted"]
        };
        assert_eq!(codes, expected, "{tokens}");
    }
}

#[tokio::test]
async fn whoever_could_agree_is_asked_and_nobody_else_is_awaited() {
    // Olga could, at her command line; whoever sits before the client could not.
    for (ways, tool, waiting) in [
        (&Way::ALL[..], "ask_more", 1),
        (&[Way::Page], "ask_more", 1),
        (&[Way::Elicitation], "ask_more", 0),
        (&[Way::Elicitation], "ask", 1),
    ] {
        let asked = Asked::session(of_little, ways).await;
        asked.bench.agent(&call("1", tool)).await;
        let waits = asked
            .bench
            .talk
            .session
            .state()
            .waiting
            .asking
            .waiting
            .len();
        assert_eq!(waits, waiting, "{ways:?} {tool}");
        let answered = asked.bench.to_agent();
        let denied = answered.iter().any(|it| it.contains(r#""code":4030"#));
        assert_eq!(denied, waiting == 0, "{answered:?}");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_a_form_that_no_policy_can_permit() {
    let bench = Bench::with(servers::of_servers, |settings| {
        settings.terms.guards.asking.secrets = Level::Strict;
    });
    let asked = capable(Asked::before(bench, &[Way::Page], |_| {})).await;
    let form = r#"{"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}}"#;
    asked.bench.upstream(form).await;
    assert_eq!(asked.desk.pending(), []);
    assert!(asked.bench.to_upstream()[0].contains("-32602"));
}
