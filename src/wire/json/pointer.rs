//! JSON pointers (RFC 6901).

/// A member's name as a step of a pointer.
pub fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
