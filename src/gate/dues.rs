//! What is still to be done once a message is through with the path.

/// How far a message has been counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Counted {
    /// Nothing limits it, or it was refused for its rate.
    #[default]
    No,
    /// It may pass as far as is known, and is to be paid for by this principal.
    Owed(String),
}

/// What a message ends besides the request that it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ends {
    #[default]
    Nothing,
    Session,
}
