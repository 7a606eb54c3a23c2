//! What the gate asks of others than its server: keys, metadata and tokens of authorization servers.
//!
//! A URL says where it comes from ([`UrlTrust`]), and that says which addresses it may lead to. Answers
//! are bounded in bytes and time; redirects stay within their origin.

mod http_client;
mod lookup;
mod url_trust;

pub use http_client::{HttpClient, HttpError, HttpResponse};
pub use lookup::{AddressLookup, AddressSource, System};
pub use url_trust::{PrivateAddresses, UrlRejection, UrlTrust};
