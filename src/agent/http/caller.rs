//! Who asks, and which server.

use crate::identity::Identity;

/// One of the paths of a listener, each of another server: a session belongs to one. Its number is never another one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint(pub usize);

/// Who asks, and at which endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'r> {
    pub(super) endpoint: Endpoint,
    pub(super) identity: &'r Identity,
}
