//! How much of what is no secret is taken for one.

use std::fs;
use std::path::{Path, PathBuf};

use super::BUILTIN;
use super::corpus::{Dice, directory, percent};

/// Generated lines.
const GENERATED: usize = 20_000;

/// Findings for each line, in thousandths.
const MOST_PER_THOUSAND: usize = 1;

#[derive(Default)]
struct BenignTally {
    lines: usize,
    findings: Vec<String>,
}

impl BenignTally {
    fn count(&mut self, source: &str, text: &str) {
        self.lines += text.lines().count();
        for finding in BUILTIN.find(text) {
            let shown: String = text
                .get(finding.range.clone())
                .unwrap()
                .chars()
                .take(90)
                .collect();
            self.findings.push(format!(
                "{source}: {} ({}): {shown}",
                finding.rule, finding.encoding
            ));
        }
    }

    #[track_caller]
    fn check(&self, what: &str, least_lines: usize) {
        println!(
            "{what}: {} findings in {} lines ({:.4} %): {:#?}",
            self.findings.len(),
            self.lines,
            percent(self.findings.len(), self.lines),
            self.findings,
        );
        assert!(self.lines >= least_lines, "{what}: {} lines", self.lines);
        assert!(self.findings.len() * 1000 <= self.lines * MOST_PER_THOUSAND);
    }
}

#[test]
fn examples_and_ordinary_texts_hold_no_secrets() {
    let mut tally = BenignTally::default();
    for file in files_below(&directory().join("benign")) {
        let text = fs::read_to_string(&file).unwrap();
        tally.count(&file.file_name().unwrap().to_string_lossy(), &text);
    }
    tally.check("written", 100);
    assert!(tally.findings.is_empty());
}

#[test]
fn hashes_identifiers_and_images_are_no_secrets() {
    let mut dice = Dice::new(11);
    let text: String = (0..GENERATED).map(|_| line(&mut dice) + "\n").collect();
    let mut tally = BenignTally::default();
    tally.count("generated", &text);
    tally.check("generated", 10_000);
}

#[test]
fn our_own_documents_and_sources_hold_no_secrets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tally = BenignTally::default();
    for part in ["README.md", "docs", "fixtures", "policies", "src"] {
        for file in files_below(&root.join(part)) {
            if let Ok(text) = fs::read_to_string(&file) {
                tally.count(&file.strip_prefix(root).unwrap().to_string_lossy(), &text);
            }
        }
    }
    tally.check("our own", 1000);
}

pub(super) fn files_below(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
        .iter()
        .flat_map(|entry| files_below(entry))
        .collect()
}

const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORDS: &[&str] = &[
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "key",
    "token",
    "password",
    "secret",
    "access",
    "user",
    "account",
    "the",
    "of",
    "basic",
    "bearer",
    "session",
    "value",
    "is",
    "task",
    "path",
    "auth",
    "login",
    "client",
    "server",
    "request",
    "reply",
    "github",
    "slack",
    "vault",
    "circle",
    "Asia",
    "zoom",
    "segment",
    "box",
    "monday",
    "together",
    "drone",
    "oracle",
    "credential",
];

/// What answers call the place at which a list goes on, and what marks a request.
const PLACES: &[&str] = &[
    "NextToken",
    "nextToken",
    "next_token",
    "nextPageToken",
    "next_page_token",
    "pageToken",
    "page_token",
    "continuationToken",
    "ContinuationToken",
    "continuation_token",
    "syncToken",
    "nextSyncToken",
    "sync-token",
    "$skiptoken",
    "resumeToken",
    "startPageToken",
    "progressToken",
    "uploadToken",
    "clientRequestToken",
    "idempotencyToken",
    "nextCursor",
    "cursor",
    "marker",
    "etag",
];

/// What stands there: bytes, numbers and names in some writing.
fn place(dice: &mut Dice) -> String {
    let of_url = BASE64.replace('+', "-").replace('/', "_");
    let some = 16 + dice.below(24);
    match dice.below(6) {
        0 => dice.string(BASE64, 4 * some),
        1 => dice.string(&of_url, some + 8),
        2 => format!("~!!~AI9{}", dice.string(&of_url, 60)),
        3 => format!("CAES{}", dice.string(&of_url, some)),
        4 => [8, 4, 4, 4, 12].map(|n| dice.string(HEX, n)).join("-"),
        _ => dice.string(HEX, 2 * some),
    }
}

/// One line of a kind that looks random and is not secret.
fn line(dice: &mut Dice) -> String {
    let uuid = [8, 4, 4, 4, 12]
        .map(|length| dice.string(HEX, length))
        .join("-");
    let sha1 = dice.string(HEX, 40);
    let sha256 = dice.string(HEX, 64);
    let md5 = dice.string(HEX, 32);
    let words: Vec<&str> = (0..4 + dice.below(10))
        .map(|_| dice.one_of(WORDS))
        .collect();
    let prose = words.join(" ");
    let (a, b, c) = (words[0], words[1], words[2]);
    let number = dice.below(1_000_000);
    match dice.below(39) {
        0 => format!("{prose}."),
        1 => format!("commit {sha1}"),
        2 => format!("{sha256}  dist/{a}-{b}.tar.gz"),
        3 => format!("{{\"id\":\"{uuid}\",\"{a}\":{number},\"name\":\"{b} {c}\"}}"),
        4 => format!(
            "<img src=\"data:image/png;base64,iVBORw0KGgo{}=\">",
            dice.string(BASE64, 200)
        ),
        5 => format!("\"integrity\": \"sha512-{}==\",", dice.string(BASE64, 86)),
        6 => format!(
            "golang.org/x/{a} v0.{}.0 h1:{}=",
            number % 50,
            dice.string(BASE64, 43)
        ),
        7 => format!("checksum = \"{sha256}\""),
        8 => format!("image: registry.invalid/{a}/{b}@sha256:{sha256}"),
        9 => format!("ETag: W/\"{md5}\""),
        10 => format!("traceparent: 00-{md5}-{}-01", dice.string(HEX, 16)),
        11 => {
            format!("https://www.{a}.invalid/{b}/{c}?page={number}&sort={a}%20{b}&utm_source=x%2Fy")
        }
        12 => format!("{a}.{b}@{c}.invalid"),
        13 => format!(
            "!function({a},{b}){{var {c}={a}.{b}||{number};return {c}({a},\"{b}\")}}(this,0);"
        ),
        14 => format!("{a}_{b}_{c} = get_{a}({b}, {c}={number})"),
        15 => format!("2026-03-01T12:00:00.{number:06}Z INFO {a}: {prose} id={uuid}"),
        16 => format!(
            "pod/{a}-{b}-{}-{}",
            dice.string("bcdfghjklmnpqrstvwxz2456789", 10),
            dice.string("bcdfghjklmnpqrstvwxz2456789", 5)
        ),
        17 => format!(
            "index {}..{} 100644",
            sha1.get(..7).unwrap(),
            sha1.get(7..14).unwrap()
        ),
        18 => format!("const {a}Id = '{uuid}';"),
        19 => format!("arn:aws:iam::{number:012}:role/{a}-{b}-{c}"),
        20 => dice.string(BASE64, 76),
        21 => format!("fingerprint: SHA256:{}", dice.string(BASE64, 43)),
        22 => format!("{a}: {{ {b}: \"{c}\", count: {number}, ratio: 0.{number} }}"),
        23 => format!("# {prose}"),
        24 => format!("mov rax, qword ptr [0x{}]", dice.string(HEX, 12)),
        25 => format!(
            "url(data:font/woff2;base64,d09GMgABAAAAA{})",
            dice.string(BASE64, 300)
        ),
        26 => format!("{a}=${{{b}}} {c}=$({a} --{b})"),
        27 => format!("Set-Cookie: _ga=GA1.2.{number}.{number}; Path=/"),
        28 => format!("latitude: 52.{number}, longitude: 13.{number}"),
        29 => format!("| {a} | `{b}_{c}` | {prose} |"),
        30 => format!("nonce=\"{}\"", dice.string(BASE64, 22)),
        31 => format!("0x{sha1}"),
        32 => {
            format!("\"resolved\": \"https://registry.invalid/{a}/-/{a}-1.{number}.0.tgz#{sha1}\",")
        }
        33 => format!("{} {}", number, dice.string("0123456789", 16)),
        34 => format!("{a}: \"{b}\"  # {c}: {prose}"),
        35 => format!(
            "{{\"items\":[],\"{}\":\"{}\"}}",
            dice.one_of(PLACES),
            place(dice)
        ),
        36 => format!(
            "https://api.{a}.invalid/v1/{b}?{}={}",
            dice.one_of(PLACES),
            place(dice)
        ),
        37 => format!(
            "aws {a} list-{b} --{}-token {}",
            dice.one_of(&["next", "starting", "page", "client-request"]),
            place(dice)
        ),
        _ => format!(
            "version \"{number}.{}.{}-{a}.{b}+{}\"",
            number % 7,
            number % 11,
            sha1.get(..8).unwrap()
        ),
    }
}
