//! What is not shown, and not answered, of tasks.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::gate::Gate;
use crate::gate::identify::Role;
use crate::gate::inspect::bad;
use crate::gate::listing::next_cursor;
use crate::gate::oblige::Removal;
use crate::gate::pin::Pins;
use crate::gate::refuse::Refusal;
use crate::gate::understand::{Circumstances, Understood, may_ask};
use crate::policy::PolicySnapshot;
use crate::wire::{KnownMethod, Value};

impl Gate {
    /// What a message does not show or say of tasks: those of others in a list, and answers to what
    /// no task asked.
    pub(in crate::gate) fn tasks_removals<'m>(
        &self,
        understood: &Understood<'m>,
        snapshot: &PolicySnapshot,
        pins: Pins<'_>,
        now: Circumstances,
    ) -> Result<Vec<Removal<'m>>, Refusal> {
        let at = self.clock.elapsed();
        let session = pins.session;
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
                let items = items.ok_or_else(|| bad("its `tasks` are not an array"))?;
                // A server may list one task any number of times.
                let mut known: HashMap<String, bool> = HashMap::new();
                let mut is_shown = |id: Cow<'_, str>| {
                    *known.entry(id.into_owned()).or_insert_with_key(|id| {
                        let works = self.tasks.listed(understood, session, at, id);
                        let look = self.look(snapshot);
                        let scene = &identified.scene;
                        !works.is_empty() && may_ask(&works, scene, snapshot, pins, now, look)
                    })
                };
                let hidden = items.items().enumerate().filter(|(_, item)| {
                    let id = item.get("taskId").and_then(Value::as_str);
                    !id.is_some_and(&mut is_shown)
                });
                let removal = |(index, item)| Removal {
                    item,
                    pointer: format!("/result/tasks/{index}"),
                    because: "it did not begin here, or is not permitted any more".to_owned(),
                };
                Ok(hidden.map(removal).collect())
            }
            Role::Request { .. } | Role::Notification { .. } | Role::Reply(_) => Ok(Vec::new()),
        }
    }
}
