//! HTTP to others: the connections to all of them, and what the gate asks of others than its server
//! (keys, metadata and tokens of authorization servers).
//!
//! [`HttpClient`] asks for a document: where its URL comes from ([`UrlTrust`]) says which addresses it may
//! lead to, the answer is bounded in bytes and time, and redirects stay within their origin.

mod connections;
mod http_client;
mod lookup;
mod url_trust;

pub use connections::{Connections, Connector, USER_AGENT, innermost};
pub use http_client::{HttpClient, HttpError, HttpResponse};
pub use lookup::{AddressLookup, AddressSource, Resolver, System};
pub use url_trust::{PrivateAddresses, UrlRejection, UrlTrust};
