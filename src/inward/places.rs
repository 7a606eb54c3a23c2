//! Who holds the connections of a listener, and who makes room for others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The connections that a listener may have at once. Clones are the same.
///
/// A connection waits for its peer, or its peer waits for it. The former can be closed at any time
/// and nothing is lost; so it is, when somebody else comes and no place is left.
#[derive(Debug, Clone)]
pub struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Arc<Semaphore>,
    most: usize,
    waiting: Mutex<Waiting>,
}

/// One connection, until this is dropped.
#[derive(Debug)]
pub struct Place {
    shared: Arc<Shared>,
    neighbourhood: IpAddr,
    /// Since when it waits for its peer, while it does; changed only under the lock of all.
    since: Mutex<Option<u64>>,
    displaced: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

/// It had to make room: what its peer sends now is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Displaced;

/// All connections that wait for their peers, each by when it began to.
#[derive(Debug, Default)]
struct Waiting {
    began: u64,
    of: HashMap<IpAddr, BTreeMap<u64, Arc<Notify>>>,
    /// How many there are of each, the most last.
    counts: BTreeSet<(usize, IpAddr)>,
}

impl Places {
    pub fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Shared {
            free: Arc::new(Semaphore::new(most)),
            most,
            waiting: Mutex::default(),
        }))
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.0.most.saturating_sub(self.0.free.available_permits())
    }

    /// How many addresses there are of which some connection waits.
    #[cfg(test)]
    pub(super) fn addresses(&self) -> usize {
        let waiting = self.0.waiting();
        assert_eq!(waiting.of.len(), waiting.counts.len());
        waiting.of.len()
    }

    /// A place for a connection from this address. If there is none, the connection makes room that
    /// has waited longest for its peer, of those of the address of which most do; none if every
    /// peer waits for an answer.
    pub async fn take(&self, peer: IpAddr) -> Option<Place> {
        let free = || Arc::clone(&self.0.free);
        let permit = if let Ok(permit) = free().try_acquire_owned() {
            permit
        } else {
            self.0.waiting().displace()?.notify_one();
            // It is dropped as soon as it is polled.
            free().acquire_owned().await.ok()?
        };
        let place = Place {
            shared: Arc::clone(&self.0),
            neighbourhood: neighbourhood(peer),
            since: Mutex::default(),
            displaced: Arc::default(),
            _permit: permit,
        };
        place.waits();
        Some(place)
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Resolves when it has to make room.
    pub async fn displaced(&self) {
        self.displaced.notified().await;
    }

    /// From now on its peer waits for an answer.
    ///
    /// # Errors
    /// When it has to make room: then there must be no answer, and nothing that it would be to.
    pub(super) fn works(&self) -> Result<(), Displaced> {
        let mut waiting = self.shared.waiting();
        let mut since = self.since();
        if let Some(began) = *since {
            waiting.remove(self.neighbourhood, began).ok_or(Displaced)?;
            *since = None;
        }
        Ok(())
    }

    /// From now on it waits for its peer, or does so anew.
    pub(super) fn waits(&self) {
        let mut waiting = self.shared.waiting();
        let mut since = self.since();
        if let Some(began) = *since
            && waiting.remove(self.neighbourhood, began).is_none()
        {
            // It has to make room already.
            return;
        }
        let displaced = Arc::clone(&self.displaced);
        *since = Some(waiting.insert(self.neighbourhood, displaced));
    }

    fn since(&self) -> MutexGuard<'_, Option<u64>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.shared.waiting();
        if let Some(since) = self.since().take() {
            waiting.remove(self.neighbourhood, since);
        }
    }
}

impl Waiting {
    fn insert(&mut self, from: IpAddr, displaced: Arc<Notify>) -> u64 {
        self.began += 1;
        let all = self.of.entry(from).or_default();
        self.counts.remove(&(all.len(), from));
        all.insert(self.began, displaced);
        self.counts.insert((all.len(), from));
        self.began
    }

    fn remove(&mut self, from: IpAddr, since: u64) -> Option<Arc<Notify>> {
        let all = self.of.get_mut(&from)?;
        let count = all.len();
        let removed = all.remove(&since)?;
        self.counts.remove(&(count, from));
        if all.is_empty() {
            self.of.remove(&from);
        } else {
            self.counts.insert((all.len(), from));
        }
        Some(removed)
    }

    fn displace(&mut self) -> Option<Arc<Notify>> {
        let (_, from) = *self.counts.last()?;
        let (since, _) = self.of.get(&from)?.first_key_value()?;
        self.remove(from, *since)
    }
}

/// What counts as one address: of IPv6 a network of 64 bits, which is the least that anybody has.
pub fn neighbourhood(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}
