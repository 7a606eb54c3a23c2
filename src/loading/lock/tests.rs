use proptest::prelude::*;

use super::*;
use crate::policy::{Presence, RecordShape, Scalar, ValueShape};

const ECHO: &str = r#"{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}"#;

fn file(tools: &[&str]) -> LockFile {
    let mut file = LockFile::default();
    for tool in tools {
        let document = Document::decode(tool.as_bytes(), &LIMITS).unwrap();
        file.add(document.root()).unwrap();
    }
    file
}

fn source(text: &str) -> PolicySource {
    PolicySource::new("p/tools.lock", text)
}

fn problems(text: &str) -> Vec<PolicyProblem> {
    LockFile::read(&source(text), &[]).err().unwrap_or_default()
}

/// The recorded `tools/list` of a real server.
fn recorded(server: &str) -> LockFile {
    let path = format!("fixtures/corpus/tools/server-{server}.json");
    let text = std::fs::read(path).unwrap();
    let document = Document::decode(&text, &LIMITS).unwrap();
    let mut file = LockFile::default();
    for tool in document.root().get("tools").unwrap().items() {
        file.add(tool).unwrap();
    }
    file
}

fn lock(file: &LockFile) -> Lock {
    file.lock("p/tools.lock").unwrap()
}

fn arguments(schema: &str) -> Result<RecordShape, String> {
    let tool = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    let lock = lock(&file(&[&tool]));
    lock.tool("t").unwrap().arguments.clone()
}

/// `name[?!]: shape` of each member in order; `?` may be missing, `!` may also be null.
fn told(record: &RecordShape) -> String {
    let scalar = |scalar: Scalar| match scalar {
        Scalar::String => "string",
        Scalar::Integer => "integer",
        Scalar::Number => "number",
        Scalar::Boolean => "boolean",
    };
    let members = record.members.iter().map(|member| {
        let mark = match member.presence {
            Presence::Required => "",
            Presence::Optional => "?",
            Presence::Nullable => "!",
        };
        let shape = match &member.shape {
            ValueShape::One(one) => scalar(*one).to_owned(),
            ValueShape::Many(one) => format!("[{}]", scalar(*one)),
            ValueShape::Record(record) => format!("{{{}}}", told(record)),
        };
        format!("{}{mark}: {shape}", member.pointer)
    });
    members.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_written_is_read_again_and_written_the_same() {
    let poisoned = "{\"name\":\"a\u{202e}\",\"inputSchema\":{\"type\":\"object\"},\"description\":\"line\\nIMPORTANT\u{200b}\u{e0041}\\u001b[8m \\\"x\\\"\\\\\",\"_meta\":{\"big\":123456789012345678901234567890.10,\"nothing\":null}}";
    let plain = file(&[
        ECHO,
        poisoned,
        r#"{"name":"B","inputSchema":{},"description":""}"#,
    ]);
    let text = plain.text();
    let mut again = LockFile::read(&source(&text), &[]).unwrap();
    assert_eq!(again.text(), text);
    let lines: Vec<u32> = again.tools.values().map(|entry| entry.line).collect();
    assert_eq!(lines[0], 4);
    for entry in again.tools.values_mut() {
        let line = text.lines().nth(entry.line as usize - 1).unwrap();
        assert_eq!(line, "    {");
        entry.line = 0;
    }
    assert_eq!(again, plain);
    assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{e0041}', '\u{1b}']));
    insta::assert_snapshot!(text);
}

proptest! {
    /// A writer of the lock can write anything.
    #[test]
    fn whatever_a_lock_is_changed_to_it_is_refused_or_means_what_it_says(
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[\\[\\]{}\",:0-9a-f\\\\]{0,3}|\\PC"), 1..4),
    ) {
        let mut text = file(&[ECHO, r#"{"name":"b","inputSchema":{}}"#]).text();
        for (at, other) in changes {
            let at = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary((at + other.len()).min(text.len()));
            text.replace_range(at..end, &other);
        }
        if let Ok(read) = LockFile::read(&source(&text), &[]) {
            let written = read.text();
            let again = LockFile::read(&source(&written), &[]);
            prop_assert_eq!(again.map(|it| it.text()).ok(), Some(written));
        }
    }
}

#[test]
fn definitions_that_say_the_same_are_the_same() {
    let other = "{ \"inputSchema\": {\"properties\":{\"text\":{\"type\":\"str\\u0069ng\"}}, \"type\":\"object\"}, \"description\":\"Says it again.\", \"name\":\"\\u0065cho\"}";
    let one = file(&[ECHO]);
    assert_eq!(one, file(&[other]));
    assert_eq!(one, file(&[ECHO, other]));
    for changed in [
        ECHO.replace("again", "Again"),
        ECHO.replace("string", "number"),
        ECHO.replace("\"name\"", "\"title\":\"\",\"name\""),
        ECHO.replace(
            "\"name\"",
            "\"annotations\":{\"readOnlyHint\":true},\"name\"",
        ),
    ] {
        assert_ne!(one, file(&[&changed]), "{changed}");
        let pin = lock(&one).pin(
            "echo",
            Some(lock(&file(&[&changed])).tool("echo").unwrap().fingerprint),
        );
        assert!(
            pin.known && !(pin.schema_ok && pin.description_ok),
            "{changed}"
        );
    }
}

#[test]
fn a_lock_that_lies_is_no_lock() {
    let good = file(&[ECHO, r#"{"name":"zoo","inputSchema":{}}"#]).text();
    assert!(problems(&good).is_empty());
    let check = |text: &str, says: &str| {
        let found = problems(text);
        assert!(!found.is_empty(), "{text}");
        assert!(found[0].message.contains(says), "{says}: {found:?}");
        assert!(
            found
                .iter()
                .all(|problem| problem.labels.len() == 1 && problem.help.is_some())
        );
        let mut all = Vec::new();
        let lock = read(&[source(text)], &[], &mut all);
        assert!(lock.is_empty() && all.len() == found.len());
    };
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let lies = "`echo`: the digest is not that of the definition";
    check(&with("Says it again.", "Says it twice."), lies);
    check(&with("\"string\"", "\"number\""), lies);
    check(
        &with("\"name\": \"echo\"", "\"name\": \"ecko\""),
        "`ecko`: the digest",
    );
    check(
        &with("\"version\": 1", "\"version\": 3"),
        "reads locks of version 1 and 2",
    );
    check(&with("\"version\": 1,", ""), "`version` is missing");
    check(
        &with("\"version\": 1", "\"version\": 1, \"extra\": 1"),
        "`extra` is no known key",
    );
    check(
        &with("\"name\": \"echo\"", "\"name\": \"echo\", \"x\": 1"),
        "`x` is no known key",
    );
    check(
        &with("\"name\": \"echo\"", "\"name\": \"a\\u0007\""),
        "no controls",
    );
    check(
        &with("\"name\": \"echo\"", "\"name\": \"\""),
        "with something in it",
    );
    check(
        &with("\"name\": \"echo\"", "\"name\": 7"),
        "has to be a string",
    );
    check(
        &with(
            "\"name\": \"echo\"",
            "\"name\": \"echo\", \"name\": \"echo\"",
        ),
        "twice",
    );
    check(
        &with(
            "\"type\": \"object\"",
            "\"type\": \"object\", \"type\": \"array\"",
        ),
        "twice",
    );
    check(&with("\"Says it again.\"", "[]"), "an array of its lines");
    check(&with("\"Says it again.\"", "7"), "an array of its lines");
    check(
        &with("\"description\":", "\"name\": \"echo\", \"description\":"),
        "not in it",
    );
    check(
        &with("\"tools\": [", "\"tools\": {}, \"more\": ["),
        "`tools` has to be an array",
    );
    check(&with("\"tools\": [", "\"tools\": [7, "), "an object with");
    check("[]", "an object with");
    check("", "ends too early");
    check("tools = []", "unexpected");
    check(
        &good.replace("{}", "[]"),
        "`inputSchema` has to be an object",
    );
    check(&format!("{good}{good}"), "after the end");
    check(&"[".repeat(100_000), "nesting is deeper than 64");
    let (head, rest) = good.split_once("    {").unwrap();
    let (echo, zoo) = rest.split_once(",\n    {").unwrap();
    let (zoo, tail) = zoo.rsplit_once("\n  ]").unwrap();
    let of = |first: &str, second: &str| format!("{head}    {{{first},\n    {{{second}\n  ]{tail}");
    assert_eq!(of(echo, zoo), good);
    check(&of(echo, echo), "`echo` is there twice");
    check(
        &of(zoo, echo),
        "`echo` does not stand where its name belongs",
    );
}

#[test]
fn everything_that_is_wrong_with_a_lock_is_told_at_once_in_the_order_of_the_text() {
    let good = file(&[ECHO, r#"{"name":"zoo","inputSchema":{}}"#]).text();
    let both = good.replacen("Says it again.", "x", 1).replacen(
        "\"inputSchema\": {}",
        "\"inputSchema\": {\"a\": 1}",
        1,
    );
    let found = problems(&both);
    assert_eq!(found.len(), 2);
    assert!(found[0].labels[0].offset() < found[1].labels[0].offset());
}

#[test]
fn a_second_lock_is_one_too_many() {
    let text = file(&[ECHO]).text();
    let mut found = Vec::new();
    let other = PolicySource::new("p/sub/tools.lock", text.as_str());
    read(&[source(&text), other], &[], &mut found);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("there is a lock already"));
}

#[test]
fn what_no_agent_would_see_cannot_be_locked() {
    for (tool, says) in [
        (r#"{"inputSchema":{}}"#, "no `name`"),
        (r#"{"name":7,"inputSchema":{}}"#, "no `name`"),
        (
            r#"{"name":"a\u0007","inputSchema":{}}"#,
            "`a\u{7}`: its `name` has control characters",
        ),
        (
            r#"{"name":"x","inputSchema":true}"#,
            "`inputSchema` is not an object",
        ),
        (r#"{"name":"x"}"#, "`inputSchema` is not an object"),
        (
            r#"{"name":"x","inputSchema":{},"description":[]}"#,
            "`description` is not a string",
        ),
        ("[]", "no `name`"),
    ] {
        let document = Document::decode(tool.as_bytes(), &LIMITS).unwrap();
        let unfit = LockFile::default().add(document.root()).unwrap_err();
        assert!(unfit.to_string().contains(says), "{tool}: {unfit}");
    }
    let document = Document::decode(ECHO.replace("again", "x").as_bytes(), &LIMITS).unwrap();
    let unfit = file(&[ECHO]).add(document.root()).unwrap_err();
    assert_eq!(unfit, UnlockableDefinition::Twice("echo".to_owned()));
}

#[test]
fn a_schema_has_the_types_that_it_says() {
    let check = |property: &str, expected: &str| {
        let schema =
            format!(r#"{{"type":"object","properties":{{"x":{property}}},"required":["x"]}}"#);
        assert_eq!(told(&arguments(&schema).unwrap()), expected, "{property}");
    };
    check(
        r#"{"type":"string","minLength":1,"pattern":"a","default":"a"}"#,
        "/x: string",
    );
    check(r#"{"type":"integer","minimum":0}"#, "/x: integer");
    check(r#"{"type":"number"}"#, "/x: number");
    check(r#"{"type":"boolean"}"#, "/x: boolean");
    check(r#"{"type":["string"]}"#, "/x: string");
    check(r#"{"type":["string","null"]}"#, "/x!: string");
    check(
        r#"{"anyOf":[{"type":"null"},{"type":"integer"}]}"#,
        "/x!: integer",
    );
    check(
        r#"{"oneOf":[{"type":"boolean"},{"type":"null"}]}"#,
        "/x!: boolean",
    );
    check(r#"{"enum":["a","b"]}"#, "/x: string");
    check(r#"{"const":true}"#, "/x: boolean");
    check(
        r#"{"type":"string","anyOf":[{"pattern":"a"},{"pattern":"b"}]}"#,
        "/x: string",
    );
    check(
        r#"{"type":"array","items":{"type":"string"}}"#,
        "/x: [string]",
    );
    check(r#"{"type":"array","items":{"enum":["a"]}}"#, "/x: [string]");
    check(
        r#"{"type":"array","items":{"type":"integer"}}"#,
        "/x: [integer]",
    );
    check(
        r#"{"type":"object","properties":{"a/b~c":{"type":"string"},"if":{"type":"boolean"}},"required":["if"]}"#,
        "/x: {/x/a~1b~0c?: string, /x/if: boolean}",
    );
}

#[test]
fn what_has_no_single_type_is_left_to_the_tags_and_says_why() {
    let check = |property: &str, why: &str| {
        let schema = format!(
            r#"{{"type":"object","properties":{{"x":{property},"y":{{"type":"string"}}}}}}"#
        );
        let record = arguments(&schema).unwrap();
        assert_eq!(told(&record), "/y?: string", "{property}");
        let untyped = record.all_untyped();
        assert_eq!(untyped.len(), 1, "{property}");
        assert_eq!(untyped[0].pointer, "/x");
        assert!(
            untyped[0].why.contains(why),
            "{property}: {}",
            untyped[0].why
        );
    };
    check("true", "may be anything");
    check("{}", "may be anything");
    check("7", "may be anything");
    check(r##"{"$ref":"#/$defs/a"}"##, "`$ref`");
    check(r##"{"type":"string","$ref":"#"}"##, "`$ref`");
    check(r##"{"anyOf":[{"$ref":"#"},{"type":"null"}]}"##, "`$ref`");
    check(
        r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
        "one of several things",
    );
    check(r#"{"oneOf":[]}"#, "one of several things");
    check(r#"{"allOf":[{"type":"string"}]}"#, "may be anything");
    check(r#"{"type":["string","integer"]}"#, "several types");
    check(r#"{"type":"null"}"#, "`null`");
    check(r#"{"type":[]}"#, "no type but `null`");
    check(r#"{"type":"strnig"}"#, "which is none");
    check(r#"{"enum":["a",1]}"#, "no type in common");
    check(r#"{"type":"object"}"#, "no member has a type");
    check(r#"{"type":"array"}"#, "items without a type");
    check(r#"{"type":"array","items":{}}"#, "items without a type");
    check(
        r#"{"type":"array","items":[{"type":"string"}]}"#,
        "items without a type",
    );
    check(
        r#"{"type":"array","items":{"type":"number"}}"#,
        "no integers",
    );
    check(
        r#"{"type":"array","items":{"type":["string","null"]}}"#,
        "may be `null`",
    );
    check(
        r#"{"type":"array","items":{"type":"object"}}"#,
        "an array of objects",
    );
    check(
        r#"{"type":"array","prefixItems":[],"items":{"type":"string"}}"#,
        "several types",
    );
    let deep = r#"{"type":"object","properties":{"x":"#.repeat(20)
        + r#"{"type":"string"}"#
        + &"}}".repeat(20);
    check(&deep, "");
}

#[test]
fn a_tool_without_a_type_at_all_says_why() {
    for (schema, why) in [
        ("{}", "may be anything"),
        (r#"{"type":"array"}"#, "not of type `object`"),
        (r#"{"type":["object","null"]}"#, "not of type `object`"),
        (r##"{"type":"object","$ref":"#"}"##, "`$ref`"),
    ] {
        let found = arguments(schema).unwrap_err();
        assert!(found.contains(why), "{schema}: {found}");
    }
    let many: Vec<String> = (0..300)
        .map(|n| format!(r#""p{n}":{{"type":"string"}}"#))
        .collect();
    let schema = format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(","));
    assert!(arguments(&schema).unwrap_err().contains("more than 256"));
    assert_eq!(told(&arguments(r#"{"type":"object"}"#).unwrap()), "");
}

#[test]
fn every_tool_of_real_servers_has_types() {
    for (server, tools, told) in [("everything", 19, 0), ("filesystem", 14, 1)] {
        let lock = lock(&recorded(server));
        assert_eq!(lock.typed().count(), tools, "{server}");
        assert_eq!(notices(&lock, &[]).len(), told, "{server}");
        let cedar = crate::policy::engines::cedar::Cedar {
            lock: std::sync::Arc::new(lock),
            ..crate::policy::engines::cedar::Cedar::default()
        };
        let policies = PolicySource::new(
            "t.cedar",
            r#"permit(principal, action in Mcp::Action::"call_tool", resource);"#,
        );
        crate::policy::EngineKind::compile(&cedar, &[policies]).unwrap();
    }
}

#[test]
fn real_definitions_come_to_these_types() {
    let mut types = String::new();
    for server in ["everything", "filesystem"] {
        for (name, record) in lock(&recorded(server)).typed() {
            types = types + name + "(" + &told(record) + ")\n";
        }
    }
    insta::assert_snapshot!(types);
}

#[test]
fn instructions_and_prompts_are_locked_in_a_version_of_their_own() {
    let mut lock_file = file(&[ECHO]);
    assert!(lock_file.text().contains("\"version\": 1"));
    assert!(lock(&lock_file).words().is_none());
    let told =
        r#"["One line.\nAnother\u202e.", {"name":"greet","description":"a\nb","arguments":[]}]"#;
    let document = Document::decode(told.as_bytes(), &LIMITS).unwrap();
    let told: Vec<_> = document.root().items().collect();
    lock_file.set_instructions(Some(told[0])).unwrap();
    lock_file.add_prompt(told[1]).unwrap();
    let text = lock_file.text();
    insta::assert_snapshot!(text);
    let again = LockFile::read(&source(&text), &[]).unwrap();
    assert_eq!(again.text(), text);
    let read = lock(&again);
    let words = read.words().unwrap();
    assert_eq!(
        words.instructions().map(|it| &**it),
        Some("One line.\nAnother\u{202e}.")
    );
    let pin = |defined| read.prompt_pin("greet", defined);
    let fingerprint = words.prompts["greet"].fingerprint;
    assert!(pin(Some(fingerprint)).description_ok && pin(None).description_ok);
    assert!(!pin(Some(DefinitionFingerprint::of("{}", "x"))).description_ok);
    assert!(!read.prompt_pin("other", None).known);
    let mut none = LockFile::default();
    none.set_instructions(None).unwrap();
    let empty = none.text();
    assert!(LockFile::read(&source(&empty), &[]).is_ok_and(|it| it.has_words()));
    for (wrong, says) in [
        (
            text.replace("One line", "One word"),
            "not that of the instructions",
        ),
        (text.replace("greet", "great"), "not that of the definition"),
        (
            text.replace("\"prompts\"", "\"prompt\""),
            "`prompts` is missing",
        ),
        (
            text.replace("\"version\": 2", "\"version\": 1"),
            "no known key",
        ),
        (
            text.replace("\"version\": 2", "\"version\": 3"),
            "of version 1 and 2",
        ),
        (
            empty.replace("null", "7"),
            "an object with `sha256`, `text` is meant",
        ),
    ] {
        let found = problems(&wrong);
        let told = found
            .iter()
            .any(|problem| problem.to_string().contains(says));
        assert!(told, "{says}: {found:?}");
    }
}

#[test]
fn the_laws_hold_for_every_seed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/lock");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        oracle::laws(&String::from_utf8_lossy(&bytes));
        seeds += 1;
    }
    assert!(seeds >= 8, "seeds in {}", folder.display());
}

fn keys() -> Vec<ServerKey> {
    ["crm", "mail"]
        .iter()
        .filter_map(|key| ServerKey::of(key))
        .collect()
}

/// `echo` at both of two servers, of which one has instructions.
fn of_several() -> LockFile {
    let mut all = LockFile::default();
    for (key, text) in keys().iter().zip([None, Some("\"Send less.\"")]) {
        let mut one = file(&[ECHO]);
        let text = text.map(|text| Document::decode(text.as_bytes(), &LIMITS).unwrap());
        one.set_instructions(text.as_ref().map(Document::root))
            .unwrap();
        all.join(one.of_server(key));
    }
    all
}

#[test]
fn a_lock_of_several_servers_has_the_definitions_that_each_gives_of_itself() {
    let all = of_several();
    let text = all.text();
    let mut again = LockFile::read(&source(&text), &keys()).unwrap();
    assert_eq!(again.text(), text);
    again.tools.values_mut().for_each(|entry| entry.line = 0);
    assert_eq!(again, all);
    let names: Vec<&str> = all.names().collect();
    assert_eq!(names, ["crm/echo", "mail/echo"]);
    // The digest is that of the definition at a server of its own.
    let alone = file(&[ECHO]).text();
    let digest = alone.lines().find(|line| line.contains("sha256")).unwrap();
    assert_eq!(text.matches(digest).count(), 2, "{text}");
    let locked = lock(&again);
    let single = lock(&file(&[ECHO])).tool("echo").unwrap().fingerprint;
    assert_eq!(locked.tool("mail/echo").unwrap().fingerprint, single);
    let instructions = &locked.words().unwrap().instructions;
    let told: Vec<_> = instructions.iter().collect();
    assert_eq!(told, [(&ServerKey::of("mail"), &"Send less.".into())]);
}

#[test]
fn a_lock_of_several_servers_says_so_where_their_keys_are_not_known() {
    let good = of_several().text();
    let check = |text: &str, expected: &[&str]| {
        let found = LockFile::read(&source(text), &[]).unwrap_err();
        let said: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
        let is_each = said.iter().zip(expected).all(|(a, b)| a.starts_with(b));
        assert!(is_each && said.len() == expected.len(), "{said:?}");
        found.into_iter().next().unwrap().help.unwrap()
    };
    let of = "the lock is one of several servers, whose keys only their configuration has";
    let of = ["crm/echo", "mail/echo"].map(|it| format!("`{it}`: {of}"));
    let help = check(&good, &[&of[0]]);
    assert!(help.contains("--config gate.toml"), "{help}");
    // What lies is not excused.
    let lies = good.replacen("Says it again.", "Says it twice.", 1);
    check(&lies, &["`crm/echo`: the digest is not that", &of[1]]);
    let strange = good.replacen("\"crm/echo\"", "\"CRM/echo\"", 1);
    check(&strange, &["`CRM/echo`: the digest is not that", &of[1]]);
}

#[test]
fn a_lock_of_several_servers_that_lies_is_no_lock() {
    let good = of_several().text();
    let check = |from: &str, to: &str, says: &str| {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let found = LockFile::read(&source(&text), &keys())
            .err()
            .unwrap_or_default();
        assert!(!found.is_empty(), "{text}");
        assert!(found[0].message.contains(says), "{says}: {found:?}");
        assert!(found[0].help.is_some(), "{found:?}");
        found[0].code.to_owned()
    };
    let no_server = "does not begin with the key of a server and a slash";
    for name in ["echo", "crn/echo", "crm/", "crmecho"] {
        let code = check("\"crm/echo\"", &format!("{name:?}"), no_server);
        assert_eq!(code, "policy::no_server");
    }
    check(
        "\"crm/echo\"",
        "\"crm/crm/echo\"",
        "the digest is not that of the definition",
    );
    check("Says it again.", "Says it twice.", "`crm/echo`: the digest");
    check(
        "\"server\": \"mail\"",
        "\"server\": \"mai\"",
        "`mai` is no server",
    );
    check("\"server\": \"mail\"", "\"server\": 7", "`` is no server");
    check(
        "Send less.",
        "Send more.",
        "the digest is not that of the instructions",
    );
    let (before, rest) = good.split_once("[\n    {\n      \"server\"").unwrap();
    let (entry, after) = rest.split_once("\n    }\n  ],").unwrap();
    let twice = format!(
        "{before}[\n    {{\n      \"server\"{entry}\n    }}, {{\n      \"server\"{entry}\n    }}\n  ],{after}"
    );
    check(&good, &twice, "is there twice");
    let single = format!("{before}{{\"sha256\":\"\",\"text\":\"\"}},{after}");
    check(
        &good,
        &single,
        "`instructions` of several servers have to be an array",
    );
    // What is of several servers is not of a single one.
    assert!(!problems(&good).is_empty());
}

#[test]
fn what_is_locked_of_a_server_that_is_not_asked_stays() {
    let found = of_several();
    let [crm, mail] = [&keys()[0], &keys()[1]];
    let mut offered = file(&[&ECHO.replace("again", "twice")]);
    offered.set_instructions(None).unwrap();
    let mut offered = offered.of_server(crm);
    offered.keep_others(&found, std::slice::from_ref(crm));
    assert_eq!(
        offered.definition("mail/echo"),
        found.definition("mail/echo")
    );
    assert_ne!(offered.definition("crm/echo"), found.definition("crm/echo"));
    let instructions = LockedItem::Instructions(Some(mail));
    assert_eq!(offered.said(instructions), Some("Send less."));
}
