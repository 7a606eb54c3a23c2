use proptest::prelude::*;

use super::super::line::LogLine;
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

fn verify(files: &[&str]) -> Result<ChainVerifier, String> {
    let mut chain = ChainVerifier::default();
    for (at, text) in files.iter().enumerate() {
        let read = chain.read(&format!("{}", at + 1), &mut text.as_bytes());
        read.map_err(|error| error.to_string())?;
    }
    Ok(chain)
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
    assert_eq!((runs[0].0.as_str(), runs[0].1.last_seq), (FIRST, 4));
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
    for torn in ["{", "{\"version\":1,\"seq\":3,\"timestamp\":\"1970"] {
        let mut all = lines.clone();
        all.push(format!("{torn}\n"));
        all.extend(run(SECOND, last, 2));
        let chain = verify(&[&all.concat()]).unwrap();
        assert_eq!((chain.records(), chain.half_lines().0.len()), (4, 1));
        assert_eq!(chain.half_lines().0[0].to_string(), "1:3");
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
    // A later file does not begin in the middle of a run.
    let problem = verify(&[&first.concat(), &second[1..].concat()]).unwrap_err();
    assert!(problem.contains("begins with seq 2"), "{problem}");
}

#[test]
fn a_compressed_file_is_called_that() {
    let mut chain = ChainVerifier::default();
    for bytes in [&b"\x1f\x8b\x08\x00"[..], b"\x28\xb5\x2f\xfd\x00"] {
        let error = chain.read("log.gz", &mut &bytes[..]).unwrap_err();
        assert!(matches!(error, ChainError::Compressed(_)), "{error}");
    }
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
        let mut chain = ChainVerifier::default();
        prop_assert!(chain.read("1", &mut &text[..]).is_err());
    }

    #[test]
    fn no_text_breaks_the_reader(text in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut chain = ChainVerifier::default();
        let _ = chain.read("1", &mut &text[..]);
        prop_assert_eq!(chain.records(), 0);
    }
}
