//! Directories that say which files they hold.

use super::super::load::{compile, read};
use super::super::{MANIFEST_FILE, manifest};
use super::*;

const PERMIT: &str = "@id(\"one\") permit(principal, action, resource);\n";

/// Of `a.cedar`, if it holds [`PERMIT`]: as `sha256sum` writes it.
const LINE: &str = "fb2b18f831da08fd8793e251a0c5e2517f991656c53f82718ad8e0431ab3ee65  a.cedar\n";

const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn written(dir: &TempDir) -> String {
    manifest(&within(dir)).unwrap()
}

/// What is wrong with a manifest beside `a.cedar`; nothing if it fits.
#[track_caller]
fn check(text: &str, wrong: Option<&str>) {
    let dir = files(&[
        ("a.cedar", PERMIT),
        ("README.md", "a story"),
        (MANIFEST_FILE, text),
    ]);
    match (load(&within(&dir)), wrong) {
        (Ok(loaded), None) => assert!(loaded.snapshot.has_manifest()),
        (Err(errors), Some(wrong)) => {
            let [problem] = errors.problems.as_slice() else {
                panic!("{errors:?}")
            };
            assert_eq!(problem.code, "policy::manifest");
            assert!(problem.message.contains(wrong), "{problem}");
            let help = problem.help.as_deref().unwrap();
            assert!(help.contains("policy manifest "), "{help}");
        }
        (loaded, wrong) => panic!("{text:?} {wrong:?}: {loaded:?}"),
    }
}

#[test]
fn a_manifest_lists_every_file_that_is_read_in_the_form_of_sha256sum() {
    let dir = files(&[
        ("b/c.cedar", PERMIT),
        ("b.cedar", ""),
        ("tools.toml", "\n"),
        ("README.md", "a story"),
        ("tests/t.toml", ""),
        (".hidden.cedar", PERMIT),
    ]);
    // By `sha256sum`.
    let expected = "\
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b.cedar\n\
        PERMIT  b/c.cedar\n\
        01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b  tools.toml\n";
    assert_eq!(
        written(&dir),
        expected.replace("PERMIT", digest_of_permit())
    );
}

fn digest_of_permit() -> &'static str {
    LINE.split(' ').next().unwrap()
}

#[test]
fn a_manifest_that_is_not_exact_is_an_error() {
    let dir = files(&[("a.cedar", PERMIT)]);
    let line = written(&dir);
    assert_eq!(line, LINE);
    let story = "a9092e8a412dccbb36365cad4225cf9d35374374b7127b597251081a5832cd2d  README.md\n";
    check(&line, None);
    check(&format!("{story}{line}"), None);
    let stale = line.replace(digest_of_permit(), DIGEST);
    check(
        &stale,
        Some("`a.cedar` has another digest than the one that is listed"),
    );
    check("", Some("a.cedar` is not listed"));
    check(
        &format!("{DIGEST}  README.md\n{line}"),
        Some("`README.md` has another digest"),
    );
    check(
        &format!("{line}{DIGEST}  b.cedar\n"),
        Some("`b.cedar` is listed: "),
    );
    check(&format!("{line}{DIGEST}  sub\n"), Some("`sub` is listed: "));
    check(line.trim_end(), Some("its last line has no end"));
    check(
        &format!("{line}{line}"),
        Some("names stand once, in the order"),
    );
    check(
        &format!("{line}{story}"),
        Some("names stand once, in the order"),
    );
    let form = "a line is a SHA-256 digest";
    check(&line.to_uppercase(), Some(form));
    check(&line.replace("  ", " *"), Some(form));
    check(&line.replace("  ", "\t"), Some(form));
    check(&format!("\n{line}"), Some(form));
    check(&format!("# files\n{line}"), Some(form));
    check(line.get(1..).unwrap(), Some(form));
    for name in [
        "./a.cedar",
        "../a.cedar",
        "/a.cedar",
        "sub//a",
        "sub/.git",
        ".a",
        "a\\b",
        "a\r",
        "MANIFEST",
        "sub/",
    ] {
        check(
            &format!("{DIGEST}  {name}\n"),
            Some("a name leads down from the directory"),
        );
    }
}

#[test]
fn a_manifest_is_bounded() {
    use std::fmt::Write as _;
    let mut many = String::new();
    for number in 0..=10_000 {
        writeln!(many, "{DIGEST}  a{number:05}").unwrap();
    }
    check(&many, Some("more than 10,000 files are listed"));
    let dir = files(&[
        ("a.cedar", PERMIT),
        (MANIFEST_FILE, &"x".repeat((4 << 20) + 1)),
    ]);
    check_refused(dir.path(), &["MANIFEST", "larger than"]);
}

#[cfg(unix)]
#[test]
fn what_a_manifest_lists_is_followed_over_links_and_never_waited_for() {
    use std::os::unix::fs::symlink;
    let dir = files(&[("a.cedar", PERMIT), ("..data/MANIFEST", LINE)]);
    symlink("..data/MANIFEST", dir.path().join(MANIFEST_FILE)).unwrap();
    assert!(load(&within(&dir)).unwrap().snapshot.has_manifest());
    let pipe = dir.path().join("tests");
    fs::create_dir(&pipe).unwrap();
    let text = format!("{LINE}{DIGEST}  tests\n");
    fs::write(dir.path().join("..data/MANIFEST"), text).unwrap();
    check_refused(dir.path(), &["`tests` is listed: it is no file"]);
}

#[test]
fn what_is_wrong_with_a_manifest_does_not_keep_it_from_being_written_anew() {
    let dir = files(&[("a.cedar", PERMIT), (MANIFEST_FILE, "x")]);
    assert_eq!(written(&dir), LINE);
    let broken = files(&[("a.cedar", "permit"), (MANIFEST_FILE, "x")]);
    assert!(manifest(&within(&broken)).is_err());
}

#[test]
fn a_shadow_policy_is_held_against_its_own_manifest() {
    let dir = files(&[("a.cedar", PERMIT)]);
    let next = files(&[("a.cedar", PERMIT), (MANIFEST_FILE, "")]);
    let settings = Settings {
        shadow: Some(next.path().to_owned()),
        ..within(&dir)
    };
    let loaded = compile(&settings, read(&settings), None).unwrap();
    assert!(loaded.snapshot.shadow().is_none());
    assert_eq!(loaded.shadow.first().unwrap().code, "policy::manifest");
}

#[test]
fn a_manifest_changes_no_revision() {
    let one = files(&[("a.cedar", PERMIT)]);
    let other = files(&[("a.cedar", PERMIT), (MANIFEST_FILE, LINE)]);
    let revision = |dir: &TempDir| load(&within(dir)).unwrap().snapshot.revision().clone();
    assert_eq!(revision(&one), revision(&other));
}
