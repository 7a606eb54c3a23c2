//! What reaches other processes and the machine past every file.
//!
//! Landlock has processes outside neither signalled nor traced. The kernel knows more ways to change
//! a process of the same user, memory and messages that have keys and no files, and keys that all
//! processes of a user share. Where the user is root, there is the machine itself as well.

use nix::libc;
use seccompiler::{BackendError, SeccompRule};

use super::call_rules::{Refused, equal, refuse, unequal};

/// The call's number, which the library does not name for musl on aarch64.
#[cfg(all(target_arch = "aarch64", target_env = "musl"))]
const KEXEC_FILE_LOAD: i64 = 294;
#[cfg(not(all(target_arch = "aarch64", target_env = "musl")))]
const KEXEC_FILE_LOAD: i64 = libc::SYS_kexec_file_load;

/// Calls that no server needs, whatever their arguments.
const ALWAYS: &[i64] = &[
    // Memory, messages and semaphores of System V, and the queues of POSIX: for whoever has the number
    // or the name, so that a confined server could hand on what it reads.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // The keys of the user and of the session that the gate was started in.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Where memory of others lies, and files by their number.
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_open_by_handle_at,
    // What only root may do: a sandbox around root is one nonetheless.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    KEXEC_FILE_LOAD,
    libc::SYS_kexec_load,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
];

/// Calls whose first argument is a process: 0 is the one that calls. By their own number processes
/// could be told from others only once they run, so that a server which names itself is refused too.
const OF_A_PROCESS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// `PRIO_PROCESS`, whose type differs from one C library to the other.
const PRIORITY_OF_A_PROCESS: i32 = 0;

/// `IOPRIO_WHO_PROCESS`, which the library does not name.
const IO_OF_A_PROCESS: i32 = 1;

pub(super) fn refuse_all(rules: &mut Refused) -> Result<(), BackendError> {
    for call in ALWAYS {
        refuse(rules, *call, Vec::new());
    }
    for call in OF_A_PROCESS {
        let is_another = SeccompRule::new(vec![unequal(0, 0)?])?;
        refuse(rules, *call, vec![is_another]);
    }
    // Of all processes of a group or a user, too.
    for (call, process) in [
        (libc::SYS_setpriority, PRIORITY_OF_A_PROCESS),
        (libc::SYS_ioprio_set, IO_OF_A_PROCESS),
    ] {
        let several = SeccompRule::new(vec![unequal(0, process)?])?;
        let another = SeccompRule::new(vec![equal(0, process)?, unequal(1, 0)?])?;
        refuse(rules, call, vec![several, another]);
    }
    Ok(())
}
