//! Changes as the operating system reports them: sooner than the next look, and never instead of it.
//! Network file systems report nothing, and a directory that was exchanged reports no more.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tracing::debug;

/// Links on the way to one directory, after which they lead in a circle.
const MOST_LINKS: usize = 40;

/// Reports until it is dropped.
#[derive(Debug)]
pub(super) struct Events {
    /// Of what lies in the directories, of the file, and of links to them.
    _watchers: [Option<RecommendedWatcher>; 3],
}

impl Events {
    /// Where nothing can be reported, the next look finds what there is.
    pub(super) fn of(dirs: &[&Path], file: Option<&Path>, wake: &SyncSender<()>) -> Self {
        let inside = watcher(wake, |_| true, dirs, RecursiveMode::Recursive);
        // Not what lies beside it: that may be a log, which changes with every message.
        let file_itself = watcher(wake, |_| true, file.as_slice(), RecursiveMode::NonRecursive);
        // A link reports what happens to its target. That it leads elsewhere now, which is how whole
        // directories are deployed, is reported where it lies, among much else.
        let links: Vec<PathBuf> = dirs.iter().copied().chain(file).flat_map(links).collect();
        let mut around: Vec<&Path> = links.iter().filter_map(|link| link.parent()).collect();
        around.sort_unstable();
        around.dedup();
        let names: Vec<OsString> = links
            .iter()
            .filter_map(|link| Some(link.file_name()?.to_owned()))
            .collect();
        let is_link = move |event: &Event| {
            let mut changed = event.paths.iter().filter_map(|path| path.file_name());
            changed.any(|name| names.iter().any(|link| link == name))
        };
        let links = watcher(wake, is_link, &around, RecursiveMode::NonRecursive);
        Self {
            _watchers: [inside, file_itself, links],
        }
    }
}

/// `None` where nothing is to be reported, or cannot be.
fn watcher(
    wake: &SyncSender<()>,
    concerns: impl Fn(&Event) -> bool + Send + 'static,
    paths: &[&Path],
    mode: RecursiveMode,
) -> Option<RecommendedWatcher> {
    if paths.is_empty() {
        return None;
    }
    let wake = wake.clone();
    let report = move |event: notify::Result<Event>| {
        if event.is_ok_and(|event| changes(event.kind) && concerns(&event)) {
            // When one waits already, it is for this one as well.
            let _ = wake.try_send(());
        }
    };
    let watcher = notify::recommended_watcher(report).and_then(|mut watcher| {
        for path in paths {
            watcher.watch(path, mode)?;
        }
        Ok(watcher)
    });
    watcher
        .inspect_err(|cause| debug!("changes of the policies are not reported: {cause}"))
        .ok()
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

/// The symbolic links that are followed on the way to a directory, each where it really lies.
fn links(dir: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    // What a relative path begins at has a name as well, or its links would have no parent.
    let mut at = std::env::current_dir().unwrap_or_default();
    let mut todo = parts(dir);
    let mut found = Vec::new();
    while let Some(part) = todo.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(part);
        match fs::read_link(&next) {
            Ok(target) if found.len() < MOST_LINKS => {
                todo.extend(parts(&target));
                found.push(next);
            }
            Ok(_) => return found,
            Err(_) => at = next,
        }
    }
    found
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_that_leads_elsewhere_is_reported() {
        let place = tempfile::tempdir().unwrap();
        let [link, new, one, other] =
            ["policies", "new", "1", "2"].map(|name| place.path().join(name));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(&one, &link).unwrap();
        symlink(&other, &new).unwrap();
        let (wake, wakes) = std::sync::mpsc::sync_channel(1);
        let _events = Events::of(&[&link], None, &wake);
        fs::rename(&new, &link).unwrap();
        wakes
            .recv_timeout(std::time::Duration::from_mins(1))
            .unwrap();
    }

    #[test]
    fn every_link_on_the_way_is_found_where_it_lies() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        fs::create_dir_all(place.join("releases/1/policies")).unwrap();
        symlink("releases/1", place.join("current")).unwrap();
        symlink(place.join("current/policies"), place.join("policies")).unwrap();
        symlink("circle", place.join("circle")).unwrap();
        let check = |path: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(|link| place.join(link)).collect();
            assert_eq!(links(&place.join(path)), expected, "{path}");
        };
        check("releases/1/policies", &[]);
        check("current/policies", &["current"]);
        check("policies", &["policies", "current"]);
        check(
            "policies/../../../policies",
            &["policies", "current", "policies", "current"],
        );
        check("no/such/place", &[]);
        assert_eq!(links(&place.join("circle")).len(), MOST_LINKS);
    }
}
