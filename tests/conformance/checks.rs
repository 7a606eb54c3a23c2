//! What the suite found, and how two findings differ.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use crate::support::json::json;

/// From best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    Success,
    Skipped,
    Warning,
    Failure,
}

/// A check of a scenario, by the suite's names. Some checks are made several times.
pub(crate) type Key = (String, String);

/// The worst that became of each check, and what the suite said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks(BTreeMap<Key, (Status, String)>);

impl Checks {
    /// Reads the `checks.json` of every scenario that a run left behind.
    pub(crate) fn read(directory: &Path, prefix: &str) -> Self {
        let mut found = Self::default();
        for entry in fs::read_dir(directory).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let text = fs::read_to_string(directory.join(&name).join("checks.json")).unwrap();
            let scenario = scenario(name.strip_prefix(prefix).unwrap());
            for check in json(&text).as_array().unwrap() {
                let status = match check["status"].as_str().unwrap() {
                    "SUCCESS" => Status::Success,
                    "SKIPPED" => Status::Skipped,
                    "WARNING" => Status::Warning,
                    "FAILURE" => Status::Failure,
                    // Tells what happened, and judges nothing.
                    "INFO" => continue,
                    other => panic!("`{other}` is no status"),
                };
                let said = check["errorMessage"].as_str().unwrap_or_default();
                let key = (
                    scenario.to_owned(),
                    check["id"].as_str().unwrap().to_owned(),
                );
                let kept = found.0.entry(key).or_insert((status, said.to_owned()));
                if kept.0 < status {
                    *kept = (status, said.to_owned());
                }
            }
        }
        found
    }

    /// One check of one scenario, for tests of comparisons.
    pub(crate) fn one(scenario: &str, fails: bool) -> Self {
        let status = if fails {
            Status::Failure
        } else {
            Status::Success
        };
        let key = (scenario.to_owned(), "check".to_owned());
        Self(BTreeMap::from([(key, (status, String::new()))]))
    }

    /// All that did not succeed.
    pub(crate) fn blemishes(&self) -> Vec<(&Key, &(Status, String))> {
        let all = self.0.iter();
        all.filter(|(_, (status, _))| *status != Status::Success)
            .collect()
    }

    /// The checks whose statuses are not the same, or that only one side has.
    pub(crate) fn differences<'a>(&'a self, other: &'a Self) -> Vec<Difference<'a>> {
        let keys = self
            .0
            .keys()
            .chain(other.0.keys().filter(|key| !self.0.contains_key(*key)));
        keys.map(|key| Difference {
            key,
            direct: self.0.get(key),
            through: other.0.get(key),
        })
        .filter(|it| it.direct.map(|it| it.0) != it.through.map(|it| it.0))
        .collect()
    }

    /// All but these checks, by scenario and check.
    pub(crate) fn without(mut self, checks: &[(&str, &str)]) -> Self {
        self.0
            .retain(|(scenario, check), _| !checks.contains(&(scenario, check)));
        self
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Takes what a later run found of some scenarios for what was found before.
    pub(crate) fn replace(&mut self, scenarios: &[String], later: Self) {
        self.0.retain(|(name, _), _| !scenarios.contains(name));
        self.extend(later);
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |wanted| {
            self.0
                .values()
                .filter(|(status, _)| *status == wanted)
                .count()
        };
        write!(
            f,
            "{} checks: {} passed, {} failed, {} warnings, {} skipped",
            self.0.len(),
            count(Status::Success),
            count(Status::Failure),
            count(Status::Warning),
            count(Status::Skipped)
        )
    }
}

/// A check that came out differently.
#[derive(Debug)]
pub(crate) struct Difference<'a> {
    pub(crate) key: &'a Key,
    direct: Option<&'a (Status, String)>,
    through: Option<&'a (Status, String)>,
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scenario, check) = self.key;
        write!(f, "{scenario} {check}")?;
        for (name, found) in [("direct", self.direct), ("through", self.through)] {
            match found {
                Some((status, said)) => write!(f, "\n  {name}: {status:?} {said}")?,
                None => write!(f, "\n  {name}: not checked")?,
            }
        }
        Ok(())
    }
}

/// The suite appends the time of day to the names of its directories.
fn scenario(directory: &str) -> &str {
    const TIME: usize = "-2026-11-22T09-41-00-123Z".len();
    directory.split_at(directory.len() - TIME).0
}

#[test]
fn the_worst_status_of_a_check_counts_and_information_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory
        .path()
        .join("server-tools-list-2026-11-22T09-41-00-123Z");
    fs::create_dir(&run).unwrap();
    let text = r#"[{"id":"a","status":"SUCCESS"},{"id":"a","status":"WARNING","errorMessage":"odd"},
        {"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"SUCCESS"}]"#;
    fs::write(run.join("checks.json"), text).unwrap();
    let found = Checks::read(directory.path(), "server-");
    assert_eq!(
        found.to_string(),
        "2 checks: 1 passed, 0 failed, 1 warnings, 0 skipped"
    );

    let mut other = found.clone();
    other.0.retain(|(_, check), _| check == "a");
    let differences = found.differences(&other);
    let [difference] = &*differences else {
        panic!("{differences:?}")
    };
    let expected = "tools-list c\n  direct: Success \n  through: not checked";
    assert_eq!(difference.to_string(), expected);
    assert!(found.differences(&found).is_empty());
}
