//! What checks policies in the CI of their authors: the action of `action.yml`, the hooks, and the snippets of
//! `docs/ci.md`.

// The steps of the action are shell scripts.
#![cfg(unix)]
mod action;
mod hooks;
mod install;
mod release;
mod runner;
pub(crate) mod snippets;
pub(crate) mod yaml;
