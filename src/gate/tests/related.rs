//! Who hears what a server tells of its own accord.

use super::*;
use crate::session::Ids;
use crate::wire::{ListedMethod, Stream};

const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
const TELL: &str = r#"{"jsonrpc":"2.0","method":"notifications/vendor/tell","params":{"x":1}}"#;

const FIRST: Stream = Stream::numbered(11);
const SECOND: Stream = Stream::numbered(12);
const THIRD: Stream = Stream::numbered(13);

/// Agents that begin no session, and know nothing of each other or are one.
fn bench(ids: Ids) -> Bench {
    let bench = Bench::with(open, |settings| {
        settings.extensions = [ListedMethod::named("notifications/vendor/tell").unwrap()]
            .into_iter()
            .collect();
    });
    bench.with_ids(ids)
}

/// A request of the later era by a client of this name; `meta` goes into its `_meta`.
fn asks(id: u32, client: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{client}","version":"1"}}{meta}}}}}}}"#
    )
}

const LEVEL: &str = r#","io.modelcontextprotocol/logLevel":"info""#;

#[tokio::test]
async fn nothing_is_told_of_a_resource_that_is_not_followed_any_more() {
    let bench = Bench::ready(open, &["echo"]).await;
    let ask = |id: u32, method: &str, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#
        )
    };
    let news = |uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#
        )
    };
    for (id, uri) in [(1, "notes://a"), (2, "notes://b")] {
        bench.agent(&ask(id, "subscribe", uri)).await;
    }
    for uri in ["notes://a", "notes://b"] {
        bench.upstream(&news(uri)).await;
        assert_eq!(bench.to_agent(), [news(uri)]);
    }
    bench.agent(&ask(3, "unsubscribe", "notes://a")).await;
    for uri in ["notes://a", "notes://a/part", "NOTES://a"] {
        bench.upstream(&news(uri)).await;
        assert!(bench.to_agent().is_empty(), "{uri}");
    }
    bench.upstream(&news("notes://b")).await;
    assert_eq!(bench.to_agent(), [news("notes://b")]);
    bench.agent(&ask(4, "unsubscribe", "notes://b")).await;
    bench.upstream(&news("notes://b")).await;
    assert!(bench.to_agent().is_empty());
    bench.agent(&ask(5, "subscribe", "notes://a")).await;
    bench.upstream(&news("notes://a")).await;
    assert_eq!(bench.to_agent(), [news("notes://a")]);
}

#[tokio::test]
async fn without_a_session_only_who_asked_for_log_messages_hears_them() {
    for (ids, level, hears) in [
        (Ids::OfSession, "", false),
        (Ids::OfSession, LEVEL, true),
        (Ids::OfStream, "", false),
        (Ids::OfStream, LEVEL, true),
    ] {
        let bench = bench(ids);
        bench.agent_on(FIRST, &asks(1, "c", level)).await;
        let asked = id_of(&bench.to_upstream()[0]);
        // From a server with one stream for everything, and from one that says which it is.
        for stream in [Stream::UNTOLD, Stream::numbered(asked.parse().unwrap())] {
            bench.upstream_on(stream, LOG).await;
            assert_eq!(
                bench.to_agent(),
                [LOG; 1][..usize::from(hears)],
                "{ids:?} {level}"
            );
        }
    }
}

#[tokio::test]
async fn a_stream_of_news_brings_no_log_messages() {
    let bench = bench(Ids::OfStream);
    let listen = asks(1, "c", LEVEL).replace("resources/list", "subscriptions/listen");
    let listen = listen.replace(
        r#""params":{"#,
        r#""params":{"notifications":{"toolsListChanged":true},"#,
    );
    bench.agent_on(FIRST, &listen).await;
    let id = id_of(&bench.to_upstream()[0]);
    let named = LOG.replace(
        r#""level""#,
        &format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"level""#),
    );
    for (stream, log) in [
        (Stream::numbered(id.parse().unwrap()), LOG),
        (Stream::UNTOLD, LOG),
        (Stream::UNTOLD, &named),
    ] {
        bench.upstream_on(stream, log).await;
        assert!(bench.to_agent().is_empty(), "{log}");
    }
}

#[tokio::test]
async fn an_agent_that_is_alone_hears_what_belongs_to_one_of_its_requests() {
    for (others, hears) in [(["c", "c"], true), (["c", "d"], false)] {
        let bench = bench(Ids::OfStream);
        bench.agent_on(FIRST, &asks(1, "c", LEVEL)).await;
        bench.agent_on(SECOND, &asks(2, others[0], LEVEL)).await;
        bench.agent_on(THIRD, &asks(3, others[1], "")).await;
        bench.to_upstream();
        // To one that asked for it.
        for (told, belongs) in [(LOG, SECOND), (TELL, THIRD)] {
            bench.upstream_on(Stream::UNTOLD, told).await;
            let streams = bench.talk.agent.streams();
            assert_eq!(
                streams,
                [belongs; 1][..usize::from(hears)],
                "{told} {others:?}"
            );
            bench.to_agent();
        }
    }
}

#[tokio::test]
async fn news_of_an_extension_belongs_to_the_one_request_that_waits() {
    let bench = bench(Ids::OfStream);
    bench.agent_on(FIRST, &asks(1, "c", "")).await;
    bench.upstream_on(Stream::UNTOLD, TELL).await;
    assert_eq!(bench.talk.agent.streams(), [FIRST]);
    bench.to_agent();
    bench.agent_on(SECOND, &asks(2, "d", "")).await;
    bench.upstream_on(Stream::UNTOLD, TELL).await;
    assert!(bench.to_agent().is_empty());
}
