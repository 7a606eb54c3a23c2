//! Rules in other languages than Cedar that allow every call.

#[cfg(feature = "cel")]
use super::cel;
use super::open_rule::OpenRule;
#[cfg(feature = "rego")]
use super::rego;
use crate::policy::PolicySource;

type Search = for<'s> fn(&'s [PolicySource]) -> Vec<OpenRule<'s>>;

/// Those whose text says so plainly. What cannot be read has none; compiling tells of it.
pub fn open_permits(sources: &[PolicySource]) -> Vec<OpenRule<'_>> {
    let engines: &[Search] = &[
        #[cfg(feature = "rego")]
        rego::open_permits,
        #[cfg(feature = "cel")]
        cel::open_permits,
    ];
    engines.iter().flat_map(|rules| rules(sources)).collect()
}
