//! The table of metrics, from the snapshot of a scrape that a test of the library compares.

use std::fs;

use crate::docs::generated::rows;
use crate::docs::pages::root;

/// The directory of the snapshot, and its first line of text.
const SNAPSHOT: (&str, &str) = ("src/admin/snapshots", "# HELP mcp_protector_ready ");

fn scrape() -> String {
    let (directory, begins) = SNAPSHOT;
    let files = fs::read_dir(root().join(directory)).unwrap();
    let mut texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let found = texts.find(|text| text.contains(begins));
    found.expect("a snapshot of a scrape")
}

/// Name, type, labels and help of each metric.
pub(crate) fn table() -> String {
    let scrape = scrape();
    let metrics = scrape.split("# HELP ").skip(1).map(|metric| {
        let (name, rest) = metric.split_once(' ').unwrap();
        let (help, rest) = rest.split_once('\n').unwrap();
        let kind = rest.lines().next().and_then(|line| line.rsplit(' ').next());
        let kind = kind.unwrap();
        let sample = rest.lines().nth(1).unwrap();
        let labels = sample.split_once('{').map_or("", |(_, labels)| labels);
        let labels = labels
            .split(',')
            .filter_map(|label| label.split_once("=\""));
        let labels = labels.filter(|(label, _)| *label != "le");
        let labels: Vec<String> = labels.map(|(label, _)| format!("`{label}`")).collect();
        let total = if kind == "counter" { "_total" } else { "" };
        let name = format!("`{name}{total}`");
        vec![name, kind.to_owned(), labels.join(", "), help.to_owned()]
    });
    let metrics: Vec<Vec<String>> = metrics.collect();
    assert!(metrics.len() > 20, "{metrics:?}");
    rows(&["metric", "type", "labels", "meaning"], &metrics)
}
