//! Tests of the component through its front door.

mod envelopes;
