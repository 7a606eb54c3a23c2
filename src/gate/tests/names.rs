//! Tools whose names could be taken for others.

use super::*;

fn any(settings: &mut Settings) {
    settings.terms.guards.tool_names = ToolNames::Any;
}

/// What the agent sees of a list of one page with these names.
async fn shown(bench: &Bench, names: &[&str]) -> Vec<String> {
    let line = bench.list(names).await;
    let message = Message::decode(line.as_bytes(), &Limits::default()).unwrap();
    let tools = message.result().unwrap().get("tools").unwrap();
    tools
        .items()
        .map(|tool| tool.get("name").unwrap().as_str().unwrap().into_owned())
        .collect()
}

/// Whether a call reached the server; if not, it was answered as one of a tool that is not there,
/// with this code in its record.
async fn reaches(bench: &Bench, name: &str) -> Result<(), String> {
    bench.agent(&call("\"call\"", name)).await;
    let sent = bench.to_upstream();
    if !sent.is_empty() {
        let id = id_of(&sent[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#
            ))
            .await;
        bench.to_agent();
        return Ok(());
    }
    let answers = bench.to_agent();
    assert!(answers[0].contains("Unknown tool: "), "{answers:?}");
    let last = bench.records().await.pop().unwrap();
    Err(last.get(&["reason", "code"]))
}

#[tokio::test]
async fn an_agent_never_sees_two_names_that_look_alike() {
    for (names, there) in [
        (vec!["read", "write"], vec!["read", "write"]),
        (vec!["read", "Read", "write"], vec!["write"]),
        (vec!["list_1", "list_l", "list_I"], vec![]),
        (vec!["read", "read "], vec![]),
        // Nobody takes it for what he does not see.
        (vec!["hidden_1", "hidden_l", "read"], vec!["read"]),
        (vec!["hidden", "Hidden"], vec!["Hidden"]),
        // What is not shown for itself hides nothing else.
        (vec!["safe", "s\u{430}fe"], vec!["safe"]),
    ] {
        let bench = Bench::new(guarded);
        bench.shake_hands().await;
        assert_eq!(shown(&bench, &names).await, there, "{names:?}");
        for name in &names {
            let is_there = there.contains(name);
            assert_eq!(
                reaches(&bench, name).await.is_ok(),
                is_there,
                "{name} of {names:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_name_outside_ascii_is_there_only_where_it_is_asked_for() {
    let names = ["s\u{430}fe", "gr\u{f6}\u{df}e", "safe"];
    let bench = Bench::new(open);
    bench.shake_hands().await;
    assert_eq!(shown(&bench, &names).await, ["safe"]);
    assert_eq!(reaches(&bench, names[1]).await.unwrap_err(), "not_ascii");
    assert_eq!(reaches(&bench, "safe").await, Ok(()));
    let list = bench.records().await;
    let told = list
        .iter()
        .any(|it| it.text().contains("its name is not ASCII"));
    assert!(told);
    let bench = Bench::with(open, any);
    bench.shake_hands().await;
    assert_eq!(shown(&bench, &names).await, [names[1]]);
    assert_eq!(reaches(&bench, names[1]).await, Ok(()));
    assert_eq!(reaches(&bench, "safe").await.unwrap_err(), "look_alike");
}

#[tokio::test]
async fn a_name_that_looks_like_one_of_an_earlier_page_is_hidden_and_neither_is_called() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    for (cursor, name, next, there) in [
        ("", "read", r#","nextCursor":"2""#, true),
        (r#","params":{"cursor":"2"}"#, "Read", "", false),
    ] {
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":"list","method":"tools/list"{cursor}}}"#
            ))
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        let tool = format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]{next}}}}}"#
            ))
            .await;
        assert_eq!(bench.to_agent()[0].contains(&tool), there, "{name}");
    }
    for name in ["read", "Read"] {
        assert_eq!(reaches(&bench, name).await.unwrap_err(), "look_alike");
    }
    // Without the other, it is there again.
    assert_eq!(shown(&bench, &["read"]).await, ["read"]);
    assert_eq!(reaches(&bench, "read").await, Ok(()));
}

/// A bench whose allowlist has these names, beside policies that open everything but `hidden…`.
async fn allowing(names: &[&str]) -> Bench {
    let bench = Bench::new(guarded);
    let labels = crate::policy::Labels {
        allowed: names.iter().map(|&name| name.to_owned()).collect(),
        ..crate::policy::Labels::default()
    };
    bench
        .gate
        .policy
        .publish(snapshot("allowing", guarded).with_labels(labels));
    bench.shake_hands().await;
    bench
}

#[tokio::test]
async fn a_name_in_the_allowlist_is_there_whatever_its_letters_and_beside_its_look_alikes() {
    for (allowed, offered, there) in [
        (vec!["caf\u{e9}"], vec!["caf\u{e9}"], vec!["caf\u{e9}"]),
        (
            vec!["read_file", "Read_File"],
            vec!["read_file", "Read_File"],
            vec!["read_file", "Read_File"],
        ),
        // What only policies open does not hide it, and is hidden by it.
        (
            vec!["read_file"],
            vec!["read_file", "Read_File", "READ_FILE"],
            vec!["read_file"],
        ),
        (
            vec!["s\u{430}fe"],
            vec!["safe", "s\u{430}fe"],
            vec!["s\u{430}fe"],
        ),
        // A name is approved byte for byte.
        (vec!["cafe\u{301}"], vec!["caf\u{e9}"], vec![]),
    ] {
        let bench = allowing(&allowed).await;
        assert_eq!(shown(&bench, &offered).await, there, "{offered:?}");
        for name in &offered {
            let is_there = there.contains(name);
            assert_eq!(reaches(&bench, name).await.is_ok(), is_there, "{name}");
        }
    }
}

#[tokio::test]
async fn a_list_and_a_call_agree_about_a_crowd_of_look_alikes_that_the_agent_does_not_see() {
    for (count, is_there) in [
        (1, true),
        (8, true),
        (9, true),
        (64, true),
        (65, false),
        (500, false),
    ] {
        let hidden: Vec<String> = (0..count)
            .map(|blanks| format!("hidden{}", " ".repeat(blanks)))
            .collect();
        let mut names: Vec<&str> = hidden.iter().map(String::as_str).collect();
        names.push("Hidden");
        let bench = Bench::new(guarded);
        bench.shake_hands().await;
        let seen = shown(&bench, &names).await;
        assert_eq!(seen == ["Hidden"], is_there, "{count}: {seen:?}");
        let called = reaches(&bench, "Hidden").await;
        assert_eq!(called.is_ok(), is_there, "{count}: {called:?}");
    }
    // In the allowlist, a name is there in any crowd.
    let hidden: Vec<String> = (0..500)
        .map(|blanks| format!("hidden{}", " ".repeat(blanks)))
        .collect();
    let mut names: Vec<&str> = hidden.iter().map(String::as_str).collect();
    names.push("Hidden");
    let bench = allowing(&["Hidden"]).await;
    assert_eq!(shown(&bench, &names).await, ["Hidden"]);
    assert_eq!(reaches(&bench, "Hidden").await, Ok(()));
}

#[tokio::test]
async fn of_very_many_names_that_look_alike_none_is_there() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    let names: Vec<String> = (0..500)
        .map(|blanks| format!("x{}y", " ".repeat(blanks)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(shown(&bench, &names).await.is_empty());
    assert_eq!(reaches(&bench, names[7]).await.unwrap_err(), "look_alike");
}

#[tokio::test]
async fn a_denied_tool_that_looks_like_another_is_not_there_either() {
    let bench = Bench::new(guarded);
    bench.shake_hands().await;
    let names = ["denied_1", "denied_l", "denied_x"];
    assert_eq!(shown(&bench, &names).await, ["denied_x"]);
    assert!(reaches(&bench, "denied_1").await.is_err());
    // The gate names a denied tool whose name looks like no other, and says that it is denied.
    bench.agent(&call("1", "denied_x")).await;
    let answers = bench.to_agent();
    assert!(!answers[0].contains("Unknown tool"), "{answers:?}");
}

#[tokio::test]
async fn whether_a_denied_tool_exists_is_found_out_before_its_agent_is_told() {
    let bench = Bench::new(guarded);
    bench.shake_hands().await;
    bench.agent(&call("1", "denied_x")).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    let asked = bench.to_upstream().remove(0);
    assert!(asked.contains("tools/list"), "{asked}");
}
