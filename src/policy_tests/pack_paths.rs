//! Whether a file that a fixture names is one of its pack.

use std::path::{Component, Path};

/// Whether a path, seen from `dir`, stays below the pack; below `dir` itself where there is none. It
/// may lead over links: a link in a pack is intended.
pub(super) fn is_below(path: &Path, dir: &Path, pack: Option<&Path>) -> bool {
    let depth = pack.and_then(|pack| dir.strip_prefix(pack).ok());
    !leaves(path, depth.map_or(0, |below| below.components().count()))
}

/// Whether a path leads further up than this many directories, or names a place of its own.
fn leaves(path: &Path, depth: usize) -> bool {
    let mut depth = depth;
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return true,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            Component::Normal(_) => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_pack() {
        let check = |path: &str, depth, expected| {
            assert_eq!(leaves(Path::new(path), depth), expected, "{path} {depth}");
        };
        check("a.jsonl", 0, false);
        check("logs/../a.jsonl", 0, false);
        check("../a.jsonl", 1, false);
        check("../../a.jsonl", 1, true);
        check("../a.jsonl", 0, true);
        check("x/../../a.jsonl", 0, true);
        check("/etc/passwd", 5, true);
    }
}
