//! What programs need of the system to run at all, as narrow as they still run.
//!
//! Left out on purpose: `/etc` as a whole, with accounts and the settings of other programs; `/proc` as
//! a whole, where the command lines of all processes stand; `/tmp`, which programs share; `/sys`,
//! `/run` and `/var`. What is not there is passed over: distributions differ.

/// Read and executed.
pub(super) const PROGRAMS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    // Where Nix keeps all of it.
    "/nix/store",
];

/// Read.
pub(super) const FILES: &[&str] = &[
    // The loader.
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    // Time and language.
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/locale.conf",
    // Names of hosts and services.
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    // Authorities. Not all of `/etc/ssl`, where private keys are as well.
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/mime.types",
    // Of the server's own process; the directories of others, its children among them, are not.
    "/proc/self",
    // How much of the machine there is.
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// Read and written.
pub(super) const SINKS: &[&str] = &["/dev/full", "/dev/null"];
