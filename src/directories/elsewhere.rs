//! Systems whose directories have no owner that could be asked for.

use super::DirectoryFault;

pub(super) type Handle = std::convert::Infallible;

pub(super) fn make(_above: &str, _names: &[String]) -> Result<Handle, DirectoryFault> {
    Err(DirectoryFault::Unsupported)
}
