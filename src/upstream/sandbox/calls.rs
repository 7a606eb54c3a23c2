//! Which calls a server can make, where Landlock has nothing to say.
//!
//! Each has a list of its own: [`sockets`], and what reaches others past files, [`others`].

use std::thread;

use nix::libc;
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use super::call_rules::Refused;
use super::{Sandbox, others, sockets};

/// From here on calls fail that `sandbox` does not grant.
///
/// # Errors
/// In words for whoever runs the gate.
pub(super) fn filter(sandbox: &Sandbox) -> Result<(), String> {
    let program = program(sandbox).map_err(|error| format!("no filter of calls: {error}"))?;
    apply_filter(&program).map_err(|error| format!("no filter of calls: {error}"))
}

/// Whether [`filter`] can do that, found out on a thread that ends with it: the others stay as they are.
///
/// # Errors
/// In words for whoever runs the gate.
pub(super) fn try_out(sandbox: &Sandbox) -> Result<(), String> {
    thread::scope(|scope| {
        let tried = thread::Builder::new().spawn_scoped(scope, || filter(sandbox));
        let tried = tried.map_err(|error| format!("no filter of calls: {error}"))?;
        let ended = |_| Err("no filter of calls: trying one failed".to_owned());
        tried.join().unwrap_or_else(ended)
    })
}

fn program(sandbox: &Sandbox) -> Result<BpfProgram, BackendError> {
    let mut rules = Refused::new();
    sockets::refuse_others(&mut rules, sandbox)?;
    others::refuse_all(&mut rules)?;
    let arch = std::env::consts::ARCH.try_into()?;
    // Calls of another architecture end the process.
    let refused = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

#[cfg(test)]
mod tests {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

    use super::*;
    use crate::upstream::sandbox::{SandboxError, Strength, check};

    /// On a thread of its own, which and whose threads get no filter from now on.
    fn without_filters<T: Send>(then: impl FnOnce() -> T + Send) -> T {
        let mut rules = Refused::new();
        rules.insert(libc::SYS_seccomp, Vec::new());
        let set = u64::from(libc::PR_SET_SECCOMP.unsigned_abs());
        let set = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, set);
        let set = SeccompRule::new(vec![set.unwrap()]).unwrap();
        rules.insert(libc::SYS_prctl, vec![set]);
        let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                apply_filter(&program).unwrap();
                then()
            });
            there.join().unwrap()
        })
    }

    #[test]
    fn a_filter_of_calls_that_cannot_be_had_is_told_before_the_server_starts() {
        let sandbox = |strength| Sandbox {
            strength,
            ..Sandbox::default()
        };
        let told = |text: &str| text.contains("no filter of calls");
        let less = without_filters(|| check(&sandbox(Strength::BestEffort)));
        assert!(
            less.clone().unwrap().is_some_and(|it| told(&it)),
            "{less:?}"
        );
        let all = without_filters(|| check(&sandbox(Strength::Required))).unwrap_err();
        let kernel = |it: &SandboxError| matches!(it, SandboxError::Kernel(it) if told(it));
        assert!(all.iter().any(kernel), "{all:?}");
    }

    #[test]
    fn to_try_a_filter_out_leaves_everybody_else_without_it() {
        let sandbox = Sandbox::default();
        try_out(&sandbox).unwrap();
        std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        std::os::unix::net::UnixDatagram::pair().unwrap();
    }
}
