use std::fs;
use std::path::Path;

use super::*;

#[track_caller]
fn check(files: &[&Path], exit: Exit, expected: &str) {
    let args = AuditArgs {
        command: AuditCommand::Verify {
            files: files.iter().map(|path| path.to_path_buf()).collect(),
        },
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(run(&args, &mut out, &mut err), exit);
    let told = String::from_utf8([out, err].concat()).unwrap();
    assert!(told.contains(expected), "{told}");
}

#[test]
fn each_end_has_its_code_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let line = |instance: &str| {
        format!(
            r#"{{"version":1,"seq":1,"timestamp":"1970-01-01T00:00:00.000000Z","instance":"{instance}","prev":"{}","kind":"startup"}}"#,
            "0".repeat(64)
        )
    };
    let one = line("00000000000000a1");
    let whole = write("whole", format!("{one}\n").as_bytes());
    check(&[&whole], Exit::Success, "chain intact: 1 records, 1 runs");
    check(
        &[&whole],
        Exit::Success,
        "has no end: the gate runs, was killed, or records are missing",
    );
    let later = write("later", one.replace("prev\":\"0", "prev\":\"1").as_bytes());
    check(
        &[&later],
        Exit::Success,
        "the first record continues an older file",
    );
    let torn = write("torn", format!("{one}\n{{\"version\":1,").as_bytes());
    check(&[&torn], Exit::Success, "torn:2: half a line");
    let broken = write("broken", b"\x1b[2Jno record\n");
    check(
        &[&broken],
        Exit::ChainBroken,
        "broken:1: the line is no record",
    );
    let twice = write("twice", format!("{one}\n{one}\n").as_bytes());
    check(
        &[&twice],
        Exit::ChainBroken,
        "twice:2: seq 1 of 00000000000000a1 follows seq 1",
    );
    let compressed = write("log.gz", b"\x1f\x8b\x08\x00");
    check(&[&compressed], Exit::NotVerified, "is compressed");
    check(
        &[&directory.path().join("none")],
        Exit::NotVerified,
        "cannot be read",
    );
    check(&[directory.path()], Exit::NotVerified, "cannot be read");
}
