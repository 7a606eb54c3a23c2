//! Tests of the client against servers that do as each test says.

mod answers;
mod clients;
mod exchanges;
mod headers;
mod kit;
mod ordinary;
mod redirects;
mod sessions;
mod settings;
mod streams;
mod tls;
mod tokens;
