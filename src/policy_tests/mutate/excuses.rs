//! Comments in policies that say why no test can notice a change: a condition that only repeats what
//! another policy sees to, say.
//!
//! They stand where the reason holds, and are told when they hold no longer.

use std::sync::Arc;

use super::{Needless, Survivor};
use crate::policy::PolicySource;

/// What an excuse begins with; the reason follows.
const EXCUSE: &str = "// no test can tell:";

/// One comment.
pub(super) struct Excuse {
    file: Arc<str>,
    /// The lines that it is about, from 1: its own, and the one below where it stands alone.
    lines: [usize; 2],
    reason: String,
    used: bool,
}

/// All excuses of some files.
pub(super) fn excuses(sources: &[PolicySource]) -> Vec<Excuse> {
    let own = sources
        .iter()
        .filter(|source| !source.name.starts_with('<'));
    let of = |source: &PolicySource| {
        let numbered = source.text.lines().zip(1..);
        let excuse = |(line, number): (&str, usize)| {
            let (before, reason) = line.split_once(EXCUSE)?;
            let alone = before.trim().is_empty();
            Some(Excuse {
                file: Arc::clone(&source.name),
                lines: [number, if alone { number + 1 } else { number }],
                reason: reason.trim().to_owned(),
                used: false,
            })
        };
        numbered.filter_map(excuse).collect::<Vec<_>>()
    };
    own.flat_map(of).collect()
}

/// The reason for a survivor, if there is one.
pub(super) fn excuse(excuses: &mut [Excuse], survivor: &Survivor) -> Option<String> {
    let about = |excuse: &&mut Excuse| {
        excuse.file == survivor.file && excuse.lines.contains(&survivor.line)
    };
    let excuse = excuses.iter_mut().find(about)?;
    excuse.used = true;
    Some(excuse.reason.clone())
}

/// Those that excused nothing.
pub(super) fn needless(excuses: Vec<Excuse>) -> Vec<Needless> {
    let unused = excuses.into_iter().filter(|excuse| !excuse.used);
    let needless = unused.map(|excuse| Needless {
        file: excuse.file,
        line: excuse.lines[0],
    });
    needless.collect()
}
