//! Requests that wait for a person's consent.

mod kept;
mod rounds;
mod sampling;
mod scarce;
mod servers;
mod sessions;
mod vain;
mod waiting;
mod weight;
mod withdrawn;
mod within;

use super::*;
use crate::audit::Durability;
use crate::consent::{Answer, By, Desk, Settings as Asking, TicketId, Way};
use crate::policy::{OnDeny, PolicyId, PolicyOrigin, Reason};

const TIMEOUT: Duration = Duration::from_mins(1);

/// What asks for consent needs it for tools, prompts and URIs with this in their name.
const ASKS: &str = "ask";

/// Everything is allowed, with consent where the name says so.
pub(super) fn with_consent(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let name = match (&facts.action, &facts.resource) {
        (Action::CallTool { .. }, Resource::Tool(tool)) => tool.name.as_str(),
        (Action::GetPrompt { .. }, Resource::Prompt(prompt)) => prompt.name.as_str(),
        (Action::ReadResource, Resource::Resource(resource)) => resource.uri.as_str(),
        _ => return Ok(allow()),
    };
    let consent = &facts.env.consent;
    if !name.contains(ASKS) || consent.granted && consent.scope == name {
        return Ok(allow());
    }
    Ok(Verdict::Deny {
        reasons: vec![reason("wants-consent", Some(OnDeny::AskConsent))],
    })
}

pub(super) fn reason(id: &str, on_deny: Option<OnDeny>) -> Reason {
    Reason {
        policy: PolicyId::new(id),
        origin: PolicyOrigin {
            file: "test.cedar".into(),
            line: 1,
        },
        code: Some("consent_required".into()),
        advice: Some("A person has to agree.".into()),
        on_deny,
    }
}

/// A gate that asks.
pub(super) struct Asked {
    pub(super) bench: Bench,
    pub(super) desk: Arc<Desk>,
}

impl Asked {
    pub(super) fn new(rule: Rule, ways: &[Way]) -> Self {
        Self::with(rule, ways, |_| {})
    }

    pub(super) fn with(rule: Rule, ways: &[Way], change: impl FnOnce(&mut Asking)) -> Self {
        Self::before(Bench::new(rule), ways, change)
    }

    /// Each record is waited for, so that a test can hold it up.
    pub(super) fn recording(rule: Rule, ways: &[Way]) -> Self {
        let bench = Bench::recording(rule, Durability::Strict, |_| {});
        Self::before(bench, ways, |_| {})
    }

    pub(super) fn before(mut bench: Bench, ways: &[Way], change: impl FnOnce(&mut Asking)) -> Self {
        let mut settings = Asking {
            channels: ways.to_vec(),
            approvers: vec!["olga".to_owned()],
            timeout: TIMEOUT,
            ..Asking::default()
        };
        change(&mut settings);
        let clock: Arc<dyn Clock> = bench.clock.clone();
        let desk = Arc::new(Desk::new(settings, clock, [7; 32]));
        bench.gate = bench.gate.asking(Arc::clone(&desk));
        Self { bench, desk }
    }

    /// A session whose client shows forms, and has seen the tools.
    pub(super) async fn session(rule: Rule, ways: &[Way]) -> Self {
        let asked = Self::new(rule, ways);
        asked.shake_hands().await;
        asked
    }

    pub(super) async fn shake_hands(&self) {
        let bench = &self.bench;
        bench
            .agent(&INITIALIZE.replace(r#""roots":{}"#, r#""elicitation":{}"#))
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#)).await;
        bench
            .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        bench.to_upstream();
        bench.to_agent();
        bench.list(&["ask", "ask_more", "free"]).await;
    }

    /// Asks for something, and yields the ticket.
    pub(super) async fn call(&self, id: &str, tool: &str) -> TicketId {
        self.bench.agent(&call(id, tool)).await;
        assert_eq!(self.bench.to_upstream(), Vec::<String>::new());
        self.latest()
    }

    pub(super) fn latest(&self) -> TicketId {
        let id = self
            .bench
            .talk
            .session
            .state()
            .waiting
            .asking
            .waiting
            .last()
            .unwrap()
            .ticket
            .clone();
        TicketId::parse(&id).unwrap()
    }

    pub(super) async fn answer(&self, ticket: &TicketId, answer: Answer) {
        let by = By::page("olga");
        self.desk.answer(ticket, answer, by).unwrap();
        self.go_on().await;
    }

    pub(super) async fn go_on(&self) {
        let bench = &self.bench;
        Box::pin(bench.gate.answered(&bench.talk)).await.unwrap();
    }

    /// Lets time pass, and ends what is over.
    pub(super) async fn wait(&self, time: Duration) {
        let bench = &self.bench;
        bench.clock.advance(time);
        Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    }

    /// What became of questions, in order.
    pub(super) async fn events(&self) -> Vec<String> {
        let records = self.bench.records_of("consent").await;
        let told = records.iter().map(|it| {
            let (event, by) = (it.get(&["event"]), it.get(&["consent", "by"]));
            format!("{event} {by}").trim_end().to_owned()
        });
        told.collect()
    }

    /// How calls were decided, in order.
    pub(super) async fn calls(&self) -> Vec<String> {
        let records = self.bench.records_of("tool_call").await;
        let told = records.iter().map(|it| {
            let (decision, code) = (it.get(&["decision"]), it.get(&["reason", "code"]));
            format!("{decision} {code}").trim_end().to_owned()
        });
        told.collect()
    }
}

/// What the agent's client says to a form.
pub(super) fn form_answer(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// An answer to a denied call, by what stands in it.
pub(super) fn assert_refused(answers: &[String], id: &str, reason: &str) {
    assert_eq!(answers.len(), 1, "{answers:?}");
    let answer = &answers[0];
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":4030,"#);
    assert!(answer.starts_with(&head), "{answer}");
    assert!(
        answer.contains(&format!(r#""reason":"{reason}""#)),
        "{answer}"
    );
    assert!(answer.contains("A person has to agree."), "{answer}");
}
