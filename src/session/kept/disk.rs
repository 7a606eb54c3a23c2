//! What is kept beyond the end of the gate: a journal.
//!
//! Each change is a line that is synced to the disk before what changed goes anywhere, together with
//! those that came while the disk was busy. Opening it writes it anew with one line for each key.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tracing::{error, warn};

use crate::policy::{ServerKey, SessionSensitivity, UNKNOWN_SERVER};

use super::batch::{self, Batch, Waiting};
use super::file::{Found, JournalFile, refused_at_once, text_of, unsealed};
use super::journal::{self, JournalError};
use super::key_file::KeyFile;
use super::private_files::{io_error, is_private, open_error, strict};
use super::writer::Writer;
use super::{
    Answer, Budget, Counted, InMemory, Kept, Places, Raised, Room, SessionKey, SessionStore,
    StoreFault,
};

/// How often it is looked whether the journal is still there, beside each time that it is written to.
const LOOK: Duration = Duration::from_secs(1);

/// Changes that wait to be written. Each is waited for by a message, but those of conversations that have
/// ended are written all the same.
const MOST_WAITING: usize = 4096;

/// In a file.
#[derive(Debug)]
pub struct OnDisk(Arc<Inner>, Writer);

#[derive(Debug)]
struct Inner {
    memory: InMemory,
    journal: Mutex<JournalFile>,
    waiting: Mutex<Vec<Box<dyn Waiting>>>,
}

impl OnDisk {
    /// Opens a journal that was sealed with the key in another file, or begins both, for so many keys.
    ///
    /// # Errors
    /// [`JournalError`] where it cannot be read to its end, was not written so by a gate, or cannot be
    /// written. Only a last line without its end is left out: what it was to change has not gone
    /// anywhere.
    pub fn open(path: &Path, key: &Path, most: usize) -> Result<Self, JournalError> {
        let memory = InMemory::holding(most);
        let journal = JournalFile::open(path, key, |text| {
            journal::read(text, &memory)?;
            let all = memory.all();
            if all.len() > most {
                return Err(JournalError::Full(most));
            }
            Ok(journal::written(&all))
        })?;
        let inner = Arc::new(Inner {
            memory,
            journal: Mutex::new(journal),
            waiting: Mutex::default(),
        });
        let writer = Writer::start(LOOK, looking_after(Arc::downgrade(&inner)));
        let writer = writer.map_err(|cause| JournalError::Io {
            what: "start the thread that writes it",
            cause,
        })?;
        Ok(Self(inner, writer))
    }

    /// The same before these servers. What a session has read from unknown ones, such as one that has another
    /// key now, or of which the journal does not say where it was read, it has read from anywhere.
    #[must_use]
    pub fn before_servers(self, known: &[ServerKey]) -> Self {
        for (key, kept) in self.0.memory.all() {
            let unknown = from_unknown_servers(&kept.held, known);
            if !known.is_empty() && !unknown.is_nothing() {
                let unknown = Kept::having_read(Arc::new(unknown));
                self.0.memory.join_beyond(&key, &unknown);
            }
        }
        self
    }

    /// Whether a journal could be opened or begun there, as far as reading shows it.
    ///
    /// # Errors
    /// [`JournalError`], as [`OnDisk::open`] would have it.
    pub fn check(path: &Path, key: &Path, most: usize) -> Result<(), JournalError> {
        let known = KeyFile::open(key, false)?;
        let file = match strict().open(path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                if known.is_some_and(|known| known.count > 0) {
                    return Err(JournalError::Gone(key.to_owned()));
                }
                let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
                let parent = std::fs::metadata(parent.unwrap_or(Path::new(".")));
                return parent.map(drop).map_err(io_error("open it"));
            }
            Err(cause) => return Err(open_error(path)(cause)),
        };
        is_private(&file)?;
        let memory = InMemory::holding(most);
        let text = text_of(&file)?;
        let known = known.ok_or_else(|| JournalError::NoKey(key.to_owned()));
        let known = known.map_err(|missing| refused_at_once(&text).unwrap_or(missing))?;
        journal::read(&unsealed(&known, &text)?.1, &memory)?;
        if memory.all().len() > most {
            return Err(JournalError::Full(most));
        }
        Ok(())
    }

    /// Changes what is kept under a key, on the thread that does nothing else: a disk may take
    /// milliseconds, or not answer at all, and others can go on.
    fn write<T: Send + 'static>(
        &self,
        key: &SessionKey,
        make: impl FnOnce(&Kept) -> (Option<Kept>, T) + Send + 'static,
    ) -> Answer<'static, (Kept, T)> {
        let (change, outcome) = batch::change(key, make);
        let asked = self.0.wait_with(change).and_then(|waiting| {
            // Whoever finds others waiting is written with them.
            if waiting > 1 {
                return Ok(());
            }
            let inner = Arc::clone(&self.0);
            let asked = self.1.ask(move || inner.write_waiting());
            asked.inspect_err(|_| self.0.waiting().clear())
        });
        Answer::Later(Box::pin(async move {
            asked?;
            let failed = |_| StoreFault::new("the thread that writes has failed");
            outcome.await.map_err(failed)?
        }))
    }
}

/// Looks after a journal as long as it is used: one that is gone, or another one, is written anew before
/// the gate could end without it.
fn looking_after(inner: Weak<Inner>) -> impl FnMut() + Send + 'static {
    move || {
        if let Some(inner) = inner.upgrade() {
            inner.look();
        }
    }
}

impl SessionStore for OnDisk {
    fn kept<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, Kept> {
        Answer::Now(Ok(self.0.memory.get(key)))
    }

    fn raise<'a>(&'a self, key: &'a SessionKey, by: &'a SessionSensitivity) -> Answer<'a, Raised> {
        let kept = self.0.memory.get(key);
        if kept.held.covers(by) {
            return Answer::Now(Ok(Raised::unchanged(&kept.held)));
        }
        let by = by.clone();
        let raised = self.write(key, move |kept| {
            let raised = Raised::joining(&kept.held, &by);
            let held = Arc::clone(&raised.after);
            let changes = !kept.held.covers(&by);
            (
                changes.then(|| Kept {
                    held,
                    ..kept.clone()
                }),
                raised,
            )
        });
        raised.map(|(_, raised)| raised)
    }

    fn count<'a>(&'a self, key: &'a SessionKey, budget: Budget) -> Answer<'a, Counted> {
        let kept = self.0.memory.get(key);
        if kept.room == Room::None {
            return Answer::Now(Ok(Counted::NoRoom));
        }
        if !budget.has_one_more(kept.calls) {
            return Answer::Now(Ok(Counted::Spent));
        }
        let counted = self.write(key, move |kept| match kept.one_more(budget) {
            Some(more) => (Some(more), Counted::Yes),
            None => (None, Counted::Spent),
        });
        counted.map(|(kept, counted)| match kept.room {
            Room::Left => counted,
            Room::None => Counted::NoRoom,
        })
    }

    fn end<'a>(&'a self, key: &'a SessionKey, tool: &'a str) -> Answer<'a, ()> {
        let ended = Kept::ended_by(tool);
        let written = self.write(key, move |kept| {
            ((!kept.covers(&ended)).then(|| kept.join(&ended)), ())
        });
        Answer::Later(Box::pin(async move {
            match written.get().await?.0.room {
                Room::Left => Ok(()),
                Room::None => Err(StoreFault::no_room()),
            }
        }))
    }

    fn places(&self) -> Option<Places> {
        self.0.memory.places()
    }
}

impl Inner {
    /// How many wait now.
    ///
    /// # Errors
    /// [`StoreFault`] when too many do.
    fn wait_with(&self, change: Box<dyn Waiting>) -> Result<usize, StoreFault> {
        let mut waiting = self.waiting();
        if waiting.len() >= MOST_WAITING {
            return Err(StoreFault::new(format!(
                "the disk does not answer, and {MOST_WAITING} changes wait for it"
            )));
        }
        waiting.push(change);
        Ok(waiting.len())
    }

    /// Writes what waits, and tells who does.
    fn write_waiting(self: Arc<Self>) {
        let (waiting, written) = {
            let mut journal = self.journal();
            // Not before the disk is free: until then others come.
            let mut waiting = std::mem::take(&mut *self.waiting());
            let written = self.write(&mut journal, &mut waiting);
            (waiting, written)
        };
        // The journal is let go before whoever waits goes on, who may open it anew.
        drop(self);
        for change in waiting {
            change.tell(written.clone());
        }
    }

    /// Changes what is kept, as far as there is a place for it.
    fn write(
        &self,
        journal: &mut JournalFile,
        changes: &mut [Box<dyn Waiting>],
    ) -> Result<(), StoreFault> {
        // INVARIANT: the journal is locked, so that nobody changes what is kept meanwhile.
        let mut batch = Batch::new(&self.memory);
        for change in changes {
            batch.make(change.as_mut());
        }
        let lines = batch.lines();
        if lines.is_empty() {
            return Ok(());
        }
        self.renew(journal)?;
        journal
            .append(&lines)
            .map_err(|cause| StoreFault::new(format!("the journal cannot be written: {cause}")))?;
        batch.keep();
        if journal.is_long() {
            // What it says stays the same: it can wait until the next time.
            let again = journal.rewrite(&journal::written(&self.memory.all()));
            if let Err(cause) = again {
                warn!("`ratchet.file` cannot be made shorter: {cause}");
            }
        }
        Ok(())
    }

    /// Whether the journal is still the one that this gate writes; else it is written anew.
    fn renew(&self, journal: &mut JournalFile) -> Result<(), StoreFault> {
        let found = journal.look();
        let told = match found {
            Found::Itself => return Ok(()),
            Found::Nothing => "was removed",
            Found::Another => "was replaced",
            Found::Changed => "was changed",
            Found::NoKey => "has lost its key, which was removed or changed",
        };
        let text = journal::written(&self.memory.all());
        let written = match found {
            Found::Nothing | Found::Another => journal.replace(&text),
            Found::Itself | Found::Changed | Found::NoKey => journal.rewrite(&text),
        };
        written.map_err(|cause| {
            StoreFault::new(format!(
                "the journal {told}, and cannot be written anew: {cause}"
            ))
        })?;
        error!("`ratchet.file` {told} while the gate runs, and is written anew");
        Ok(())
    }

    fn look(&self) {
        let mut journal = self.journal();
        journal.rest();
        if let Err(fault) = self.renew(&mut journal) {
            error!("{fault}: nothing that changes what is kept of sessions passes until it can");
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Box<dyn Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self) -> MutexGuard<'_, JournalFile> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has to be added to what was read, since it is not known of all of it where.
fn from_unknown_servers(held: &SessionSensitivity, known: &[ServerKey]) -> SessionSensitivity {
    let is_known = |source: &String| known.iter().any(|key| key.as_str() == source);
    let unknown = || BTreeSet::from([UNKNOWN_SERVER.to_owned()]);
    let is_without = |names: &BTreeSet<String>, has_read: bool| {
        has_read && names.is_empty() || !names.iter().all(is_known)
    };
    let mut added = SessionSensitivity::default();
    if is_without(&held.sources, !held.is_nothing()) {
        added.sources = unknown();
    }
    if is_without(&held.untrusted_from, held.untrusted) {
        added.untrusted_from = unknown();
    }
    added
}

#[cfg(test)]
impl OnDisk {
    pub(super) fn look(&self) {
        self.0.look();
    }

    pub(super) fn forgets_the_stamp(&self) {
        self.0.journal().stamp_again();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use super::*;
    use crate::session::kept::journal::{TITLE, line};
    use crate::session::kept::seal::Chain;

    fn key(session: Option<&str>) -> SessionKey {
        SessionKey::of("a\"\n\u{202e}b", session)
    }

    fn of(most: i64) -> Budget {
        Budget { most, rest: None }
    }

    fn opened(path: &Path, most: usize) -> Result<OnDisk, JournalError> {
        OnDisk::open(path, &key_of(path), most)
    }

    fn open(path: &Path) -> OnDisk {
        opened(path, 10).unwrap()
    }

    fn key_of(path: &Path) -> PathBuf {
        path.with_extension("key")
    }

    /// As a gate would have written it with the key that is there.
    fn sealed(path: &Path, text: &str) -> String {
        let key = KeyFile::open(&key_of(path), true).unwrap().unwrap();
        Chain::journal(&key.key, key.count, text).1
    }

    #[tokio::test]
    async fn what_was_read_from_unknown_servers_was_read_from_anywhere() {
        let check = async |held: SessionSensitivity, sources: &[&str], untrusted_from: &[&str]| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ratchet.jsonl");
            let store = open(&path);
            store.raise(&key(None), &held).get().await.unwrap();
            drop(store);
            let known = ["crm", "mail"].map(|key| ServerKey::of(key).unwrap());
            let store = open(&path).before_servers(&known);
            let nothing = SessionSensitivity::default();
            let raised = store.raise(&key(None), &nothing).get().await.unwrap();
            assert!(raised.before.sources.iter().eq(sources), "{raised:?}");
            assert!(
                raised.before.untrusted_from.iter().eq(untrusted_from),
                "{raised:?}"
            );
        };
        let of = |sources: &[&str]| SessionSensitivity {
            sources: sources.iter().map(|&it| it.to_owned()).collect(),
            ..SessionSensitivity::at(2)
        };
        check(of(&["crm"]), &["crm"], &[]).await;
        // A journal from before there were several servers, and a server that has another key now.
        check(of(&[]), &["?"], &[]).await;
        check(of(&["crm", "web"]), &["?", "crm", "web"], &[]).await;
        let untrusted = SessionSensitivity {
            untrusted: true,
            ..of(&["mail"])
        };
        check(untrusted, &["mail"], &["?"]).await;
    }

    #[tokio::test]
    async fn what_was_raised_is_held_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let by = SessionSensitivity {
            level: 2,
            labels: ["pii".to_owned(), "\u{0}\"".to_owned()].into(),
            datasets: ["payroll".to_owned(), "?".to_owned()].into(),
            untrusted: true,
            sources: ["crm".to_owned(), "?".to_owned()].into(),
            untrusted_from: ["mail".to_owned()].into(),
        };
        let store = open(&path);
        let raised = store.raise(&key(None), &by).get().await.unwrap();
        assert!(raised.before.is_nothing() && *raised.after == by);
        store
            .raise(&key(None), &SessionSensitivity::at(3))
            .get()
            .await
            .unwrap();
        store
            .raise(&key(Some("")), &SessionSensitivity::at(1))
            .get()
            .await
            .unwrap();
        assert!(matches!(opened(&path, 10), Err(JournalError::Locked)));
        drop(store);
        for _ in 0..2 {
            let store = open(&path);
            let kept = store.kept(&key(None)).get().await.unwrap();
            assert_eq!(*kept.held, by.clone().join(&SessionSensitivity::at(3)));
            let kept = |key: &SessionKey| store.0.memory.get(key);
            assert_eq!(kept(&key(Some(""))).held.level, 1);
            assert!(kept(&SessionKey::of("other", None)).is_nothing());
            // One line for each key, and the title.
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
        }
    }

    #[test]
    fn a_line_without_its_end_is_left_out_and_any_other_that_is_unreadable_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let good = line(
            &SessionKey::of("a", None),
            &Kept::having_read(Arc::new(SessionSensitivity::at(2))),
        );
        drop(open(&path));
        let check = |text: String, expected: Result<i64, &str>| {
            let (whole, torn) = text.rsplit_once('\n').unwrap_or(("", &text));
            let whole = match whole {
                "" => String::new(),
                whole => sealed(&path, &format!("{whole}\n")),
            };
            fs::write(&path, format!("{whole}{torn}")).unwrap();
            is_private_now(&path);
            let told = opened(&path, 10)
                .map(|store| store.0.memory.get(&SessionKey::of("a", None)).held.level)
                .map_err(|error| error.to_string());
            assert_eq!(told, expected.map_err(str::to_owned), "{text}");
        };
        check(format!("{TITLE}\n"), Ok(0));
        let empty = JournalError::Empty.to_string();
        check(String::new(), Err(&empty));
        check(format!("{TITLE}\n{good}"), Ok(2));
        check(format!("{TITLE}\n{good}{{\"princ"), Ok(2));
        check(format!("{TITLE}\n{good}{}", good.trim_end()), Ok(2));
        check("hello".to_owned(), Err("it is no journal of a ratchet"));
        check(
            good.trim_end().to_owned(),
            Err("it is no journal of a ratchet"),
        );
        let told = |line: &str, problem: &str| {
            let told = format!("line 2 is not one that a gate wrote: {problem}");
            check(format!("{TITLE}\n{line}\n{good}"), Err(&told));
        };
        told("", "it is no JSON");
        told("{}", "it names no `principal`");
        told(
            r#"{"principal":"a","level":4,"labels":[]}"#,
            "its `level` is none of 0 to 3",
        );
        told(r#"{"principal":"a","level":1}"#, "it has no `labels`");
        told(
            r#"{"principal":"a","session":1,"level":1,"labels":[]}"#,
            "its `session` is no text",
        );
        told(
            r#"{"principal":"a","level":1,"labels":[1]}"#,
            "a label is no text",
        );
        told(
            r#"{"principal":"a","level":1,"labels":"pii"}"#,
            "its `labels` are no list",
        );
        told(
            r#"{"principal":"a","level":1,"labels":[],"untrusty":true}"#,
            "it says more than that",
        );
        for (datasets, problem) in [
            ("\"a\"", "its `datasets` are no list"),
            ("[1]", "a data set has no name"),
            ("[\"a b\"]", "a data set has no name"),
        ] {
            let line = r#"{"principal":"a","level":1,"labels":[],"datasets":X}"#;
            told(&line.replace('X', datasets), problem);
        }
        for (servers, problem) in [
            (r#""sources":"a""#, "its `sources` are no list"),
            (r#""sources":["A b"]"#, "a source is no server"),
            (
                r#""untrusted_from":"a""#,
                "its `untrusted_from` are no list",
            ),
            (
                r#""untrusted_from":[1]"#,
                "`untrusted_from` has what is no server",
            ),
        ] {
            let line = r#"{"principal":"a","level":1,"labels":[],X}"#;
            told(&line.replace('X', servers), problem);
        }
        for calls in ["-1", "0", "\"1\"", "1.5", "null"] {
            let line = format!(r#"{{"principal":"a","level":1,"labels":[],"calls":{calls}}}"#);
            told(&line, "its `calls` are no count");
            let line = line.replace("calls", "called");
            told(&line, "its `called` is no time");
        }
        told(
            r#"{"principal":"a","level":1,"labels":[],"ended":true}"#,
            "its `ended` is no text",
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_that_others_may_write_to_is_not_believed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        drop(open(&path));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        assert!(matches!(opened(&path, 10), Err(JournalError::Writable)));
    }

    #[tokio::test]
    async fn more_sessions_than_there_is_room_for_refuse_to_start_and_raise_nobody_down() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        for name in ["a", "b", "c"] {
            let key = SessionKey::of(name, None);
            store
                .raise(&key, &SessionSensitivity::at(1))
                .get()
                .await
                .unwrap();
        }
        drop(store);
        assert!(matches!(opened(&path, 2), Err(JournalError::Full(2))));
        let store = opened(&path, 3).unwrap();
        let late = SessionKey::of("d", None);
        let late = store.kept(&late).get().await.unwrap();
        assert_eq!((*late.held).clone(), SessionSensitivity::highest());
        assert_eq!(late.room, Room::None);
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_not_held_and_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        // A file that is open for reading takes no line.
        store.0.journal.lock().unwrap().file = File::open(&path).unwrap();
        let fault = store
            .raise(&key(None), &SessionSensitivity::at(1))
            .get()
            .await
            .unwrap_err();
        assert!(fault.to_string().contains("cannot be written"), "{fault}");
        assert!(store.0.memory.get(&key(None)).is_nothing());
    }

    async fn counts(store: &OnDisk, most: i64, times: usize) -> usize {
        let mut counted = 0;
        for _ in 0..times {
            let one = store.count(&key(None), of(most)).get().await.unwrap();
            counted += usize::from(one == Counted::Yes);
        }
        counted
    }

    #[tokio::test]
    async fn a_budget_and_an_end_are_what_they_were_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        assert_eq!(counts(&store, 5, 3).await, 3);
        drop(store);
        let store = open(&path);
        assert_eq!(counts(&store, 5, 5).await, 2);
        let other = key(Some("other"));
        store.end(&other, "send").get().await.unwrap();
        store.end(&other, "later").get().await.unwrap();
        drop(store);
        let store = open(&path);
        assert_eq!(counts(&store, 5, 5).await, 0);
        // Who may make more of them has more.
        assert_eq!(counts(&store, 6, 5).await, 1);
        assert!(store.0.memory.get(&other).ended.is_some());
        assert_eq!(store.0.memory.get(&key(None)).ended, None);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn of_many_calls_at_once_as_many_are_counted_on_disk_as_a_budget_has() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = Arc::new(open(&path));
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..40 {
            let store = Arc::clone(&store);
            all.spawn(async move { counts(&store, 17, 3).await });
        }
        assert_eq!(all.join_all().await.into_iter().sum::<usize>(), 17);
        drop(store);
        assert_eq!(open(&path).0.memory.get(&key(None)).calls.made, 17);
    }

    #[test]
    fn a_disk_that_does_not_answer_keeps_the_journals_thread_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("ratchet.jsonl"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let hangs = store.0.journal.lock().unwrap();
        let key = key(None);
        let counted = [(); 3].map(|()| store.count(&key, of(2)));
        let elsewhere = async {
            let elsewhere = tokio::task::spawn_blocking(|| "a file of somebody else's");
            tokio::time::timeout(Duration::from_secs(30), elsewhere).await
        };
        let elsewhere = runtime.block_on(elsewhere);
        drop(hangs);
        assert_eq!(elsewhere.unwrap().unwrap(), "a file of somebody else's");
        // In the order in which they came.
        let counted = counted.map(|it| runtime.block_on(it.get()).unwrap());
        assert_eq!(counted, [Counted::Yes, Counted::Yes, Counted::Spent]);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_written_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        drop(store.end(&key(None), "send"));
        // The next one is behind it.
        store
            .raise(&key(None), &SessionSensitivity::at(1))
            .get()
            .await
            .unwrap();
        drop(store);
        assert!(open(&path).0.memory.get(&key(None)).ended.is_some());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_comes_while_the_disk_is_busy_is_synced_together_and_in_its_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        let busy = store.0.journal.lock().unwrap();
        let names: Vec<_> = (0..20).map(|name| key(Some(&name.to_string()))).collect();
        let one = key(None);
        let calls: Vec<_> = (0..50).map(|_| store.count(&one, of(40))).collect();
        // Of 20 more there is room for 9.
        let others: Vec<_> = names.iter().map(|key| store.count(key, of(1))).collect();
        drop(busy);
        for (number, call) in calls.into_iter().enumerate() {
            let expected = if number < 40 {
                Counted::Yes
            } else {
                Counted::Spent
            };
            assert_eq!(call.get().await.unwrap(), expected, "{number}");
        }
        for (number, call) in others.into_iter().enumerate() {
            let expected = if number < 9 {
                Counted::Yes
            } else {
                Counted::NoRoom
            };
            assert_eq!(call.get().await.unwrap(), expected, "{number}");
        }
        // The title, and one line for each of ten keys.
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 11);
        drop(store);
        assert_eq!(open(&path).0.memory.get(&one).calls.made, 40);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn of_what_cannot_be_synced_together_nothing_is_kept_and_each_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        let (one, two) = (key(None), key(Some("two")));
        let calls = {
            let mut busy = store.0.journal.lock().unwrap();
            busy.file = File::open(&path).unwrap();
            [&one, &two, &one].map(|key| store.count(key, of(9)))
        };
        for call in calls {
            let fault = call.get().await.unwrap_err().to_string();
            assert!(fault.contains("cannot be written"), "{fault}");
        }
        assert!(
            [&one, &two]
                .into_iter()
                .all(|key| store.0.memory.get(key).is_nothing())
        );
    }

    #[tokio::test]
    async fn a_journal_that_is_removed_or_replaced_is_written_anew_with_all_that_it_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let lower = format!("{TITLE}\n");
        let store = open(&path);
        for (session, change) in [None, Some(lower.as_str()), Some("")]
            .into_iter()
            .enumerate()
        {
            let raises = |level| {
                let key = key(Some(&format!("{session} {level}")));
                let store = &store;
                async move {
                    store
                        .raise(&key, &SessionSensitivity::at(level))
                        .get()
                        .await
                        .unwrap()
                }
            };
            raises(2).await;
            fs::remove_file(&path).unwrap();
            if let Some(text) = change {
                fs::write(&path, text).unwrap();
            }
            raises(3).await;
        }
        // Nobody writes any more: it is looked for all the same.
        fs::remove_file(&path).unwrap();
        store.0.look();
        drop(store);
        assert_eq!(open(&path).0.memory.all().len(), 6);
    }

    #[tokio::test]
    async fn a_journal_that_another_gate_has_begun_meanwhile_closes_this_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        fs::remove_file(&path).unwrap();
        let other = open(&path);
        let fault = store
            .raise(&key(None), &SessionSensitivity::at(1))
            .get()
            .await;
        let fault = fault.unwrap_err().to_string();
        assert!(fault.contains("another gate uses it"), "{fault}");
        assert_eq!(other.0.memory.all().len(), 0);
        drop(other);
        store
            .raise(&key(None), &SessionSensitivity::at(1))
            .get()
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_journal_is_made_shorter_before_it_is_too_long_to_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ratchet.jsonl");
        let store = open(&path);
        let long = SessionKey::of(&"a".repeat(300_000), None);
        for _ in 0..20 {
            let counted = store.count(&long, of(100)).get().await;
            assert_eq!(counted.unwrap(), Counted::Yes);
        }
        assert!(fs::metadata(&path).unwrap().len() < 2_000_000);
        drop(store);
        assert_eq!(open(&path).0.memory.get(&long).calls.made, 20);
    }

    fn is_private_now(path: &Path) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        #[cfg(not(unix))]
        let _ = path;
    }
}
