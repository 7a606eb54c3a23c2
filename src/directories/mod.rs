//! Directories that belong to one principal or session, made so that no other user can have put something
//! in their place: no link is followed below the directory that they lie in.

mod files;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod platform;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;

pub use files::{FileLimits, file_name, remove, remove_old, save};

/// Why a directory cannot be used. Says the path and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryFault {
    #[error("`{path}`, in which the directory has to lie, cannot be opened: {cause}; create it")]
    NoParent { path: String, cause: String },
    #[error(
        "other users may change `{path}`, in which the directory has to lie; take that right away (`chmod go-w`)"
    )]
    OpenParent { path: String },
    #[error("`{path}` cannot be made: {cause}")]
    NotMade { path: String, cause: String },
    #[error("`{path}` is a link or no directory; remove it")]
    NoDirectory { path: String },
    #[error("`{path}` cannot be opened: {cause}")]
    NotOpened { path: String, cause: String },
    #[error("`{path}` belongs to another user; remove it")]
    Foreign { path: String },
    #[error(
        "`{path}` belongs to another user, who could rename what lies in it; give it to the gate's user (`chown`)"
    )]
    ForeignParent { path: String },
    #[error("other users may use `{path}` (mode {mode:o}); take their rights away (`chmod 700`)")]
    Shared { path: String, mode: u32 },
    #[error("the directory has more than {most} entries")]
    TooMany { most: usize },
    #[error("the directory has {bytes} bytes, and no room for {more}")]
    Full { bytes: u64, more: u64 },
    #[error("the file cannot be written: {cause}")]
    NotWritten { cause: String },
    #[error("only Unix systems have directories of one's own")]
    Unsupported,
}

/// Makes the directories of these names below `above`, each in the one before it, where they are not there.
/// `above` must be there, and may be reached over links.
///
/// # Errors
/// [`DirectoryFault`] unless each of them is a directory of the gate's user that other users have no
/// rights to.
pub fn make(above: &str, names: &[String]) -> Result<(), DirectoryFault> {
    platform::make(above, names).map(drop)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
