use proptest::prelude::*;

use super::*;

/// A record with every field that a filter compares.
const RECORD: &str = r#"{"version":1,"seq":7,"timestamp":"2026-11-21T20:14:03.512881Z","instance":"5f2b8c0d91e6a374","kind":"tool_call","reference":"5f2b8c0d91e6-9","session_id":"s-3","agent":{"id":"stdio","asserted_name":"other"},"upstream":"notes","direction":"agent_to_upstream","method":"tools/call","target":"delete_note","decision":"BLOCK","allowed":false,"stage":"decide","policies":["one","two"],"reason":{"code":"not_permitted","text":"no \"rule\""},"duration_us":97,"error_code":4030,"correlation":{"trace_id":"c12d9656-0531-8319-ac54-067b77483bb1","traceparent":"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"},"sensitivity":{"before":"PUBLIC","after":"SECRET"},"redactions":["aws_key"]}"#;

fn filter(field: Field, values: &[&str]) -> Filter {
    let values = values.iter().map(|&value| value.to_owned());
    Filter::default().with(field, values.collect())
}

#[track_caller]
fn check(filter: &Filter, line: &str, expected: bool) {
    let found = filter.read(line.as_bytes()).unwrap();
    let is_match = found.is_some();
    assert_eq!(is_match, expected, "{filter:?}: {line}");
}

#[test]
fn each_filter_takes_its_field_and_nothing_else() {
    let fields = [
        (Field::Server, "notes"),
        (Field::Agent, "stdio"),
        (Field::Session, "s-3"),
        (Field::Direction, "agent_to_upstream"),
        (Field::Kind, "tool_call"),
        (Field::Decision, "BLOCK"),
        (Field::Tool, "delete_note"),
        (Field::Policy, "two"),
        (Field::Reason, "not_permitted"),
        (Field::Reference, "5f2b8c0d91e6-9"),
        (Field::Trace, "c12d9656-0531-8319-ac54-067b77483bb1"),
        (Field::Trace, "C12D965605318319AC54067B77483BB1"),
        (Field::Trace, "0af7651916cd43dd8448eb211c80319c"),
    ];
    // Without escapes, where values are searched before the line is parsed, and with them.
    let plain = RECORD.replace(r#","text":"no \"rule\"""#, "");
    for line in [RECORD, &plain] {
        for (field, value) in fields {
            check(&filter(field, &[value]), line, true);
            check(&filter(field, &["no such value", value]), line, true);
            // Values of other fields, and a value that is nowhere.
            for other in ["other", "decide", "aws_key", "", "no such value", "\u{e9}"] {
                check(&filter(field, &[other]), line, false);
            }
            let elsewhere = filter(field, &[value]).with(Field::Agent, vec!["x".to_owned()]);
            check(&elsewhere, line, false);
            check(
                &filter(field, &[value]).with(Field::Agent, vec![]),
                line,
                true,
            );
        }
    }
    let of_prompt = RECORD.replace("tools/call", "prompts/get");
    check(&filter(Field::Tool, &["delete_note"]), &of_prompt, false);
}

#[test]
fn a_value_matches_however_it_is_written() {
    let agent =
        |written: &str| RECORD.replace("\"id\":\"stdio\"", &format!("\"id\":\"{written}\""));
    let check_agent = |value: &str, written: &str, expected: bool| {
        check(&filter(Field::Agent, &[value]), &agent(written), expected);
    };
    check_agent("nightly", "nightly", true);
    check_agent("nightly", r"n\u0069ghtly", true);
    check_agent("a\"b", r#"a\"b"#, true);
    check_agent("a\u{202e}b", r"a\u202eb", true);
    check_agent("a\u{e9}", "a\u{e9}", true);
    check_agent("nightly", "nightly2", false);
    check(
        &filter(Field::Agent, &["stdio"]),
        &RECORD.replace(':', " : ").replace(" : 14 : ", ":14:"),
        true,
    );
}

#[test]
fn a_text_without_escapes_is_a_part_of_the_line() {
    let record = LogRecord::parse(RECORD.as_bytes()).unwrap();
    let line = RECORD.as_bytes().as_ptr_range();
    let texts = [&record.agent.id, &record.timestamp, &record.policies[1]];
    assert!(texts.iter().all(|text| line.contains(&text.as_ptr())));
}

#[test]
fn a_range_has_its_first_moment_and_not_its_last() {
    let check = |since: Option<&str>, until: Option<&str>, expected: bool| {
        let time = |text: Option<&str>| text.map(|text| text.parse().unwrap());
        check(&Filter::between(time(since), time(until)), RECORD, expected);
    };
    let (before, at, after) = (
        Some("2026-11-21T20:14:03.512880Z"),
        Some("2026-11-21T21:14:03.512881+01:00"),
        Some("2026-11-21T20:14:03.512882Z"),
    );
    check(None, None, true);
    check(before, after, true);
    check(at, None, true);
    check(after, None, false);
    check(None, at, false);
    check(None, after, true);
    let no_time = RECORD.replace("2026-11-21T20", "no");
    super::tests::check(&Filter::default(), &no_time, true);
    let since = Filter::between(before.map(|text| text.parse().unwrap()), None);
    assert_eq!(
        since.read(no_time.as_bytes()).unwrap_err(),
        LineError::NoTime
    );
}

#[test]
fn a_line_that_is_no_record_is_an_error_and_half_a_line_is_none() {
    // A filter that no line matches: such lines are found nevertheless.
    let filter = filter(Field::Agent, &["no such agent"]);
    let check = |line: &[u8], expected: Result<(), &str>| {
        let found = match filter.read(line) {
            Err(LineError::Half) => Ok(()),
            Ok(other) => panic!("{other:?}: {}", String::from_utf8_lossy(line)),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(found, expected.map_err(str::to_owned));
    };
    for half in ["{\"ver", "{\"version\":1,\"seq\":7,\"timestamp\":\"2026"] {
        check(half.as_bytes(), Ok(()));
    }
    let deep = "[".repeat(100_000);
    for none in [
        &b"no record"[..],
        b"",
        b"{}",
        b"\xff\xfe",
        b"[1]",
        deep.as_bytes(),
    ] {
        let error = filter.read(none).unwrap_err();
        assert!(matches!(error, LineError::NoRecord { .. }), "{error}");
    }
    check(
        b"{\"version\":1}",
        Err("the line is no record of the audit log: see its byte 13"),
    );
    let foreign = "the record has version 2, and this program reads version 1";
    check(RECORD.replace(":1,", ":2,").as_bytes(), Err(foreign));
    check(br#"{"version":2}"#, Err(foreign));
    let twice = RECORD.replace("\"seq\":7", "\"kind\":\"startup\",\"seq\":7");
    assert!(LogRecord::parse(twice.as_bytes()).is_err());
}

#[test]
fn hostile_content_of_other_fields_does_not_matter() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("\"{}\"", "x".repeat(16 << 20));
    for value in [&deep, &long] {
        let line = RECORD.replace("\"aws_key\"]", &format!("\"aws_key\"],\"unknown\":{value}"));
        check(&filter(Field::Agent, &["stdio"]), &line, true);
    }
    let mut line = RECORD.as_bytes().to_vec();
    let place = RECORD.find("stdio").unwrap();
    line[place] = 0xff;
    assert!(LogRecord::parse(&line).is_err());
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in prop::collection::vec(any::<u8>(), 0..80), at in 0..RECORD.len()) {
        let mut line = RECORD.as_bytes().to_vec();
        line.splice(at..at, text);
        let _ = filter(Field::Agent, &["stdio"]).read(&line);
    }

    #[test]
    fn the_search_before_the_parser_misses_no_match(
        values in prop::collection::vec("[a\"\\\\\u{e9}]{1,2}", 1..3),
        agent in "[a\"\\\\\u{e9}]{1,2}",
    ) {
        let written = serde_json::to_string(&agent).unwrap();
        let line = RECORD.replace("\"stdio\"", &written);
        let expected = values.contains(&agent);
        let found = Filter::default().with(Field::Agent, values).read(line.as_bytes()).unwrap();
        prop_assert_eq!(found.is_some(), expected);
    }
}
