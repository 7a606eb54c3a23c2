//! A log in memory whose every line is held to the schema, once it has ended: the writer is no slower.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::super::{LinePosition, MemorySink, Sink};
use super::schema;

/// Nothing here takes nearly so long: a log that has not ended by then is kept by somebody.
const PATIENCE: Duration = Duration::from_mins(1);

/// Keeps lines in memory, and says when the last one is there.
#[derive(Debug)]
pub(crate) struct CheckedSink {
    memory: MemorySink,
    end: Arc<End>,
}

/// Fails the test that drops it where the log has written a line that is not as the schema says. Whatever
/// can write to the log has to be dropped before.
#[derive(Debug)]
pub(crate) struct LineCheck {
    memory: MemorySink,
    end: Arc<End>,
}

#[derive(Debug, Default)]
struct End {
    has_come: Mutex<bool>,
    came: Condvar,
}

impl CheckedSink {
    pub(crate) fn new(memory: MemorySink) -> (Self, LineCheck) {
        let end = Arc::<End>::default();
        let check = LineCheck {
            memory: memory.clone(),
            end: Arc::clone(&end),
        };
        (Self { memory, end }, check)
    }
}

impl Sink for CheckedSink {
    fn name(&self) -> Arc<str> {
        self.memory.name()
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        self.memory.begin()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.memory.write(bytes)
    }

    fn end(&mut self) {
        self.memory.end();
    }

    fn sync(&mut self) -> io::Result<()> {
        self.memory.sync()
    }
}

/// The writer drops it after its last line.
impl Drop for CheckedSink {
    fn drop(&mut self) {
        *self.end.has_come.lock().unwrap() = true;
        self.end.came.notify_all();
    }
}

impl Drop for LineCheck {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let End { has_come, came } = &*self.end;
        let waited = came.wait_timeout_while(has_come.lock().unwrap(), PATIENCE, |it| !*it);
        assert!(*waited.unwrap().0, "something still holds the log");
        let lines = self.memory.lines();
        let problems: Vec<_> = lines
            .iter()
            .flat_map(|line| schema::problems(line))
            .collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}
