use super::*;
use crate::guard::secrets::SecretRule;
use crate::wire::{Document, Limits};

/// No file shows what looks like a credential: it is put together here.
fn token() -> String {
    ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
}

#[track_caller]
fn check(message: &str, without: &[&str]) {
    check_with(MemberNames::AreHints, message, without);
}

/// The texts that strings with credentials have without them.
#[track_caller]
fn check_with(names: MemberNames, message: &str, without: &[&str]) {
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let rules = SecretRules::builtin();
    let found = dlp_findings(document.root(), &[], &[], &|_| None, (&rules, names));
    let texts: Vec<&str> = found.strings.iter().map(|leak| &*leak.without).collect();
    assert_eq!(texts, without, "{message}");
    assert!(found.names.is_empty());
}

#[test]
fn every_string_is_looked_at_wherever_it_stands() {
    let token = token();
    let message = format!(
        r#"{{"result":{{"content":[{{"text":"a {token} b"}},["{token}"]],"error":{{"data":{{"x":"{token}"}}}}}}}}"#
    );
    let marker = "[redacted:github-token]";
    let found = [&format!("a {marker} b"), marker, marker];
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let rules = SecretRules::builtin();
    let got = dlp_findings(
        document.root(),
        &[],
        &[],
        &|_| None,
        (&rules, MemberNames::AreHints),
    );
    let rule = got.strings[0].rules[0].as_str().to_owned();
    let texts: Vec<String> = got
        .strings
        .iter()
        .map(|leak| leak.without.clone())
        .collect();
    let expected: Vec<String> = found
        .iter()
        .map(|text| text.replace("github-token", &rule))
        .collect();
    assert_eq!(texts, expected);
}

#[test]
fn what_a_name_gives_away_is_gone_from_texts_too() {
    let secret = ["q7Vx", "2mPz", "L9sK", "4tRw", "8nBd", "Y3hJ"].concat();
    let message = format!(
        r#"{{"content":[{{"type":"text","text":"got {secret} from the store"}}],"structuredContent":{{"api_key":"{secret}"}}}}"#
    );
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let rules = SecretRules::builtin();
    let found = dlp_findings(
        document.root(),
        &[],
        &[],
        &|_| None,
        (&rules, MemberNames::AreHints),
    );
    assert_eq!(found.strings.len(), 2, "{found:?}");
    assert!(
        found
            .strings
            .iter()
            .all(|leak| !leak.without.contains(&secret))
    );
    assert!(found.strings[0].without.starts_with("got [redacted:"));
}

#[test]
fn what_the_words_of_a_text_call_a_secret_stays_in_others() {
    let check = |text: &str, others: &str| {
        let message = format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}},{{"type":"text","text":"{others}"}}],"structuredContent":{{"a":["{others}"]}}}}"#
        );
        let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
        let rules = SecretRules::builtin();
        let found = dlp_findings(
            document.root(),
            &[],
            &[],
            &|_| None,
            (&rules, MemberNames::AreHints),
        );
        let texts: Vec<&str> = found.strings.iter().map(|leak| &*leak.without).collect();
        assert!(
            texts.len() == 1 && texts[0].contains("[redacted:"),
            "{texts:?} of {message}"
        );
    };
    check(
        "note: ftp://x:completed@h ftp://x:transfer@h",
        "The transfer was completed.",
    );
    check("ftp://x:completed@h", "completed");
    check("password = utf8_to_utf16_dup", "utf8_to_utf16_dup(v)");
    check(
        "ftp://x:ord-7f2k9q4m1z8@h",
        "The order ord-7f2k9q4m1z8 was paid.",
    );
    check(
        "token: 6f1d2c3b-aaaa-4bbb-8ccc-1234567890ab",
        "6f1d2c3b-aaaa-4bbb-8ccc-1234567890ab",
    );
    check("ftp://x:20261123@h", "20261123");
}

#[test]
fn what_a_text_calls_a_secret_is_one_where_a_string_says_no_more_than_that() {
    let secret = ["q7Vx", "2mPz", "L9sK", "4tRw", "8nBd", "Y3hJ"].concat();
    check(
        &format!(r#"{{"text":"DB_PASSWORD={secret}","structuredContent":{{"line":"{secret}"}}}}"#),
        &[
            "DB_PASSWORD=[redacted:generic-password]",
            "[redacted:generic-password]",
        ],
    );
}

#[test]
fn a_value_is_known_by_the_name_that_its_record_gives_it() {
    let secret = ["q8Zt", "R2mN", "5xLp"].concat();
    for (name, value) in [("name", "value"), ("Key", "Value"), ("key", "value")] {
        let found = &["[redacted:generic-password]"];
        check(
            &format!(r#"{{"env":[{{"{name}":"DB_PASSWORD","{value}":"{secret}"}}]}}"#),
            found,
        );
        check(
            &format!(r#"{{"env":[{{"{value}":"{secret}","{name}":"DB_PASSWORD"}}]}}"#),
            found,
        );
        check(
            &format!(r#"{{"env":[{{"{name}":"DB_HOST","{value}":"{secret}"}}]}}"#),
            &[],
        );
    }
}

#[test]
fn the_secret_half_of_a_pair_is_known_by_the_member_beside_it() {
    let id = ["AK", "IA", "Q3EGV7T2ZPLX5M4N"].concat();
    let half = ["q7Vx2mPz/L9sK4tRw", "8nBd+Y3hJ5fGc1aZe", "6uTiOp"].concat();
    let found = &[
        "[redacted:aws-secret-access-key]",
        "[redacted:aws-access-key-id]",
    ];
    check(&format!(r#"{{"a":"{half}","b":"{id}"}}"#), found);
    check(&format!(r#"[["{half}",1,"{id}"]]"#), found);
    check(&format!(r#"{{"a":"{half}","b":["{id}"]}}"#), &found[1..]);
}

#[test]
fn a_handle_stays_where_there_is_one_and_ordinary_words_stay() {
    let token = token();
    let message = format!(r#"{{"result":{{"nextCursor":"{token}","a":["{token}"]}}}}"#);
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let found = |handles: &[&[&str]]| {
        let rules = SecretRules::builtin();
        let found = dlp_findings(
            document.root(),
            &[],
            handles,
            &|_| None,
            (&rules, MemberNames::AreHints),
        );
        found.strings.len()
    };
    assert_eq!(found(&[]), 2);
    assert_eq!(found(&[&["result", "nextCursor"]]), 1);
    // A handle is a text.
    assert_eq!(found(&[&["result"], &["result", "a"]]), 2);
    check(
        r#"{"text":"the password is not in this text","api_key":"none"}"#,
        &[],
    );
}

#[test]
fn a_name_that_shows_one_is_told() {
    let message = format!(r#"{{"{}":1}}"#, token());
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let rules = SecretRules::builtin();
    assert_eq!(
        dlp_findings(
            document.root(),
            &[],
            &[],
            &|_| None,
            (&rules, MemberNames::AreHints)
        )
        .names
        .len(),
        1
    );
}

#[test]
fn a_secret_that_fills_a_text_is_taken_out_of_it_in_linear_time() {
    let secret = ["q7Vx", "2mPz", "L9sK", "4tRw"].concat();
    let text = secret.repeat(20_000);
    let message = format!(r#"{{"structuredContent":{{"password":"{secret}"}},"text":"{text}"}}"#);
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let found = dlp_findings(
        document.root(),
        &[],
        &[],
        &|_| None,
        (&SecretRules::builtin(), MemberNames::AreHints),
    );
    let without = &found.strings.last().unwrap().without;
    let markers = without.matches("[redacted").count();
    assert!(!without.contains(&secret) && markers > 0, "{markers}");
    assert!(without.len() < text.len());
}

#[test]
fn a_secret_as_long_as_a_text_is_not_looked_for_elsewhere() {
    let long = format!("password=\"{}\"", "q7Vx2mPz".repeat(4_000));
    let message = format!(
        r#"{{"a":{},"b":"ordinary"}}"#,
        serde_json::Value::from(long)
    );
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let found = dlp_findings(
        document.root(),
        &[],
        &[],
        &|_| None,
        (&SecretRules::builtin(), MemberNames::AreHints),
    );
    assert!(found.strings.len() <= 1, "{found:?}");
}

/// The same if names of members alone tell that their values are secrets.
#[track_caller]
fn check_named(message: &str, without: &[&str]) {
    check_with(MemberNames::TellSecrets, message, without);
}

#[test]
fn a_named_value_goes_as_a_whole_and_what_it_shows_goes_elsewhere_too() {
    let token = token();
    let whole = "[redacted:secret-member]";
    check_named(r#"{"password":"hunter","user":"a"}"#, &[whole]);
    let text =
        serde_json::json!({ "text": format!(r#"{{"password": "correct {token} battery"}}"#) });
    check_named(
        &text.to_string(),
        &[&format!(r#"{{"password": "{whole}"}}"#)],
    );
    let elsewhere = format!(r#"{{"password":"{token} x","o":"say {token}"}}"#);
    check_named(&elsewhere, &[whole, "say [redacted:github-token]"]);
    check_named(
        r#"{"name":"prod","key":"password","value":"hunter"}"#,
        &[whole],
    );
    check_named(
        r#"{"password":"[redacted:secret-member]","token":"[redacted:jwt]"}"#,
        &[],
    );
    check_named(r#"{"password":"[redacted:hunter]"}"#, &[whole]);
}

#[test]
fn of_more_named_values_than_the_gate_tells_apart_none_stays() {
    // One credential holds several members, so that all of these count as one.
    let rule = SecretRule {
        id: "span".to_owned(),
        keywords: vec!["begin".to_owned()],
        pattern: "begin[ -~]{0,400}?end".to_owned(),
        min_entropy: None,
    };
    let rules = SecretRules::with(&[rule]).unwrap();
    let members = "\"token\":\"a1\" ".repeat(10);
    let mut text = format!("begin {members} end ");
    text.push_str(&"\"secret\":\"hunter\" ".repeat(MOST_OF_ONE + 10));
    let message = serde_json::json!({ "text": text }).to_string();
    let document = Document::decode(message.as_bytes(), &Limits::default()).unwrap();
    let names = MemberNames::TellSecrets;
    let found = dlp_findings(document.root(), &[], &[], &|_| None, (&rules, names));
    assert!(!found.strings[0].without.contains("hunter"));
}
