//! Agents of one era before a server of the other, over each pair of transports; and people who are
//! asked through agents of both eras.

#![cfg(unix)]

mod asked;
mod eras;
mod headers;
mod pairs;
mod person;
mod sdk;
mod sessions;
mod stateless;
