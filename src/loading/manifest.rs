//! `MANIFEST`: which files a policy directory holds, and their digests, as `sha256sum` writes them.
//!
//! The author of a change writes it last. It distinguishes a complete change from one that
//! is under way, and a rule that was taken away from one that is not there yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::policy::{PolicyProblem, PolicySource};

/// The name of the file, in the policy directory itself.
pub const FILE: &str = "MANIFEST";

/// The largest policy file that is read, in bytes.
pub(super) const MAX_FILE: u64 = 4 << 20;

const CODE: &str = "policy::manifest";

/// Files that one may list. Each is read whenever something changes.
const MAX_LISTED: usize = 10_000;

/// Letters of a SHA-256 digest.
const DIGITS: usize = 64;

/// What stands between a digest and a name.
const BETWEEN: &str = "  ";

/// A line, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ManifestLine<'t> {
    digest: &'t str,
    place: Range<usize>,
}

/// The text that fits these files.
pub(super) fn text<'s>(root: &Path, files: impl Iterator<Item = &'s PolicySource>) -> String {
    let lines: BTreeMap<String, String> = files
        .map(|file| (name(root, file), digest(file.text.as_bytes())))
        .collect();
    let mut text = String::new();
    for (name, digest) in lines {
        text.extend([digest.as_str(), BETWEEN, name.as_str(), "\n"]);
    }
    text
}

/// What keeps a manifest from saying that `files`, which are all that is read, are what is meant.
pub(super) fn check(
    root: &Path,
    manifest: &PolicySource,
    files: &[&PolicySource],
) -> Vec<PolicyProblem> {
    let listed = match parse(&manifest.text) {
        Ok(listed) => listed,
        Err((place, why)) => return vec![problem(root, manifest, Some(place), &why)],
    };
    let mut problems = Vec::new();
    let mut read = BTreeSet::new();
    for file in files {
        let name = name(root, file);
        match listed.get(name.as_str()) {
            None => {
                let why = format!("`{}` is not listed", file.name);
                problems.push(problem(root, manifest, None, &why));
            }
            Some(line) if line.digest != digest(file.text.as_bytes()) => {
                problems.push(differs(root, manifest, line, &name));
            }
            Some(_) => {}
        }
        read.insert(name);
    }
    for (name, line) in &listed {
        if read.contains(*name) {
            continue;
        }
        match read_other(&root.join(name)) {
            Ok(bytes) if digest(&bytes) == line.digest => {}
            Ok(_) => problems.push(differs(root, manifest, line, name)),
            Err(error) => {
                let why = format!("`{name}` is listed: {error}");
                problems.push(problem(root, manifest, Some(line.place.clone()), &why));
            }
        }
    }
    problems
}

fn differs(
    root: &Path,
    manifest: &PolicySource,
    line: &ManifestLine<'_>,
    name: &str,
) -> PolicyProblem {
    let why = format!("`{name}` has another digest than the one that is listed");
    problem(root, manifest, Some(line.place.clone()), &why)
}

fn problem(
    root: &Path,
    manifest: &PolicySource,
    place: Option<Range<usize>>,
    why: &str,
) -> PolicyProblem {
    let help = format!(
        "if the files are what is meant, write it anew: `mcp-protector policy manifest {}`",
        root.display()
    );
    let problem = PolicyProblem::error(CODE, format!("`{}`: {why}", manifest.name));
    let problem = problem.with_help(help);
    match place {
        Some(place) => problem.in_source(manifest).at(place, "here"),
        None => problem,
    }
}

/// Listed files that no engine reads.
fn read_other(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if found.len() > MAX_FILE {
        return Err(io::Error::other(format!("larger than {MAX_FILE} bytes")));
    }
    fs::read(path)
}

type Wrong = (Range<usize>, String);

/// By name. Exactly what `sha256sum` writes for names in the order of their bytes.
fn parse(text: &str) -> Result<BTreeMap<&str, ManifestLine<'_>>, Wrong> {
    let mut listed: BTreeMap<&str, ManifestLine<'_>> = BTreeMap::new();
    let mut at = 0_usize;
    for line in text.split_inclusive('\n') {
        let place = at..at.saturating_add(line.trim_end().len());
        at = at.saturating_add(line.len());
        let wrong = |why: &str| (place.clone(), why.to_owned());
        let Some(line) = line.strip_suffix('\n') else {
            return Err(wrong("its last line has no end"));
        };
        let (digest, name) = line
            .split_once(BETWEEN)
            .filter(|(digest, _)| is_digest(digest))
            .ok_or_else(|| {
                wrong("a line is a SHA-256 digest in lower case, two spaces and the name of a file")
            })?;
        if !is_name(name) {
            return Err(wrong(
                "a name leads down from the directory, with `/` between its parts, of which none \
                 begins with a dot",
            ));
        }
        if listed
            .last_key_value()
            .is_some_and(|(last, _)| *last >= name)
        {
            return Err(wrong("names stand once, in the order of their bytes"));
        }
        if listed.len() == MAX_LISTED {
            return Err(wrong("more than 10,000 files are listed"));
        }
        listed.insert(name, ManifestLine { digest, place });
    }
    Ok(listed)
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGITS
        && text
            .bytes()
            .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    let is_plain = |letter: char| !letter.is_control() && letter != '\\';
    name != FILE && name.chars().all(is_plain) && name.split('/').all(is_part)
}

/// The name of a file below the directory, in the same way on every system.
fn name(root: &Path, file: &PolicySource) -> String {
    let path = Path::new(&*file.name);
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Lower-case hexadecimal.
fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .filter_map(|nibble| char::from_digit(u32::from(nibble), 16))
        .collect()
}

/// Whether a file of this path below the directory is the manifest.
pub(super) fn claims(inside: &Path) -> bool {
    inside == Path::new(FILE)
}
