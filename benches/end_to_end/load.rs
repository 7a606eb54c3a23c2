//! Load: how often agents call, and what that took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::http_agent::HttpAgent;
use super::line_agent::LineAgent;
use super::measure::{Failure, now, number};
use super::messages::{Call, Era};
use super::paths::{Entry, Kind, Path};
use super::pause::Pauses;

/// Connections of an open loop over HTTP.
const OPEN_CONNECTIONS: usize = 32;
/// Turns of each path: many, so that each meets the machine in all its moods.
const TURNS: u32 = 20;
/// A shorter turn would be spent on starting threads.
const SHORTEST_TURN: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// So many calls in flight, each followed by the next.
    Closed(usize),
    /// So many calls a second, whatever their answers take.
    Open(f64),
}

impl Load {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Closed(1) => "one at a time".to_owned(),
            Self::Closed(in_flight) => format!("{in_flight} in flight"),
            Self::Open(rate) => format!("{rate:.0}/s offered"),
        }
    }
}

/// What all turns of one path took.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// In order.
    pub(crate) times: Vec<Duration>,
    pub(crate) elapsed: Duration,
    pub(crate) processor: Duration,
    /// KiB, right after the last turn.
    pub(crate) resident: Option<usize>,
}

impl Outcome {
    pub(crate) fn rate(&self) -> f64 {
        number(self.times.len()) / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Microseconds of the proxy for one call.
    pub(crate) fn processor_per_call(&self) -> Option<f64> {
        let calls = number(self.times.len()).max(1.0);
        self.resident
            .map(|_| self.processor.as_secs_f64() * 1e6 / calls)
    }
}

/// The agents of one path.
pub(crate) enum Callers<'path> {
    Lines(&'path mut LineAgent),
    Http(Vec<HttpAgent>),
}

impl<'path> Callers<'path> {
    /// As many as this load needs; each over HTTP has a session.
    pub(crate) fn open(entry: &'path mut Entry, load: Load) -> Result<Self, Failure> {
        match entry {
            Entry::Lines(agent) => Ok(Self::Lines(agent)),
            Entry::Address(address) => {
                let count = match load {
                    Load::Closed(in_flight) => in_flight,
                    Load::Open(_) => OPEN_CONNECTIONS,
                };
                let agents = (0..count).map(|_| HttpAgent::open(address));
                Ok(Self::Http(agents.collect::<Result<_, _>>()?))
            }
        }
    }

    /// What a turn needs and does not measure.
    fn prepare(&mut self) -> Result<(), Failure> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Http(agents) => agents.iter_mut().try_for_each(HttpAgent::reconnect_if_idle),
        }
    }

    /// The times of calls for about so long.
    pub(crate) fn turn(
        &mut self,
        load: Load,
        call: &Call,
        time: Duration,
    ) -> Result<Vec<Duration>, Failure> {
        match (self, load) {
            (Self::Lines(agent), Load::Closed(in_flight)) => {
                agent.calls_until(call, in_flight, now() + time)
            }
            (Self::Lines(agent), Load::Open(rate)) => {
                let calls = Duration::from_secs_f64(time.as_secs_f64() * rate).as_secs();
                agent.calls_at(call, calls.max(1), Duration::from_secs_f64(1.0 / rate))
            }
            (Self::Http(agents), Load::Closed(_)) => at_once(agents, call, time),
            (Self::Http(agents), Load::Open(rate)) => on_schedule(agents, call, rate, time),
        }
    }

    pub(crate) fn end(self) -> Result<(), Failure> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Http(agents) => agents.into_iter().try_for_each(HttpAgent::end),
        }
    }
}

/// Each agent asks without a pause.
pub(crate) fn at_once(
    agents: &mut [HttpAgent],
    call: &Call,
    time: Duration,
) -> Result<Vec<Duration>, Failure> {
    let until = now() + time;
    if let [agent] = agents {
        return agent.calls_until(call, until);
    }
    let asking = |agent: &mut HttpAgent| agent.calls_until(call, until);
    on_threads(agents, &asking)
}

/// Runs all agents at once; what each took, in one list.
fn on_threads(
    agents: &mut [HttpAgent],
    asking: &(impl Fn(&mut HttpAgent) -> Result<Vec<Duration>, Failure> + Sync),
) -> Result<Vec<Duration>, Failure> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = agents
            .iter_mut()
            .map(|agent| scope.spawn(move || asking(agent)))
            .collect();
        let mut times = Vec::new();
        for thread in threads {
            times.extend(thread.join().map_err(|_| "an agent panicked")??);
        }
        Ok(times)
    })
}

/// Calls are due at equal distances. The agent that is free next takes the next one, and counts from when it was due.
fn on_schedule(
    agents: &mut [HttpAgent],
    call: &Call,
    rate: f64,
    time: Duration,
) -> Result<Vec<Duration>, Failure> {
    let calls = Duration::from_secs_f64(time.as_secs_f64() * rate).as_secs();
    let (next, start) = (AtomicU64::new(0), now());
    let due = |nth: u64| -> Result<Instant, Failure> {
        let nth = f64::from(u32::try_from(nth)?);
        Ok(start + Duration::from_secs_f64(nth / rate))
    };
    let asking = |agent: &mut HttpAgent| {
        let pauses = Pauses::new();
        let mut times = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= calls {
                return Ok(times);
            }
            let due = due(nth)?;
            pauses.until(due);
            agent.call(call)?;
            times.push(due.elapsed());
        }
    };
    on_threads(agents, &asking)
}

/// Asks all paths in turns, for so long each in all.
pub(crate) fn measure(
    paths: &mut [Path],
    load: Load,
    payload: usize,
    time: Duration,
) -> Result<Vec<Outcome>, Failure> {
    let call = Call::new(Era::Sessions, payload);
    let (mut callers, mut proxies, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let opened = Callers::open(&mut path.entry, load);
        callers.push(opened.map_err(|cause| format!("{}: {cause}", path.name))?);
        proxies.push(&path.proxy);
        outcomes.push(Outcome {
            name: path.name.clone(),
            kind: path.kind,
            times: Vec::new(),
            elapsed: Duration::ZERO,
            processor: Duration::ZERO,
            resident: None,
        });
    }
    let turn = SHORTEST_TURN.max(time / TURNS);
    for (callers, outcome) in callers.iter_mut().zip(&outcomes) {
        callers.prepare()?;
        // The first calls find cold caches.
        callers
            .turn(load, &call, turn)
            .map_err(|cause| format!("{}: {cause}", outcome.name))?;
    }
    let mut left = time;
    while !left.is_zero() {
        left = left.saturating_sub(turn);
        for ((callers, proxy), outcome) in callers.iter_mut().zip(&proxies).zip(&mut outcomes) {
            callers.prepare()?;
            let (before, start) = (proxy.spent(), now());
            let times = callers
                .turn(load, &call, turn)
                .map_err(|cause| format!("{}: {cause}", outcome.name))?;
            outcome.elapsed += start.elapsed();
            outcome.processor += proxy.spent().since(&before);
            outcome.times.extend(times);
        }
    }
    for (proxy, outcome) in proxies.iter().zip(&mut outcomes) {
        outcome.resident = proxy.resident();
        outcome.times.sort_unstable();
    }
    callers.into_iter().try_for_each(Callers::end)?;
    Ok(outcomes)
}
