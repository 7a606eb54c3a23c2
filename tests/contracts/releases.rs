//! Versions: which are released, and what may change from one to the next.

use std::str::FromStr;

/// What marks an entry of the changelog that needs work from those who update.
const MARK: &str = "**(incompatible)**";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[major, minor, patch]) => Ok(Self {
                major,
                minor,
                patch,
            }),
            _ => Err(format!("`{text}` is no version")),
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// The version in `Cargo.toml`.
    pub(crate) fn today() -> Self {
        env!("CARGO_PKG_VERSION").parse().unwrap()
    }

    /// Whether it may break what another one has published: with a new major version, before 1.0 with a minor one.
    fn may_break(self, published: Self) -> bool {
        self.series() > published.series()
    }

    /// What versions that only add have in common.
    fn series(self) -> (u32, u32) {
        (self.major, if self.major == 0 { self.minor } else { 0 })
    }
}

/// The newest version with a date in the changelog: `## 0.1.0 - 2026-12-24`.
pub(crate) fn last(changelog: &str) -> Option<Version> {
    let headings = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## "));
    let dated = headings.filter_map(|it| it.split_once(" - ")?.0.parse().ok());
    dated.max()
}

/// The entries of a version, released or not.
fn entries(changelog: &str, version: Version) -> &str {
    let ends = [format!(": {version}"), format!("{version}")];
    let is_heading = |it: &&str| {
        let name = it.lines().next().unwrap_or_default();
        let name = name.split_once(" - ").map_or(name, |(name, _)| name);
        name == ends[1] || name.ends_with(&ends[0])
    };
    changelog
        .split("\n## ")
        .find(is_heading)
        .unwrap_or_default()
}

/// Whether incompatible changes since a published version are permitted in another one.
pub(crate) fn permitted(
    changes: &[String],
    published: Version,
    today: Version,
    changelog: &str,
) -> Result<(), String> {
    let list = changes.join("\n");
    if changes.is_empty() {
        Ok(())
    } else if !today.may_break(published) {
        Err(format!(
            "{today} breaks what {published} has published:\n{list}\nKeep the old form beside the new one, or raise the \
             {} version in Cargo.toml.",
            if published.major == 0 {
                "minor"
            } else {
                "major"
            }
        ))
    } else if !entries(changelog, today).contains(MARK) {
        Err(format!(
            "{today} breaks what {published} has published:\n{list}\nMark the entries of docs/CHANGELOG.md that say so \
             with {MARK}."
        ))
    } else {
        Ok(())
    }
}

#[test]
fn only_a_version_that_says_so_breaks_what_was_published() {
    let check = |published: &str, today: &str, entry: &str, expected: Result<(), &str>| {
        let changelog = format!(
            "# Changelog\n\n## Unreleased: {today}\n\n- {entry}\n\n## {published} - 2026-12-24\n"
        );
        let changes = ["/port: is gone".to_owned()];
        let (published, today) = (published.parse().unwrap(), today.parse().unwrap());
        let verdict = permitted(&changes, published, today, &changelog);
        assert_eq!(permitted(&[], published, today, &changelog), Ok(()));
        match (&verdict, expected) {
            (Ok(()), Ok(())) => {}
            (Err(told), Err(part)) => {
                assert!(told.contains(part) && told.contains(&changes[0]), "{told}");
            }
            _ => panic!("{published} -> {today}: {verdict:?}"),
        }
    };
    check("0.1.0", "0.1.0", MARK, Err("raise the minor version"));
    check("0.1.0", "0.1.1", MARK, Err("raise the minor version"));
    check("0.1.1", "0.2.0", MARK, Ok(()));
    check("0.1.1", "0.2.0", "Better.", Err("docs/CHANGELOG.md"));
    check("0.9.0", "1.0.0", MARK, Ok(()));
    check("1.0.0", "1.1.0", MARK, Err("raise the major version"));
    check("1.4.2", "2.0.0", MARK, Ok(()));
    check("1.4.2", "0.9.0", MARK, Err("raise the major version"));
}

#[test]
fn a_version_is_released_once_its_heading_has_a_date() {
    let check = |headings: &str, expected: Option<&str>| {
        assert_eq!(
            last(headings),
            expected.map(|it| it.parse().unwrap()),
            "{headings}"
        );
    };
    check("# Changelog\n\n## Unreleased: 0.1.0\n", None);
    check("## 0.1.0 - 2026-12-24\n", Some("0.1.0"));
    check(
        "## Unreleased: 0.11.0\n## 0.10.0 - 2027-01-02\n## 0.9.1 - 2026-12-24\n",
        Some("0.10.0"),
    );
}
