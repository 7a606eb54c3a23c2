//! What replayed records come to, in groups.

use std::collections::BTreeMap;

use crate::audit::query::{LineError, LogRecord};
use crate::audit::read::{Piece, Position};
use crate::policy_tests::{JudgedRecord, ReplayJudge, ReplayedDecision, TestDecision};

/// The most groups. Agents choose names of tools, so that a log may have any number.
const MOST_GROUPS: usize = 10_000;

/// The records of a log, in groups that fit into bounded memory.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) same: u64,
    pub(super) half_lines: u64,
    pub(super) groups: BTreeMap<Group, Members>,
    /// Records that change, and records that cannot be judged, of groups beyond the most.
    pub(super) other_changed: u64,
    /// Those of them that would be denied.
    pub(super) other_denied: u64,
    pub(super) other_unknown: u64,
}

/// Records that are told together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) was: TestDecision,
    pub(super) now: ReplayedDecision,
    pub(super) about: String,
}

/// The records of a group.
#[derive(Debug, Clone)]
pub(super) struct Members {
    pub(super) count: u64,
    /// The first.
    pub(super) example: Example,
}

/// One record, by its place.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) at: Position,
    pub(super) seq: u64,
}

/// What the lines of one piece come to, up to the first that is no record.
#[derive(Debug)]
pub(super) struct PieceTally {
    pub(super) tally: Tally,
    pub(super) error: Option<(u64, LineError)>,
}

impl PieceTally {
    pub(super) fn of(piece: &Piece, judge: &ReplayJudge) -> Self {
        let mut tally = Tally::default();
        for (number, line) in piece.lines() {
            let record = match LogRecord::parse(line) {
                Ok(record) => record,
                Err(LineError::Half) => {
                    tally.half_lines += 1;
                    continue;
                }
                Err(error) => {
                    let error = Some((number, error));
                    return Self { tally, error };
                }
            };
            if let Some(judged) = judge.judge(line) {
                let at = piece.position(number);
                let seq = record.seq;
                tally.count(judged, Example { at, seq });
            }
        }
        Self { tally, error: None }
    }
}

impl Tally {
    pub(super) fn is_empty(&self) -> bool {
        self.same == 0 && self.groups.is_empty() && self.other_unknown == 0
    }

    pub(super) fn count(&mut self, judged: JudgedRecord, example: Example) {
        let JudgedRecord { about, was, now } = judged;
        if now == ReplayedDecision::Same {
            self.same += 1;
        } else {
            let group = Group { was, now, about };
            self.put(group, Members { count: 1, example });
        }
    }

    /// Adds what comes later in the log.
    pub(super) fn add(&mut self, later: Self) {
        self.same += later.same;
        self.half_lines += later.half_lines;
        self.other_changed += later.other_changed;
        self.other_denied += later.other_denied;
        self.other_unknown += later.other_unknown;
        for (group, members) in later.groups {
            self.put(group, members);
        }
    }

    fn put(&mut self, group: Group, members: Members) {
        if let Some(known) = self.groups.get_mut(&group) {
            known.count += members.count;
        } else if self.groups.len() < MOST_GROUPS {
            self.groups.insert(group, members);
        } else if group.is_change() {
            self.other_changed += members.count;
            if group.was == TestDecision::Allow {
                self.other_denied += members.count;
            }
        } else {
            self.other_unknown += members.count;
        }
    }
}

impl Group {
    pub(super) fn is_change(&self) -> bool {
        matches!(self.now, ReplayedDecision::Changed(_))
    }
}
