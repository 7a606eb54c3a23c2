//! Exact tool names in a hash map: the oracle of the compiled Cedar allowlist.
