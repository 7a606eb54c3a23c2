use std::fs;

use proptest::prelude::*;

use super::super::checkpoint::{KeyFiles, SigningKey};
use super::super::line::{LineAddition, LogLine};
use super::super::read::MAX_LINE_BYTES;
use super::super::record::VERSION;
use super::super::{Decision, Kind, Record};
use super::*;

/// Lines of one run of the gate that continues `prev`.
fn run(instance: &str, prev: LineHash, records: u64) -> Vec<String> {
    let mut prev = prev;
    let lines = (1..=records).map(|seq| {
        let kind = if seq == records {
            Kind::Shutdown
        } else {
            Kind::ToolCall
        };
        let record = Record::new(kind)
            .target(format!("tool {seq}"))
            .decision(Decision::Allow, "decide");
        let mut line = Vec::new();
        LogLine {
            version: VERSION,
            seq,
            timestamp: "1970-01-01T00:00:00.000000Z".into(),
            instance,
            prev: Some(prev),
            record: &record,
            addition: LineAddition::default(),
        }
        .write_to(&mut line)
        .unwrap();
        prev = LineHash::of(&line);
        String::from_utf8(line).unwrap()
    });
    lines.collect()
}

const FIRST: &str = "00000000000000a1";
const SECOND: &str = "00000000000000b2";

/// Two runs, one after the other.
fn log() -> Vec<String> {
    let mut lines = run(FIRST, LineHash::START, 4);
    let last = LineHash::of(lines[3].as_bytes());
    lines.extend(run(SECOND, last, 3));
    lines
}

/// Verifies files with the names `1`, `2` and so on.
fn verify(files: &[&str]) -> Result<ChainVerifier, String> {
    let files: Vec<_> = files.iter().map(|text| text.as_bytes()).collect();
    verify_with(ChainVerifier::default(), &files)
}

fn verify_with(mut chain: ChainVerifier, files: &[&[u8]]) -> Result<ChainVerifier, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = |at: usize| directory.path().join((at + 1).to_string());
    for (at, text) in files.iter().enumerate() {
        fs::write(path(at), text).unwrap();
    }
    let sources: Vec<_> = (0..files.len()).map(|at| Source::File(path(at))).collect();
    let verified = chain.read(&sources).and_then(|()| chain.finish());
    let prefix = format!("{}/", directory.path().display());
    let told = |error: ChainError| error.to_string().replace(&prefix, "");
    verified.map(|()| chain).map_err(told)
}

#[track_caller]
fn check(lines: &[String], expected: &str) {
    let told = verify(&[&lines.concat()]).map(|chain| chain.records());
    match told {
        Ok(records) => assert_eq!(format!("{records} records"), expected, "{lines:#?}"),
        Err(problem) => assert!(problem.contains(expected), "{problem}\n{lines:#?}"),
    }
}

#[test]
fn what_a_gate_writes_is_whole() {
    check(&log(), "7 records");
    let chain = verify(&[&log().concat()]).unwrap();
    let runs: Vec<_> = chain.runs().iter().collect();
    assert_eq!((&**runs[0].0, runs[0].1.last_seq), (FIRST, 4));
    assert_eq!(runs[1].1.end, RunEnd::Shutdown);
    assert_eq!(chain.beginning(), Beginning::Start);
    let rest = verify(&[&log()[4..].concat()]).unwrap();
    assert_eq!(rest.beginning(), Beginning::Later);
}

#[test]
fn the_first_line_that_breaks_the_chain_is_named() {
    let with = |change: fn(&mut Vec<String>)| {
        let mut lines = log();
        change(&mut lines);
        lines
    };
    for (change, expected) in [
        // The next record of a run shows that one was changed.
        (
            with(|lines| lines[1] = lines[1].replace("ALLOW", "BLOCK")),
            "1:3: seq 3 of 00000000000000a1 does not continue 1:2: one of the two lines was changed",
        ),
        (
            with(|lines| lines[2] = lines[2].replace("\"seq\":3", "\"seq\":4")),
            "1:3: seq 4 of 00000000000000a1 follows seq 2 (1:2)",
        ),
        (
            with(|lines| drop(lines.remove(1))),
            "1:2: seq 3 of 00000000000000a1 follows seq 1 (1:1): the records between are missing",
        ),
        (
            with(|lines| lines.insert(2, lines[2].replace("tool", "fool"))),
            "1:4: seq 3 of 00000000000000a1 follows seq 3 (1:3): a record was inserted",
        ),
        (
            with(|lines| lines.insert(2, lines[1].clone())),
            "1:3: seq 2 of 00000000000000a1 follows seq 2 (1:2)",
        ),
        (with(|lines| lines.swap(1, 2)), "1:2: seq 3 "),
        // The end of the first run, and all of it.
        (
            with(|lines| drop(lines.remove(3))),
            "1:4: the first record of 00000000000000b2 continues a line that is missing or was changed",
        ),
        (
            with(|lines| lines[3] = lines[3].replace("decide", "forward")),
            "1:5: the first record of 00000000000000b2 continues a line",
        ),
        (
            with(|lines| lines[1] = "junk\n".into()),
            "1:2: the line is no record of version 1",
        ),
        (
            with(|lines| lines[1] = lines[1].replace("{\"version\":1", "{\"version\":2")),
            "1:2: the line is no record of version 1",
        ),
        (
            with(|lines| {
                let prev = lines[1].split(",\"kind\"").next().unwrap().rsplit_once(',');
                let prev = format!(",{}", prev.unwrap().1);
                lines[1] = lines[1].replace(&prev, "");
            }),
            "1:2: the record has no `prev`",
        ),
        (
            with(|lines| lines[0] = "x".repeat(MAX_LINE_BYTES + 1)),
            "1:1: the line is longer than",
        ),
        // An edit that is no JSON, in the last record too, and two records in one line.
        (
            with(|lines| lines[6] = lines[6].replace("\"target\"", "\"target")),
            "1:7: the line is no record of version 1",
        ),
        (
            with(|lines| lines[5] = lines[5].replace('\n', " ")),
            "1:6: the line is no record of version 1",
        ),
        (
            with(|lines| lines.insert(0, "\n".into())),
            "1:1: the line is no record",
        ),
        // Not proven: the end of the last run, and lines before the first file.
        (with(|lines| drop(lines.pop())), "6 records"),
        (with(|lines| drop(lines.drain(..2))), "5 records"),
        // Where the log is there from its first record on, each run is.
        (
            with(|lines| drop(lines.remove(4))),
            "1:5: 00000000000000b2 begins with seq 2: its earlier records are missing",
        ),
    ] {
        check(&change, expected);
    }
}

#[test]
fn half_a_line_of_a_gate_that_died_is_told_and_the_chain_goes_on() {
    let mut lines = run(FIRST, LineHash::START, 3);
    lines.pop();
    let last = LineHash::of(lines[1].as_bytes());
    let half = run(FIRST, LineHash::START, 3).pop().unwrap();
    let nested = half.replace("\"target\"", "\"agent\":{\"id\":\"a\"},\"target\"");
    let nested = nested.split_inclusive('}').next().unwrap();
    for torn in ["{", "{\"version\":1,\"seq\":3,\"timestamp\":\"1970", nested] {
        let mut all = lines.clone();
        all.push(format!("{torn}\n"));
        all.extend(run(SECOND, last, 2));
        let chain = verify(&[&all.concat()]).unwrap();
        assert_eq!((chain.records(), chain.half_lines().0.len()), (4, 1));
        assert_eq!(chain.half_lines().0[0].line, 3);
        assert_eq!(chain.runs()[FIRST].end, RunEnd::Open);
        // At the end of the file.
        let chain = verify(&[&format!("{}{torn}", lines.concat())]).unwrap();
        assert_eq!((chain.records(), chain.half_lines().0.len()), (2, 1));
    }
    // A gate ended the half line with a line feed and wrote nothing more: the next one continues it.
    let half = "{\"version\":1,\"seq\":3\n";
    let mut ended = lines.clone();
    ended.push(half.to_owned());
    ended.extend(run(SECOND, LineHash::of(half.as_bytes()), 2));
    check(&ended, "4 records");
    // However many there are, few are named.
    let chain = verify(&[&"{\n".repeat(NAMED_HALF_LINES + 7)]).unwrap();
    assert_eq!(
        (chain.half_lines().0.len(), chain.half_lines().1),
        (NAMED_HALF_LINES, 7)
    );
    // The next record of the run misses a line that was cut.
    let mut cut = run(FIRST, LineHash::START, 3);
    let half = cut[1].len() / 2;
    cut[1].truncate(half);
    cut[1].push('\n');
    check(&cut, "1:3: seq 3 of 00000000000000a1 follows seq 1 (1:1)");
}

#[test]
fn runs_that_share_a_file_and_files_that_follow_each_other_are_whole() {
    let first = run(FIRST, LineHash::START, 4);
    let second = run(SECOND, LineHash::of(first[0].as_bytes()), 3);
    let woven: Vec<String> = [
        &first[0], &first[1], &second[0], &first[2], &second[1], &second[2], &first[3],
    ]
    .map(Clone::clone)
    .into();
    check(&woven, "7 records");
    for cut in 1..woven.len() {
        let (old, new) = woven.split_at(cut);
        let chain = verify(&[&old.concat(), &new.concat()]).unwrap();
        assert_eq!(chain.records(), 7);
        // In the other order, something is missing or comes again.
        verify(&[&new.concat(), &old.concat()]).unwrap_err();
    }
    // Whole runs in the wrong order.
    let third = run("00000000000000c3", LineHash::of(second[2].as_bytes()), 2);
    let problem = verify(&[&third.concat(), &woven.concat()]).unwrap_err();
    assert!(
        problem.contains("2:6: seq 1 of 00000000000000c3 continues this line"),
        "{problem}"
    );
    // A later file does not begin in the middle of a run.
    let problem = verify(&[&first.concat(), &second[1..].concat()]).unwrap_err();
    assert!(problem.contains("begins with seq 2"), "{problem}");
}

#[test]
fn compressed_files_are_verified_as_they_are() {
    let text = log().concat();
    let zstd = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let chain = verify_with(ChainVerifier::default(), &[&zstd]).unwrap();
    assert_eq!(chain.records(), 7);
    for cut in [4, zstd.len() / 2, zstd.len() - 1] {
        let problem = verify_with(ChainVerifier::default(), &[&zstd[..cut]]).unwrap_err();
        assert!(problem.contains("read"), "{problem}");
    }
}

/// Lines of a run with a checkpoint after its first record, and after each second one.
fn signed_run(key: &SigningKey, instance: &str, prev: LineHash, records: u64) -> Vec<String> {
    let mut prev = prev;
    let lines = (1..=records).map(|seq| {
        let timestamp = "1970-01-01T00:00:00.000000Z";
        let place = CheckpointPlace {
            instance,
            seq,
            timestamp,
            prev,
        };
        let token = seq.is_multiple_of(2).then(|| key.sign(&place));
        let kind = match &token {
            Some(_) => Kind::Checkpoint,
            None if seq + 1 == records => Kind::Shutdown,
            None => Kind::ToolCall,
        };
        let mut line = Vec::new();
        LogLine {
            version: VERSION,
            seq,
            timestamp: timestamp.into(),
            instance,
            prev: Some(prev),
            record: &Record::new(kind),
            addition: token
                .as_deref()
                .map_or_else(LineAddition::default, LineAddition::checkpoint),
        }
        .write_to(&mut line)
        .unwrap();
        prev = LineHash::of(&line);
        String::from_utf8(line).unwrap()
    });
    lines.collect()
}

#[test]
fn with_a_key_each_run_is_signed_and_no_signature_is_of_another_place() {
    let (signing, verifying) = KeyFiles::new().read();
    let (other, _) = KeyFiles::new().read();
    let first = signed_run(&signing, FIRST, LineHash::START, 6);
    let last = LineHash::of(first[5].as_bytes());
    let log = [&first[..], &signed_run(&signing, SECOND, last, 4)].concat();
    let check = |lines: &[String], expected: &str| {
        let chain = ChainVerifier::with_keys(vec![verifying.clone()]);
        let told = match verify_with(chain, &[lines.concat().as_bytes()]) {
            Ok(chain) => {
                let runs = chain.runs().values();
                let runs =
                    runs.map(|run| format!("{}/{} {:?}", run.signed_seq, run.last_seq, run.end));
                runs.collect::<Vec<_>>().join(", ")
            }
            Err(problem) => problem,
        };
        assert!(told.contains(expected), "{told}\n{lines:#?}");
    };
    check(&log, "6/6 Shutdown, 4/4 Shutdown");
    // Records after the last checkpoint are not signed. The report counts them.
    check(&log[..5], "4/5 Shutdown");
    check(&log[..3], "2/3 Open");
    // The log before the second run is signed by the second run, too.
    let unsigned = run(FIRST, LineHash::START, 3);
    let last = LineHash::of(unsigned[2].as_bytes());
    let before = [&unsigned[..], &signed_run(&signing, SECOND, last, 2)].concat();
    check(&before, "0/3 Shutdown, 2/2 Shutdown");
    assert_eq!(
        verify_with(
            ChainVerifier::with_keys(vec![verifying.clone()]),
            &[before.concat().as_bytes()]
        )
        .unwrap()
        .runs()[FIRST]
            .continued_seq,
        3
    );
    // Later, each run is signed by itself: a signed run may continue a forged one.
    let added = run("00000000000000c3", LineHash::of(log[9].as_bytes()), 3);
    let last = LineHash::of(added[2].as_bytes());
    let after = signed_run(&signing, "00000000000000d4", last, 4);
    check(
        &[&log[..], &added, &after].concat(),
        "00000000000000c3 has no checkpoint",
    );
    // Nothing signs the rest of a checkpoint's line, or another line with its signature.
    for (from, to) in [
        ("\"}\n", "\",\"target\":\"wire_money\"}\n"),
        ("\"}\n", "\"} \n"),
        ("\"kind\":\"checkpoint\"", "\"kind\":\"tool_call\""),
    ] {
        let mut changed = log[..6].to_vec();
        changed[5] = changed[5].replace(from, to);
        let told = verify_with(
            ChainVerifier::with_keys(vec![verifying.clone()]),
            &[changed.concat().as_bytes()],
        );
        let signed = told.map(|chain| chain.runs()[FIRST].signed_seq);
        assert!(matches!(signed, Err(_) | Ok(4)), "{signed:?} {to}");
    }
    // A log that was written anew has no checkpoints of the key.
    check(
        &run(FIRST, LineHash::START, 3),
        "00000000000000a1 has no checkpoint",
    );
    check(
        &signed_run(&other, FIRST, LineHash::START, 4),
        "1:2: none of the keys signed",
    );
    let added = [&log[..], &run("00000000000000c3", LineHash::START, 2)].concat();
    check(&added, "00000000000000c3 has no checkpoint");
    // A checkpoint of another place of the same run.
    let token = |line: &str| line.split("\"checkpoint\":\"").nth(1).unwrap().to_owned();
    let mut moved = first.clone();
    moved.truncate(4);
    moved[3] = first[3].replace(&token(&first[3]), &token(&first[1]));
    check(&moved, "1:4: none of the keys signed");
    for text in ["", "a", "a.b", "a.b.c", "a.b.", "..\u{e9}"] {
        moved[3] = first[3].replace(&token(&first[3]), &format!("{text}\"}}\n"));
        check(&moved, "1:4: none of the keys signed");
    }
    // Without a key, signatures are not looked at.
    verify(&[&moved.concat()]).unwrap();
}

#[test]
fn a_log_without_a_checkpoint_that_was_kept_is_cut_or_changed() {
    let (signing, _) = KeyFiles::new().read();
    let log = signed_run(&signing, FIRST, LineHash::START, 6);
    let kept = tempfile::NamedTempFile::new().unwrap();
    fs::write(kept.path(), format!("no record\n{}", log[3])).unwrap();
    let check = |lines: &[String], expected: &str| {
        let mut chain = ChainVerifier::default();
        let kept = Source::File(kept.path().to_owned());
        assert_eq!(chain.expect(&kept).unwrap(), 1);
        let told = match verify_with(chain, &[lines.concat().as_bytes()]) {
            Ok(chain) => format!("{} records", chain.records()),
            Err(problem) => problem,
        };
        assert!(told.contains(expected), "{told}");
    };
    check(&log, "6 records");
    check(&log[..4], "4 records");
    let changed = [
        &log[..3],
        &[log[3].replace("\"}\n", "\",\"target\":\"a\"}\n")],
    ]
    .concat();
    check(
        &changed,
        "seq 4 of 00000000000000a1 is not the checkpoint at",
    );
    check(
        &log[..3],
        "the log has no seq 4 of 00000000000000a1: records are missing",
    );
    let anew = signed_run(&signing, FIRST, LineHash::of(b"other"), 6);
    check(&anew, "seq 4 of 00000000000000a1 is not the checkpoint at");
    check(&run(SECOND, LineHash::START, 3), "the log has no seq 4");
}

proptest! {
    /// The last record is not continued; half of the first is as if it were in an earlier file.
    #[test]
    fn no_byte_of_a_record_that_is_continued_changes_unnoticed(
        line in 1..6_usize, at in any::<prop::sample::Index>(), byte: u8,
    ) {
        let lines = log();
        let whole = lines[line].as_bytes();
        let at = at.index(whole.len());
        prop_assume!(whole[at] != byte);
        let mut changed = whole.to_vec();
        changed[at] = byte;
        let before = lines[..line].concat().into_bytes();
        let after = lines[line + 1..].concat().into_bytes();
        let text = [before, changed, after].concat();
        prop_assert!(verify_with(ChainVerifier::default(), &[&text]).is_err());
    }

    #[test]
    fn no_text_breaks_the_reader(text in prop::collection::vec(any::<u8>(), 0..300)) {
        let records = verify_with(ChainVerifier::default(), &[&text]).map(|it| it.records());
        prop_assert!(matches!(records, Ok(0) | Err(_)));
    }
}
