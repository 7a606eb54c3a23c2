//! A confined server reaches what it was granted, and nothing else by any way (threat P1). With the
//! kernel's own Landlock: where that is missing, these tests fail.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use mcp_protector::upstream::sandbox::{
    Access, LocalSockets, Network, Place, Sandbox, Strength, SystemFiles, check,
};
use mcp_protector::upstream::{ChildProcess, Event, Launcher, Settings};
use nix::libc;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::processes::support::{
    Gate, Mark, PATIENCE, Server, gate_program, kill, python, run, settings, wait_until,
};

/// Does what each line says, which is Python on one line, and answers `ok`, what `print` would have
/// written, or the name of the error.
const OBEDIENT: &str = r"
import ctypes, errno, json, os, resource, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *rest):
    done = libc.syscall(name, *rest) if isinstance(name, int) else getattr(libc, name)(*rest)
    return 'done' if done != -1 else errno.errorcode[ctypes.get_errno()]
for line in sys.stdin:
    said = []
    try: exec(line, globals() | {'say': lambda it: said.append(str(it))})
    except OSError as e: said = [errno.errorcode.get(e.errno, str(e))]
    except Exception as e: said = [type(e).__name__]
    print(' '.join(said) or 'ok', flush=True)
";

/// Where the interpreter has its modules, which need not be below `/usr`.
fn prefix() -> PathBuf {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let show = Command::new(python("").remove(0))
            .args(["-c", "import sys; print(sys.base_prefix)"])
            .output();
        String::from_utf8(show.unwrap().stdout)
            .unwrap()
            .trim()
            .into()
    };
    PREFIX.get_or_init(find).clone()
}

/// Directories to read, to write, and neither.
pub(super) struct Host {
    directory: TempDir,
}

impl Host {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, file) in [("read", "a"), ("write", "b"), ("outside", "secret")] {
            fs::create_dir(directory.path().join(name)).unwrap();
            fs::write(directory.path().join(name).join(file), name).unwrap();
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn sandbox(&self) -> Sandbox {
        let place = |setting: &str, access, path| Place {
            setting: format!("upstream.sandbox.{setting}[0]"),
            access,
            path,
        };
        Sandbox {
            places: vec![
                place("read", Access::Read, self.path("read")),
                place("write", Access::Write, self.path("write")),
                place("execute", Access::Execute, prefix()),
            ],
            ..Sandbox::default()
        }
    }

    pub(super) fn settings(&self, sandbox: Sandbox) -> Settings {
        let mut settings = settings(python(OBEDIENT));
        settings.cwd = Some(self.path(""));
        settings.sandbox = Some(sandbox);
        settings
    }

    fn server(&self, change: impl FnOnce(&mut Sandbox)) -> Server {
        let mut sandbox = self.sandbox();
        change(&mut sandbox);
        Server::start(self.settings(sandbox))
    }

    /// What the server answers to one line, in which `HOST` is this host's directory.
    pub(super) async fn ask(&self, server: &mut Server, line: &str) -> String {
        let here = self.directory.path().to_str().unwrap();
        server.send(&line.replace("HOST", here)).await;
        server.line().await
    }

    pub(super) async fn check(&self, server: &mut Server, line: &str, expected: &str) {
        let answer = self.ask(server, line).await;
        assert!(
            expected.split('|').any(|it| it == answer),
            "{line}: {answer}"
        );
    }
}

#[test]
fn a_confined_server_reads_and_writes_what_it_was_granted_and_nothing_else() {
    let host = Host::new();
    run(async {
        let mut server = host.server(|_| {});
        for (line, expected) in [
            ("say(open('HOST/read/a').read())", "read"),
            ("say(os.listdir('HOST/read'))", "['a']"),
            ("open('HOST/read/a', 'a')", "EACCES"),
            ("open('HOST/read/new', 'w')", "EACCES"),
            ("os.remove('HOST/read/a')", "EACCES"),
            ("os.truncate('HOST/read/a', 0)", "EACCES"),
            ("say(open('HOST/write/b').read())", "write"),
            ("open('HOST/write/c', 'w').write('c')", "ok"),
            (
                "os.mkdir('HOST/write/d'); os.rename('HOST/write/c', 'HOST/write/d/c')",
                "ok",
            ),
            ("os.remove('HOST/write/d/c')", "ok"),
            ("os.listdir('HOST')", "EACCES"),
            ("os.listdir('HOST/outside')", "EACCES"),
            ("open('HOST/outside/secret')", "EACCES"),
            ("open('outside/secret')", "EACCES"),
            ("open('HOST/outside/new', 'w')", "EACCES"),
            ("os.remove('HOST/outside/secret')", "EACCES"),
            ("open('/etc/passwd')", "EACCES"),
            ("os.listdir('/etc')", "EACCES"),
            ("os.listdir('/')", "EACCES"),
            ("os.listdir('/proc')", "EACCES"),
            ("os.listdir('/tmp')", "EACCES"),
            ("open('/dev/null', 'w').write('x')", "ok"),
            ("say(len(open('/dev/urandom', 'rb').read(4)))", "4"),
            ("open('/proc/self/status').read()", "ok"),
            ("open('/usr/new', 'w')", "EACCES"),
        ] {
            host.check(&mut server, line, expected).await;
        }
        server.sender.stop().await;
    });
    let secret = fs::read_to_string(host.path("outside/secret")).unwrap();
    assert_eq!(secret, "outside");
}

#[test]
fn no_link_device_or_process_leads_a_confined_server_outside() {
    let host = Host::new();
    symlink("../outside", host.path("read/out")).unwrap();
    symlink("/", host.path("write/top")).unwrap();
    run(async {
        let mut server = host.server(|_| {});
        for (line, expected) in [
            ("open('HOST/read/out/secret')", "EACCES"),
            ("open('HOST/write/top/etc/passwd')", "EACCES"),
            ("open('HOST/write/../outside/secret')", "EACCES"),
            (
                "os.symlink('HOST/outside', 'HOST/write/l'); open('HOST/write/l/secret')",
                "EACCES",
            ),
            // Where one may be copied to the other in principle, it is as if they were two disks.
            (
                "os.link('HOST/outside/secret', 'HOST/write/hard')",
                "EACCES|EXDEV",
            ),
            (
                "os.rename('HOST/outside/secret', 'HOST/write/moved')",
                "EACCES|EXDEV",
            ),
            (
                "os.rename('HOST/write/b', 'HOST/outside/b')",
                "EACCES|EXDEV",
            ),
            ("os.rename('HOST/write', 'HOST/outside/w')", "EACCES|EXDEV"),
            ("open('/proc/self/root/etc/passwd')", "EACCES"),
            ("open('/proc/self/cwd/outside/secret')", "EACCES"),
            ("open(f'/proc/{os.getppid()}/environ')", "EACCES"),
            ("open(f'/proc/{os.getppid()}/mem')", "EACCES"),
            ("os.kill(os.getppid(), 0)", "EPERM"),
            (
                "d = os.open('HOST/write', os.O_RDONLY); open('../outside/secret', opener=lambda p, f: os.open(p, f, dir_fd=d))",
                "EACCES",
            ),
            // A path is no right.
            (
                "d = os.open('HOST/outside', os.O_PATH); os.open('secret', 0, dir_fd=d)",
                "EACCES",
            ),
            (
                "os.mknod('HOST/write/disk', 0o60600, os.makedev(8, 0))",
                if_root("EACCES", "EACCES|EPERM"),
            ),
            (
                "ctypes.CDLL(None, use_errno=True).mount(b'/', b'HOST/write', None, 4096, None) == 0 or say(errno.errorcode[ctypes.get_errno()])",
                "EPERM",
            ),
            // What is written does not become a program.
            (
                "open('HOST/write/run', 'w').write('#!/bin/sh\\n'); os.chmod('HOST/write/run', 0o755); subprocess.run(['HOST/write/run'])",
                "EACCES",
            ),
            (
                "say(subprocess.run(['cat', 'HOST/outside/secret'], capture_output=True).returncode)",
                "1",
            ),
            (
                "say(subprocess.run(['cat', 'HOST/read/a'], capture_output=True).stdout.decode())",
                "read",
            ),
        ] {
            host.check(&mut server, line, expected).await;
        }
        server.sender.stop().await;
    });
    let secret = fs::read_to_string(host.path("outside/secret")).unwrap();
    assert_eq!(secret, "outside");
}

/// Root alone gets as far as Landlock here.
fn if_root(root: &'static str, others: &'static str) -> &'static str {
    if rustix::process::geteuid().is_root() {
        root
    } else {
        others
    }
}

/// A step of a path to what lies outside: what stands before the rest, and what has to be made first.
fn detours() -> impl Strategy<Value = String> {
    let detour = prop::sample::select(vec![
        "p = p.replace('/outside', '/write/../outside')",
        "p = p.replace('/outside', '/read/./..//outside')",
        "p = '/proc/self/root' + os.path.abspath(p)",
        "p = '/.' + os.path.abspath(p)",
        "p = os.path.relpath(p, os.getcwd())",
        "l = f'HOST/write/l{len(p)}'; os.path.islink(l) or os.symlink(os.path.dirname(os.path.abspath(p)), l); p = l + '/' + os.path.basename(p)",
        "l = f'HOST/write/f{len(p)}'; os.path.islink(l) or os.symlink(os.path.abspath(p), l); p = l",
        "os.chdir('HOST/write')",
        "os.chdir('HOST/outside'); p = os.path.basename(p)",
    ]);
    let act = prop::sample::select(vec![
        "open(p).read()",
        "open(p, 'w').write('x')",
        "open(p, 'a').write('x')",
        "os.truncate(p, 0)",
        "os.link(os.path.realpath(p), 'HOST/write/stolen')",
        "os.rename(os.path.realpath(p), 'HOST/write/stolen')",
        "os.replace('HOST/write/b', os.path.realpath(p))",
        "os.unlink(os.path.realpath(p))",
        "os.listdir(os.path.dirname(os.path.realpath(p)))",
        "os.mkdir(os.path.dirname(os.path.realpath(p)) + '/new')",
        "os.execv(p, ['x'])",
    ]);
    (prop::collection::vec(detour, 0..4), act).prop_map(|(detours, act)| {
        let mut line = "p = 'HOST/outside/secret'; ".to_owned();
        for detour in detours {
            line += detour;
            line += "; ";
        }
        line + act
    })
}

#[test]
fn however_a_path_is_written_it_does_not_lead_outside() {
    let host = Host::new();
    run(async {
        let mut server = host.server(|_| {});
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..256 {
            let line = detours().new_tree(&mut runner).unwrap().current();
            let answer = host.ask(&mut server, &line).await;
            assert!(
                ["EACCES", "EXDEV", "EPERM", "ENOENT", "ENOTDIR", "ELOOP"].contains(&&*answer),
                "{line}: {answer}"
            );
            let secret = fs::read_to_string(host.path("outside/secret")).unwrap();
            assert_eq!(secret, "outside", "{line}");
            let listed = fs::read_dir(host.path("outside")).unwrap().count();
            assert_eq!(listed, 1, "{line}");
            assert!(!host.path("write/stolen").exists(), "{line}");
        }
        // The detours themselves are no obstacle.
        let line = "p = 'HOST/write/b'; l = 'HOST/write/ok'; os.symlink(p, l); say(open(l).read())";
        host.check(&mut server, line, "write").await;
        server.sender.stop().await;
    });
}

/// What becomes of sockets of each kind.
const SOCKETS: [(&str, &str); 12] = [
    ("tcp", "socket.socket()"),
    ("tcp6", "socket.socket(socket.AF_INET6)"),
    ("udp", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"),
    ("raw", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    (
        "mptcp",
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
    ),
    (
        "sctp",
        "socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET)",
    ),
    ("packet", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    ("local", "socket.socket(socket.AF_UNIX)"),
    ("pair", "socket.socketpair()"),
    // Either end can send to any address.
    (
        "datagrams",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    ),
    // To the kernel these are datagrams.
    (
        "raw-pair",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)",
    ),
    (
        "packets",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
    ),
];

#[test]
fn a_confined_server_has_the_sockets_that_it_was_granted() {
    let host = Host::new();
    let of = |ports: &[u16]| Network::Ports(ports.to_vec());
    run(async {
        for (network, local, kept) in [
            (Network::Absent, LocalSockets::Withheld, "pair packets"),
            (
                Network::Absent,
                LocalSockets::Granted,
                "local pair datagrams raw-pair packets",
            ),
            (
                of(&[443]),
                LocalSockets::Withheld,
                "tcp tcp6 udp pair packets",
            ),
            (
                of(&[443]),
                LocalSockets::Granted,
                "tcp tcp6 udp local pair datagrams raw-pair packets",
            ),
        ] {
            let mut server = host.server(|sandbox| {
                sandbox.network = network.clone();
                sandbox.local_sockets = local;
            });
            for (name, line) in SOCKETS {
                let is_kept = kept.split(' ').any(|it| it == name);
                let expected = if is_kept { "ok" } else { "EACCES" };
                let answer = host.ask(&mut server, line).await;
                assert_eq!(answer, expected, "{network:?} {local:?} {name}");
            }
            // The way round all of it, by number because Python has no name for it.
            let ring = "ctypes.CDLL(None, use_errno=True).syscall(425, 1, None) < 0 and say(errno.errorcode[ctypes.get_errno()])";
            host.check(&mut server, ring, "EACCES").await;
            server.sender.stop().await;
        }
        let mut server = host.server(|sandbox| sandbox.network = Network::Full);
        host.check(
            &mut server,
            "socket.socket(); socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "ok",
        )
        .await;
        host.check(&mut server, "socket.socket(socket.AF_UNIX)", "EACCES")
            .await;
        server.sender.stop().await;
    });
}

#[test]
fn a_confined_server_connects_to_the_ports_that_it_was_granted() {
    let host = Host::new();
    let [granted, other] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [granted, other] = [&granted, &other].map(|it| it.local_addr().unwrap().port());
    run(async {
        let mut server = host.server(|sandbox| sandbox.network = Network::Ports(vec![granted]));
        for (line, expected) in [
            (
                "socket.create_connection(('127.0.0.1', GRANTED)).close()",
                "ok",
            ),
            (
                "socket.create_connection(('127.0.0.1', OTHER)).close()",
                "EACCES",
            ),
            // Without `connect`.
            (
                "socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', OTHER))",
                "EACCES",
            ),
            (
                "socket.socket().sendmsg([b'x'], [], socket.MSG_FASTOPEN, ('127.0.0.1', OTHER))",
                "EACCES",
            ),
            ("socket.socket().bind(('127.0.0.1', 0))", "EACCES"),
            ("socket.create_server(('127.0.0.1', 0))", "EACCES"),
            // Without `bind`.
            ("socket.socket().listen()", "EACCES"),
            // Children are no way round.
            (
                "say(subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection((\"127.0.0.1\", OTHER))'], capture_output=True).returncode)",
                "1",
            ),
        ] {
            let line = line.replace("GRANTED", &granted.to_string());
            let line = line.replace("OTHER", &other.to_string());
            host.check(&mut server, &line, expected).await;
        }
        server.sender.stop().await;
    });
}

#[test]
fn a_confined_server_reaches_no_daemon_of_the_machine_by_a_socket() {
    let host = Host::new();
    // Even one that it may open as a file.
    let _daemon = UnixListener::bind(host.path("write/daemon")).unwrap();
    let name = format!("mcp-protector-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _nameless = UnixListener::bind_addr(&address).unwrap();
    let by_path = "socket.socket(socket.AF_UNIX).connect('HOST/write/daemon')";
    let by_name = format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')");
    run(async {
        let mut server = host.server(|sandbox| sandbox.network = Network::Full);
        host.check(&mut server, by_path, "EACCES").await;
        host.check(&mut server, &by_name, "EACCES").await;
        server.sender.stop().await;
        let mut server = host.server(|sandbox| sandbox.local_sockets = LocalSockets::Granted);
        host.check(&mut server, by_path, "ok").await;
        // Those without a file are scoped by the kernel.
        host.check(&mut server, &by_name, "EPERM").await;
        server.sender.stop().await;
    });
}

#[test]
fn a_confined_server_reaches_no_process_past_every_file() {
    let host = Host::new();
    let x86 = cfg!(target_arch = "x86_64");
    let by_number = |x86_number: &str, other: &str| if x86 { x86_number } else { other }.to_owned();
    let (add_key, keyctl) = (by_number("248", "217"), by_number("250", "219"));
    let syslog = by_number("103", "116");
    let ioprio_set = by_number("251", "30");
    // Limits of the gate's processes, how they are scheduled, memory and messages by number, and keys.
    let refused = [
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))".to_owned(),
        "resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE)".to_owned(),
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)".to_owned(),
        "os.setpriority(os.PRIO_USER, 0, 19)".to_owned(),
        "os.setpriority(os.PRIO_PGRP, 0, 19)".to_owned(),
        "os.sched_setaffinity(os.getppid(), {0})".to_owned(),
        "os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0))".to_owned(),
        format!("say(call({ioprio_set}, 1, os.getppid(), 3 << 13))"),
        format!("say(call({ioprio_set}, 3, 0, 3 << 13))"),
        "say(call('shmget', 1, 4096, 0o1600))".to_owned(),
        "say(call('shmat', 0, None, 0))".to_owned(),
        "say(call('msgget', 1, 0o1600))".to_owned(),
        "say(call('semget', 1, 1, 0o1600))".to_owned(),
        format!("say(call({add_key}, b'user', b'k', b'v', 1, -4))"),
        // KEYCTL_GET_KEYRING_ID of the user's keyring.
        format!("say(call({keyctl}, 0, -4, 0))"),
        "say(call('sethostname', b'x', 1))".to_owned(),
        format!("say(call({syslog}, 3, None, 0))"),
    ];
    let kept = [
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "resource.prlimit(0, resource.RLIMIT_CORE)",
        "os.setpriority(os.PRIO_PROCESS, 0, 1)",
        "os.sched_setaffinity(0, os.sched_getaffinity(0))",
        "import threading; t = threading.Thread(target=lambda: None); t.start(); t.join()",
        "import multiprocessing",
    ];
    run(async {
        let mut server = host.server(|_| {});
        for line in refused {
            host.check(&mut server, &line, "EACCES").await;
        }
        for line in kept {
            host.check(&mut server, line, "ok").await;
        }
        server.sender.stop().await;
    });
}

#[test]
fn without_the_files_of_the_system_nothing_runs_that_needs_them() {
    let host = Host::new();
    let mut sandbox = host.sandbox();
    sandbox.system = SystemFiles::Withheld;
    sandbox.places.truncate(2);
    let mut settings = host.settings(sandbox);
    settings.command = vec!["sh".to_owned(), "-c".to_owned(), "echo up".to_owned()];
    run(async {
        let mut server = Server::start(settings);
        let event = server.event().await;
        let told = format!("{event:?}");
        // The program may be executed; its loader may not.
        let says = "upstream.sandbox.execute";
        assert!(
            told.contains("CannotStart") && told.contains(says),
            "{told}"
        );
    });
}

#[test]
fn what_cannot_be_granted_is_named_and_nothing_is_started() {
    let host = Host::new();
    let check = |change: &dyn Fn(&mut Settings), expected: &[&str]| {
        let mut settings = host.settings(host.sandbox());
        change(&mut settings);
        let told = ChildProcess::start(settings).unwrap_err().to_string();
        assert_eq!(told.split("; ").collect::<Vec<_>>(), expected);
    };
    check(
        &|settings| {
            let sandbox = settings.sandbox.as_mut().unwrap();
            sandbox.places[0].path = "/no/such/place".into();
            sandbox.places[1].path = Path::new("/no\nsuch\u{202e}/place").into();
        },
        &[
            "`upstream.sandbox.read[0]`: `/no/such/place` cannot be opened: No such file or directory (os error 2)",
            "`upstream.sandbox.write[0]`: `/no\\nsuch\\u{202e}/place` cannot be opened: No such file or directory (os error 2)",
        ],
    );
    check(
        &|settings| settings.launcher = Launcher::Absent,
        &["`upstream.sandbox`: a server that is started without the launcher cannot be confined"],
    );
    // What is there when the gate looks and gone when the server starts.
    let mut command = Command::new(gate_program());
    let own = std::process::id().to_string();
    command.args(["launch", "--step", "execute", "--parent", &own, "--sandbox"]);
    command.args([
        "--place",
        "read",
        "upstream.sandbox.read[0]",
        "/no/such/place",
    ]);
    let output = command.args(["--", "echo", "up"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(126), &b""[..]),
        "{told}"
    );
    assert!(
        told.contains("`upstream.sandbox.read[0]`: `/no/such/place` cannot be opened"),
        "{told}"
    );
}

#[test]
fn a_confined_server_that_ends_before_its_handshake_is_told_of_with_what_it_may_lack() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().to_str().unwrap();
    let hint = "is confined by `upstream.sandbox`";
    for (options, told) in [(&["--best-effort", "--read", place][..], 1), (&[], 0)] {
        let mut gate = Gate::python(options, "raise SystemExit(3)");
        assert_eq!(gate.wait().code(), Some(2));
        let complaints = gate.complaints();
        assert_eq!(complaints.matches(hint).count(), told, "{complaints}");
    }
}

#[test]
fn a_server_that_is_started_again_is_confined_again() {
    let host = Host::new();
    run(async {
        let mut server = host.server(|sandbox| sandbox.strength = Strength::BestEffort);
        server.sender.handshake_completed();
        let pid = host.ask(&mut server, "say(os.getpid())").await;
        host.check(&mut server, "open('/etc/passwd')", "EACCES")
            .await;
        kill(pid.parse().unwrap(), Signal::KILL);
        assert!(matches!(server.event().await, Event::Died { .. }));
        assert!(matches!(server.event().await, Event::Restarted));
        host.check(&mut server, "open('/etc/passwd')", "EACCES")
            .await;
        server.sender.stop().await;
    });
}

#[test]
fn a_confined_server_and_what_it_left_behind_are_ended_all_the_same() {
    let host = Host::new();
    let mark = Mark::new();
    run(async {
        let mut settings = host.settings(host.sandbox());
        let (name, value) = mark.variable().split_once('=').unwrap();
        settings.env.insert(name.to_owned(), value.into());
        let mut server = Server::start(settings);
        let daemon = "subprocess.Popen(['sleep', '1000'], start_new_session=True)";
        host.check(&mut server, daemon, "ok").await;
        // The pipe by which Python learns of the start is closed before the kernel has set the name.
        wait_until(PATIENCE, "the daemon has its name", || {
            mark.processes().iter().any(|it| it.name == "sleep")
        });
        server.sender.stop().await;
        mark.assert_gone();
    });
}

/// A thread on which the kernel neither makes rules of Landlock nor takes filters of seccomp, as in some
/// containers, and what it starts as well.
fn without_confinement<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let refused = |call, errno: i32| {
        let rules = [(call, Vec::new())].into_iter().collect();
        let filter = seccompiler::SeccompFilter::new(
            rules,
            seccompiler::SeccompAction::Allow,
            seccompiler::SeccompAction::Errno(errno.unsigned_abs()),
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
        seccompiler::apply_filter(&program).unwrap();
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            refused(libc::SYS_landlock_create_ruleset, libc::ENOSYS);
            refused(libc::SYS_seccomp, libc::EPERM);
            run()
        });
        thread.join().unwrap()
    })
}

#[test]
fn what_keeps_a_server_from_being_confined_is_named_and_stops_it_where_that_is_required() {
    let host = Host::new();
    for strength in [Strength::Required, Strength::BestEffort] {
        let sandbox = Sandbox {
            strength,
            ..host.sandbox()
        };
        let told = match (without_confinement(|| check(&sandbox)), strength) {
            (Ok(Some(lacks)), Strength::BestEffort) => lacks,
            (Err(problems), Strength::Required) => problems[0].to_string(),
            (told, _) => panic!("{strength:?}: {told:?}"),
        };
        assert!(told.contains("no Landlock"), "{told}");
        assert!(told.contains("no filter of calls"), "{told}");
        // Where nothing stands in the way nothing is told.
        assert_eq!(check(&sandbox), Ok(None), "{strength:?}");
    }
}

#[test]
fn a_server_that_is_confined_only_in_part_is_told_of_by_the_gate_and_by_whoever_confines_it() {
    let host = Host::new();
    let read = host.path("read");
    let mut gate = without_confinement(|| {
        let options = ["--best-effort", "--read", read.to_str().unwrap()];
        Gate::start(&options, &["cat"])
    });
    gate.send("{}");
    assert_eq!(gate.line(), "{}");
    let complaints = gate.complaints();
    for said in [
        "the server is not confined as `upstream.sandbox` says: this kernel has no Landlock",
        "this server is not confined as `upstream.sandbox` says: Landlock enforces nothing of it; no filter",
    ] {
        assert!(complaints.contains(said), "{complaints}");
    }
}

#[test]
fn a_gate_that_cannot_confine_its_server_says_so_and_exits_with_2() {
    let mut gate = Gate::start(&["--read", "/no/such/place"], &["cat"]);
    assert_eq!(gate.wait().code(), Some(2));
    let complaints = gate.complaints();
    assert!(
        complaints.contains("`upstream.sandbox.read[0]`: `/no/such/place`"),
        "{complaints}"
    );
}
