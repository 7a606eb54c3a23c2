//! Keeps the memory of our own processes from other processes of the same user.
//!
//! A server runs as the gate's user. Without this it opens `/proc/<gate>/environ` and
//! `/proc/<gate>/mem`, or attaches a debugger, and reads every token of the configuration.

use std::io::{self, Write as _};

use super::exit::Exit;

/// The same for a program that says why it cannot start. Call it first of all.
///
/// # Errors
/// How to exit.
pub fn close() -> Result<(), Exit> {
    deny_to_others().map_err(|cause| {
        let told = "cannot keep this process's memory from other processes";
        // Without stderr there is no way to report it.
        let _ = writeln!(io::stderr(), "{told}: {cause}");
        Exit::Unrecoverable
    })
}

/// Denies the memory and the environment of this process to all processes without `CAP_SYS_PTRACE`,
/// and allows no core file. Core files stay off in all that this process starts.
///
/// Only Linux knows the first part (`PR_SET_DUMPABLE`); it holds until `exec`.
///
/// # Errors
/// The system's refusal. Start nothing then.
pub(super) fn deny_to_others() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};

        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        setrlimit(Resource::Core, none)?;
    }
    Ok(())
}

/// Gives up what opens the memory of others, for whatever this process executes: a server of root
/// would read ours all the same. `CAP_PERFMON` opens the environment as well, `CAP_SYS_ADMIN` stands
/// for it, and the rest (`CAP_BPF`, `CAP_SYS_MODULE`, `CAP_SYS_RAWIO`) leads into the kernel.
///
/// # Errors
/// The system's refusal, where one would come back with the next program.
#[cfg(target_os = "linux")]
pub(super) fn give_up_looking() -> io::Result<()> {
    use rustix::process::geteuid;
    use rustix::thread::{
        CapabilitySet, capabilities, capability_is_in_bounding_set,
        remove_capability_from_bounding_set, set_capabilities,
    };

    let looking = CapabilitySet::SYS_PTRACE
        | CapabilitySet::PERFMON
        | CapabilitySet::SYS_ADMIN
        | CapabilitySet::BPF
        | CapabilitySet::SYS_MODULE
        | CapabilitySet::SYS_RAWIO;
    let mut sets = capabilities(None)?;
    // Who is not root gets with a program only what is inheritable, and needs no `CAP_SETPCAP` here.
    if geteuid().is_root() {
        for one in looking.iter() {
            // An older kernel does not know all of them.
            if !capability_is_in_bounding_set(one).unwrap_or(false) {
                continue;
            }
            remove_capability_from_bounding_set(one).map_err(|cause| {
                let problem = "what opens the gate's memory cannot be taken from the server, which \
                               needs CAP_SETPCAP";
                io::Error::other(format!("{problem}: {cause}"))
            })?;
        }
    }
    sets.inheritable.remove(looking);
    sets.permitted.remove(looking);
    sets.effective.remove(looking);
    Ok(set_capabilities(None, sets)?)
}
