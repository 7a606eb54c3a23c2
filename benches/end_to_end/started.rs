//! Processes that were started, and what they take.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::line_agent::LineAgent;
use super::measure::Failure;

/// A process, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    /// Those of its children that do its work. The gate's child is the server, which is none of them.
    workers: Vec<u32>,
}

/// The processor time of each thread so far, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Spent(BTreeMap<u64, u64>);

impl Spent {
    pub(crate) fn since(&self, before: &Self) -> Duration {
        let of = |(thread, time): (&u64, &u64)| {
            time.saturating_sub(before.0.get(thread).copied().unwrap_or(0))
        };
        Duration::from_nanos(self.0.iter().map(of).sum())
    }
}

/// The names of programs whose children do the work.
const WORKERS: [&str; 2] = ["cat", "nginx"];

impl Started {
    /// With its own standard streams, which are null unless the command says otherwise.
    pub(crate) fn new(command: &mut Command) -> Result<Self, Failure> {
        let child = command.spawn()?;
        Ok(Self {
            child,
            workers: Vec::new(),
        })
    }

    /// A server or proxy that says on its first line where it listens.
    pub(crate) fn saying_where(command: &mut Command) -> Result<(Self, String), Failure> {
        let mut started = Self::new(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let mut line = String::new();
        let output = started.child.stdout.take().ok_or("no stdout")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok((started, line.trim().to_owned()))
    }

    /// A gate over HTTP, which says in its log where it listens.
    pub(crate) fn logging_where(command: &mut Command) -> Result<(Self, String), Failure> {
        let mut started = Self::new(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped()),
        )?;
        let log = started.child.stderr.take().ok_or("no stderr")?;
        let mut lines = BufReader::new(log).lines();
        let mut said = String::new();
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some((_, url)) = line.split_once("listening on http://") {
                let address = url.to_owned();
                // A full pipe would stop it.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok((started, address));
            }
            said.push_str(&line);
            said.push('\n');
        }
        Err(format!("the gate does not listen: {said}").into())
    }

    /// A program that cannot say where it listens.
    pub(crate) fn listening(command: &mut Command, address: &str) -> Result<Self, Failure> {
        let program = command.get_program().to_owned();
        let mut started = Self::new(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                started.find_workers()?;
                // It listens before it starts them.
                if !started.workers.is_empty() || !WORKERS.iter().any(|name| program == *name) {
                    return Ok(started);
                }
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Err(format!("`{}` does not listen", program.display()).into())
    }

    /// A program with the agent on its standard streams.
    pub(crate) fn before_agent(command: &mut Command) -> Result<(Self, LineAgent), Failure> {
        let mut started = Self::new(
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        )?;
        let input = started.child.stdin.take().ok_or("no stdin")?;
        let output = started.child.stdout.take().ok_or("no stdout")?;
        let mut agent = LineAgent::new(input, output);
        agent.begin()?;
        started.find_workers()?;
        Ok((started, agent))
    }

    fn find_workers(&mut self) -> Result<(), Failure> {
        let own = self.child.id().to_string();
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            let Ok(stat) = fs::read_to_string(path.join("stat")) else {
                continue;
            };
            let Some((head, tail)) = stat.rsplit_once(") ") else {
                continue;
            };
            let Some((id, name)) = head.split_once(" (") else {
                continue;
            };
            if tail.split(' ').nth(1) == Some(&own) && WORKERS.contains(&name) {
                self.workers.push(id.parse()?);
            }
        }
        Ok(())
    }

    fn processes(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.child.id()).chain(self.workers.iter().copied())
    }

    /// Of the process and its workers.
    pub(crate) fn spent(&self) -> Spent {
        let mut spent = Spent::default();
        for process in self.processes() {
            let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
                continue;
            };
            for task in tasks.flatten() {
                let times = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                let time = times.split(' ').next().and_then(|time| time.parse().ok());
                let id = task.file_name().to_str().and_then(|id| id.parse().ok());
                if let (Some(id), Some(time)) = (id, time) {
                    spent.0.insert(id, time);
                }
            }
        }
        spent
    }

    /// KiB in memory, of the process and its workers.
    pub(crate) fn resident(&self) -> usize {
        self.processes().map(resident).sum()
    }

    /// Open descriptors of the process.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }
}

fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

impl Drop for Started {
    fn drop(&mut self) {
        // nginx ends its workers when it is asked to, and leaves them when it is killed.
        if !self.workers.is_empty() {
            let id = self.child.id().to_string();
            let _ = Command::new("kill").arg(id).status();
            std::thread::sleep(Duration::from_millis(200));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loop for each processor, in the scheduling class that yields to all others. A virtual machine takes tens of
/// microseconds to wake a processor that halted.
pub(crate) fn keep_awake() -> Result<Vec<Started>, Failure> {
    let processors = std::thread::available_parallelism()?.get();
    let this = std::env::current_exe()?;
    let spin = |_| {
        Started::new(
            Command::new("chrt")
                .args(["--idle", "0"])
                .arg(&this)
                .arg("spin"),
        )
    };
    (0..processors).map(spin).collect()
}

fn free_address() -> Result<String, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}

/// `haproxy`, before this server.
pub(crate) fn haproxy(scratch: &Path, server: &str) -> Result<(Started, String), Failure> {
    let address = free_address()?;
    let file = scratch.join("haproxy.cfg");
    fs::write(
        &file,
        format!(
            "defaults\n mode http\n timeout connect 5s\n timeout client 600s\n timeout server 600s\n http-reuse always\nfrontend f\n bind {address}\n default_backend b\nbackend b\n server s {server}\n"
        ),
    )?;
    let mut command = Command::new("haproxy");
    let started = Started::listening(command.args(["-db", "-f"]).arg(&file), &address)?;
    Ok((started, address))
}

/// `nginx`, before this server.
pub(crate) fn nginx(scratch: &Path, server: &str) -> Result<(Started, String), Failure> {
    let address = free_address()?;
    let file = scratch.join("nginx.conf");
    let home = scratch.display();
    fs::write(
        &file,
        format!(
            "daemon off; pid {home}/nginx.pid; error_log {home}/nginx.log; worker_processes auto;\nevents {{ worker_connections 4096; }}\nhttp {{ access_log off; client_max_body_size 16m; client_body_buffer_size 4m; client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;\nproxy_max_temp_file_size 0; upstream u {{ server {server}; keepalive 300; keepalive_requests 100000000; }}\nserver {{ listen {address}; keepalive_timeout 600s; keepalive_requests 100000000; location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n"
        ),
    )?;
    let mut command = Command::new("nginx");
    let started = Started::listening(command.arg("-c").arg(&file), &address)?;
    Ok((started, address))
}
