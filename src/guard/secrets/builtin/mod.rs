//! The kinds of credentials that are known, one row each.
//!
//! Written from what issuers say of their formats, or from the names under which credentials
//! without a form of their own are kept. A row is as narrow as its format lets it be: prefix, exact
//! length, alphabet. Rows that guess come last, so that a narrower one names the secret.

mod ai;
mod chat;
mod cloud;
mod code;
mod general;
mod keys;
mod money;
mod operations;
mod row;
mod work;

pub(super) use row::Row;

pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    [
        keys::ROWS,
        cloud::ROWS,
        code::ROWS,
        chat::ROWS,
        money::ROWS,
        operations::ROWS,
        ai::ROWS,
        work::ROWS,
        general::ROWS,
    ]
    .into_iter()
    .flatten()
}
