//! Files that the gate writes into a directory of its own, with a limit of age and of bytes.

use super::{DirectoryFault, platform};

/// What may be in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// All files together.
    pub bytes: u64,
    /// Files of ours that are older are removed: seconds since the Unix epoch.
    pub oldest: i64,
}

/// How the names of our files end, behind 32 hexadecimal digits.
const ENDING: &str = ".txt";

/// Writes a new file that only the gate's user may read, below `above`, whose directories are made as by
/// [`super::make`]. Files of ours that are too old are removed before.
///
/// # Errors
/// [`DirectoryFault`] where there would be more than the limits permit, or it cannot be written whole: then
/// nothing of it is left.
pub fn save(
    (above, names): (&str, &[String]),
    file: &str,
    text: &str,
    limits: FileLimits,
) -> Result<(), DirectoryFault> {
    platform::save(
        &platform::make(above, names)?,
        file,
        text.as_bytes(),
        limits,
    )
}

/// Removes a file that [`save`] wrote.
///
/// # Errors
/// [`DirectoryFault`] where it is there and cannot be removed.
pub fn remove((above, names): (&str, &[String]), file: &str) -> Result<(), DirectoryFault> {
    platform::remove(&platform::make(above, names)?, file)
}

/// Removes files that [`save`] wrote and that are too old, in all directories below `above` with these names:
/// `None` stands for each name. Directories with other owners or rights are left alone, as is what cannot be
/// removed.
pub fn remove_old((above, names): (&str, &[Option<String>]), oldest: i64) {
    platform::remove_old(above, names, oldest);
}

/// A name for a file, of 128 random bits.
pub fn file_name(bits: u128) -> String {
    format!("{bits:032x}{ENDING}")
}

#[cfg(unix)]
pub(super) fn is_ours(name: &[u8]) -> bool {
    let digits = name.strip_suffix(ENDING.as_bytes());
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.is_some_and(|digits| digits.len() == 32 && digits.iter().all(is_digit))
}
