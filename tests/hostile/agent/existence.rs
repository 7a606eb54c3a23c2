//! What is denied is answered as what is not there.

use crate::hostile::dialogue::{Past, Talk};
use crate::support::fixtures::fixture;
use crate::support::setup::Setup;

/// Asks the same of two names, before any list was seen and after it: the answers are equal but
/// for the ids, the names and the references to the audit. Yields what they are.
fn alike(setup: Setup, names: [&str; 2], request: impl Fn(&str) -> String) -> (String, Past) {
    let mut talk = Talk::through(setup);
    talk.open();
    let both = |talk: &mut Talk, when: &str| {
        let answers = names.map(|name| {
            let id = format!("\"{name} {when}\"");
            let answer = talk.ask(&id, &request(name));
            let (_, error) = answer.split_once(r#","error":"#).unwrap();
            without_reference(&error.replace(name, "?"))
        });
        assert_eq!(answers[0], answers[1], "{names:?}, {when}");
        answers[0].clone()
    };
    let early = both(&mut talk, "early");
    talk.ask("\"list\"", r#""tools/list""#);
    assert_eq!(both(&mut talk, "late"), early);
    (early, talk.end())
}

fn without_reference(error: &str) -> String {
    let Some((before, after)) = error.split_once(r#""audit":""#) else {
        return error.to_owned();
    };
    let (_, after) = after.split_once('"').unwrap();
    format!("{before}{after}")
}

#[test]
fn a_denied_tool_is_answered_like_one_that_does_not_exist() {
    let rows = [
        // It exists and is denied; it does not exist, and the list would not permit it either.
        ["add", "xyz"],
        // It exists and is denied; the list would permit it, but it does not exist.
        ["large", "ghost"],
    ];
    for names in rows {
        let setup = Setup::of([fixture("everything-server")]).allow(&["echo", "ghost"]);
        let (answer, past) = alike(setup, names, |name| {
            format!(r#""tools/call","params":{{"name":"{name}","arguments":{{"a":1,"b":2}}}}"#)
        });
        assert_eq!(answer, r#"{"code":-32602,"message":"Unknown tool: ?"}}"#);
        assert!(!past.received.contains("tools/call"), "{}", past.received);
    }
}

#[test]
fn a_denied_prompt_or_resource_is_answered_the_same_whether_it_exists_or_not() {
    type Request = fn(&str) -> String;
    let rows: [([&str; 2], Request); 3] = [
        (["simple", "absent"], |name| {
            format!(r#""prompts/get","params":{{"name":"{name}"}}"#)
        }),
        (["text/static", "text/absent"], |name| {
            format!(r#""resources/read","params":{{"uri":"everything://{name}"}}"#)
        }),
        (["greeting", "absent"], |name| {
            format!(
                r#""completion/complete","params":{{"ref":{{"type":"ref/prompt","name":"{name}"}},"argument":{{"name":"name","value":"a"}}}}"#
            )
        }),
    ];
    for (names, request) in rows {
        let setup = Setup::of([fixture("everything-server")]).policies(
            "@id(\"discover\") permit (principal, action in Mcp::Action::\"discover\", resource);",
        );
        let (answer, past) = alike(setup, names, request);
        assert!(
            answer.starts_with(r#"{"code":4030,"message":"denied by policy""#),
            "{answer}"
        );
        for name in names {
            assert!(!past.received.contains(name), "{}", past.received);
        }
    }
}
