use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;

use super::figures::LEVELS;
use super::tally::{Histogram, Tally, TallyValue as _};
use super::*;
use crate::cli::args::AuditFilters;

/// The fields of a record that a summary counts.
#[derive(Debug, Clone)]
struct Sample {
    kind: &'static str,
    decision: &'static str,
    agent: u8,
    session: u8,
    target: u8,
    level: usize,
    duration: u64,
    redacted: u8,
}

fn sample() -> impl Strategy<Value = Sample> {
    let kind = prop::sample::select(vec!["tool_call", "tool_result", "consent"]);
    let decision = prop::sample::select(vec!["ALLOW", "BLOCK", "ERROR"]);
    let duration = prop_oneof![0_u64..100, 0..1_000_000_u64, any::<u64>()];
    (
        kind,
        decision,
        0_u8..3,
        0_u8..4,
        0_u8..3,
        0_usize..4,
        duration,
        0_u8..3,
    )
        .prop_map(
            |(kind, decision, agent, session, target, level, duration, redacted)| Sample {
                kind,
                decision,
                agent,
                session,
                target,
                level,
                duration,
                redacted,
            },
        )
}

fn line(sample: &Sample) -> String {
    let Sample {
        kind,
        decision,
        agent,
        session,
        target,
        level,
        duration,
        redacted,
    } = sample;
    let level = LEVELS[*level];
    let redactions: Vec<String> = (0..*redacted).map(|rule| format!("\"r{rule}\"")).collect();
    let redactions = redactions.join(",");
    format!(
        r#"{{"version":1,"seq":1,"timestamp":"2026-11-21T20:14:03.512881Z","instance":"00000000000000a1","kind":"{kind}","event":"consent_granted","session_id":"s-{session}","agent":{{"id":"a{agent}"}},"method":"tools/call","target":"t{target}","decision":"{decision}","policies":["p{target}"],"reason":{{"code":"c{agent}"}},"duration_us":{duration},"sensitivity":{{"before":"PUBLIC","after":"{level}"}},"redactions":[{redactions}]}}"#
    ) + "\n"
}

fn report(lines: &str, args: &[&str]) -> (Exit, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    fs::write(&file, lines).unwrap();
    let args = AuditSummaryArgs {
        files: vec![file],
        filters: AuditFilters::default(),
        policies: args.first().map(Into::into),
        top: 10,
        format: Format::Json,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = run(&args, &mut out, &mut err);
    (exit, String::from_utf8([out, err].concat()).unwrap())
}

type Counts = BTreeMap<String, u64>;

fn counts<'s>(samples: &'s [Sample], key: impl Fn(&'s Sample) -> Option<String>) -> Counts {
    let mut counts = Counts::new();
    for key in samples.iter().filter_map(key) {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// The counts of a list of the report.
fn listed(list: &serde_json::Value, keys: &[&str]) -> Counts {
    let rows = list.as_array().unwrap().iter();
    rows.map(|row| {
        // A list of policies has one.
        let cell = |key: &&str| row[key].as_str().or(row[key][0].as_str()).unwrap();
        let key: Vec<&str> = keys.iter().map(cell).collect();
        (key.join(" "), row["count"].as_u64().unwrap())
    })
    .collect()
}

proptest! {
    #[test]
    fn the_numbers_are_those_of_a_naive_count(samples in prop::collection::vec(sample(), 0..60)) {
        let lines: String = samples.iter().map(line).collect();
        let (exit, text) = report(&lines, &[]);
        prop_assert_eq!(exit, Exit::Success);
        let found: serde_json::Value = text.parse().unwrap();
        prop_assert_eq!(found["records"].as_u64(), Some(samples.len() as u64));
        let decisions = counts(&samples, |it| Some(it.decision.to_owned()));
        for decision in ["ALLOW", "BLOCK", "ERROR"] {
            let expected = decisions.get(decision).copied().unwrap_or_default();
            prop_assert_eq!(found["decisions"][decision].as_u64(), Some(expected));
        }
        let denied = |it: &Sample| it.decision == "BLOCK";
        let expected = counts(&samples, |it| denied(it).then(|| format!("c{0} t{1} p{1}", it.agent, it.target)));
        prop_assert_eq!(listed(&found["denials"], &["reason", "target", "policies"]), expected);
        let expected = counts(&samples, |it| denied(it).then(|| format!("a{}", it.agent)));
        prop_assert_eq!(listed(&found["agents"], &["name"]), expected);
        let expected = counts(&samples, |it| (it.kind == "consent").then(|| "consent_granted".to_owned()));
        prop_assert_eq!(listed(&found["consents"], &["name"]), expected);
        let both = samples.iter().flat_map(|it| (0..it.redacted).map(|rule| format!("r{rule}")));
        let mut expected = Counts::new();
        both.for_each(|rule| *expected.entry(rule).or_default() += 1);
        prop_assert_eq!(listed(&found["redactions"], &["name"]), expected);

        let mut levels: BTreeMap<u8, usize> = BTreeMap::new();
        for it in &samples {
            let level = levels.entry(it.session).or_default();
            *level = (*level).max(it.level);
        }
        for (index, name) in LEVELS.iter().enumerate() {
            let expected = levels.values().filter(|level| **level == index).count() as u64;
            prop_assert_eq!(found["sessions"][name].as_u64().unwrap_or_default(), expected);
        }

        let tools = found["tools"].as_array().unwrap();
        for (name, target) in [("t0", 0), ("t1", 1), ("t2", 2)] {
            let of_tool = samples.iter().filter(|it| it.kind == "tool_result" && it.target == target);
            let mut durations: Vec<u64> = of_tool.map(|it| it.duration).collect();
            durations.sort_unstable();
            let row = tools.iter().find(|row| row["tool"] == name);
            prop_assert_eq!(row.is_some(), !durations.is_empty());
            let Some(row) = row else { continue };
            prop_assert_eq!(row["calls"].as_u64(), Some(durations.len() as u64));
            for (key, percent) in [("p50_us", 50), ("p99_us", 99)] {
                let exact = durations[(durations.len() * percent).div_ceil(100) - 1];
                let found = row[key].as_u64().unwrap();
                prop_assert!(exact <= found && found - exact <= exact / 16, "{exact} {found}");
            }
        }
    }
}

#[test]
fn policies_that_no_record_names_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let policies = r#"
@id("p0") permit(principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"t0");
@id("p1") permit(principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"t1");
"#;
    let file = directory.path().join("tools.cedar");
    fs::write(&file, policies).unwrap();
    let used = Sample {
        kind: "tool_call",
        decision: "ALLOW",
        agent: 0,
        session: 0,
        target: 1,
        level: 0,
        duration: 1,
        redacted: 0,
    };
    let dir = directory.path().to_str().unwrap();
    let check = |lines: &str, expected: &str| {
        let (exit, text) = report(lines, &[dir]);
        assert_eq!(exit, Exit::Success, "{text}");
        assert!(text.contains(expected), "{text}");
    };
    check("", r#""unused_policies":["p0","p1"]"#);
    check(&line(&used), r#""unused_policies":["p0"]"#);
    fs::write(&file, "no policy").unwrap();
    let (exit, text) = report("", &[dir]);
    assert_eq!(exit, Exit::LogNotRead);
    assert!(
        text.contains("have errors: see `mcp-protector check"),
        "{text}"
    );
}

#[test]
fn keys_beyond_the_limit_are_counted_without_their_names() {
    let mut tally: Tally<u64, 2> = Tally::default();
    let long = "x".repeat(5000);
    for key in ["a", "b", "a", "c", "d", &long] {
        tally.add(key, 1);
    }
    let mut all: Tally<u64, 2> = Tally::default();
    all.add("a", 10);
    all.add("z", 1);
    all.merge(tally);
    assert_eq!(
        all.values,
        BTreeMap::from([("a".to_owned(), 12), ("z".to_owned(), 1)])
    );
    // `b` once, and the three that the first tally did not keep.
    assert_eq!(all.others, 4);
}

proptest! {
    #[test]
    fn a_single_duration_is_found_again_within_a_sixteenth(duration: u64) {
        let found = Histogram::of(duration).quantile(50);
        prop_assert!(duration <= found && found - duration <= duration / 16, "{found}");
    }
}

#[test]
fn an_empty_histogram_has_no_durations() {
    assert_eq!(Histogram::default().quantile(99), 0);
    let mut all = Histogram::of(u64::MAX);
    all.merge(Histogram::of(0));
    assert_eq!(
        [all.count(), all.quantile(50), all.quantile(99)],
        [2, 0, u64::MAX]
    );
}
