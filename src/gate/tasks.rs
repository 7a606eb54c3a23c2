//! Tasks: calls whose results are fetched later, in both of the protocol's designs.
//!
//! Until 2025-11-25 either side may ask the other to make a task of a request (`task`), and asks
//! `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` about it. As an extension of
//! 2026-07-28 (`io.modelcontextprotocol/tasks`) the server alone decides, and `tasks/get` brings the
//! result. In both a task is known by an id that whoever knows it can use; here it is good for the one
//! who began the task through the gate, and a request about it asks policy what the request asked
//! that began it.

mod asked;
mod memory;
mod removals;
mod said;
mod told;

use crate::mcp::TASKS;
use crate::wire::Fragment;

use super::rejection::{MISSING_CAPABILITY, Rejection};
use super::stage::Stage;

pub(super) use asked::{questions, tells};
pub(super) use memory::{Recalled, Tasks};
pub(super) use removals::TaskFilter;
pub(super) use said::{begins, check, has_failed, is_about_one, lifetime, of_request};

/// The agent did not begin it, or it has ended.
pub(super) fn unknown_task() -> Rejection {
    Rejection::invalid_params(Stage::Understand, "unknown_task", "there is no such task")
}

/// With what the agent must say it can do, as it would say it.
pub(super) fn missing_capability() -> Rejection {
    let text = "this needs an agent that has said that it knows tasks";
    let tasks = Fragment::object([(TASKS, Fragment::object([]))]);
    let required = Fragment::object([("extensions", tasks)]);
    Rejection::new(
        Stage::Understand,
        "missing_capability",
        MISSING_CAPABILITY,
        text,
    )
    .with_data([("requiredCapabilities", required)])
}
