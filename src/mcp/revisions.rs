//! The revisions of the protocol. They are dates, so their order is that of text.

/// Those with sessions, which begin with a handshake; the latest last.
pub const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub const LAST_WITH_SESSIONS: &str = "2025-11-25";

/// The first one in which each request stands alone.
pub const FIRST_STATELESS: &str = "2026-07-28";

/// All that the gate speaks, the latest last.
pub fn known() -> impl Iterator<Item = &'static str> {
    WITH_SESSIONS.into_iter().chain([FIRST_STATELESS])
}

pub fn is_known(revision: &str) -> bool {
    known().any(|known| known == revision)
}

#[cfg(test)]
mod tests {
    use rmcp::model::ProtocolVersion;

    use super::*;

    #[test]
    fn the_gate_speaks_each_revision_that_the_protocol_library_knows() {
        let library = ProtocolVersion::KNOWN_VERSIONS.iter();
        let library: Vec<&str> = library.map(ProtocolVersion::as_str).collect();
        assert_eq!(known().collect::<Vec<_>>(), library);
        assert_eq!(WITH_SESSIONS.last(), Some(&LAST_WITH_SESSIONS));
    }
}
