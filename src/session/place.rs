//! Which instance of the server a session speaks to: the open one, or the isolated one. One way.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::pending::Taken;
use super::{
    Announced, Asked, Attempt, Cursors, Followed, Lifecycle, Probe, Readiness, Session, State,
};
use crate::wire::{KnownMethod, Stream, TraceContext};

/// Where a session stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// It speaks to the server as every session does that begins.
    #[default]
    Open,
    /// It has left the open server, and the isolated one does not know yet what was agreed on.
    Moving,
    /// It speaks to the isolated server, or to nobody while that one does not run.
    Isolated,
}

/// One of the two instances of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Instance {
    Open,
    Isolated,
}

/// Which instances of the server are reached over HTTP, where headers repeat what messages say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverHttp {
    pub open: bool,
    pub isolated: bool,
}

impl OverHttp {
    pub fn reaches(self, instance: Instance) -> bool {
        match instance {
            Instance::Open => self.open,
            Instance::Isolated => self.isolated,
        }
    }
}

/// One life of one server, among all that a session speaks to in the course of time: what a server
/// said or asked in an earlier one counts no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// The session has left the open server.
    pub has_left: bool,
    /// How often a server had ended before.
    pub ended: u64,
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

/// What a session does not take with it from the open server.
#[derive(Debug)]
pub struct LeftBehind {
    /// Requests to it that get no reply any more: streams without an end, a handshake that was not
    /// completed, and what the gate asked for itself.
    pub given_up: Vec<Taken>,
    /// What it had asked the agent.
    pub asked: Vec<Taken>,
    /// What it had asked, and waits for a person.
    pub questions: Vec<Asked>,
    /// Lists that the agent has got of it, and that are not compared with those of the isolated one,
    /// by what tells that they are others.
    pub lists: Vec<KnownMethod>,
}

impl Run {
    pub fn instance(self) -> Instance {
        if self.has_left {
            Instance::Isolated
        } else {
            Instance::Open
        }
    }
}

impl State {
    /// The server that is spoken to by now.
    pub fn run(&self) -> Run {
        Run {
            has_left: self.place != Place::Open,
            ended: self.ended,
        }
    }
}

impl Session {
    /// The same before servers that are reached so.
    #[must_use]
    pub fn reaching(mut self, over_http: OverHttp) -> Self {
        self.over_http = over_http;
        self
    }

    pub fn run(&self) -> Run {
        self.state().run()
    }

    pub fn place(&self) -> Place {
        self.state().place
    }

    /// The session leaves the open server: nothing that it said of itself counts any more, and
    /// nothing but replies that are still waited for is heard of it. None if the session has left
    /// before: there is no way back.
    pub fn leave_open(&self) -> Option<LeftBehind> {
        let mut state = self.state();
        if state.place != Place::Open {
            return None;
        }
        state.place = Place::Moving;
        state.upstream = Readiness::Repeating;
        let tools = KnownMethod::ToolsListChanged;
        let mut lists = state.promised.clone();
        lists.retain(|changed| state.listed.contains(changed));
        // Where there is a handshake, the isolated server is asked for its tools behind it.
        let compares = matches!(state.lifecycle, Lifecycle::Ready(_));
        if compares && lists.contains(&tools) {
            state.tools_left = Some(state.tools.prints());
            lists.retain(|changed| *changed != tools);
        }
        state.tools.start_over();
        state.probe = Probe::Idle;
        // What the agent was shown is what the open server wrote: a prompt of the same name is another
        // one, until the agent has seen it.
        state.prompts.forget();
        state.cursors = Cursors::default();
        state.followed = Followed::default();
        state.announced = Announced::default();
        let given_up = state.to_upstream.leave(|exchange| {
            exchange.deadline.is_none()
                || exchange.origin.is_gate()
                || exchange.method == KnownMethod::Initialize
        });
        let asked = state.to_agent.take_of_peer();
        let questions = state.asking.take_of_server();
        Some(LeftBehind {
            given_up,
            asked,
            questions,
            lists,
        })
    }

    /// The isolated server knows what it must, or will not come to know it: whoever waits for that
    /// goes on.
    pub fn arrived(&self) {
        {
            let mut state = self.state();
            if state.place != Place::Moving {
                return;
            }
            state.place = Place::Isolated;
        }
        self.arrived.notify_waiters();
        // Calls that waited for the open server's list are judged by the isolated one's.
        self.parked_may_go_on();
    }

    /// Resolves when the session is not on its way. False if somebody has [taken](State::travelling) the
    /// message meanwhile that waits for that: then it has been answered.
    pub async fn until_arrived(&self, message: impl FnOnce() -> Travelling) -> bool {
        let reference = {
            let mut state = self.state();
            if state.place != Place::Moving {
                return true;
            }
            let message = message();
            let reference = Arc::clone(&message.reference);
            state.travelling.push(message);
            reference
        };
        loop {
            // Before the look: what is told in between is not lost.
            let arrived = self.arrived.notified();
            if self.place() != Place::Moving {
                break;
            }
            arrived.await;
        }
        let travelling = &mut self.state().travelling;
        let at = travelling.iter().position(|it| it.reference == reference);
        at.is_some_and(|at| {
            travelling.remove(at);
            true
        })
    }
}
