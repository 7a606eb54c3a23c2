//! What the gate costs over HTTP: one call, against the server alone, nginx and haproxy (where they
//! are installed); and what it keeps of processor and memory.
//!
//! ```sh
//! cargo bench -p benches --bench http            # all paths
//! cargo bench -p benches --bench http -- 20000   # calls for each path
//! ```
//!
//! All paths run at the same time and are asked in turns, so that whatever else the machine does
//! falls on all of them alike. Absolute times belong to the machine; the differences travel.

mod endpoint;
mod measure;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use measure::{Failure, installed, now, percentile};

/// Calls in one turn of one path.
const TURN: usize = 250;
/// Connections that ask at the same time when throughput is measured.
const CLIENTS: usize = 16;
/// Sessions that are opened to see what one of them keeps.
const SESSIONS: u64 = 500;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let calls: usize = match arguments.next().as_deref() {
        Some("serve") => return endpoint::serve_http(),
        Some("serve-lines") => return endpoint::serve_lines(),
        Some(word) => word.parse()?,
        None => 10_000,
    };
    let scratch = tempfile::tempdir()?;
    let server = Started::server()?;
    let mut paths = paths(scratch.path(), &server)?;
    for path in &mut paths {
        path.turn(TURN)?;
        path.times.clear();
    }
    for _ in 0..calls.div_ceil(TURN) {
        for path in &mut paths {
            path.turn(TURN)?;
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{calls} calls of 64 bytes on each path, one at a time; then {CLIENTS} connections"
    )?;
    writeln!(
        out,
        "{:<24}{:>9}{:>9}{:>10}{:>10}{:>11}{:>7}{:>13}",
        "path", "p50 us", "p99 us", "+p50 us", "+p99 us", "calls/s", "x", "cpu us/call"
    )?;
    let mut direct = None;
    for path in &mut paths {
        path.times.sort_unstable();
        let (p50, p99) = (percentile(&path.times, 50), percentile(&path.times, 99));
        let (rate, processor) = path.throughput(calls)?;
        let (first50, first99, first_rate) = *direct.get_or_insert((p50, p99, rate));
        writeln!(
            out,
            "{:<24}{:>9.1}{:>9.1}{:>10.1}{:>10.1}{:>11.0}{:>7.2}{:>13.1}",
            path.name,
            p50,
            p99,
            p50 - first50,
            p99 - first99,
            rate,
            rate / first_rate,
            processor
        )?;
    }
    memory(&mut out, scratch.path(), &server)
}

/// What a gate keeps when nothing happens, and of each session.
fn memory(out: &mut impl Write, scratch: &Path, server: &Started) -> Result<(), Failure> {
    let gate = Started::gate(scratch, "memory", &format!("url = \"{}\"", server.url()))?;
    let idle = gate.resident()?;
    for _ in 0..SESSIONS {
        Connection::open(&gate.address, "/mcp")?.begin()?;
    }
    let held = gate.resident()?;
    writeln!(
        out,
        "memory: {idle} KiB idle, {} KiB for each of {SESSIONS} idle sessions",
        held.saturating_sub(idle) / SESSIONS
    )?;
    Ok(())
}

/// The server alone, two proxies that judge nothing, and the gate.
fn paths(scratch: &Path, server: &Started) -> Result<Vec<Route>, Failure> {
    let mut paths = vec![Route::open("server alone", None, &server.address)?];
    if installed("haproxy") {
        let proxy = Started::haproxy(scratch, &server.address)?;
        paths.push(Route::open("haproxy", Some(proxy), "")?);
    }
    if installed("nginx") {
        let proxy = Started::nginx(scratch, &server.address)?;
        paths.push(Route::open("nginx", Some(proxy), "")?);
    }
    let over_http = format!("url = \"{}\"", server.url());
    let gate = Started::gate(scratch, "http", &over_http)?;
    paths.push(Route::open("gate, HTTP to HTTP", Some(gate), "")?);
    let this = std::env::current_exe()?;
    let over_lines = format!(
        "command = [{:?}, \"serve-lines\"]",
        this.display().to_string()
    );
    let gate = Started::gate(scratch, "lines", &over_lines)?;
    paths.push(Route::open("gate, HTTP to stdio", Some(gate), "")?);
    Ok(paths)
}

/// A process that listens.
struct Started {
    child: Child,
    address: String,
}

impl Started {
    fn server() -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        Ok(Self {
            child,
            address: line.trim().to_owned(),
        })
    }

    fn haproxy(scratch: &Path, server: &str) -> Result<Self, Failure> {
        let address = free_address()?;
        let file = scratch.join("haproxy.cfg");
        std::fs::write(
            &file,
            format!(
                "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n http-reuse always\nfrontend f\n bind {address}\n default_backend b\nbackend b\n server s {server}\n"
            ),
        )?;
        Self::listening(
            "haproxy",
            &["-db", "-f", &file.display().to_string()],
            address,
        )
    }

    fn nginx(scratch: &Path, server: &str) -> Result<Self, Failure> {
        let address = free_address()?;
        let file = scratch.join("nginx.conf");
        let home = scratch.display();
        std::fs::write(
            &file,
            format!(
                "daemon off; pid {home}/nginx.pid; error_log {home}/nginx.log; worker_processes auto;\nevents {{}}\nhttp {{ access_log off; client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;\nupstream u {{ server {server}; keepalive 64; keepalive_requests 1000000; }}\nserver {{ listen {address}; keepalive_requests 1000000; location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n"
            ),
        )?;
        Self::listening("nginx", &["-c", &file.display().to_string()], address)
    }

    fn listening(program: &str, arguments: &[&str], address: String) -> Result<Self, Failure> {
        let child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let started = Self { child, address };
        for _ in 0..200 {
            if TcpStream::connect(&started.address).is_ok() {
                return Ok(started);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Err(format!("`{program}` does not listen").into())
    }

    /// With an allowlist, and the audit in a file.
    fn gate(scratch: &Path, name: &str, upstream: &str) -> Result<Self, Failure> {
        let file = scratch.join(format!("{name}.toml"));
        let audit = scratch.join(format!("{name}.jsonl"));
        std::fs::write(
            &file,
            format!(
                "[upstream]\n{upstream}\n[listen]\ntransport = \"http\"\nport = 0\n[limits]\nmax_sessions = 1000\n[policy]\nallow = [\"echo\"]\n[audit]\nfile = {:?}\n",
                audit.display().to_string()
            ),
        )?;
        let mut child = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_gate")))
            .args(["proxy", "--config"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no stderr")?).lines();
        let mut listens = None;
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some((_, url)) = line.split_once("listening on http://") {
                listens = url.split('/').next().map(str::to_owned);
                break;
            }
        }
        // A full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = listens.ok_or("the gate does not listen")?;
        Ok(Self { child, address })
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// KiB in memory, of the process itself.
    fn resident(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS"));
        let words = line.and_then(|line| line.split_whitespace().nth(1));
        Ok(words.ok_or("no VmRSS")?.parse()?)
    }

    /// Processor time of the process and of its children, so far. A tick is 10 ms.
    fn processor(&self) -> Result<Duration, Failure> {
        let mut ticks = 0;
        let id = self.child.id();
        for entry in std::fs::read_dir("/proc")? {
            let stat = entry?.path().join("stat");
            let Ok(stat) = std::fs::read_to_string(stat) else {
                continue;
            };
            let Some((head, tail)) = stat.rsplit_once(") ") else {
                continue;
            };
            let own = head.split(' ').next() == Some(&id.to_string());
            let fields: Vec<&str> = tail.split(' ').collect();
            let child = fields.get(1) == Some(&id.to_string().as_str());
            if own || (child && self.is_of_workers()) {
                for index in [11, 12] {
                    ticks += fields.get(index).ok_or("no times")?.parse::<u64>()?;
                }
            }
        }
        Ok(Duration::from_millis(ticks * 10))
    }

    /// nginx works in its children; the gate's child is the server, which is not counted.
    fn is_of_workers(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/comm", self.child.id()))
            .is_ok_and(|name| name.trim() == "nginx")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // nginx ends its workers when it is asked to, and leaves them when it is killed.
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        std::thread::sleep(Duration::from_millis(200));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A way to the server, and how long its calls took.
struct Route {
    name: &'static str,
    proxy: Option<Started>,
    address: String,
    connection: Connection,
    times: Vec<Duration>,
}

impl Route {
    fn open(name: &'static str, proxy: Option<Started>, direct: &str) -> Result<Self, Failure> {
        let address = proxy
            .as_ref()
            .map_or(direct, |proxy| &proxy.address)
            .to_owned();
        let mut connection = Connection::open(&address, "/mcp")?;
        connection.begin()?;
        Ok(Self {
            name,
            proxy,
            address,
            connection,
            times: Vec::new(),
        })
    }

    /// One call after the other.
    fn turn(&mut self, calls: usize) -> Result<(), Failure> {
        for _ in 0..calls {
            let start = now();
            self.connection.call()?;
            self.times.push(start.elapsed());
        }
        Ok(())
    }

    /// Calls per second on [`CLIENTS`] connections with a session each, and the microseconds of
    /// processor time that the proxy takes for one.
    fn throughput(&self, calls: usize) -> Result<(f64, f64), Failure> {
        let each = calls / CLIENTS;
        let mut connections = Vec::new();
        for _ in 0..CLIENTS {
            let mut connection = Connection::open(&self.address, "/mcp")?;
            connection.begin()?;
            connections.push(connection);
        }
        let used = || {
            self.proxy
                .as_ref()
                .map_or(Ok(Duration::ZERO), Started::processor)
        };
        let (before, start) = (used()?, now());
        let asking: Vec<_> = connections
            .into_iter()
            .map(|mut connection| {
                std::thread::spawn(move || {
                    (0..each).try_for_each(|_| connection.call().map_err(|cause| cause.to_string()))
                })
            })
            .collect();
        for asked in asking {
            asked.join().map_err(|_| "a client panicked")??;
        }
        let done = f64::from(u32::try_from(each * CLIENTS)?);
        let rate = done / start.elapsed().as_secs_f64();
        let processor = used()?.saturating_sub(before).as_secs_f64() * 1e6 / done;
        Ok((rate, processor))
    }
}

/// One client on one connection.
struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    path: String,
    session: Option<String>,
    last: u64,
    body: Vec<u8>,
}

impl Connection {
    fn open(address: &str, path: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            host: address.to_owned(),
            path: path.to_owned(),
            session: None,
            last: 0,
            body: Vec::new(),
        })
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.post(INITIALIZE)?;
        self.post(INITIALIZED)?;
        self.post(LIST)
    }

    fn call(&mut self) -> Result<(), Failure> {
        self.last += 1;
        let text = "x".repeat(64);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#,
            self.last
        );
        self.post(&call)?;
        if self.body.windows(8).any(|part| part == b"\"result\"") {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&self.body).into_owned().into())
    }

    fn post(&mut self, body: &str) -> Result<(), Failure> {
        let session = self.session.as_ref();
        let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n{session}Content-Length: {}\r\n\r\n{body}",
            self.path,
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.trim().to_owned();
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(": ") else {
                break;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "mcp-session-id" => self.session = Some(value.to_owned()),
                "transfer-encoding" => chunked = true,
                _ => {}
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        if chunked {
            self.read_chunks()?;
        }
        if status.contains(" 20") {
            return Ok(());
        }
        Err(format!("{status}: {}", String::from_utf8_lossy(&self.body)).into())
    }
}

impl Connection {
    /// What a server on standard streams says comes as events.
    fn read_chunks(&mut self) -> Result<(), Failure> {
        self.body.clear();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16)?;
            let start = self.body.len();
            self.body.resize(start + length + 2, 0);
            let part = self.body.get_mut(start..).unwrap_or_default();
            self.stream.read_exact(part)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

fn free_address() -> Result<String, Failure> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}
