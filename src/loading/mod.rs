//! Files to policy snapshot.
