//! Which forms pass.

use super::*;

/// The code in the record of a form; empty if the agent is asked.
async fn code_of(bench: &Bench, params: &str) -> String {
    let told = asked(bench, "elicitation/create", params).await;
    let records = bench.records_of("server_request").await;
    let code = records.last().unwrap().get(&["reason", "code"]);
    assert_eq!(told, (!code.is_empty()).then_some(-32602), "{params}");
    code
}

async fn check(expected: &str, params: &[String]) {
    let strict = |settings: &mut Settings| settings.terms.guards.asking.secrets = Level::Strict;
    let bench = with(r#"{"elicitation":{"form":{},"url":{}}}"#, strict).await;
    for params in params {
        assert_eq!(code_of(&bench, params).await, expected, "{params}");
    }
}

fn schemas(schemas: &[&str]) -> Vec<String> {
    let form = |schema: &&str| format!(r#"{{"message":"m","requestedSchema":{schema}}}"#);
    schemas.iter().map(form).collect()
}

fn fields(fields: &[&str]) -> Vec<String> {
    fields.iter().map(|it| FORM.replace('$', it)).collect()
}

#[tokio::test]
async fn a_form_that_is_more_than_flat_fields_is_refused() {
    check(
        "form",
        &schemas(&[
            "{}",
            r#"{"type":"object"}"#,
            r#"{"type":"array","items":{"type":"object","properties":{"password":{}}}}"#,
            r#"{"type":"object","properties":[{"name":"password"}]}"#,
            r##"{"$ref":"#/$defs/p","$defs":{"p":{"type":"object"}}}"##,
            r#"{"type":"object","properties":{},"patternProperties":{"pass":{"type":"string"}}}"#,
            r#"{"type":"object","properties":{},"additionalProperties":{"type":"string"}}"#,
            r#"{"type":"object","properties":{},"allOf":[{"properties":{"password":{}}}]}"#,
            r#"{"type":"object","properties":{},"if":{},"then":{}}"#,
            r#"{"type":"object","properties":{},"required":["password"]}"#,
            r#"{"type":"object","properties":{},"required":"password"}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}},"dependentSchemas":{"a":{}}}"#,
        ]),
    )
    .await;
    check(
        "form",
        &fields(&[
            r#""a":{}"#,
            r#""a":true"#,
            r#""a":{"type":"object","properties":{"password":{"type":"string"}}}"#,
            r#""a":{"type":"string","properties":{"password":{"type":"string"}}}"#,
            r##""a":{"type":"string","$ref":"#/x"}"##,
            r#""a":{"type":"array"}"#,
            r#""a":{"type":"array","items":{"type":"object"}}"#,
            r#""a":{"type":"array","items":{}}"#,
            r#""a":{"type":"array","items":[{"type":"string"}]}"#,
            r#""a":{"type":"array","items":{"type":"string","properties":{}}}"#,
            r#""a":{"anyOf":[{"type":"string"},{"type":"object"}]}"#,
            r#""a":{"oneOf":[{"const":"x","properties":{}}]}"#,
            r#""a":{"allOf":[{"type":"string"}]}"#,
            r#""a":{"type":["string","object"]}"#,
            r#""a":{"type":"null"}"#,
        ]),
    )
    .await;
    check(
        "form",
        &[
            r#"{"mode":"form","message":"m","url":"https://a.example/","requestedSchema":{"type":"object","properties":{}}}"#.to_owned(),
            r#"{"mode":"url","message":"m","elicitationId":"e","url":"https://a.example/","requestedSchema":{"type":"object","properties":{}}}"#.to_owned(),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_field_asks_for_a_secret_in_whatever_words_it_has() {
    check(
        "elicitation_requests_secret",
        &fields(&[
            r#""pass":{"type":"string"}"#,
            r#""x":{"type":"string","format":"password"}"#,
            r#""x":{"type":"string","format":"PASSWORD"}"#,
            r#""x":{"type":"string","ui:widget":"password"}"#,
            r#""x":{"type":"string","writeOnly":true}"#,
            r#""x":{"type":"string","description":"Your password"}"#,
            r#""x":{"type":"integer","description":"The verification code that we sent you"}"#,
            r#""x":{"type":["string","null"],"title":"2FA code"}"#,
            r#""x":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"your API key"}"#,
            r#""x":{"type":"string","title":"Kennwort"}"#,
            r#""jwt":{"type":"string"}"#,
        ]),
    )
    .await;
    check(
        "elicitation_requests_secret",
        &schemas(&[
            r#"{"type":"object","title":"Password","properties":{"value":{"type":"string"}}}"#,
        ]),
    )
    .await;
}

#[tokio::test]
async fn forms_pass_as_servers_write_them() {
    check(
        "",
        &schemas(&[
            r#"{"type":"object","properties":{}}"#,
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"Booking","properties":{"checkAlternative":{"description":"Would you like to check another date?","title":"Check","type":"boolean"},"alternativeDate":{"default":"2026-12-26","description":"Alternative date (YYYY-MM-DD)","type":"string"}},"required":["checkAlternative"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":100},"email":{"type":"string","format":"email","description":"Email for the password reset"},"age":{"type":"integer","minimum":0,"maximum":150},"rating":{"type":"number"},"agree":{"type":"boolean","default":false,"description":"Whether the passwords of all users are reset"}},"required":["name","email"]}"#,
        ]),
    )
    .await;
    check(
        "",
        &fields(&[
            r#""c":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
            r#""c":{"enum":["a","b"]}"#,
            r#""c":{"const":"a","type":"string"}"#,
            r#""c":{"type":"string","oneOf":[{"const":"a","title":"Password reset"},{"const":"b","title":"B"}]}"#,
            r#""c":{"type":"array","minItems":1,"items":{"type":"string","enum":["a"]},"default":["a"]}"#,
            r#""c":{"type":"array","description":"Whose password","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            r#""c":{"type":"array","items":{"type":"string"}}"#,
            r#""c":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"C"}"#,
            r#""c":{"type":"string","description":"A nickname, never your password"}"#,
            r#""maxTokens":{"type":"integer"}"#,
            r#""destination":{"type":"string","title":"Boarding pass"}"#,
        ]),
    )
    .await;
}
