//! The memory that bodies take while they come, and who has how much of it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::Refused;

/// What room is counted in, in bytes.
const UNIT: usize = 1024;

/// Room of so many bytes. The largest body fits into it, whatever it holds: what such a body takes is
/// kept for one at a time, so that those that have begun cannot all wait for each other.
#[derive(Debug)]
pub(super) struct Budget {
    units: Arc<Semaphore>,
    last: Arc<Semaphore>,
}

/// Where a body takes its room: in its sender's share, which is asked for when it takes any, and in
/// what there is for all.
pub(super) struct Room<'b, S> {
    pub(super) share: S,
    pub(super) all: &'b Arc<Budget>,
}

/// What one body holds until this is dropped.
pub(super) struct Held {
    budgets: [Arc<Budget>; 2],
    share: Part,
    all: Part,
}

#[derive(Default)]
struct Part {
    units: usize,
    permit: Option<OwnedSemaphorePermit>,
    last: Option<OwnedSemaphorePermit>,
}

impl Budget {
    pub(super) fn new(bytes: usize, largest: usize) -> Self {
        let units = bytes.saturating_sub(largest) / UNIT;
        Self {
            units: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))),
            last: Arc::new(Semaphore::new(1)),
        }
    }

    async fn more(&self, units: u32) -> Result<OwnedSemaphorePermit, Refused> {
        let permit = Arc::clone(&self.units).acquire_many_owned(units).await;
        permit.map_err(|_| Refused::Closed)
    }

    async fn last(&self) -> Result<OwnedSemaphorePermit, Refused> {
        let permit = Arc::clone(&self.last).acquire_owned().await;
        permit.map_err(|_| Refused::Closed)
    }
}

impl Held {
    pub(super) fn of(share: Arc<Budget>, all: Arc<Budget>) -> Self {
        Self {
            budgets: [share, all],
            share: Part::default(),
            all: Part::default(),
        }
    }

    /// Resolves when there is room for this many bytes in all. A body may wait for the last room of all
    /// only if it has the last room of its share. So a sender waits behind at most one body of each
    /// other sender, and the body that has the last room of all never waits.
    pub(super) async fn reach(&mut self, bytes: usize) -> Result<(), Refused> {
        let Self {
            budgets: [of_share, of_all],
            share,
            all,
        } = self;
        let units = bytes.div_ceil(UNIT);
        if let Some(more) = share.lacks(units)? {
            tokio::select! {
                biased;
                permit = of_share.more(more) => share.add(permit?),
                last = of_share.last() => share.last = Some(last?),
            }
        }
        if let Some(more) = all.lacks(units)? {
            let last = async {
                if share.last.is_none() {
                    share.last = Some(of_share.last().await?);
                }
                of_all.last().await
            };
            tokio::select! {
                biased;
                permit = of_all.more(more) => all.add(permit?),
                last = last => all.last = Some(last?),
            }
        }
        Ok(())
    }
}

impl Part {
    /// How many units more it takes to have so many.
    fn lacks(&self, units: usize) -> Result<Option<u32>, Refused> {
        let lacking = units.saturating_sub(self.units);
        if lacking == 0 || self.last.is_some() {
            return Ok(None);
        }
        let lacking = u32::try_from(lacking).map_err(|_| Refused::TooManyBodies)?;
        Ok(Some(lacking))
    }

    fn add(&mut self, permit: OwnedSemaphorePermit) {
        self.units += permit.num_permits();
        match &mut self.permit {
            Some(held) => held.merge(permit),
            none => *none = Some(permit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: usize = 16 * UNIT;

    #[tokio::test]
    async fn all_bodies_get_through_and_take_no_more_than_there_is() {
        let all = Arc::new(Budget::new(3 * LARGEST, LARGEST));
        let shares: Vec<_> = (0..4)
            .map(|_| Arc::new(Budget::new(LARGEST, LARGEST)))
            .chain([Arc::new(Budget::new(2 * LARGEST, LARGEST))])
            .collect();
        let bodies = (0..200).map(|number: usize| {
            let share = Arc::clone(&shares[number % shares.len()]);
            let all = Arc::clone(&all);
            tokio::spawn(async move {
                let mut held = Held::of(share, all);
                for bytes in (number..=LARGEST).step_by(UNIT + number) {
                    held.reach(bytes).await.unwrap();
                    tokio::task::yield_now().await;
                }
            })
        });
        for body in bodies.collect::<Vec<_>>() {
            body.await.unwrap();
        }
        // Nothing of it is kept.
        assert_eq!(all.units.available_permits(), 2 * LARGEST / UNIT);
        assert_eq!(all.last.available_permits(), 1);
    }

    #[tokio::test]
    async fn one_sender_has_one_turn_at_the_last_room_of_all() {
        let all = Arc::new(Budget::new(LARGEST, LARGEST));
        let [crowd, other] = [(); 2].map(|()| Arc::new(Budget::new(8 * LARGEST, LARGEST)));
        let turns = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut first = Held::of(Arc::clone(&crowd), Arc::clone(&all));
        first.reach(LARGEST).await.unwrap();
        let senders = std::iter::repeat_n((&crowd, "crowd"), 8).chain([(&other, "other")]);
        let waiting = senders.map(|(share, name)| {
            let (share, all, turns) = (Arc::clone(share), Arc::clone(&all), Arc::clone(&turns));
            tokio::spawn(async move {
                let mut held = Held::of(share, all);
                held.reach(LARGEST).await.unwrap();
                turns.lock().unwrap().push(name);
            })
        });
        let waiting: Vec<_> = waiting.collect();
        while all.last.available_permits() > 0 || other.last.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        drop(first);
        for body in waiting {
            body.await.unwrap();
        }
        let turns = turns.lock().unwrap();
        let place = turns.iter().position(|name| *name == "other");
        assert!(place.is_some_and(|place| place <= 1), "{turns:?}");
    }
}
