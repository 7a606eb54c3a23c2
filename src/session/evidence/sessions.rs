//! The tables of all sessions, within one bound.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::marks::Marks;
use crate::policy::ServerKey;
use crate::session::SessionKey;

/// Bytes of all tables.
const MOST_BYTES: usize = 64 << 20;

/// The part of them that a principal's sessions have, whatever others do: one in so many.
const SHARES: usize = 8;

/// Beside its marks, a table takes about so many bytes.
const OF_EACH: usize = 512;

/// What the arguments of a call repeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copies {
    /// The servers whose results they repeat, without the called one.
    pub from: BTreeSet<String>,
    /// They may repeat more: the gate has not kept all results, or has not read all of the arguments.
    pub incomplete: bool,
}

impl Copies {
    /// Of a session that may be any.
    pub fn unknown() -> Self {
        Self {
            incomplete: true,
            ..Self::default()
        }
    }
}

/// What sessions have got, by session.
#[derive(Debug)]
pub(super) struct Sessions {
    by_key: HashMap<SessionKey, Vec<OfServer>>,
    bytes: usize,
    most: usize,
    /// Counts the uses of tables.
    uses: u64,
}

/// What one session has got of one server.
#[derive(Debug)]
struct OfServer {
    server: ServerKey,
    marks: Marks,
    /// No other table has the same.
    last_use: u64,
}

impl OfServer {
    fn bytes(&self) -> usize {
        OF_EACH + self.marks.bytes()
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self::within(MOST_BYTES)
    }
}

impl Sessions {
    fn within(most: usize) -> Self {
        Self {
            by_key: HashMap::new(),
            bytes: 0,
            most,
            uses: 0,
        }
    }

    /// A session reads from a server; `sources` are those that it has read from before.
    pub(super) fn begin(
        &mut self,
        session: &SessionKey,
        server: &ServerKey,
        sources: &BTreeSet<String>,
    ) {
        let is_known = self.of(session).any(|it| it.server == *server);
        self.change(session, server, |marks| {
            marks.has_forgotten |= !is_known && sources.contains(server.as_str());
        });
    }

    /// Keeps what a session has got of a server.
    pub(super) fn keep(&mut self, session: &SessionKey, server: &ServerKey, marks: &[u64]) {
        let keep = |kept: &mut Marks| marks.iter().for_each(|mark| kept.add(*mark));
        self.change(session, server, keep);
    }

    /// More was got of the server than is kept.
    pub(super) fn forget(&mut self, session: &SessionKey, server: &ServerKey) {
        self.change(session, server, |marks| marks.has_forgotten = true);
    }

    fn of(&self, session: &SessionKey) -> impl Iterator<Item = &OfServer> {
        self.by_key.get(session).into_iter().flatten()
    }

    fn change(
        &mut self,
        session: &SessionKey,
        server: &ServerKey,
        change: impl FnOnce(&mut Marks),
    ) {
        self.uses += 1;
        let all = self.by_key.entry(session.clone()).or_default();
        let place = all.iter().position(|it| it.server == *server);
        let known = place.map(|place| all.swap_remove(place));
        let before = known.as_ref().map_or(0, OfServer::bytes);
        let mut marks = known.map(|it| it.marks).unwrap_or_default();
        change(&mut marks);
        let changed = OfServer {
            server: server.clone(),
            marks,
            last_use: self.uses,
        };
        self.bytes += changed.bytes() - before;
        all.push(changed);
        self.bound();
    }

    /// What is known before anything is looked for, and whether the session has got anything of other servers.
    pub(super) fn others(
        &self,
        session: &SessionKey,
        server: &ServerKey,
        sources: &BTreeSet<String>,
    ) -> (Copies, bool) {
        let mut others = sources.iter().filter(|key| *key != server.as_str());
        let is_known = |key: &String| self.of(session).any(|it| it.server.as_str() == key);
        let are_known = others.all(is_known);
        let others = || self.of(session).filter(|it| it.server != *server);
        let copies = Copies {
            from: BTreeSet::new(),
            incomplete: !are_known || others().any(|it| it.marks.has_forgotten),
        };
        (copies, others().any(|it| it.marks.bytes() > 0))
    }

    /// The other servers of which the session has got one of the marks.
    pub(super) fn look(
        &mut self,
        session: &SessionKey,
        server: &ServerKey,
        marks: &[u64],
    ) -> Vec<String> {
        let all = self.by_key.get_mut(session).into_iter().flatten();
        let mut found = Vec::new();
        for other in all.filter(|it| it.server != *server) {
            self.uses += 1;
            other.last_use = self.uses;
            if marks.iter().any(|mark| other.marks.has(*mark)) {
                found.push(other.server.as_str().to_owned());
            }
        }
        found
    }

    /// Drops tables until three quarters of the bytes are left, as finding them takes time. Tables beyond a
    /// principal's share go first, so that its many sessions drop none of others; then the least recently used.
    fn bound(&mut self) {
        if self.bytes <= self.most {
            return;
        }
        let mut tables: Vec<(&str, &OfServer)> = Vec::new();
        for (key, all) in &self.by_key {
            tables.extend(all.iter().map(|table| (key.principal(), table)));
        }
        tables.sort_unstable_by_key(|(_, table)| Reverse(table.last_use));
        let mut held: HashMap<&str, usize> = HashMap::new();
        tables.sort_by_cached_key(|(principal, table)| {
            let held = held.entry(principal).or_default();
            *held += table.bytes();
            *held > self.most / SHARES
        });
        let mut bytes = 0;
        let gone = tables.into_iter().filter(|(_, table)| {
            bytes += table.bytes();
            bytes > self.most / 4 * 3
        });
        let gone: HashSet<u64> = gone.map(|(_, table)| table.last_use).collect();
        self.by_key.retain(|_, all| {
            all.retain(|it| !gone.contains(&it.last_use));
            !all.is_empty()
        });
        let tables = self.by_key.values().flatten();
        self.bytes = tables.map(OfServer::bytes).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> ServerKey {
        ServerKey::of(text).unwrap()
    }

    fn session(number: usize) -> SessionKey {
        SessionKey::of(&format!("agent {number}"), None)
    }

    fn from(all: &mut Sessions, number: usize, sources: &[&str]) -> (bool, bool) {
        let sources = sources.iter().map(|it| (*it).to_owned()).collect();
        let (copies, _) = all.others(&session(number), &key("mail"), &sources);
        let found = all.look(&session(number), &key("mail"), &[1]);
        (!found.is_empty(), copies.incomplete)
    }

    #[test]
    fn all_sessions_stay_within_one_bound_and_the_least_used_are_forgotten() {
        let most = 100 << 10;
        let mut all = Sessions::within(most);
        for number in 0..1000 {
            all.keep(&session(number), &key("crm"), &[1, 2, 3]);
            assert!(all.bytes <= most);
            assert_eq!(from(&mut all, number, &["crm"]), (true, false));
            // The first is in use all the time.
            assert_eq!(from(&mut all, 0, &["crm"]), (true, false));
        }
        let counted: usize = all.by_key.values().flatten().map(OfServer::bytes).sum();
        assert_eq!(counted, all.bytes);
        assert_eq!(from(&mut all, 1, &["crm"]), (false, true));
        assert!(all.by_key.len() < 100);
    }

    #[test]
    fn a_greedy_principal_makes_the_gate_forget_its_own_results_before_those_of_others() {
        let check = |table: fn(usize) -> (SessionKey, ServerKey)| {
            let mut all = Sessions::within(100 << 10);
            let others = 0..10;
            for number in others.clone() {
                all.keep(&session(number), &key("crm"), &[1]);
            }
            for number in 0..1000 {
                let (session, server) = table(number);
                all.keep(&session, &server, &[1]);
            }
            for number in others {
                assert_eq!(from(&mut all, number, &["crm"]), (true, false));
            }
            let mut has = |number| {
                let (session, server) = table(number);
                let found = all.look(&session, &key("mail"), &[1]);
                found.contains(&server.as_str().to_owned())
            };
            assert_eq!((has(0), has(999)), (false, true));
        };
        check(|number| {
            (
                SessionKey::of("greedy", Some(&number.to_string())),
                key("crm"),
            )
        });
        check(|number| {
            (
                SessionKey::of("greedy", None),
                key(&format!("crm-{number}")),
            )
        });
    }

    #[test]
    fn what_a_session_has_read_without_a_table_is_incomplete() {
        let mut all = Sessions::default();
        assert_eq!(from(&mut all, 1, &[]), (false, false));
        assert_eq!(from(&mut all, 1, &["mail"]), (false, false));
        assert_eq!(from(&mut all, 1, &["crm"]), (false, true));
        assert_eq!(from(&mut all, 1, &["?"]), (false, true));
        all.begin(&session(1), &key("crm"), &BTreeSet::new());
        assert_eq!(from(&mut all, 1, &["crm"]), (false, false));
        all.keep(&session(1), &key("crm"), &[1]);
        all.begin(&session(1), &key("crm"), &["crm".to_owned()].into());
        assert_eq!(from(&mut all, 1, &["crm"]), (true, false));
        all.forget(&session(1), &key("crm"));
        assert_eq!(from(&mut all, 1, &["crm"]), (true, true));
        // Before a restart, or before its table was forgotten.
        all.begin(&session(3), &key("crm"), &["crm".to_owned()].into());
        assert_eq!(from(&mut all, 3, &["crm"]), (false, true));
        // Its own results, and those of another session.
        all.keep(&session(2), &key("mail"), &[1]);
        assert_eq!(from(&mut all, 2, &["mail"]), (false, false));
    }
}
