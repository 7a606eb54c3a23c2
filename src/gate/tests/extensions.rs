//! Methods of extensions: judged as calls of tools that nobody labelled, and by whatever they name.

mod results;

use std::num::NonZeroU32;

use super::ratchet::TOOLS;
use super::*;
use crate::policy::engines::cedar::Cedar;
use crate::policy::{EngineKind as _, Labels, Leaf, Obligation, ToolLabels};
use crate::wire::ListedMethod;

pub(super) const METHODS: [&str; 3] = ["vendor/do", "vendor/look", "notifications/vendor/tell"];

pub(super) fn listed(methods: &[&str]) -> Extensions {
    let methods = methods
        .iter()
        .map(|name| ListedMethod::named(name).unwrap());
    methods.collect()
}

/// A session before a gate that lists [`METHODS`].
pub(super) async fn session(rule: Rule, change: impl FnOnce(&mut Settings)) -> Bench {
    let bench = Bench::with(rule, |settings| {
        settings.extensions = listed(&METHODS);
        change(settings);
    });
    bench.shake_hands().await;
    bench
}

pub(super) fn request(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub(super) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// What the agent is answered: the error's code.
pub(super) fn code(answers: &[String]) -> Option<i64> {
    let [answer] = answers else {
        panic!("{answers:?}")
    };
    let message = Message::decode(answer.as_bytes(), &Limits::default()).unwrap();
    message
        .error()
        .and_then(|error| error.get("code")?.as_i64())
}

#[tokio::test]
async fn a_listed_method_is_a_question_and_every_other_is_unknown() {
    let bench = session(open, |_| {}).await;
    let sent = request(
        1,
        "vendor/do",
        r#"{"a":[1,{"b":null}],"_meta":{"progressToken":"t"}}"#,
    );
    bench.agent(&sent).await;
    let out = bench.to_upstream();
    assert!(
        out[0].contains(r#""method":"vendor/do","params":{"a":[1,{"b":null}],"#),
        "{out:?}"
    );
    let reply = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"x":1}}}}"#,
        id_of(&out[0])
    );
    bench.upstream(&reply).await;
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#]
    );
    bench
        .agent(&notification("notifications/vendor/tell", "{}"))
        .await;
    assert_eq!(bench.to_upstream().len(), 1);

    let names = [
        "vendor/other",
        "Vendor/do",
        "vendor/do/",
        "vendor/do ",
        "vendor\\u002fDo",
    ];
    for name in names {
        bench.agent(&request(2, name, "{}")).await;
        assert_eq!(code(&bench.to_agent()), Some(-32601), "{name}");
        assert!(bench.to_upstream().is_empty());
    }
    // The same name in other letters of JSON is the same name.
    bench.agent(&request(3, "vendor\\u002fdo", "{}")).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn without_sessions_a_method_says_what_it_is_about_and_needs_no_handshake() {
    let bench = Bench::with(open, |settings| settings.extensions = listed(&METHODS));
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = format!(r#"{{"uri":"memo:a",{meta}}}"#);
    bench.agent(&request(1, "vendor/do", &params)).await;
    let out = bench.to_upstream();
    assert!(out[0].contains("vendor/do"), "{out:?}");
    let told = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","ttlMs":9,"cacheScope":"public"}}}}"#,
        id_of(&out[0])
    );
    bench.upstream(&told).await;
    // Nobody else may be given what this agent was.
    assert!(bench.to_agent()[0].contains(r#""cacheScope":"private""#));
}

#[tokio::test]
async fn a_request_without_an_id_and_a_notification_with_one_are_refused() {
    let bench = session(open, |_| {}).await;
    bench.agent(&notification("vendor/do", "{}")).await;
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    bench
        .agent(&request(1, "notifications/vendor/tell", "{}"))
        .await;
    assert_eq!(code(&bench.to_agent()), Some(-32600));
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn silence_denies_a_listed_method_and_a_policy_sees_its_name_and_params() {
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let Action::Extension { arguments, targets } = &facts.action else {
            return Ok(allow());
        };
        let Resource::Method(method) = &facts.resource else {
            panic!("{facts:?}")
        };
        assert!(targets.outside && targets.level == 3 && !targets.writable);
        assert!(method.permissions.write && method.permissions.connect);
        let names: Vec<&str> = arguments.0.iter().map(|(name, _)| name.as_str()).collect();
        Ok(if method.name == "vendor/look" && names == ["/a"] {
            allow()
        } else {
            Verdict::Abstain
        })
    }
    let bench = session(rule, |_| {}).await;
    bench.agent(&request(1, "vendor/do", "{}")).await;
    assert_eq!(code(&bench.to_agent()), Some(DENIED));
    bench.agent(&request(2, "vendor/look", r#"{"b":1}"#)).await;
    assert_eq!(code(&bench.to_agent()), Some(DENIED));
    assert!(bench.to_upstream().is_empty());
    let params = r#"{"a":1,"_meta":{"progressToken":1}}"#;
    bench.agent(&request(3, "vendor/look", params)).await;
    assert_eq!(bench.to_upstream().len(), 1);
    let records = bench.records_of("request").await;
    let told = |name: &str, at: usize| records[at].get(&[name]);
    assert_eq!(told("method", records.len() - 1), "vendor/look");
    assert!(!told("arguments_digest", records.len() - 1).is_empty());
}

#[tokio::test]
async fn a_server_may_tell_what_is_listed_and_ask_nothing() {
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        let tells = matches!(facts.principal, Principal::Server(_));
        Ok(match (&facts.action, &facts.resource) {
            (Action::Extension { .. }, Resource::Method(_)) if tells => allow(),
            (Action::Subscribe, Resource::Resource(it)) if it.uri == "memo://b" => {
                Verdict::Deny { reasons: vec![] }
            }
            _ => allow(),
        })
    }
    let bench = session(rule, |_| {}).await;
    let tell = |params: &str| notification("notifications/vendor/tell", params);
    bench.upstream(&tell(r#"{"uri":"memo://a"}"#)).await;
    assert_eq!(bench.to_agent().len(), 1);
    // What the agent may not follow it is not told of, wherever it is named.
    for params in [
        r#"{"uri":"memo://b"}"#,
        r#"{"changed":["memo://a","memo://b"]}"#,
        r#"{"by":{"memo://b":true}}"#,
    ] {
        bench.upstream(&tell(params)).await;
        assert!(bench.to_agent().is_empty(), "{params}");
    }
    bench.upstream(&request(9, "vendor/do", "{}")).await;
    assert!(bench.to_agent().is_empty());
    assert_eq!(code(&bench.to_upstream()), Some(-32601));
    // Unlisted, it is refused as before.
    bench
        .upstream(&notification("notifications/vendor/other", "{}"))
        .await;
    assert!(bench.to_agent().is_empty());
}

#[tokio::test]
async fn what_params_name_by_uri_is_judged_as_read() {
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(match (&facts.action, &facts.resource) {
            (Action::ReadResource, Resource::Resource(it)) if it.uri.contains("secret") => {
                Verdict::Deny { reasons: vec![] }
            }
            (Action::ReadResource, Resource::Resource(it)) if it.uri.is_empty() => {
                Verdict::Deny { reasons: vec![] }
            }
            _ => allow(),
        })
    }
    let check = async |params: &str, passes: bool| {
        let bench = session(rule, |_| {}).await;
        bench.agent(&request(1, "vendor/do", params)).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{params}");
    };
    check(r#"{"uri":"memo://plain"}"#, true).await;
    check(r#"{"text":"of secret things"}"#, true).await;
    check(r#"{"uri":"memo://secret"}"#, false).await;
    check(r#"{"uri":"memo:secret"}"#, false).await;
    check(r#"{"uri":"MEMO://a/%73ecret"}"#, false).await;
    check(r#"{"deep":[{"baseUri":"memo:secret"}]}"#, false).await;
    check(r#"{"resource_uris":["memo:a","memo:secret"]}"#, false).await;
    check(r#"{"target":"memo://secret"}"#, false).await;
    check(r#"{"target":" FILE:secret"}"#, false).await;
    check(r#"{"options":{"memo://secret":1}}"#, false).await;
    // A name is sent as it is written, so it has to be written as it is judged.
    check(r#"{"options":{"memo://a/b":1}}"#, true).await;
    check(r#"{"options":{"memo://a/x/../b":1}}"#, false).await;
    check(r#"{"options":{"file:///srv/plain":1}}"#, false).await;
    check(r#"{"uri":5}"#, false).await;
    check(r#"{"uri":{"href":"memo:a"}}"#, false).await;
    check(r#"{"uri":null}"#, true).await;
    let many: Vec<String> = (0..=256).map(|it| format!(r#""memo://{it}""#)).collect();
    check(&format!(r#"{{"uris":[{}]}}"#, many.join(",")), false).await;
}

#[tokio::test]
async fn a_uri_that_is_no_one_resource_is_refused_where_uris_are_guarded() {
    let strict = |settings: &mut Settings| settings.terms.guards.uris = Level::Strict;
    let bench = session(open, strict).await;
    for params in [r#"{"uri":"memo://a/../b"}"#, r#"{"x":["memo://a\u0000b"]}"#] {
        bench.agent(&request(1, "vendor/do", params)).await;
        assert_eq!(code(&bench.to_agent()), Some(-32602), "{params}");
        assert!(bench.to_upstream().is_empty());
    }
}

/// Labels of which the tools that have none are said to be so.
fn unlabelled(toml: ToolLabels) -> Labels {
    Labels {
        unlabelled: toml,
        ..Labels::default()
    }
}

fn under(text: &str, labels: Labels) -> PolicySnapshot {
    let source = PolicySource::new("p.cedar", text);
    let sources = vec![source];
    let compiled = Cedar::default().compile(&sources).unwrap();
    PolicySnapshot::new(vec![compiled.engine], sources, compiled.policies).with_labels(labels)
}

#[tokio::test]
async fn the_ratchet_closes_a_method_and_is_raised_by_it_as_by_a_tool_without_labels() {
    let text = r#"@id("all") permit (principal, action, resource);
@id("closed") forbid (principal, action in [Mcp::Action::"call_tool", Mcp::Action::"extension"],
  resource in Mcp::Permission::"connect") when { context.env.session.level >= 2 };"#;
    let check = async |labels: Labels, first: &str, expected: [bool; 2]| {
        let bench = session(open, |_| {}).await;
        bench.gate.policy.publish(under(text, labels));
        bench.list(&TOOLS).await;
        bench.agent(first).await;
        bench.to_upstream();
        bench.to_agent();
        bench.agent(&call("8", "note")).await;
        let tool = !bench.to_upstream().is_empty();
        bench.to_agent();
        bench.agent(&request(9, "vendor/do", "{}")).await;
        let method = !bench.to_upstream().is_empty();
        assert_eq!([tool, method], expected, "{first}");
    };
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    check(Labels::default(), ping, [true, true]).await;
    let secret = ToolLabels {
        level: 3,
        ..ToolLabels::default()
    };
    let raise = request(7, "vendor/look", "{}");
    check(unlabelled(secret.clone()), &raise, [false, false]).await;
    // The call itself raises, and is judged by what was read before.
    check(unlabelled(secret), ping, [true, false]).await;
}

#[tokio::test]
async fn a_method_waits_while_the_agents_model_works_for_the_server() {
    let bench = Bench::with(open, |settings| settings.extensions = listed(&METHODS));
    bench
        .agent(&INITIALIZE.replace(r#"{"roots":{}}"#, r#"{"sampling":{}}"#))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let greeting = r#""result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},{greeting}}}"#))
        .await;
    bench.to_agent();
    let ask = request(
        5,
        "sampling/createMessage",
        r#"{"messages":[],"maxTokens":9}"#,
    );
    bench.upstream(&ask).await;
    let asked = bench.to_agent();
    let tell = notification("notifications/vendor/tell", "{}");
    bench.agent(&request(1, "vendor/do", "{}")).await;
    // A notification has no reply to wait for, and is dropped.
    bench.agent(&tell).await;
    assert!(bench.to_upstream().is_empty() && bench.to_agent().is_empty());
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"role":"assistant","content":{{"type":"text","text":"x"}},"model":"m"}}}}"#,
        id_of(&asked[0])
    );
    bench.agent(&answer).await;
    bench.to_upstream();
    Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
    assert_eq!(bench.to_upstream().len(), 1);
    bench.agent(&request(2, "vendor/do", "{}")).await;
    bench.agent(&tell).await;
    assert_eq!(bench.to_upstream().len(), 2);
}

#[tokio::test]
async fn methods_and_notifications_count_for_rates_and_for_the_budget_of_a_session() {
    let times = NonZeroU32::new(3).unwrap();
    let rate = Rate::new(times, Duration::from_mins(1), times);
    let tell = notification("notifications/vendor/tell", "{}");
    // The handshake is one.
    let bench = session(open, |settings| settings.terms.rates.principal = Some(rate)).await;
    bench.agent(&request(1, "vendor/do", "{}")).await;
    bench.agent(&tell).await;
    assert_eq!(bench.to_upstream().len(), 2);
    bench.agent(&tell).await;
    bench.agent(&request(2, "vendor/do", "{}")).await;
    assert!(bench.to_upstream().is_empty());
    assert_eq!(code(&bench.to_agent()), Some(RATE_LIMITED));

    let bench = session(open, |settings| {
        settings.terms.rates.calls_per_session = Some(2);
    })
    .await;
    bench.agent(&request(1, "vendor/do", "{}")).await;
    bench.agent(&tell).await;
    assert_eq!(bench.to_upstream().len(), 2);
    bench.agent(&tell).await;
    bench.agent(&request(2, "vendor/do", "{}")).await;
    assert!(bench.to_upstream().is_empty());
    assert_eq!(code(&bench.to_agent()), Some(RATE_LIMITED));
}

/// What a method says is judged in the spelling in which it is sent, too.
#[tokio::test]
async fn a_method_is_judged_again_with_its_uris_in_the_one_spelling() {
    fn asks(facts: &Facts<'_>, forbidden: &str) -> Result<Verdict, EngineFault> {
        let says = |arguments: &crate::policy::Arguments<'_>| {
            let mut all = arguments.0.iter();
            all.any(|(_, leaf)| matches!(leaf, Leaf::String(text) if *text == forbidden))
        };
        Ok(match facts.action {
            Action::Extension { arguments, .. } if says(arguments) => {
                Verdict::Deny { reasons: vec![] }
            }
            _ => Verdict::Allow {
                reasons: vec![],
                obligations: vec![Obligation::CanonicalUris],
            },
        })
    }
    let but_plain: Rule = |facts| asks(facts, "file:///srv/a");
    let but_other: Rule = |facts| asks(facts, "file:///srv/b");
    for (rule, passes) in [(but_plain, false), (but_other, true)] {
        let bench = session(rule, |_| {}).await;
        let params = r#"{"uri":"file:///srv/x/../a"}"#;
        bench.agent(&request(1, "vendor/do", params)).await;
        let sent = bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{sent:?}");
        for line in sent {
            assert!(line.contains(r#""uri":"file:///srv/a""#), "{line}");
        }
    }
}
