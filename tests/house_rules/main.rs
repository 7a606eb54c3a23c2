//! The rules of `docs/architecture.md` that a compiler does not know, read off the source tree.
//!
//! A rule that has to yield is changed here, with its reason, in the commit that needs it.

#[cfg(test)]
mod circles;
#[cfg(test)]
mod code;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod path;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod renamed;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod tree;
#[cfg(test)]
mod words;
#[cfg(test)]
mod workflows;
