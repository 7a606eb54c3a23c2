//! Which changes of policies tests notice.

use super::reports::{check_valid, strict};
use super::*;
use crate::policy::MutantKind;

const POLICIES: &str = r#"@id("read")
permit (principal in Mcp::Role::"reader", action == Mcp::Action::"call_tool", resource == Mcp::Tool::"read")
when { principal.trust >= 2 && ["a", "b"].contains(context.env.transport) };

@id("inside")
@code("outside")
forbid (principal, action == Mcp::Action::"call_tool", resource)
unless {
  context.raw_arguments.hasTag("/path") && context.raw_arguments.getTag("/path") has string &&
  context.raw_arguments.getTag("/path").string like "/srv/*"
};
"#;

fn tried(pack: &Pack) -> Report {
    let mut settings = settings(&[pack.path()]);
    settings.mutants = Mutants::Tried;
    run(&settings).unwrap()
}

/// The changes of policies, as `kind: before -> after`, whether valid or not.
fn changes(policies: &str) -> Vec<String> {
    let pack = Pack::new(policies, "");
    changes_of(&pack, policies)
        .into_iter()
        .filter(|change| !change.starts_with("policy:"))
        .collect()
}

/// All changes of the one file of rules of a pack. Each is another text, with as many lines.
fn changes_of(pack: &Pack, policies: &str) -> Vec<String> {
    let settings = crate::loading::Settings {
        dir: Some(pack.path().to_owned()),
        ..crate::loading::Settings::default()
    };
    let snapshot = crate::loading::load(&settings).unwrap().snapshot;
    let mutants = snapshot.mutants();
    let own = mutants
        .iter()
        .filter(|mutant| !mutant.rule.file.starts_with('<'));
    own.map(|mutant| {
        let changed = mutant.apply(policies);
        assert_ne!(changed, policies, "{mutant:#?}");
        let lines = |text: &str| text.matches('\n').count();
        assert_eq!(lines(&changed), lines(policies));
        let part = &mutant.part;
        assert!(part.start <= mutant.span.start && mutant.span.end <= part.end);
        let kind = mutant.kind.word();
        if mutant.kind == MutantKind::Policy {
            return format!("{kind}: `{}`", mutant.rule.policy);
        }
        let was = policies.get(mutant.span.clone()).unwrap();
        let along = mutant.along.iter();
        let along = along.map(|span| format!(" without `{}`", policies.get(span.clone()).unwrap()));
        let along = along.filter(|_| mutant.kind == MutantKind::Effect);
        let along: String = along.collect();
        format!("{kind}: `{}` -> `{}`{along}", was.trim(), mutant.with)
    })
    .collect()
}

#[test]
fn every_step_is_taken_once() {
    insta::assert_snapshot!(changes(POLICIES).join("\n"));
}

#[test]
fn what_the_schema_makes_the_same_is_not_tried() {
    let check = |policy: &str, kind: &str, expected: bool| {
        let found = changes(policy)
            .iter()
            .any(|change| change.starts_with(kind));
        assert_eq!(found, expected, "{policy}\n{}", changes(policy).join("\n"));
    };
    let call = r#"@id("x") permit (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource is Mcp::Tool);"#;
    check(call, "scope", false);
    let complete = r#"@id("x") permit (principal, action == Mcp::Action::"complete", resource is Mcp::Prompt);"#;
    check(complete, "scope: `is Mcp::Prompt`", true);
    let read = r#"@id("x") permit (principal, action == Mcp::Action::"read_resource", resource);"#;
    check(read, r#"scope: `== Mcp::Action::"read_resource"`"#, true);
    check(&read.replace("permit", "forbid"), "scope", false);
}

#[test]
fn people_see_each_change_that_no_test_notices_and_the_test_that_is_missing() {
    let tests = r#"
[agents]
reader = { roles = ["reader"], trust = 3 }

[[test]]
name = "outside"
agent = "reader"
call = "read"
args = { path = "/etc/passwd" }
expect = { decision = "deny", code = "outside" }
"#;
    let pack = Pack::new(&POLICIES.replace(r#""a", "b""#, r#""a", "stdio""#), tests);
    let report = tried(&pack);
    check_valid(&strict(), &report);
    assert_eq!(report.outcome, RunOutcome::MutantsSurvived);
    let mut text = Vec::new();
    report.write(&mut text, Paint::Plain).unwrap();
    insta::assert_snapshot!(pack.nameless(&String::from_utf8(text).unwrap()));
}

const ONE: &str = r#"@id("x") permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"x");"#;

const ONE_TESTS: &str =
    "tools = ['x', 'y']\n[[test]]\nname = 'x'\nlist = 'tools'\nlisted = ['x']\n";

#[test]
fn tests_that_notice_everything_pass() {
    let report = tried(&Pack::new(ONE, ONE_TESTS));
    let [mutation] = &report.mutation[..] else {
        panic!("{report:?}")
    };
    assert_eq!(report.outcome, RunOutcome::Passed, "{report:?}");
    assert_eq!((mutation.tried, mutation.noticed), (3, 3));
}

#[test]
fn a_line_that_says_why_no_test_can_tell_is_excused_and_one_that_need_not_is_told() {
    let check =
        |comment: &str, tests: &str, excused: usize, needless: usize, expected: RunOutcome| {
            let policies = format!("{comment}\n{ONE}\n");
            let report = tried(&Pack::new(&policies, tests));
            check_valid(&strict(), &report);
            let [mutation] = &report.mutation[..] else {
                panic!("{report:?}")
            };
            let found = (mutation.excused.len(), mutation.needless.len());
            assert_eq!((found, report.outcome), ((excused, needless), expected));
        };
    let nothing = "[[test]]\nname = 'y'\ncall = 'z'\nexpect = 'deny'\n";
    check("", nothing, 0, 0, RunOutcome::MutantsSurvived);
    let survived = RunOutcome::MutantsSurvived;
    // The wider head permits what is tested.
    let later = "// no test can tell (policy, effect): it is for later";
    check(later, nothing, 2, 0, RunOutcome::Passed);
    check(later, ONE_TESTS, 0, 2, survived);
    check("// a comment", ONE_TESTS, 0, 0, RunOutcome::Passed);
    // What is not named is not covered.
    check("// no test can tell (policy): r", nothing, 1, 0, survived);
    check(
        "// no test can tell (policy, scope): r",
        nothing,
        1,
        1,
        survived,
    );
    check("// no test can tell (bound): r", nothing, 0, 1, survived);
    check("// no test can tell: r", nothing, 0, 1, survived);
    check(
        "// no test can tell (policy, effect):",
        nothing,
        0,
        1,
        survived,
    );
    let other = format!("{later}\n{}\n", ONE.replace("\"x\"", "\"w\""));
    check(&other, nothing, 2, 0, survived);
    // Inside a string it is a text like any other.
    let text = format!("{}\n", ONE.replace("\"x\"", &format!("\"{later}\"")));
    check(&text, nothing, 0, 0, survived);
}

#[test]
fn files_in_rego_and_cel_are_named_as_not_mutated() {
    const IN_CEL: &str = "[[rule]]\nid = 'y'\neffect = 'permit'\nactions = ['call_tool']\nwhen = \"resource.name == 'y'\"\n";
    const IN_REGO: &str =
        "package mcp\ndecision := {\"allow\": true} if input.resource.name == \"z\"\n";
    let check = |cedar: &str, tests: &str, first: &str| {
        let pack = Pack::new(cedar, tests);
        pack.write("r.cel.toml", IN_CEL);
        pack.write("r.rego", IN_REGO);
        let report = tried(&pack);
        check_valid(&strict(), &report);
        assert_eq!(report.outcome, RunOutcome::Passed, "{report:#?}");
        let mut text = Vec::new();
        report.write(&mut text, Paint::Plain).unwrap();
        let text = pack.nameless(&String::from_utf8(text).unwrap());
        let expected = format!(
            "{first}\n  pack/r.cel.toml  is not mutated: only policies in Cedar are\n  \
             pack/r.rego  is not mutated: only policies in Cedar are\n"
        );
        assert!(text.ends_with(&expected), "{text}");
    };
    check(ONE, ONE_TESTS, "changes of pack: 3 of 3 noticed");
    let none = "changes of pack: none was tried, for there are no policies in Cedar";
    let in_cel = "[[test]]\nname = 'y'\ncall = 'y'\nexpect = 'allow'\n";
    check("", in_cel, none);
}

#[test]
fn an_excuse_covers_a_change_at_one_place() {
    let check = |conditions: &str, excused: usize, needless: &[&str]| {
        let policy = ONE.replace(';', "\nwhen {\n");
        let pack = Pack::new(
            &format!("{policy}{conditions}\n}};\n"),
            "[[test]]\nname = 'x'\ncall = 'x'\nexpect = 'allow'\n[[test]]\nname = 'y'\ncall = 'y'\nexpect = 'deny'\n",
        );
        let report = tried(&pack);
        let [mutation] = &report.mutation[..] else {
            panic!("{report:?}")
        };
        let why = mutation.needless.iter().map(|it| it.why.as_str());
        assert_eq!(mutation.excused.len(), excused, "{mutation:#?}");
        for (why, expected) in why.clone().zip(needless) {
            assert!(why.starts_with(expected), "{why}");
        }
        assert_eq!(why.count(), needless.len(), "{mutation:#?}");
    };
    let calls = "context.env.session.calls < 5";
    let two = format!("{calls} && resource.level < 9");
    check(&format!("{calls} // no test can tell (bound): r"), 3, &[]);
    let comment = "// no test can tell (condition): r";
    check(
        &format!("{comment}\n{two}"),
        0,
        &["more than one `condition`"],
    );
    let apart = two.replace(" && ", &format!(" &&\n{comment}\n"));
    check(&apart, 1, &[]);
    check(
        &format!("{two} {comment}\n{comment}"),
        0,
        &["more than one", "no `condition`"],
    );
    // Elements can be meant by their own line and by that of their condition.
    let set = "[\n\"stdio\",\n\"x\",\n\"y\"].contains(context.env.transport)";
    let comment = "// no test can tell (element): r\n";
    check(&format!("{comment}{set}"), 2, &[]);
    check(&set.replace("\"x\",", &format!("{comment}\"x\",")), 1, &[]);
    check(&set.replace("\"y\"", &format!("{comment}\"y\"")), 1, &[]);
    check(
        &set.replace("\"stdio\",", &format!("{comment}\"stdio\",")),
        0,
        &["a test notices"],
    );
}

#[test]
fn an_if_is_tried_part_by_part() {
    let policy = r#"@id("x") permit (principal, action == Mcp::Action::"call_tool", resource)
when { if resource.level == 0 then true else context.env.session.calls < 5 };"#;
    let changes = changes(policy).join("\n");
    insta::assert_snapshot!(changes);
}

/// A report that has coverage, a survivor, an excuse and a needless one.
pub(super) fn everything_there_is_to_tell() -> Report {
    let excused = "// no test can tell (policy, effect): it is for later";
    let policies = format!(
        "{ONE}\n{excused}\n{}\n// no test can tell:\n",
        ONE.replace("\"x\"", "\"z\"")
    );
    let pack = Pack::new(
        &policies,
        "[[test]]\nname = 'x'\ncall = 'x'\nargs.path = '/srv/a'\nexpect = 'allow'\n",
    );
    let mut settings = settings(&[pack.path()]);
    settings.mutants = Mutants::Tried;
    settings.coverage = WantedCoverage::Told;
    let guarded = POLICIES.replace("@id(\"read\")", "@id(\"other\")");
    pack.write("guarded.cedar", &guarded);
    pack.write(
        "rules.cel.toml",
        "[[rule]]\nid = 'cel'\neffect = 'forbid'\nactions = ['sample']\n",
    );
    run(&settings).unwrap()
}

#[test]
fn tests_that_fail_anyway_notice_nothing() {
    let failing = ONE_TESTS.replace("['x']\n", "['y']\n");
    let report = tried(&Pack::new(ONE, &failing));
    assert_eq!(report.outcome, RunOutcome::Failed);
    assert!(report.mutation.is_empty());
}

#[test]
fn what_the_gate_brings_along_is_not_changed() {
    let pack = Pack::new(
        "",
        "allow = ['a']\n[[test]]\nname = 'x'\ncall = 'a'\nexpect = 'allow'\n",
    );
    let report = tried(&pack);
    assert_eq!(report.outcome, RunOutcome::Passed);
    assert_eq!(report.mutation[0].tried, 0);
}
