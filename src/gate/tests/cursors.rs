//! Cursors of lists, which an agent only sends back.

use super::*;
use crate::session::Instance;

/// Every paged list, and the member that holds its items.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

fn page(method: &str, cursor: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{"cursor":{cursor}}}}}"#)
}

/// A session whose agent has got the first page of a list, with the cursor `a b`.
async fn begun(method: &str, items: &str) -> Bench {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let first = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{items}":[],"nextCursor":"a\u0020b"}}}}"#
    );
    bench.upstream(&first).await;
    assert_eq!(bench.to_agent().len(), 1);
    bench
}

#[tokio::test]
async fn a_cursor_that_was_not_given_for_a_list_never_reaches_the_server() {
    for (method, items) in LISTS {
        for (cursor, passes) in [
            (r#""a b""#, true),
            (r#""\u0061 b""#, true),
            (r#""a b ""#, false),
            (r#""""#, false),
            (r#""what was read""#, false),
        ] {
            let bench = begun(method, items).await;
            bench.agent(&page(method, cursor)).await;
            let sent = bench.to_upstream();
            assert_eq!(sent.len(), usize::from(passes), "{method} {cursor}");
            if passes {
                assert!(sent[0].contains(cursor), "{sent:?}");
                continue;
            }
            let answer = bench.to_agent().remove(0);
            let is_told = answer.contains("-32602") && answer.contains("`cursor` was not given");
            assert!(is_told && !answer.contains("was read"), "{answer}");
            let records = bench.records().await;
            let last = records.last().unwrap();
            assert_eq!(last.get(&["reason", "code"]), "unknown_cursor", "{cursor}");
        }
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_alone_and_not_at_another_server() {
    let bench = begun("tools/list", "tools").await;
    bench.agent(&page("prompts/list", r#""a b""#)).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    let session = &bench.talk.session;
    session.leave_for(Instance::ISOLATED[0]).unwrap();
    session.state().connection.upstream = crate::session::Readiness::Up;
    session.arrived();
    bench.agent(&page("tools/list", r#""a b""#)).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
}
