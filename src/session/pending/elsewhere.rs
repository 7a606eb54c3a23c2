//! What waits for the other instances of a server, to which the session does not speak: it has left them, or
//! may go there.

use super::PendingTable;
use crate::session::{Exchange, Instance, Taken};

impl PendingTable {
    /// The session goes from one instance to another: what is in flight waits for the first alone, but for
    /// what is given up, which is spent, oldest first. What still waits for an earlier one is given up as
    /// well, and what the next one was asked already waits for the one that is spoken to.
    pub fn leave(
        &mut self,
        (from, to): (Instance, Instance),
        given_up: impl Fn(&Exchange) -> bool,
    ) -> Vec<Taken> {
        let before = self.elsewhere.clone();
        for minted in self.by_minted.keys() {
            self.elsewhere.entry(*minted).or_insert(from);
        }
        let given_up = self.take_where(|minted, exchange| match before.get(&minted) {
            Some(instance) => *instance < to,
            None => given_up(exchange),
        });
        self.elsewhere.retain(|_, instance| *instance != to);
        given_up
    }

    /// A request that was just admitted is for another instance than the one that is spoken to.
    pub fn assign(&mut self, minted: u64, instance: Instance) {
        self.elsewhere.insert(minted, instance);
    }

    /// Lets the next message of another instance answer this request, and no other one. False if the
    /// request does not wait for that instance.
    pub fn answer_elsewhere(&mut self, instance: Instance, minted: Option<u64>) -> bool {
        let is_awaited = |minted: &u64| self.elsewhere.get(minted) == Some(&instance);
        self.answering = minted.filter(is_awaited);
        self.answering.is_some()
    }

    /// The answer was taken in.
    pub fn answered_elsewhere(&mut self) {
        self.answering = None;
    }

    /// A request that had not left yet goes to the server that is spoken to. False if it waits no
    /// more.
    pub fn bring_here(&mut self, minted: u64) -> bool {
        self.elsewhere.remove(&minted).is_some()
    }

    /// The instances that something waits for, beside the one that is spoken to.
    pub fn waited_for_elsewhere(&self) -> impl Iterator<Item = Instance> {
        self.elsewhere.values().copied()
    }

    /// Spends a request that waits for this instance, which is not spoken to.
    pub fn take_one_elsewhere(&mut self, instance: Instance, minted: u64) -> Option<Taken> {
        let waits = self.elsewhere.get(&minted) == Some(&instance);
        waits.then(|| self.take_minted(minted))?
    }

    /// Spends what waits for this instance, which is not spoken to, oldest first.
    pub fn take_elsewhere(&mut self, instance: Instance) -> Vec<Taken> {
        let elsewhere = self.elsewhere.clone();
        self.take_where(|minted, _| elsewhere.get(&minted) == Some(&instance))
    }

    /// Spends what waits for the server that is spoken to, oldest first.
    pub fn take_here(&mut self) -> Vec<Taken> {
        let elsewhere = self.elsewhere.clone();
        self.take_where(|minted, _| !elsewhere.contains_key(&minted))
    }
}
