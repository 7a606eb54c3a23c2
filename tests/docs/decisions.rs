//! The records in `docs/decisions/`: few, numbered without gaps, each with a status line.

use crate::docs::pages::{self, Page};

/// More records than this are no longer read as a whole: merge the ones of one subject.
const MAX_RECORDS: usize = 35;

/// Problems with the form of one record.
fn problems(number: usize, page: &Page) -> Vec<String> {
    let mut lines = page.text.lines();
    let title = lines.next().unwrap_or_default();
    let status = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let mut problems = Vec::new();
    if !page
        .path
        .starts_with(&format!("docs/decisions/{number:04}-"))
    {
        problems.push(format!("{}: the next number is {number:04}", page.path));
    }
    if !title.starts_with(&format!("# {number}. ")) {
        problems.push(format!("{}: `{title}` is no title of it", page.path));
    }
    if !status.starts_with("Status: ") {
        problems.push(format!("{}: no status line follows the title", page.path));
    }
    problems
}

#[test]
fn there_are_at_most_35_decisions_and_each_has_a_number_and_a_status_line() {
    let mut records = pages::all();
    records.retain(|page| page.path.starts_with("docs/decisions/"));
    assert!(
        (1..=MAX_RECORDS).contains(&records.len()),
        "{} records",
        records.len()
    );
    let problems: Vec<String> = (1..)
        .zip(&records)
        .flat_map(|(number, page)| problems(number, page))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_decision_without_its_number_or_its_status_is_found() {
    let check = |path: &str, text: &str, found: usize| {
        let page = Page {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let problems = problems(2, &page);
        assert_eq!(problems.len(), found, "{path}: {problems:?}");
    };
    let good = "# 2. A subject\n\nStatus: accepted.\n\n## Context\n";
    check("docs/decisions/0002-a-subject.md", good, 0);
    check("docs/decisions/0003-a-subject.md", good, 1);
    check(
        "docs/decisions/0002-a-subject.md",
        "# 3. A subject\n\nStatus: accepted.\n",
        1,
    );
    check(
        "docs/decisions/0002-a-subject.md",
        "# 2. A subject\n\n## Context\n",
        1,
    );
    check("docs/decisions/0002-a-subject.md", "", 2);
}
