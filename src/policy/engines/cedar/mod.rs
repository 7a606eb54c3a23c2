//! Cedar policies.
