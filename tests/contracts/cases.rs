//! Which changes of a contract are incompatible, and what is said of them.

use serde_json::Value;

use crate::admin_api;
use crate::compare::Written::{self, ByProgram, ByUsers};
use crate::compare::changes;

/// Exactly these changes are found, in any order.
fn check(written: Written, old: &str, new: &str, expected: &[&str]) {
    let [before, after] = [old, new].map(|it| it.parse::<Value>().unwrap());
    let mut found = changes(&before, &after, written);
    let mut expected: Vec<&str> = expected.to_vec();
    found.sort();
    expected.sort_unstable();
    assert_eq!(found, expected, "{old} -> {new}");
    assert_eq!(
        changes(&before, &before, written),
        Vec::<String>::new(),
        "{old}"
    );
}

/// The same for an object with one key, which nothing else may be in.
fn check_key(written: Written, old: &str, new: &str, expected: &[&str]) {
    let table = |key: &str| {
        format!(r#"{{"type":"object","additionalProperties":false,"properties":{{"k":{key}}}}}"#)
    };
    check(written, &table(old), &table(new), expected);
}

#[test]
fn a_configuration_that_was_accepted_is_accepted() {
    let check = |old: &str, new: &str, expected: &[&str]| check_key(ByUsers, old, new, expected);
    check(
        r#"{"type":"integer"}"#,
        r#"{"type":["integer","string"],"description":"Better."}"#,
        &[],
    );
    check(r#"{"type":"integer"}"#, r#"{"type":"number"}"#, &[]);
    check(
        r#"{"type":"number"}"#,
        r#"{"type":"integer"}"#,
        &[r#"/k: `type` was "number" and is "integer""#],
    );
    check(
        "{}",
        r#"{"type":"string"}"#,
        &[r#"/k: `type` was any and is "string""#],
    );
    check(r#"{"type":"string"}"#, "false", &["/k: is gone"]);
    check(
        r#"{"type":"string"}"#,
        r#"{"enum":["a"]}"#,
        &["/k: only listed values fit now"],
    );
    check(r#"{"enum":["a"]}"#, r#"{"enum":["b","a"]}"#, &[]);
    check(
        r#"{"enum":["a","b"]}"#,
        r#"{"const":"a"}"#,
        &[r#"/k: the value "b" is gone"#],
    );
    check(
        r#"{"type":"boolean"}"#,
        r#"{"enum":[true,false,"auto"]}"#,
        &[],
    );
    check(
        r#"{"default":1}"#,
        r#"{"default":2}"#,
        &["/k: the default was 1 and is 2"],
    );
    check(
        r#"{"default":1}"#,
        "{}",
        &["/k: the default was 1 and is none"],
    );
    check(
        r#"{"minimum":1,"maximum":9}"#,
        r#"{"minimum":0,"maximum":10}"#,
        &[],
    );
    check(
        r#"{"maximum":9}"#,
        r#"{"maximum":8}"#,
        &["/k: `maximum` was 9 and is 8"],
    );
    check(
        r#"{"minLength":1}"#,
        r#"{"minLength":2}"#,
        &["/k: `minLength` was 1 and is 2"],
    );
    check(
        "{}",
        r#"{"minimum":0}"#,
        &["/k: `minimum` was any and is 0"],
    );
    check(r#"{"pattern":"^a"}"#, "{}", &[]);
    check(
        r#"{"pattern":"^a"}"#,
        r#"{"pattern":"^b"}"#,
        &[r#"/k: `pattern` was "^a" and is "^b""#],
    );
    check(
        r#"{"items":{"type":"string"}}"#,
        r#"{"items":{"minLength":1}}"#,
        &["/k/*: `minLength` was any and is 1"],
    );
    check(
        "{}",
        r#"{"contains":1}"#,
        &["/k: this test does not know `contains`"],
    );
}

#[test]
fn a_table_keeps_its_keys_and_requires_no_others() {
    let check = |old: &str, new: &str, expected: &[&str]| check(ByUsers, old, new, expected);
    let one = r#"{"additionalProperties":false,"properties":{"a":{}}}"#;
    let two = r#"{"additionalProperties":false,"properties":{"a":{},"b":{"type":"string"}}}"#;
    check(one, two, &[]);
    check(two, one, &["/b: is gone"]);
    check(two, r#"{"properties":{"a":{}}}"#, &["/b: is gone"]);
    check(
        one,
        r#"{"additionalProperties":false,"properties":{"a":{}},"required":["a"]}"#,
        &["/a: is now required"],
    );
    let map = r#"{"additionalProperties":{"type":"string"}}"#;
    check(
        map,
        r#"{"additionalProperties":{"type":"string","maxLength":3}}"#,
        &["/*: `maxLength` was any and is 3"],
    );
    let fixed =
        r#"{"properties":{"view":{"type":"integer"}},"additionalProperties":{"type":"string"}}"#;
    check(
        map,
        fixed,
        &[r#"/view: `type` was "string" and is "integer""#],
    );
    check(
        "{}",
        r#"{"propertyNames":{"maxLength":3}}"#,
        &["/*: `maxLength` was any and is 3"],
    );
}

#[test]
fn a_value_that_fitted_one_of_several_forms_fits_one() {
    let check = |old: &str, new: &str, expected: &[&str]| check_key(ByUsers, old, new, expected);
    let text = r#"{"type":"string"}"#;
    let both = r#"{"anyOf":[{"type":"array"},{"type":"string"}]}"#;
    check(text, both, &[]);
    check(both, r#"{"type":["string","array","null"]}"#, &[]);
    check(both, text, &[r#"/k: `type` was "array" and is "string""#]);
    let switch = r#"{"default":true,"oneOf":[{"const":true},{"type":"object","required":["a"]}]}"#;
    let less = r#"{"default":true,"oneOf":[{"type":"object","required":["a"]}]}"#;
    check(
        switch,
        less,
        &[
            r#"/k: `type` was any and is "object""#,
            "/k/a: is now required",
        ],
    );
}

#[test]
fn a_condition_is_new_unless_it_concerns_only_new_keys() {
    let table = |keys: &str, rest: &str| {
        format!(r#"{{"type":"object","additionalProperties":false,"properties":{{{keys}}}{rest}}}"#)
    };
    let (old, keys) = (
        table(r#""a":{"enum":["x"]},"b":{}"#, ""),
        r#""a":{"enum":["x","y"]},"b":{},"c":{}"#,
    );
    let check = |rest: &str, expected: &[&str]| check(ByUsers, &old, &table(keys, rest), expected);
    check(r#","dependencies":{"c":["a"]}"#, &[]);
    check(r#","not":{"required":["c","a"]}"#, &[]);
    check(
        r#","if":{"required":["a"],"properties":{"a":{"const":"y"}}},"then":{"required":["b"]}"#,
        &[],
    );
    check(
        r#","not":{"required":["a"]}"#,
        &[r#": this condition is new: {"not":{"required":["a"]}}"#],
    );
    let condition = r#"{"if":{"required":["a"]},"then":{"required":["b"]}}"#;
    check(
        r#","dependencies":{"a":["b"]}"#,
        &[&format!(": this condition is new: {condition}")],
    );
    check(r#","allOf":[{"required":["a"]}]"#, &["/a: is now required"]);
}

#[test]
fn a_condition_that_stays_may_ask_less() {
    let rule =
        |then: &str| format!(r#"{{"if":{{"required":["a"]}},"then":{then},"description":"Why."}}"#);
    check(ByUsers, &rule(r#"{"required":["b"]}"#), &rule("true"), &[]);
    check(
        ByUsers,
        &rule("true"),
        &rule(r#"{"required":["b"]}"#),
        &["/b: is now required"],
    );
    check(
        ByProgram,
        &rule(r#"{"required":["b"]}"#),
        &rule("true"),
        &["/b: is no longer always there"],
    );
    check(
        ByProgram,
        &rule(r#"{"required":["b"]}"#),
        "{}",
        &[r#": this condition is gone: {"if":{"required":["a"]},"then":{"required":["b"]}}"#],
    );
    check(ByProgram, "{}", &rule(r#"{"required":["b"]}"#), &[]);
}

#[test]
fn references_are_followed_wherever_they_lead() {
    let tree = |leaf: &str| {
        format!(
            r##"{{"$ref":"#/definitions/t","definitions":{{"t":{{"properties":{{
                "down":{{"$ref":"#/definitions/t"}},"leaf":{{"$ref":"#/definitions/l"}}}}}},"l":{leaf}}}}}"##
        )
    };
    check(
        ByUsers,
        &tree(r#"{"minimum":1}"#),
        &tree(r#"{"minimum":2}"#),
        &["/leaf: `minimum` was 1 and is 2"],
    );
    let inline = r#"{"properties":{"a":{"type":"string"}}}"#;
    let named = r##"{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}"##;
    check(ByUsers, inline, named, &[]);
    check(ByProgram, named, inline, &[]);
}

#[test]
fn what_the_program_writes_is_understood_by_its_readers() {
    let check = |old: &str, new: &str, expected: &[&str]| check_key(ByProgram, old, new, expected);
    check(
        r#"{"type":["integer","string"]}"#,
        r#"{"type":"integer"}"#,
        &[],
    );
    check(
        r#"{"type":"integer"}"#,
        r#"{"type":["integer","null"]}"#,
        &[r#"/k: `type` was "integer" and is ["integer","null"]"#],
    );
    check(
        r#"{"enum":["a"]}"#,
        r#"{"enum":["a","b"]}"#,
        &[r#"/k: readers do not know the value "b""#],
    );
    check(
        r#"{"enum":["a","b"]}"#,
        r#"{"enum":["a"]}"#,
        &[r#"/k: the value "b" is gone"#],
    );
    check(
        r#"{"enum":["a"]}"#,
        r#"{"type":"string"}"#,
        &["/k: has other values than the listed"],
    );
    check(r#"{"type":"string"}"#, r#"{"enum":["a"]}"#, &[]);
    check(
        r#"{"minimum":1}"#,
        r#"{"minimum":0}"#,
        &["/k: `minimum` was 1 and is 0"],
    );
    check(
        r#"{"pattern":"^a"}"#,
        "{}",
        &[r#"/k: `pattern` was "^a" and is any"#],
    );
    check("true", "false", &["/k: is gone"]);
    check("false", r#"{"type":"string"}"#, &[]);
}

#[test]
fn a_record_keeps_its_fields_and_may_have_more() {
    let check = |old: &str, new: &str, expected: &[&str]| check(ByProgram, old, new, expected);
    let one = r#"{"additionalProperties":false,"required":["a"],"properties":{"a":{}}}"#;
    let two = r#"{"additionalProperties":false,"required":["a","b"],"properties":{"a":{},"b":{"type":"string"}}}"#;
    check(one, two, &[]);
    check(two, one, &["/b: is gone", "/b: is no longer always there"]);
    check(
        one,
        r#"{"properties":{"a":{}}}"#,
        &["/a: is no longer always there"],
    );
    let kinds = |more: &str| {
        format!(
            r##"{{"allOf":[{{"if":{{"properties":{{"kind":{{"const":"x"}}}}}},"then":{{"$ref":"#/$defs/x"}}}}{more}],
                "$defs":{{"base":{{"properties":{{"n":{{"type":"integer"}}}}}},
                "x":{{"$ref":"#/$defs/base","required":["n"],"properties":{{"n":true}}}}}}}}"##
        )
    };
    check(
        &kinds(""),
        &kinds(r#",{"if":{"properties":{"kind":{"const":"y"}}},"then":{"required":["m"]}}"#),
        &[],
    );
    check(
        &kinds(""),
        &kinds("").replace("integer", "string"),
        &[r#"/n: `type` was "integer" and is "string""#],
    );
    check(
        &kinds(""),
        &kinds("").replace(r#""required":["n"],"#, ""),
        &["/n: is no longer always there"],
    );
}

#[test]
fn programs_can_use_the_admin_api_as_before() {
    let api = |operations: &str| {
        format!(r#"{{"paths":{{"/servers":{{{operations}}}}},"components":{{}}}}"#)
    };
    let get = |parameters: &str, fields: &str| {
        format!(
            r#""get":{{"parameters":[{parameters}],"responses":{{"200":{{"content":{{"application/json":
                {{"schema":{{"required":["key"],"properties":{{{fields}}}}}}}}}}}}}}}"#
        )
    };
    let put =
        |body: &str| format!(r#""put":{{"requestBody":{{{body}}},"responses":{{"201":{{}}}}}}"#);
    let content =
        |schema: &str| format!(r#""content":{{"application/json":{{"schema":{schema}}}}}"#);
    let check = |old: &str, new: &str, expected: &[&str]| {
        let [old, new] = [old, new].map(|it| api(it).parse::<Value>().unwrap());
        assert_eq!(admin_api::changes(&old, &new), expected, "{old} -> {new}");
        assert_eq!(admin_api::changes(&old, &old), Vec::<String>::new());
    };
    let limit = r#"{"name":"limit","in":"query","schema":{"maximum":9}}"#;
    let plain = get(limit, r#""key":{}"#);
    check(&plain, "", &["get /servers: is gone"]);
    check(&plain, &get(limit, r#""key":{},"url":{}"#), &[]);
    check(
        &plain,
        &get("", r#""key":{}"#),
        &["get /servers: `limit` is gone"],
    );
    check(
        &plain,
        &get(&limit.replace('9', "8"), r#""key":{}"#),
        &["get /servers limit : `maximum` was 9 and is 8"],
    );
    check(
        &plain,
        &get(
            &limit.replace("query\",", "query\",\"required\":true,"),
            r#""key":{}"#,
        ),
        &["get /servers: limit is now required"],
    );
    check(
        &plain,
        &get(limit, r#""url":{}"#),
        &["get /servers 200 /key: is gone"],
    );
    check(
        &plain,
        &plain.replace("200", "202"),
        &["get /servers: 200 is gone"],
    );
    let table = put(&content(r#"{"properties":{"url":{}}}"#));
    check(&table, &put(""), &["put /servers: the body is gone"]);
    check(
        &table,
        &put(&content(r#"{"properties":{"url":{}},"required":["url"]}"#)),
        &["put /servers the body /url: is now required"],
    );
    check(
        &put(""),
        &put(r#""required":true"#),
        &["put /servers: the body is now required"],
    );
}
