//! What the documents name is there: files, links, and words of the code.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::docs::pages::{self, Page, root};

/// What paths of the project begin with.
const PLACES: [&str; 8] = [
    "src/",
    "tests/",
    "docs/",
    "policies/",
    "fixtures/",
    ".ci/",
    ".github/",
    "packaging/",
];

/// The changelog speaks of the past, too.
const OF_THE_PAST: &str = "docs/CHANGELOG.md";

/// The paths in a drawing, by their ends: `gate/`, `decide.rs`.
pub(crate) fn drawing(text: &str) -> Result<(), String> {
    let paths = paths();
    let is_path = |word: &&str| is_rust(word) || (word.len() > 1 && word.ends_with('/'));
    for word in text.split([' ', '\n', ',', '(', ')']).filter(is_path) {
        let end = format!("/{}", word.trim_end_matches('/'));
        if !paths.iter().any(|path| path.ends_with(&end)) {
            return Err(format!("there is no `{word}`"));
        }
    }
    Ok(())
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|kind| kind == "rs")
}

/// The insides of code spans.
fn spans(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2)
}

/// Files and directories of the project, each with a leading `/`.
fn paths() -> Vec<String> {
    let mut found = Vec::new();
    for place in PLACES {
        collect(&root().join(place), &mut found);
    }
    let relative = found.iter().map(|path| path.strip_prefix(root()).unwrap());
    relative
        .map(|path| format!("/{}", path.display()))
        .collect()
}

fn collect(path: &Path, found: &mut Vec<PathBuf>) {
    if path.ends_with("node_modules") || path.ends_with("target") {
        return;
    }
    found.push(path.to_owned());
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    }
}

/// Every word of the code and of what configures it.
fn words() -> HashSet<String> {
    let kinds = ["rs", "cedar", "cedarschema", "toml", "json", "md"];
    let mut words = HashSet::new();
    let mut add = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let text = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.extend(text.map(str::to_owned));
    };
    for path in paths() {
        let path = root().join(path.trim_start_matches('/'));
        let kind = path.extension().and_then(|kind| kind.to_str());
        // A page does not prove what it says.
        let own = path.starts_with(root().join("docs")) && kind == Some("md");
        if kind.is_some_and(|kind| kinds.contains(&kind)) && !own {
            add(&path);
        }
    }
    for name in ["Cargo.toml", ".ci/run", ".clippy.toml", ".rustfmt.toml"] {
        add(&root().join(name));
    }
    words
}

/// The parts of a span that looks like a name of the code: `Permit`, `Gate::handle`, `a_test_name`.
fn parts(span: &str) -> Option<Vec<&str>> {
    let span = span.strip_suffix("()").unwrap_or(span);
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let parts: Vec<&str> = span.split("::").collect();
    let is_type = span.starts_with(|c: char| c.is_ascii_uppercase())
        && span.contains(|c: char| c.is_ascii_lowercase());
    let of_code = span.contains('_') || parts.len() > 1 || is_type;
    (of_code && parts.iter().all(|part| is_word(part))).then_some(parts)
}

fn unknown_names(page: &Page, words: &HashSet<String>, paths: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for span in spans(&page.prose()) {
        let place = PLACES.iter().any(|place| span.starts_with(place));
        let path = format!("/{}", span.trim_end_matches('/'));
        if place && !span.contains(['*', '…', ' ']) {
            if !paths.contains(&path) {
                problems.push(format!("{}: there is no `{span}`", page.path));
            }
        } else if is_rust(span) && !span.starts_with('/') && !span.contains(['*', ' ']) {
            if !paths.iter().any(|known| known.ends_with(&path)) {
                problems.push(format!("{}: there is no `{span}`", page.path));
            }
        } else if let Some(parts) = parts(span) {
            let unknown = parts.iter().filter(|part| !words.contains(**part));
            problems.extend(
                unknown
                    .map(|part| format!("{}: `{span}`: no code has the word `{part}`", page.path)),
            );
        }
    }
    problems
}

/// Targets of links, without those on the web.
fn links(prose: &str) -> Vec<&str> {
    let targets = prose.split("](").skip(1);
    targets
        .filter_map(|rest| Some(rest.split_once(')')?.0))
        .filter(|target| !target.contains("://"))
        .collect()
}

/// Anchors of a page's headings, as code hosts make them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

fn dead_links(page: &Page) -> Vec<String> {
    let directory = root().join(&page.path);
    let directory = directory.parent().unwrap();
    let dead = |target: &&str| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let text = if path.is_empty() {
            page.text.clone()
        } else if directory.join(path).exists() {
            // A directory has no text, and no anchors.
            fs::read_to_string(directory.join(path)).unwrap_or_default()
        } else {
            return true;
        };
        !anchor.is_empty() && !anchors(&text).iter().any(|known| known == anchor)
    };
    let prose = page.prose();
    let links = links(&prose).into_iter();
    links
        .filter(dead)
        .map(|target| format!("{}: `{target}` leads nowhere", page.path))
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages::all();
    let problems: Vec<String> = pages.iter().flat_map(dead_links).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn every_file_and_every_name_of_the_code_is_there() {
    let (words, paths) = (words(), paths());
    let problems: Vec<String> = pages::ours()
        .iter()
        .filter(|page| page.path != OF_THE_PAST)
        .flat_map(|page| unknown_names(page, &words, &paths))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_name_or_a_link_that_leads_nowhere_is_found() {
    let page = |text: &str| Page {
        path: "docs/page.md".to_owned(),
        text: text.to_owned(),
    };
    let (words, paths) = (words(), paths());
    let check = |text: &str, problems: usize| {
        let found = unknown_names(&page(text), &words, &paths);
        assert_eq!(found.len(), problems, "{text}: {found:?}");
    };
    check("`src/gate/mod.rs` `gate/mod.rs` `Gate::handle` `Permit`", 0);
    check(
        "`plain words` `--flag` `tools/call` `ping` `policies/*.cedar`",
        0,
    );
    check("`src/gate/nowhere.rs`", 1);
    check("`nowhere.rs`", 1);
    check(concat!("`Gate::hand", "el`"), 1);
    check(concat!("`a_test_that_no", "body_wrote`"), 1);
    let check = |text: &str, problems: usize| {
        let found = dead_links(&page(text));
        assert_eq!(found.len(), problems, "{text}: {found:?}");
    };
    check(
        "# A heading, really\n[a](audit-log-schema.md) [b](#a-heading-really)",
        0,
    );
    check("[c](../README.md) [d](https://example.com/nowhere)", 0);
    check(
        "[a](nowhere.md) [b](#nowhere) [c](audit-log-schema.md#nowhere)",
        3,
    );
}
