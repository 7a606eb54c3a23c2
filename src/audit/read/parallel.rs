//! Pieces on all processors, results in the order of the log.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::cut::{Cutter, Piece};
use super::source::{ReadError, Source};

/// The most threads: each has a piece, and another waits for it.
const MAX_THREADS: usize = 16;

/// Policies may be evaluated on a worker, which is recursive: as much as the gate's own threads have.
const WORKER_STACK: usize = 32 << 20;

/// A piece, and the place for its result.
type Job<T> = (Piece, SyncSender<(Piece, T)>);

/// Reads sources in their order. `map` sees each piece on any thread. `fold` gets the results on this thread, in
/// the order of the log, and may stop the reading.
///
/// Returns the value with which `fold` stopped. A read that waits for standard input delays the stop.
///
/// # Errors
/// [`ReadError`] of the first source that cannot be read, after `fold` got all pieces before it.
pub fn read<T: Send, B>(
    sources: &[Source],
    map: impl Fn(&Piece) -> T + Sync,
    fold: impl FnMut(&Piece, T) -> ControlFlow<B>,
) -> Result<Option<B>, ReadError> {
    let cutters = sources.iter().enumerate();
    read_cutters(
        cutters.map(|(index, source)| Cutter::open(index, source)),
        map,
        fold,
    )
}

pub(super) fn read_cutters<T: Send, B>(
    cutters: impl Iterator<Item = Result<Cutter, ReadError>> + Send,
    map: impl Fn(&Piece) -> T + Sync,
    fold: impl FnMut(&Piece, T) -> ControlFlow<B>,
) -> Result<Option<B>, ReadError> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(MAX_THREADS);
    let (jobs, waiting) = sync_channel(threads);
    // The results to come, in order. Its capacity bounds the pieces in memory.
    let (order, results) = sync_channel(threads);
    let waiting = Arc::new(Mutex::new(waiting));
    let map = &map;
    thread::scope(move |scope| {
        let reader = scope.spawn(move || cut_all(cutters, &jobs, &order));
        for number in 0..threads {
            let waiting = Arc::clone(&waiting);
            let worker = thread::Builder::new().stack_size(WORKER_STACK);
            let worker = worker.spawn_scoped(scope, move || map_all(&waiting, map));
            match worker {
                Ok(_) => {}
                // One is enough.
                Err(_) if number > 0 => break,
                Err(cause) => return Err(ReadError::NoThread(cause)),
            }
        }
        // Only workers keep it: without workers, the reader stops.
        drop(waiting);
        if let Some(stop) = fold_all(results, fold) {
            return Ok(Some(stop));
        }
        match reader.join() {
            Ok(read) => read.map(|()| None),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn cut_all<T>(
    cutters: impl Iterator<Item = Result<Cutter, ReadError>>,
    jobs: &SyncSender<Job<T>>,
    order: &SyncSender<Receiver<(Piece, T)>>,
) -> Result<(), ReadError> {
    for cutter in cutters {
        let mut cutter = cutter?;
        while let Some(piece) = cutter.next_piece()? {
            let (done, result) = sync_channel(1);
            // A closed channel: the fold has stopped.
            if order.send(result).is_err() || jobs.send((piece, done)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn map_all<T>(waiting: &Mutex<Receiver<Job<T>>>, map: &(impl Fn(&Piece) -> T + Sync)) {
    loop {
        let job = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((piece, done)) = job else { return };
        let result = map(&piece);
        // Without a receiver, the fold has stopped.
        let _ = done.send((piece, result));
    }
}

fn fold_all<T, B>(
    results: Receiver<Receiver<(Piece, T)>>,
    mut fold: impl FnMut(&Piece, T) -> ControlFlow<B>,
) -> Option<B> {
    for result in results {
        // A worker that panicked sends none. The scope passes its panic on.
        let (piece, mapped) = result.recv().ok()?;
        if let ControlFlow::Break(stop) = fold(&piece, mapped) {
            return Some(stop);
        }
    }
    None
}
