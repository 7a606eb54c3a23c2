//! The thread that exports.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use rustls::ClientConfig;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::audit::Redactor;
use crate::clock::Clock;

use super::collector::{Collector, ExportFailure, SetupError};
use super::queue::FinishedSpan;
use super::queue::{ExportTally, SpanQueue};
use super::semconv::SpanEncoder;
use super::settings::Settings;
use super::spans::Spans;

/// Exports spans for as long as this lives.
#[derive(Debug)]
pub struct Exporter {
    stopping: watch::Sender<Stopping>,
    stopped: oneshot::Receiver<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    No,
    Yes,
}

/// Messages whose spans are sent together, and how long they are gathered.
const BATCH: usize = 256;
const GATHERED: Duration = Duration::from_secs(1);

/// How often the same spans are sent, and how long is waited before the second time; twice as long
/// before each further one.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

struct Worker {
    queue: mpsc::Receiver<FinishedSpan>,
    stopping: watch::Receiver<Stopping>,
    collector: Collector,
    words: SpanEncoder,
    tally: Arc<ExportTally>,
    outage: Outage,
}

/// What was said of the collector, so that it is said once.
#[derive(Debug, Default)]
struct Outage {
    failing: bool,
    /// Dropped messages that were told of.
    told: u64,
}

impl Exporter {
    /// Starts the thread. `tls` says which authorities are believed.
    pub fn start(
        settings: &Settings,
        tls: ClientConfig,
        clock: Arc<dyn Clock>,
        redactor: Redactor,
    ) -> Result<(Self, Arc<Spans>), SetupError> {
        let tally = Arc::<ExportTally>::default();
        let (queue, waiting) = SpanQueue::new(Arc::clone(&tally));
        let (stopping, stop) = watch::channel(Stopping::No);
        let (stopped_by, stopped) = oneshot::channel();
        let worker = Worker {
            queue: waiting,
            stopping: stop,
            collector: Collector::new(settings, tls)?,
            words: SpanEncoder {
                service: settings.service.clone(),
                transport: settings.transport,
                redactor,
            },
            tally,
            outage: Outage::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SetupError::Thread)?;
        std::thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || {
                runtime.block_on(worker.run());
                drop(stopped_by);
            })
            .map_err(SetupError::Thread)?;
        let spans = Arc::new(Spans::new(queue, clock));
        Ok((Self { stopping, stopped }, spans))
    }

    /// Exports what waits, and takes no more. What does not reach the collector within this time
    /// is lost.
    pub async fn close(self, within: Duration) {
        self.stopping.send_replace(Stopping::Yes);
        // Its end says nothing but that it has come.
        let _ = timeout(within, self.stopped).await;
    }
}

impl Worker {
    async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut stopping = self.stopping.clone();
        while *self.stopping.borrow() == Stopping::No {
            let more = tokio::select! {
                biased;
                _ = stopping.wait_for(|now| *now == Stopping::Yes) => break,
                more = gather(&mut self.queue, &mut batch) => more,
            };
            self.export(&mut batch).await;
            if more == Remainder::None {
                break;
            }
        }
        self.queue.close();
        loop {
            self.export(&mut batch).await;
            if self.queue.recv_many(&mut batch, BATCH).await == 0 {
                break;
            }
        }
        let dropped = self.tally.figures().dropped;
        if dropped > 0 {
            warn!("{dropped} messages are missing from the traces");
        }
    }

    /// Sends a batch, again if it may be taken later.
    async fn export(&mut self, batch: &mut Vec<FinishedSpan>) {
        let messages = batch.len();
        if messages == 0 {
            return;
        }
        let spans = Bytes::from(self.words.request(batch).encode_to_vec());
        batch.clear();
        let mut tries = 1;
        let sent = loop {
            match self.collector.send(spans.clone()).await {
                Err(failure @ ExportFailure::Passing(_)) if tries < TRIES => {
                    self.outage.begin(&failure);
                    self.outage.count(&self.tally);
                    if self.pause(PAUSE * (1 << (tries - 1))).await == Stopping::Yes {
                        break Err(failure);
                    }
                    tries += 1;
                }
                sent => break sent,
            }
        };
        match sent {
            Ok(refused) => {
                let refused = usize::try_from(refused).unwrap_or(usize::MAX).min(messages);
                self.tally.take(messages - refused);
                self.tally.lose(refused);
                self.outage.end();
            }
            Err(failure) => {
                self.tally.lose(messages);
                self.outage.begin(&failure);
            }
        }
        self.outage.count(&self.tally);
    }

    /// Once the gate stops, nothing is waited for any more.
    async fn pause(&mut self, time: Duration) -> Stopping {
        let stop = self.stopping.wait_for(|now| *now == Stopping::Yes);
        match timeout(time, stop).await {
            Ok(_) => Stopping::Yes,
            Err(_) => Stopping::No,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remainder {
    Maybe,
    None,
}

/// Waits for something to export, and then a while for more of it. Dropped before it returns, it has
/// lost nothing.
async fn gather(
    queue: &mut mpsc::Receiver<FinishedSpan>,
    batch: &mut Vec<FinishedSpan>,
) -> Remainder {
    if queue.recv_many(batch, BATCH).await == 0 {
        return Remainder::None;
    }
    let pause = sleep(GATHERED);
    tokio::pin!(pause);
    while batch.len() < BATCH {
        let room = BATCH - batch.len();
        tokio::select! {
            () = &mut pause => break,
            more = queue.recv_many(batch, room) => if more == 0 { return Remainder::None },
        }
    }
    Remainder::Maybe
}

impl Outage {
    fn begin(&mut self, failure: &ExportFailure) {
        if !self.failing {
            self.failing = true;
            warn!("the collector of traces does not take them: {failure}");
        }
    }

    fn end(&mut self) {
        if self.failing {
            self.failing = false;
            info!("the collector of traces takes them again");
        }
    }

    /// Tells of what was dropped when it begins, and no more until the gate stops.
    fn count(&mut self, tally: &ExportTally) {
        let dropped = tally.figures().dropped;
        if self.told == 0 && dropped > 0 {
            warn!("traces are not complete: what cannot be sent is dropped");
        }
        self.told = dropped;
    }
}
