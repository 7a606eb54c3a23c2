//! What collectors of test results, code hosts and editors read.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::Value;

use super::*;

const POLICIES: &str = r#"
@id("read<&>")
permit (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"read");
"#;

/// Names that each format would take for its own syntax.
const TESTS: &str = r#"suite = "a <suite> & \"more\", 100 %: # SKIP"

[[test]]
name = "passes \\ # TODO ]]> <x>"
call = "read"
expect = "allow"

[[test]]
name = "fails ::error:: %0A, &amp; not ok 1"
call = "read"
expect = "deny"
"#;

fn report(tests: &str) -> (Pack, Report) {
    let pack = Pack::new(POLICIES, tests);
    let report = match pack.run() {
        Ok(report) => report,
        Err(not_run) => Report::not_run(not_run.outcome(), not_run.diagnostics()),
    };
    (pack, report)
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let raw = |c: char| c == '\u{202e}' || c.is_control() && c != '\n';
    assert!(!text.contains(raw), "{text}");
    text
}

/// What Jenkins' `junit-10.xsd` lets an element have: its attributes (those that it must have
/// first) and its children.
fn grammar(element: &str) -> (&'static [&'static str], usize, &'static [&'static str]) {
    match element {
        "testsuites" => (
            &["name", "time", "tests", "failures", "errors"],
            0,
            &["testsuite"],
        ),
        "testsuite" => (
            &["name", "tests", "failures", "errors", "file"],
            4,
            &[
                "testsuite",
                "properties",
                "testcase",
                "system-out",
                "system-err",
            ],
        ),
        "testcase" => (
            &["name", "time", "classname", "group"],
            1,
            &["skipped", "error", "failure"],
        ),
        "failure" | "error" => (&["type", "message"], 0, &[]),
        _ => panic!("<{element}> is no element of the format"),
    }
}

/// The elements of a report, in order, with their attributes and text, all of them by the grammar.
fn elements(xml: &str) -> Vec<(String, BTreeMap<String, String>, String)> {
    let mut reader = Reader::from_str(xml);
    let mut found: Vec<(String, BTreeMap<String, String>, String)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let start = |tag: &BytesStart<'_>, open: &[usize], found: &mut Vec<_>| {
        let name = tag.name().as_ref().to_owned();
        let (allowed, required, _) = grammar(&name);
        let attributes: BTreeMap<String, String> = tag
            .attributes()
            .map(|attribute| {
                let attribute = attribute.unwrap();
                let key = attribute.key.as_ref().to_owned();
                let value = attribute
                    .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                    .unwrap()
                    .into_owned();
                (key, value)
            })
            .collect();
        for key in attributes.keys() {
            assert!(allowed.contains(&key.as_str()), "<{name} {key}>");
        }
        for key in &allowed[..required] {
            assert!(attributes.contains_key(*key), "<{name}> lacks {key}");
        }
        if let Some(parent) = open.last() {
            let parent: &(String, BTreeMap<String, String>, String) = &found[*parent];
            assert!(
                grammar(&parent.0).2.contains(&name.as_str()),
                "<{name}> in <{}>",
                parent.0
            );
        } else {
            assert_eq!(name, "testsuites");
        }
        found.push((name, attributes, String::new()));
    };
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => {
                start(&tag, &open, &mut found);
                open.push(found.len() - 1);
            }
            Event::Empty(tag) => start(&tag, &open, &mut found),
            Event::End(_) => {
                open.pop().unwrap();
            }
            Event::Text(text) => {
                if let Some(at) = open.last() {
                    found[*at].2 += &*text;
                }
            }
            Event::GeneralRef(reference) => {
                let name = reference.to_string();
                let known = ["lt", "gt", "amp", "quot", "apos"];
                assert!(known.contains(&name.as_str()), "&{name};");
                found[*open.last().unwrap()].2 += &["&", &name, ";"].concat();
            }
            Event::Eof => break,
            Event::Decl(_) => {}
            other @ (Event::CData(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_)) => {
                panic!("{other:?}")
            }
        }
    }
    assert!(open.is_empty());
    found
}

#[test]
fn junit_keeps_to_its_schema_and_counts_right() {
    let (pack, report) = report(TESTS);
    let xml = written(|out| report.junit(out));
    let elements = elements(&xml);
    let names: Vec<&str> = elements.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        names,
        ["testsuites", "testsuite", "testcase", "testcase", "failure"]
    );
    for (_, attributes, _) in &elements[..2] {
        let count = |key: &str| attributes[key].as_str();
        assert_eq!(
            (count("tests"), count("failures"), count("errors")),
            ("2", "1", "0")
        );
    }
    assert_eq!(elements[1].1["name"], "a <suite> & \"more\", 100 %: # SKIP");
    assert_eq!(elements[2].1["name"], "passes \\ # TODO ]]> <x>");
    let failed = &elements[3].1["name"];
    assert_eq!(failed, "fails ::error:: %0A, &amp; not ok 1");
    let text = &elements[4].2;
    let place = pack.path().join("tests/tests.toml");
    assert!(
        text.starts_with(&format!("{}:8\n", place.display())),
        "{text}"
    );
    assert!(
        text.contains("decided by `read&lt;&amp;&gt;` at "),
        "{text}"
    );

    let (_, wrong) = self::report("[[test]]\nname = 'x'\ncal = 'y'\nexpect = 'deny'\n");
    let elements = self::elements(&written(|out| wrong.junit(out)));
    let errors = elements.iter().filter(|(name, ..)| name == "error").count();
    assert!(errors > 0);
    assert_eq!(elements[0].1["errors"], errors.to_string());
}

#[test]
fn tap_has_a_plan_and_one_point_for_each_test() {
    let (pack, report) = report(TESTS);
    let tap = written(|out| report.tap(out));
    insta::assert_snapshot!(pack.nameless(&tap));
    let (pack, wrong) = self::report("[[test]]\nname = 'x'\ncal = 'y'\nexpect = 'deny'\n");
    insta::assert_snapshot!(pack.nameless(&written(|out| wrong.tap(out))));
}

#[test]
fn each_failed_test_is_annotated_where_it_stands() {
    let (pack, report) = report(TESTS);
    let commands = pack.nameless(&written(|out| report.github(out)));
    insta::assert_snapshot!(commands);
    assert_eq!(commands.matches('\n').count(), 1);
    let passing = TESTS.replace("expect = \"deny\"", "expect = \"allow\"");
    let (_, report) = self::report(&passing);
    assert_eq!(written(|out| report.github(out)), "");
}

#[test]
fn failed_tests_are_results_of_a_sarif_log() {
    let (_, report) = report(TESTS);
    let log: Value = written(|out| report.sarif(out)).parse().unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "{log:#}");
    let region = &results[0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(
        (&results[0]["ruleId"], &region["startLine"]),
        (&"test::failed".into(), &8.into())
    );
    let schema = include_str!("../../../tests/support/sarif/sarif-schema-2.1.0.json");
    let mut schema: Value = schema.parse().unwrap();
    // No regular expressions by ECMA-262; we write no language.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern");
    }
    jsonschema::validate(&schema, &log).unwrap();
}

/// A pack whose tests see and notice too little.
fn short(least: u8, mutants: Mutants, tests: &str) -> (Pack, Report) {
    let more = "@id(\"never\")\nforbid (principal, action in Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"x\");\n";
    let pack = Pack::new(&format!("{POLICIES}{more}"), tests);
    let mut settings = settings(&[pack.path()]);
    settings.coverage = WantedCoverage::AtLeast(least);
    settings.mutants = mutants;
    let report = run(&settings).unwrap();
    (pack, report)
}

#[test]
fn what_the_tests_do_not_see_or_notice_is_told_in_every_format() {
    let passing = TESTS.replace("expect = \"deny\"", "expect = \"allow\"");
    for (least, mutants) in [
        (100, Mutants::Untried),
        (0, Mutants::Tried),
        (100, Mutants::Tried),
    ] {
        let (pack, report) = short(least, mutants, &passing);
        let survivors: usize = report.mutation.iter().map(|it| it.survivors.len()).sum();
        let expected = usize::from(least > 0) + survivors;
        assert!(expected > 0, "{least}");
        let place = |text: &str| text.contains("policies.cedar");

        let commands = written(|out| report.github(out));
        let errors: Vec<&str> = commands.lines().collect();
        assert_eq!(errors.len(), expected, "{commands}");
        let is_error = |line: &&str| line.starts_with("::error file=") && place(line);
        assert!(errors.iter().all(is_error), "{commands}");

        let log: Value = written(|out| report.sarif(out)).parse().unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), expected, "{log:#}");
        assert!(results.iter().all(|it| it["locations"][0].is_object()));

        let junit = elements(&written(|out| report.junit(out)));
        let failures = junit.iter().filter(|(name, ..)| name == "failure");
        assert_eq!(failures.clone().count(), expected, "{junit:#?}");
        assert!(failures.clone().all(|(_, _, text)| place(text)));
        assert_eq!(junit[0].1["failures"], expected.to_string());
        let cases = junit.iter().filter(|(name, ..)| name == "testcase");
        assert_eq!(junit[0].1["tests"], cases.count().to_string());

        let tap = pack.nameless(&written(|out| report.tap(out)));
        let points = tap.lines().filter(|line| line.starts_with("not ok "));
        assert_eq!(points.count(), expected, "{tap}");
        assert!(tap.contains(&format!("\n1..{}\n", expected + 1)), "{tap}");
    }
    let (_, enough) = short(0, Mutants::Untried, &passing);
    assert_eq!(written(|out| enough.github(out)), "");
}

#[test]
fn that_changes_were_not_tried_is_said() {
    let said = |report: &Report| {
        written(|out| report.write_extras(out)).contains("changes were not tried: a test fails")
    };
    let (_, failing) = short(0, Mutants::Tried, TESTS);
    assert!(said(&failing));
    let (_, unasked) = short(0, Mutants::Untried, TESTS);
    assert!(!said(&unasked));
}
