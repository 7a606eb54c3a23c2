//! The way of a session from one instance of the server to a narrower one.

use std::sync::Arc;

use crate::wire::KnownMethod;

use super::announced::Announced;
use super::asked::Asked;
use super::cursors::Cursors;
use super::followed::Followed;
use super::lifecycle::{Lifecycle, Probe};
use super::pending::{Taken, Waits};
use super::place::{Instance, OverHttp, Place, Run, Travelling};
use super::remembered::{Greeted, Readiness};
use super::state::{Session, State};

/// What a session does not take with it from the instance that it leaves.
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
    /// The next instance has agreed to the handshake already.
    pub greeted: Option<Greeted>,
}

impl State {
    /// The server that is spoken to by now.
    pub fn run(&self) -> Run {
        Run {
            instance: self.connection.place.instance(),
            ended: self.connection.ended,
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
        self.state().connection.place
    }

    /// The session leaves its instance of the server for this one: nothing that the other said of
    /// itself counts any more, and nothing but replies that are still waited for is heard of it. None if
    /// the session is there, or beyond: there is no way back.
    pub fn leave_for(&self, to: Instance) -> Option<LeftBehind> {
        let mut state = self.state();
        let from = state.connection.place.instance();
        if from >= to {
            return None;
        }
        state.connection.place = Place::Moving(to);
        state.connection.upstream = Readiness::Repeating;
        let tools = KnownMethod::ToolsListChanged;
        let mut lists = state.lists.promised.clone();
        lists.retain(|changed| state.lists.listed.contains(changed));
        // Where there is a handshake, the isolated server is asked for its tools behind it.
        let compares = matches!(state.protocol.lifecycle, Lifecycle::Ready(_));
        if compares && lists.contains(&tools) {
            let prints = state.lists.tools.prints();
            // Where the session goes on before it has looked, the agent has what it had before.
            state.lists.tools_left.get_or_insert(prints);
            lists.retain(|changed| *changed != tools);
        }
        state.lists.tools.start_over();
        state.protocol.probe = Probe::Idle;
        // What the agent was shown is what the open server wrote: a prompt of the same name is another
        // one, until the agent has seen it.
        state.lists.prompts.forget();
        state.lists.cursors = Cursors::default();
        state.agent_side.followed = Followed::default();
        state.agent_side.announced = Announced::default();
        let given_up = state.waiting.to_upstream.leave((from, to), |exchange| {
            exchange.deadline.is_none()
                || exchange.origin.is_gate()
                || exchange.method == KnownMethod::Initialize
        });
        let greeted = state.connection.greeted.take(to);
        let mut asked = state.waiting.to_agent.take_of_peer();
        for taken in &mut asked {
            taken.waits = Waits::Elsewhere(from);
        }
        let questions = state.waiting.asking.take_of_server();
        Some(LeftBehind {
            given_up,
            asked,
            questions,
            lists,
            greeted,
        })
    }

    /// The narrower server knows what it must, or never will: what waited for that goes on.
    pub fn arrived(&self) {
        {
            let mut state = self.state();
            let Place::Moving(to) = state.connection.place else {
                return;
            };
            state.connection.place = Place::At(to);
        }
        self.arrived.notify_waiters();
        // Calls that waited for the list of the server that was left are judged by this one's.
        self.parked_may_go_on();
    }

    /// Resolves when the session is not on its way. False if somebody has [taken](super::Waiting::travelling) the
    /// message meanwhile that waits for that: then it has been answered.
    pub async fn until_arrived(&self, message: impl FnOnce() -> Travelling) -> bool {
        let reference = {
            let mut state = self.state();
            if !state.connection.place.is_moving() {
                return true;
            }
            let message = message();
            let reference = Arc::clone(&message.reference);
            state.waiting.travelling.push(message);
            reference
        };
        loop {
            // Before the look, so that no notice in between is lost.
            let arrived = self.arrived.notified();
            if !self.place().is_moving() {
                break;
            }
            arrived.await;
        }
        let travelling = &mut self.state().waiting.travelling;
        let at = travelling.iter().position(|it| it.reference == reference);
        at.is_some_and(|at| {
            travelling.remove(at);
            true
        })
    }
}
