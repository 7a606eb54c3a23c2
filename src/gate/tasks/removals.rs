//! What is not shown, and not answered, of tasks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::session::OverHttp;
use crate::wire::{KnownMethod, Side, Value, pointer_step};

use crate::gate::classified::Role;
use crate::gate::context::RequestContext;
use crate::gate::edits::Removal;
use crate::gate::filter::{Filter, Flow, Hook, Placement};
use crate::gate::listing::next_cursor;
use crate::gate::look::Look;
use crate::gate::rejection::Rejection;

use super::Tasks;
use super::asked::{may_ask, may_be_told};
use super::memory::Work;
use super::told::beyond_its_state;

/// Keeps the tasks that pass, and takes out of messages what is not shown of them.
#[derive(Debug)]
pub(in crate::gate) struct TaskFilter {
    tasks: Arc<Tasks>,
    over_http: OverHttp,
}

impl Filter for TaskFilter {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let over_http = self.over_http;
        self.tasks
            .are_apart(&cx.understood, cx.session, over_http, cx.now.at)?;
        Flow::DONE
    }

    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let removals = self.removals(cx)?;
        cx.plan.removals.extend(removals);
        Flow::DONE
    }

    fn on_sent(&self, cx: &mut RequestContext<'_>, placement: Placement) {
        if placement == Placement::Current {
            let (session, at) = (cx.session, cx.now.at);
            self.tasks.note(&cx.understood, session, self.over_http, at);
        }
    }
}

impl TaskFilter {
    pub(in crate::gate) fn new(tasks: Arc<Tasks>, over_http: OverHttp) -> Self {
        Self { tasks, over_http }
    }

    /// What a message does not show or say of tasks: those of others in a list, what has come of them
    /// where that is not asked for, and answers to what no task asked.
    fn removals<'m>(&self, message: &RequestContext<'m>) -> Result<Vec<Removal<'m>>, Rejection> {
        let (understood, session, at) = (&message.understood, message.session, message.now.at);
        let identified = &understood.identified;
        match &identified.role {
            Role::Request {
                method: KnownMethod::TasksUpdate,
                ..
            } => Ok(self.tasks.unasked(understood, session, at)),
            // They are told in the reply to `tasks/get` as well, where they are judged.
            Role::Notification {
                method: KnownMethod::TaskNews | KnownMethod::TaskStatus,
            } => {
                let params = identified.message.params();
                let asks = params.and_then(|params| params.get("inputRequests"));
                let removal = |item| Removal {
                    item,
                    pointer: "/params/inputRequests".to_owned(),
                    because: "what a task asks is told when the agent asks for it".to_owned(),
                };
                Ok(asks.map(removal).into_iter().collect())
            }
            Role::Reply(taken) if taken.exchange.method == KnownMethod::TasksList => {
                let Some(result) = identified.message.result() else {
                    return Ok(Vec::new());
                };
                next_cursor(identified.message)?;
                let items = result.get("tasks").filter(|items| items.is_array());
                let items =
                    items.ok_or_else(|| Rejection::bad_reply("its `tasks` are not an array"))?;
                // A server may list one task any number of times.
                let mut known: HashMap<String, bool> = HashMap::new();
                let mut is_shown = |id: Cow<'_, str>| {
                    *known
                        .entry(id.into_owned())
                        .or_insert_with_key(|id| self.may_be_listed(message, id))
                };
                let is_open = |item: Value<'_>| self.is_open(message, item);
                let mut removals = Vec::new();
                for (index, item) in items.items().enumerate() {
                    let pointer = format!("/result/tasks/{index}");
                    let id = item.get("taskId").and_then(Value::as_str);
                    if id.is_some_and(&mut is_shown) {
                        if is_open(item) {
                            continue;
                        }
                        removals.extend(of_its_result(item, &pointer, identified.from));
                    } else {
                        removals.push(Removal {
                            item,
                            pointer,
                            because: "it did not begin here, or is not permitted any more"
                                .to_owned(),
                        });
                    }
                }
                Ok(removals)
            }
            // To give up what was begun reads nothing.
            Role::Reply(taken) if taken.exchange.method == KnownMethod::TasksCancel => {
                let told = identified.message.result();
                let told = told.filter(|it| !self.is_open(message, *it));
                let removals = told
                    .into_iter()
                    .flat_map(|it| of_its_result(it, "/result", identified.from));
                Ok(removals.collect())
            }
            Role::Request { .. } | Role::Notification { .. } | Role::Reply(_) => Ok(Vec::new()),
        }
    }
}

impl TaskFilter {
    /// Whether all may pass that is told of a task.
    fn is_open(&self, message: &RequestContext<'_>, told: Value<'_>) -> bool {
        let Some(id) = told.get("taskId").and_then(Value::as_str) else {
            return false;
        };
        let works = self.works(message, &id);
        let (scene, snapshot) = (&message.understood.identified.scene, message.snapshot);
        let look = Look::under(snapshot, message.terms);
        may_be_told(
            &works,
            told,
            scene,
            snapshot,
            message.pins,
            message.now,
            look,
        )
    }

    /// Whether the agent began the task, and policy still permits to ask about it.
    fn may_be_listed(&self, message: &RequestContext<'_>, id: &str) -> bool {
        let works = self.works(message, id);
        let (scene, snapshot) = (&message.understood.identified.scene, message.snapshot);
        let look = Look::under(snapshot, message.terms);
        !works.is_empty() && may_ask(&works, scene, snapshot, message.pins, message.now, look)
    }

    /// The requests that the task of this id can be of.
    fn works(&self, message: &RequestContext<'_>, id: &str) -> Vec<Work> {
        let (understood, session) = (&message.understood, message.session);
        self.tasks.listed(understood, session, message.now.at, id)
    }
}

/// What a server tells of a task's result to whoever has not asked for it: a session that asks reads it.
fn of_its_result<'m>(
    told: Value<'m>,
    pointer: &str,
    from: Side,
) -> impl Iterator<Item = Removal<'m>> {
    let more = beyond_its_state(told).filter(move |_| from == Side::Upstream);
    more.map(move |(key, item)| Removal {
        item,
        pointer: format!("{pointer}/{}", pointer_step(&key)),
        because: "what comes of a task is told when the agent asks for it".to_owned(),
    })
}
