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

pub(super) use asked::{questions, tells};
pub(super) use memory::{Recalled, Tasks};
pub(super) use said::{begins, check, has_failed, is_about_one, lifetime, of_request};
