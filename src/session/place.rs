//! Which instance of the server a session speaks to: the open one, or one of the isolated ones, each
//! narrower than the one before. One way.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::parked::Attempt;
use crate::wire::{Stream, TraceContext};

/// One of the instances of a server, by its number: 0 is the open one, and a higher one is narrower.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance(u8);

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It speaks to this instance, or to none while that one does not run.
    At(Instance),
    /// It has left another instance for this one, which does not know yet what was agreed on.
    Moving(Instance),
}

/// From which level on sessions speak to each isolated instance: rising.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thresholds(Vec<i64>);

/// Something of each instance of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerInstance<T>([T; Instance::MOST]);

/// Which instances of the server are reached over HTTP, where headers repeat what messages say.
pub type OverHttp = PerInstance<bool>;

/// One life of one server, among all that a session speaks to in the course of time: what a server
/// said or asked in an earlier one counts no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    pub instance: Instance,
    /// How often a server had ended before.
    pub ended: u64,
}

impl Instance {
    /// Where every session begins.
    pub const OPEN: Self = Self(0);

    /// The open one, and one for each level above public.
    pub const MOST: usize = 4;

    pub const ALL: [Self; Self::MOST] = [Self(0), Self(1), Self(2), Self(3)];

    pub const ISOLATED: [Self; Self::MOST - 1] = [Self(1), Self(2), Self(3)];

    pub fn is_open(self) -> bool {
        self == Self::OPEN
    }

    /// The name of this instance of a server, as records have it.
    pub fn name_of(self, server: &str) -> String {
        match self.0 {
            0 => server.to_owned(),
            1 => format!("{server} (isolated)"),
            number => format!("{server} (isolated {number})"),
        }
    }

    /// The name of the server, without what records add to that of an isolated one.
    pub fn server_of(name: &str) -> &str {
        let isolated = Self::ISOLATED.map(|instance| instance.name_of(""));
        let mut names = isolated
            .iter()
            .filter_map(|added| name.strip_suffix(added.as_str()));
        names.next().unwrap_or(name)
    }

    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::At(Instance::OPEN)
    }
}

impl Place {
    /// Where it is, or will be.
    pub fn instance(self) -> Instance {
        match self {
            Self::At(instance) | Self::Moving(instance) => instance,
        }
    }

    pub fn is_moving(self) -> bool {
        matches!(self, Self::Moving(_))
    }
}

impl Thresholds {
    /// Those of the isolated instances in turn, which rise.
    pub fn new(rising: impl IntoIterator<Item = i64>) -> Self {
        Self(rising.into_iter().take(Instance::ISOLATED.len()).collect())
    }

    /// Whether there is one place only.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The instance that a session of this level speaks to.
    pub fn instance_at(&self, level: i64) -> Instance {
        let mut narrowest_first = self.0.iter().zip(Instance::ISOLATED).rev();
        let reached = narrowest_first.find(|(least, _)| level >= **least);
        reached.map_or(Instance::OPEN, |(_, instance)| instance)
    }
}

impl<T> PerInstance<T> {
    pub fn of(&self, instance: Instance) -> &T {
        let [open, isolated @ ..] = &self.0;
        let isolated = instance
            .number()
            .checked_sub(1)
            .and_then(|at| isolated.get(at));
        isolated.unwrap_or(open)
    }
}

impl<T: Default> PerInstance<T> {
    /// Takes what there is of one instance.
    pub fn take(&mut self, instance: Instance) -> T {
        let place = self.0.get_mut(instance.number());
        place.map(std::mem::take).unwrap_or_default()
    }

    pub fn set(&mut self, instance: Instance, value: T) {
        if let Some(place) = self.0.get_mut(instance.number()) {
            *place = value;
        }
    }

    /// Those of the first instances in turn, and the default of the others.
    pub fn from_first(first: impl IntoIterator<Item = T>) -> Self {
        let mut first = first.into_iter();
        Self(std::array::from_fn(|_| first.next().unwrap_or_default()))
    }
}

/// A message of the agent's that waits until its session has arrived.
#[derive(Debug)]
pub struct Travelling {
    /// The name under which the audit knows it.
    pub reference: Arc<str>,
    pub frame: Vec<u8>,
    pub stream: Stream,
    pub peer: Option<IpAddr>,
    pub trace: Option<TraceContext>,
    /// When it came: time since the clock was made.
    pub came: Duration,
    pub attempt: Attempt,
}
