//! A call that needs consent, from the question to what becomes of it: each lifecycle of the official
//! library's client, over each transport, with the bridge and without it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::CallToolRequestParams;
use rmcp::object;

use crate::bridge::person::{Begins, Client, Person, Says};
use crate::support::fixtures::fixture;
use crate::support::json::json;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

const POLICIES: &str = r#"
@id("all")
permit (principal, action, resource);

@id("ask")
@advice("A person has to agree.")
@requires_consent
forbid (principal is Mcp::Agent, action in Mcp::Action::"call_tool", resource is Mcp::Tool)
when { resource.name == "structured" }
unless { context.env.consent.granted && context.env.consent.scope == "structured" };

@id("ask-about-samples")
@advice("A person has to agree.")
@requires_consent
forbid (principal, action == Mcp::Action::"sample", resource)
unless { context.env.consent.granted && context.env.consent.scope == "sampling/createMessage" };
"#;

/// What is between a client and its server.
#[derive(Debug, Clone, Copy)]
struct Way {
    begins: Begins,
    /// What the server is told.
    server: &'static [&'static str],
    over: Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Stdio,
    Http,
}

const STATELESS: &[&str] = &["--stateless"];

const WAYS: [Way; 6] = [
    way(Begins::Initialize, &[], Over::Stdio),
    way(Begins::Initialize, &[], Over::Http),
    way(Begins::Discover, STATELESS, Over::Stdio),
    way(Begins::Discover, STATELESS, Over::Http),
    // With the bridge.
    way(Begins::Initialize, STATELESS, Over::Stdio),
    way(Begins::Initialize, STATELESS, Over::Http),
];

const fn way(begins: Begins, server: &'static [&'static str], over: Over) -> Way {
    Way {
        begins,
        server,
        over,
    }
}

/// A client whose gate asks, and what has to live as long as it does.
struct Scene {
    client: Client,
    person: Person,
    gate: Gate,
}

enum Gate {
    OfItsOwn(Setup),
    Serving(Serving),
}

impl Scene {
    async fn of(way: Way, says: Says, timeout: &str) -> Self {
        let server = fixture("everything-server");
        let command = [server.as_str()]
            .into_iter()
            .chain(way.server.iter().copied());
        let mut setup = Setup::of(command).policies(POLICIES).agentic();
        setup.limits =
            format!("\n[consent]\nchannels = [\"elicitation\"]\ntimeout = \"{timeout}\"\n");
        let person = Person::who_says(says);
        let (client, gate) = match way.over {
            Over::Stdio => {
                let client = person.clone().starts(setup.gate(), way.begins).await;
                (client, Gate::OfItsOwn(setup))
            }
            Over::Http => {
                let serving = Serving::start(setup.over_http());
                let client = person.clone().reaches(&serving.url, way.begins).await;
                (client, Gate::Serving(serving))
            }
        };
        Self {
            client,
            person,
            gate,
        }
    }

    /// What the client is told of a call.
    async fn calls(&self) -> Result<serde_json::Value, String> {
        self.client.list_all_tools().await.unwrap();
        let city = object!({"city": "Reykjavik"});
        let call = CallToolRequestParams::new("structured").with_arguments(city);
        match self.client.call_tool(call).await {
            Ok(called) => Ok(called.structured_content.unwrap_or_default()),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// What the client is told of a call whose tool asks for a sample.
    async fn lends(&self) -> String {
        self.client.list_all_tools().await.unwrap();
        let call = CallToolRequestParams::new("sample");
        match self.client.call_tool(call).await {
            Ok(called) => json(&serde_json::to_string(&called).unwrap()).to_string(),
            Err(fault) => fault.to_string(),
        }
    }

    /// Ends the conversation; yields what the audit says of consent: two records, which may be
    /// written after the answer was told.
    async fn ends(self) -> Vec<String> {
        self.client.cancel().await.unwrap();
        let setup = match &self.gate {
            Gate::OfItsOwn(setup) => setup,
            Gate::Serving(serving) => serving.setup(),
        };
        let mut events = Vec::new();
        for _ in 0..100 {
            events = Self::of_consent(&setup.audit_text());
            if events.len() >= 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        events
    }

    fn of_consent(audit: &str) -> Vec<String> {
        let records = audit.lines().map(json);
        let of_consent = records.filter(|record| record["kind"] == "consent");
        of_consent
            .map(|record| {
                let by = record["consent"]["by"].as_str().unwrap_or_default();
                format!("{} {by}", record["event"].as_str().unwrap())
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }
}

#[tokio::test]
async fn a_call_that_somebody_agrees_to_is_carried_out() {
    for way in WAYS {
        let scene = Scene::of(way, Says::Yes, "2m").await;
        let called = scene.calls().await;
        assert_eq!(called.unwrap()["city"], "Reykjavik", "{way:?}");
        let read = scene.person.read.lock().unwrap().clone();
        assert_eq!(read.len(), 1, "{way:?}");
        assert!(read[0].contains("Tool: \"structured\""), "{}", read[0]);
        assert!(read[0].contains("\"city\": \"Reykjavik\""), "{}", read[0]);
        assert!(
            read[0].contains("Why: A person has to agree."),
            "{}",
            read[0]
        );
        let events = scene.ends().await;
        assert_eq!(events.len(), 2, "{way:?} {events:?}");
        assert_eq!(events[0], "consent_requested");
        assert!(
            events[1].starts_with("consent_granted agent_ui:"),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn a_call_that_somebody_refuses_is_denied() {
    for way in WAYS {
        let scene = Scene::of(way, Says::No, "2m").await;
        let fault = scene.calls().await.unwrap_err();
        assert!(fault.contains("a person said no"), "{way:?} {fault}");
        let events = scene.ends().await;
        assert!(
            events[1].starts_with("consent_denied agent_ui:"),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn a_call_that_nobody_answers_for_is_denied() {
    for over in [Over::Stdio, Over::Http] {
        let way = way(Begins::Initialize, &[], over);
        let scene = Scene::of(way, Says::Nothing, "1s").await;
        let fault = scene.calls().await.unwrap_err();
        assert!(
            fault.contains("no person answered the approval request in time"),
            "{fault}"
        );
        assert_eq!(scene.ends().await, ["consent_requested", "consent_timeout"]);
    }
}

#[tokio::test]
async fn a_sample_that_somebody_agrees_to_is_made_wherever_the_server_asks_for_it() {
    for way in WAYS {
        let scene = Scene::of(way, Says::Yes, "2m").await;
        let told = scene.lends().await;
        assert!(told.contains("Reykjavik"), "{way:?} {told}");
        let read = scene.person.read.lock().unwrap().clone();
        assert_eq!(read.len(), 1, "{way:?}");
        assert!(
            read[0].contains("asks for a sample of the agent's model"),
            "{}",
            read[0]
        );
        assert!(read[0].contains("capital of Iceland"), "{}", read[0]);
        let events = scene.ends().await;
        assert_eq!(events.len(), 2, "{way:?} {events:?}");
        assert!(
            events[1].starts_with("consent_granted agent_ui:"),
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn a_sample_that_somebody_refuses_is_not_made() {
    for way in WAYS {
        let scene = Scene::of(way, Says::No, "2m").await;
        let told = scene.lends().await;
        assert!(!told.contains("Reykjavik"), "{way:?} {told}");
        assert_eq!(scene.person.lent.load(Ordering::Relaxed), 0, "{way:?}");
        let events = scene.ends().await;
        assert!(
            events[1].starts_with("consent_denied agent_ui:"),
            "{events:?}"
        );
    }
}
