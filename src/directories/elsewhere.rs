//! Systems whose directories have no owner that could be asked for.

use super::{DirectoryFault, FileLimits};

pub(super) type Handle = std::convert::Infallible;

pub(super) fn make(_above: &str, _names: &[String]) -> Result<Handle, DirectoryFault> {
    Err(DirectoryFault::Unsupported)
}

pub(super) fn save(
    directory: &Handle,
    _file: &str,
    _content: &[u8],
    _limits: FileLimits,
) -> Result<(), DirectoryFault> {
    match *directory {}
}

pub(super) fn remove(directory: &Handle, _file: &str) -> Result<(), DirectoryFault> {
    match *directory {}
}

pub(super) fn remove_old(_above: &str, _names: &[Option<String>], _oldest: i64) {}
