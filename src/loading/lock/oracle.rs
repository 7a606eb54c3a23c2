//! What holds for every text that is read as a lock. Also what the fuzz target `lock` asks for.

use crate::loading::lock::{LockFile, notices, read};
use crate::policy::{PolicyProblem, PolicySource};
use crate::wire::{Document, Limits, Value};

/// A lock is refused with reasons, or means what it says; what is written of definitions means them.
#[track_caller]
pub(super) fn laws(text: &str) {
    means_what_it_says(text);
    let Ok(list) = Document::decode(text.as_bytes(), &Limits::default()) else {
        return;
    };
    let mut file = LockFile::default();
    let items = |key: &str| list.root().get(key).into_iter().flat_map(Value::items);
    for tool in items("tools") {
        let _ = file.add(tool);
    }
    for prompt in items("prompts") {
        let _ = file.add_prompt(prompt);
    }
    if let Some(instructions) = list.root().get("instructions") {
        let _ = file.set_instructions(Some(instructions));
    }
    let written = file.text();
    let again = LockFile::read(&source(&written), &[]).expect("what was written is read");
    assert_eq!(again.text(), written);
    for one in file.all() {
        assert_eq!(again.said(one), file.said(one), "{one:?}");
        assert!(again.shown(one).is_some(), "{one:?}");
    }
    assert_eq!(again.all().count(), file.all().count());
    means_what_it_says(&written);
}

#[track_caller]
fn means_what_it_says(text: &str) {
    let mut problems = Vec::new();
    let lock = read(&[source(text)], &[], &mut problems);
    match LockFile::read(&source(text), &[]) {
        Ok(file) => {
            assert!(problems.is_empty(), "{problems:?}");
            let written = file.text();
            let again = LockFile::read(&source(&written), &[]).expect("what was written is read");
            assert_eq!(again.text(), written);
            assert!(file.names().eq(lock.tools().map(|(name, _)| name)));
            told(&notices(&lock, &[]));
        }
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason: {text:?}");
            assert_eq!(found.len(), problems.len());
            assert_eq!(lock.tools().count(), 0, "half of it counts: {text:?}");
            told(&found);
        }
    }
}

fn source(text: &str) -> PolicySource {
    PolicySource::new("tools.lock", text)
}

/// As people read it, with the lines that are meant.
fn told(problems: &[PolicyProblem]) {
    for problem in problems {
        let mut shown = String::new();
        let told = miette::NarratableReportHandler::new().render_report(&mut shown, problem);
        assert!(told.is_ok() && !shown.is_empty(), "{problem:?}");
    }
}
