//! Rules by which calls are refused.

use std::collections::BTreeMap;

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// What is refused, by the number of the call: where any of the rules holds, always if there are none.
pub(super) type Refused = BTreeMap<i64, Vec<SeccompRule>>;

pub(super) fn refuse(rules: &mut Refused, call: i64, when: Vec<SeccompRule>) {
    // The same call under the numbers of x32, which count as this architecture.
    #[cfg(target_arch = "x86_64")]
    rules.insert(call | 0x4000_0000, when.clone());
    rules.insert(call, when);
}

pub(super) fn equal(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

pub(super) fn unequal(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

pub(super) fn masked(
    argument: u8,
    mask: u64,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    let is_so = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is_so, value)
}
