//! Base64 as it is met: either alphabet, padded or not, from anywhere in a word, over many lines.

use std::ops::Range;

use super::bytes::{Bytes, runs};

/// Characters of the shortest run that is looked at.
const SHORTEST: usize = 20;

/// Characters of a line that may go on in the next one.
const SHORTEST_LINE: usize = 56;

static MEMBERS: Bytes = Bytes::new(b"+/-_", &[b'A'..=b'Z', b'a'..=b'z', b'0'..=b'9']);

/// What may be base64, with its padding.
pub(super) fn runs_of(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut done = 0;
    runs(text, SHORTEST, &MEMBERS).filter_map(move |mut run| {
        if run.start < done {
            return None;
        }
        let mut line = run.start;
        while run.end - line >= SHORTEST_LINE
            && let Some(next) = next_line(text, run.end)
        {
            line = next;
            run.end = next + members(text, next);
        }
        let padding = text.get(run.end..).unwrap_or_default().iter().take(2);
        run.end += padding.take_while(|&&byte| byte == b'=').count();
        done = run.end;
        Some(run)
    })
}

/// The values of the characters of a run; breaks of lines and padding are passed over.
pub(super) fn values(run: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.reserve(run.len());
    let mut escaped = false;
    for &byte in run {
        let value = SEXTETS.get(usize::from(byte)).copied().unwrap_or(NONE);
        if value == NONE || escaped {
            // The `n` of a break of lines that is written `\n`.
            escaped = byte == b'\\';
            continue;
        }
        out.push(value);
    }
}

/// Decodes from the character `skipped` on.
pub(super) fn decode(values: &[u8], skipped: usize, out: &mut Vec<u8>) {
    out.clear();
    let values = values.get(skipped..).unwrap_or_default();
    out.reserve(values.len());
    let (fours, rest) = values.as_chunks();
    for &[a, b, c, d] in fours {
        out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
    }
    match *rest {
        [a, b] => out.push(a << 2 | b >> 4),
        [a, b, c] => out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2]),
        // One character more holds no byte.
        _ => {}
    }
}

/// Where the next line begins, if the text has a break here and base64 goes on after it. The break
/// may be written out, as in JSON in a string.
fn next_line(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let broken = [&b"\r\n"[..], b"\n", b"\\r\\n", b"\\n"]
        .into_iter()
        .find(|line_break| rest.starts_with(line_break))?;
    let indent = rest.get(broken.len()..)?;
    let indent = indent.iter().take(16).take_while(|&&byte| byte == b' ');
    let start = at + broken.len() + indent.count();
    text.get(start)
        .is_some_and(|&byte| MEMBERS.has(byte))
        .then_some(start)
}

fn members(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter()
        .position(|&byte| !MEMBERS.has(byte))
        .unwrap_or(rest.len())
}

const NONE: u8 = 0xff;

static SEXTETS: [u8; 256] = sextets();

const fn sextets() -> [u8; 256] {
    let mut table = [NONE; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut rest: &[u8] = alphabet;
    let mut value = 0;
    while let Some((&byte, after)) = rest.split_first() {
        set(&mut table, byte, value);
        value += 1;
        rest = after;
    }
    set(&mut table, b'-', 62);
    set(&mut table, b'_', 63);
    table
}

const fn set(table: &mut [u8; 256], byte: u8, value: u8) {
    if let Some((entry, _)) = table.split_at_mut(byte as usize).1.split_first_mut() {
        *entry = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(run: &str, skipped: usize, expected: &str) {
        let (mut of_run, mut out) = (vec![4], vec![1, 2, 3]);
        values(run.as_bytes(), &mut of_run);
        decode(&of_run, skipped, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "{run}");
    }

    #[test]
    fn base64_is_decoded_however_it_is_written() {
        check("", 0, "");
        check("Zm9v", 0, "foo");
        check("Zm8=", 0, "fo");
        check("Zg==", 0, "f");
        check("Zg", 0, "f");
        check("Z", 0, "");
        check("xxZm9v", 2, "foo");
        check("Zm9v\nYmFy", 0, "foobar");
        check("Zm9v\\nYmFy", 0, "foobar");
        check("Zm9v\\r\\n  YmFy", 0, "foobar");
        check("Pz8/Pj4+", 0, "???>>>");
        check("Pz8_Pj4-", 0, "???>>>");
        check("Zm9v", 9, "");
    }

    #[test]
    fn long_lines_go_on_in_the_next() {
        let line = "QUJD".repeat(15);
        for line_break in ["\n", "\r\n", "\\n", "\\r\\n", "\n    "] {
            let text = format!("a: {line}{line_break}{line}{line_break}QUI= end");
            let found: Vec<&str> = runs_of(text.as_bytes())
                .map(|run| text.get(run).unwrap())
                .collect();
            assert_eq!(found, [text.get(3..text.len() - 4).unwrap()], "{text}");
        }
        let text = format!("{line}\n\n{line} {line}");
        assert_eq!(runs_of(text.as_bytes()).count(), 3);
    }
}
