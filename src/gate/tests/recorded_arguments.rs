//! What records have of arguments.

use super::*;
use crate::guard::secrets::SecretRules;

#[tokio::test]
async fn arguments_are_recorded_as_the_operator_says_and_never_with_credentials() {
    let key = || audit::DigestKey::of_bytes(b"a key of tests");
    let redacted = || RecordedArguments::Redacted(key(), Arc::new(SecretRules::builtin()));
    let check = async |recorded: RecordedArguments,
                       arguments: &str,
                       expected: &str,
                       rules: &str| {
        let has_digest = !matches!(recorded, RecordedArguments::Nothing);
        let bench = Bench::with(open, |settings| settings.arguments = recorded);
        bench.shake_hands().await;
        bench.list(&["echo"]).await;
        bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#))
            .await;
        let calls = bench.records_of("tool_call").await;
        let record: serde_json::Value = calls[0].text().parse().unwrap();
        let member = format!(r#""arguments":{expected}"#);
        let got = calls[0].text();
        assert_eq!(
            record.get("arguments").is_some(),
            !expected.is_empty(),
            "{got}"
        );
        assert!(expected.is_empty() || got.contains(&member), "{got}");
        assert_eq!(
            record.get("arguments_digest").is_some(),
            has_digest,
            "{record}"
        );
        let got = record.get("redactions").map(ToString::to_string);
        assert_eq!(got.unwrap_or_default(), rules, "{record}");
        // The server gets what was sent.
        assert!(bench.to_upstream()[0].contains(arguments));
    };
    let sent = r#"{"path":"/srv/a","depth":1.50,"all":true}"#;
    check(RecordedArguments::Nothing, sent, "", "").await;
    check(RecordedArguments::Digest(key()), sent, "", "").await;
    check(redacted(), sent, sent, "").await;
    let token = "ghp_x7Kq2mVb9Rt4Yw1Zc6Nd8Pf3Lh5Js0Ga2Xe7";
    check(
        redacted(),
        &format!(r#"{{"note":"use {token} here"}}"#),
        r#"{"note":"use [redacted:github-token] here"}"#,
        r#"["github-token"]"#,
    )
    .await;
    // Where a name shows one, nothing is.
    check(
        redacted(),
        &format!(r#"{{"{token}":1}}"#),
        "",
        r#"["github-token"]"#,
    )
    .await;
}
