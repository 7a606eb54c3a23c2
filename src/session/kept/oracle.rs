//! What holds for every text that is read as a journal. Also what the fuzz target `journal` asks for.

use super::journal::{read, written};
use super::{InMemory, Kept, SessionKey};

type All = Vec<(SessionKey, Kept)>;

/// A journal is refused with a reason, or what it says is held after every restart, and no line of it lowers
/// what another raised.
#[track_caller]
pub(super) fn laws(text: &str) {
    let Some(all) = held(text) else {
        return;
    };
    let again = written(&all);
    assert_eq!(held(&again).as_ref(), Some(&all), "{text:?}");
    // What was cut anywhere, by a machine that lost its power, holds no more than the whole; only what was
    // never synced is lost, which is what stands behind the last end of a line.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut before = All::new();
    for count in 1..=lines.len() {
        let head = lines.get(..count).unwrap_or_default().concat();
        let now = held(&head).expect("what is read whole is read in part");
        assert!(covers(&now, &before), "line {count} lowers: {text:?}");
        before = now;
    }
    if let Some(last) = lines.last().filter(|it| it.ends_with('\n')) {
        let torn = last.get(..last.floor_char_boundary(last.len() / 2));
        let torn = [text, torn.unwrap_or_default()].concat();
        assert_eq!(held(&torn), Some(all), "torn: {torn:?}");
    }
}

fn held(text: &str) -> Option<All> {
    let memory = InMemory::holding(usize::MAX);
    match read(text, &memory) {
        Ok(()) => Some(memory.all()),
        Err(refused) => {
            assert!(!refused.to_string().is_empty());
            None
        }
    }
}

fn covers(all: &All, before: &All) -> bool {
    before.iter().all(|(key, held)| {
        let mut same = all.iter().filter(|(it, _)| it == key);
        same.any(|(_, now)| now.covers(held))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::policy::fixture::any_held;
    use crate::session::Calls;

    #[test]
    fn every_seed_of_journal_holds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/journal");
        let mut seeds = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            laws(&String::from_utf8_lossy(
                &fs::read(entry.unwrap().path()).unwrap(),
            ));
            seeds += 1;
        }
        assert!(seeds >= 10, "seeds in {}", folder.display());
    }

    proptest! {
        #[test]
        fn what_a_gate_writes_is_read_as_it_was_meant(
            all in prop::collection::vec(
                (any::<String>(), any::<Option<String>>(), any_held(), (0..3_i64, 0..3_i64), any::<Option<String>>()),
                0..6,
            )
        ) {
            let memory = InMemory::holding(usize::MAX);
            for (principal, session, held, calls, ended) in all {
                let kept = Kept {
                    calls: Calls {
                        last_ms: calls.1,
                        made: calls.0,
                    },
                    ended: ended.map(Into::into),
                    ..Kept::having_read(Arc::new(held))
                };
                memory.join_beyond(&SessionKey::of(&principal, session.as_deref()), &kept);
            }
            let text = written(&memory.all());
            prop_assert_eq!(held(&text), Some(memory.all()));
            laws(&text);
        }
    }
}
