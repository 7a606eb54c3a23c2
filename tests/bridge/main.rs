//! Agents of one era before a server of the other, over each pair of transports; and people who are
//! asked through agents of both eras.

#![cfg(unix)]

#[cfg(test)]
mod asked;
#[cfg(test)]
mod eras;
#[cfg(test)]
#[path = "../support/fixtures.rs"]
mod fixtures;
#[cfg(test)]
mod headers;
#[cfg(test)]
#[path = "../service/http.rs"]
mod http;
#[cfg(test)]
#[path = "../support/json.rs"]
mod json;
#[cfg(test)]
mod pairs;
#[cfg(test)]
#[path = "../support/peer.rs"]
mod peer;
#[cfg(test)]
mod person;
#[cfg(test)]
mod sdk;
#[cfg(test)]
#[path = "../support/serving.rs"]
mod serving;
#[cfg(test)]
mod sessions;
#[cfg(test)]
#[path = "../support/setup.rs"]
mod setup;
