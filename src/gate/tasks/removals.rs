//! What is not shown, and not answered, of tasks.

use crate::gate::Gate;
use crate::gate::identify::Role;
use crate::gate::inspect::bad;
use crate::gate::listing::next_cursor;
use crate::gate::oblige::Removal;
use crate::gate::refuse::Refusal;
use crate::gate::understand::{Circumstances, Understood, may_ask};
use crate::policy::PolicySnapshot;
use crate::session::Session;
use crate::wire::{KnownMethod, Value};

impl Gate {
    /// What a message does not show or say of tasks: those of others in a list, and answers to what
    /// no task asked.
    pub(in crate::gate) fn tasks_removals<'m>(
        &self,
        understood: &Understood<'m>,
        snapshot: &PolicySnapshot,
        session: &Session,
        now: Circumstances,
    ) -> Result<Vec<Removal<'m>>, Refusal> {
        let at = self.clock.elapsed();
        let identified = &understood.identified;
        match &identified.role {
            Role::Request {
                method: KnownMethod::TasksUpdate,
                ..
            } => Ok(self.tasks.unasked(understood, session, at)),
            Role::Reply(taken) if taken.exchange.method == KnownMethod::TasksList => {
                let Some(result) = identified.message.result() else {
                    return Ok(Vec::new());
                };
                next_cursor(identified.message)?;
                let items = result.get("tasks").filter(|items| items.is_array());
                let items = items.ok_or_else(|| bad("its `tasks` are not an array"))?;
                let hidden = items.items().enumerate().filter(|(_, item)| {
                    let id = item.get("taskId").and_then(Value::as_str);
                    let works = id.map(|id| self.tasks.listed(understood, session, at, &id));
                    !works.is_some_and(|works| {
                        !works.is_empty() && may_ask(&works, &identified.scene, snapshot, now)
                    })
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
