//! Names that programs and scripts rely on, one a line: a name may be added, and stays.
//!
//! They come from tables that other tests hold to the code: `docs/schema/codes.json`, and the generated regions of
//! the pages.

use std::collections::BTreeSet;

use serde_json::Value;

/// The demo is for people.
const NOT_STABLE: &str = "demo";

/// The names of today.
pub(crate) fn of(codes: &Value, commands: &str, metrics: &str, lints: &str) -> BTreeSet<String> {
    let groups = codes.as_object().unwrap().iter();
    let codes = groups.flat_map(|(group, all)| {
        let all = all.as_object().unwrap().keys();
        all.map(move |code| format!("code {group} {code}"))
    });
    let mut names: BTreeSet<String> = codes.collect();
    for (region, text) in regions(commands) {
        let command = region.strip_prefix("help ").unwrap();
        if command != NOT_STABLE {
            names.insert(format!("command {command}"));
            names.extend(
                exit_codes(text).map(|code| format!("command {command} exits with {code}")),
            );
            names.extend(rows(text).flat_map(|row| argument(command, &row)));
        }
    }
    for (_, text) in regions(metrics).filter(|(region, _)| *region == "metrics") {
        for row in rows(text) {
            let metric = row[0].trim_matches('`');
            names.insert(format!("metric {metric} {}", row[1]));
            names.extend(quoted(&row[2]).map(|label| format!("metric {metric} has {label}")));
        }
    }
    for (_, text) in regions(lints).filter(|(region, _)| *region == "lints") {
        names
            .extend(rows(text).filter_map(|row| Some(format!("lint {}", quoted(&row[0]).next()?))));
    }
    names
}

fn regions(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let all = page.split("\n<!-- generated: ").skip(1);
    all.map(|region| {
        region
            .split_once("<!-- end -->")
            .unwrap()
            .0
            .split_once(" -->\n")
            .unwrap()
    })
}

/// The cells of each row of the tables, without the head.
fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    let body = text
        .split("|---|")
        .skip(1)
        .flat_map(|table| table.lines().skip(1));
    let rows = body.filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.map(|row| row.split('|').map(str::to_owned).collect())
}

/// `Exit codes: 0 valid, 1 not valid.`
fn exit_codes(text: &str) -> impl Iterator<Item = u8> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Exit codes: "));
    let parts = line.unwrap_or_default().split([',', ';']);
    parts.filter_map(|part| part.split_whitespace().next()?.parse().ok())
}

/// An argument without the word that stands for its value, its values, its default and its variable.
fn argument(command: &str, row: &[String]) -> Vec<String> {
    let name = row[0].trim_matches('`');
    let name = name
        .split_once(" <")
        .map_or_else(|| name.to_owned(), |(option, _)| format!("{option} VALUE"));
    let whole = format!("command {command} {name}");
    let listed = |word: &str| {
        let after = row[1].split_once(word).map_or("", |(_, after)| after);
        // The next sentence has other words in backticks.
        let after = after.split("`.").next().unwrap();
        quoted(after).map(str::to_owned).collect::<Vec<_>>()
    };
    let values = listed("Values: ")
        .into_iter()
        .map(|value| format!("{whole} may be {value}"));
    let default = listed("Default: ")
        .into_iter()
        .map(|value| format!("{whole} is {value} by default"));
    let variable = listed("Variable: ")
        .into_iter()
        .map(|value| format!("{whole} is also {value}"));
    let all: Vec<String> = values.chain(default).chain(variable).collect();
    all.into_iter().chain([whole]).collect()
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn each_name_has_a_line_without_what_is_only_for_people() {
    let commands = "x\n<!-- generated: help check -->\nLints.\n\nExit codes: 0 no findings, 1 findings; 2 no, or 3 times.\n\
        \n|argument|meaning|\n|---|---|\n|`[PATHS]...`|Packs.|\n\
        |`--format <FORMAT>`|The format. Values: `human`, `json`. Default: `human`.|\n<!-- end -->\n\
        \n<!-- generated: help demo -->\nExit codes: 0 true.\n<!-- end -->\n";
    let metrics = "\n<!-- generated: metrics -->\n|metric|type|labels|meaning|\n|---|---|---|---|\n\
        |`ready`|gauge|`tool`, `server`|1.|\n<!-- end -->\n";
    let lints = "\n<!-- generated: lints -->\n|lint|finds|\n|---|---|\n|[`can_error`](#can_error)|`+`|\n<!-- end -->\n";
    let codes = r#"{"tests":{"test::failed":"A test failed."}}"#.parse().unwrap();
    let names: Vec<String> = of(&codes, commands, metrics, lints).into_iter().collect();
    let expected = [
        "code tests test::failed",
        "command check",
        "command check --format VALUE",
        "command check --format VALUE is human by default",
        "command check --format VALUE may be human",
        "command check --format VALUE may be json",
        "command check [PATHS]...",
        "command check exits with 0",
        "command check exits with 1",
        "command check exits with 2",
        "lint can_error",
        "metric ready gauge",
        "metric ready has server",
        "metric ready has tool",
    ];
    assert_eq!(names, expected);
}
