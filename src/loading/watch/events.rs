//! Changes as the operating system reports them: sooner than the next look, and never instead of it.
//! Network file systems report nothing, links report what happens to them and not to their targets,
//! and a directory that was exchanged reports no more.

use std::path::Path;
use std::sync::mpsc::SyncSender;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tracing::debug;

/// Reports until it is dropped.
#[derive(Debug)]
pub(super) struct Events {
    _watcher: RecommendedWatcher,
}

impl Events {
    /// `None` where nothing can be reported: the next look finds what there is.
    pub(super) fn of(dirs: &[&Path], wake: &SyncSender<()>) -> Option<Self> {
        let wake = wake.clone();
        let report = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| changes(event.kind)) {
                // When one waits already, it is for this one as well.
                let _ = wake.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(report).and_then(|mut watcher| {
            for dir in dirs {
                watcher.watch(dir, RecursiveMode::Recursive)?;
            }
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => Some(Self { _watcher: watcher }),
            Err(cause) => {
                debug!("changes of the policy directory are not reported: {cause}");
                None
            }
        }
    }
}

/// Our own reading is reported as well; looking again because of it would never end.
fn changes(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}
