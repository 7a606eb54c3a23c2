//! What the gate costs end to end: one call over stdio, against the server alone and against a pipe
//! that does nothing (`socat`, where it is installed).
//!
//! ```sh
//! cargo bench -p benches --bench latency            # all paths
//! cargo bench -p benches --bench latency -- 20000   # calls for each path
//! ```
//!
//! All paths run at the same time and are asked in turns, so that whatever else the machine does
//! falls on all of them alike. Absolute times belong to the machine; the differences travel.

mod measure;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use measure::{Failure, installed, now, percentile};

/// Calls in one turn of one path.
const TURN: usize = 500;
/// Requests in flight when throughput is measured.
const WINDOW: usize = 16;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let calls: usize = match arguments.next() {
        Some(word) if word == "serve" => return serve(),
        Some(word) => word.parse()?,
        None => 10_000,
    };
    let scratch = tempfile::tempdir()?;
    let mut paths = paths(scratch.path())?;
    for path in &mut paths {
        path.shake_hands()?;
        path.turn(TURN)?;
    }
    for path in &mut paths {
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
        "{calls} calls of 64 bytes on each path, one at a time; then {WINDOW} in flight"
    )?;
    writeln!(
        out,
        "{:<28}{:>10}{:>10}{:>12}{:>12}{:>12}{:>8}",
        "path", "p50 us", "p99 us", "+p50 us", "+p99 us", "calls/s", "x"
    )?;
    let mut direct = None;
    for path in &mut paths {
        path.times.sort_unstable();
        let (p50, p99) = (percentile(&path.times, 50), percentile(&path.times, 99));
        let rate = path.throughput(calls)?;
        let (first50, first99, first_rate) = *direct.get_or_insert((p50, p99, rate));
        writeln!(
            out,
            "{:<28}{:>10.1}{:>10.1}{:>12.1}{:>12.1}{:>12.0}{:>8.2}",
            path.name,
            p50,
            p99,
            p50 - first50,
            p99 - first99,
            rate,
            rate / first_rate
        )?;
    }
    Ok(())
}

/// A way to the server, and how long its calls took.
struct Route {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    last: u64,
    times: Vec<Duration>,
}

impl Route {
    fn open(name: &str, program: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self {
            name: name.to_owned(),
            child,
            input,
            output,
            line: String::new(),
            last: 0,
            times: Vec::new(),
        })
    }

    fn shake_hands(&mut self) -> Result<(), Failure> {
        self.send(r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#)?;
        self.receive()?;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        self.send(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#)?;
        self.receive()
    }

    /// One call after the other.
    fn turn(&mut self, calls: usize) -> Result<(), Failure> {
        for _ in 0..calls {
            let call = self.call();
            let start = now();
            self.send(&call)?;
            self.receive()?;
            self.times.push(start.elapsed());
        }
        Ok(())
    }

    /// Calls per second with [`WINDOW`] in flight.
    fn throughput(&mut self, calls: usize) -> Result<f64, Failure> {
        let start = now();
        for _ in 0..WINDOW {
            let call = self.call();
            self.send(&call)?;
        }
        for sent in WINDOW..calls.saturating_add(WINDOW) {
            self.receive()?;
            if sent < calls {
                let call = self.call();
                self.send(&call)?;
            }
        }
        Ok(f64::from(u32::try_from(calls)?) / start.elapsed().as_secs_f64())
    }

    fn call(&mut self) -> String {
        self.last += 1;
        let text = "x".repeat(64);
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#,
            self.last
        )
    }

    fn send(&mut self, line: &str) -> Result<(), Failure> {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        self.line.clear();
        self.output.read_line(&mut self.line)?;
        if !self.line.contains("\"result\"") {
            return Err(format!("{}: {}", self.name, self.line).into());
        }
        Ok(())
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server alone, a pipe, and the gate with few and with many policies.
fn paths(scratch: &Path) -> Result<Vec<Route>, Failure> {
    let this = std::env::current_exe()?;
    let server = this.to_str().ok_or("path")?;
    let gate = PathBuf::from(env!("CARGO_BIN_EXE_gate"));
    let log = scratch.join("audit.jsonl");
    let log = log.to_str().ok_or("path")?;
    let many = scratch.join("many");
    std::fs::create_dir(&many)?;
    std::fs::write(many.join("many.cedar"), hundred_policies())?;
    let many = many.to_str().ok_or("path")?;

    let mut paths = vec![Route::open("server alone", &this, &["serve"])?];
    if installed("socat") {
        let command = format!("EXEC:'{server}' serve");
        paths.push(Route::open("socat", Path::new("socat"), &["-", &command])?);
    }
    if installed("cat") {
        let script = format!("cat | '{server}' serve | cat");
        paths.push(Route::open(
            "cat | server | cat",
            Path::new("sh"),
            &["-c", &script],
        )?);
    }
    let allow = ["proxy", "--allow", "echo", "--", server, "serve"];
    paths.push(Route::open("gate, allowlist", &gate, &allow)?);
    let audit = [
        "proxy", "--allow", "echo", "--audit", log, "--", server, "serve",
    ];
    paths.push(Route::open("gate, allowlist, audit file", &gate, &audit)?);
    let policies = [
        "proxy",
        "--policies",
        many,
        "--audit",
        log,
        "--",
        server,
        "serve",
    ];
    paths.push(Route::open("gate, 100 policies, file", &gate, &policies)?);
    Ok(paths)
}

/// One permit, and 99 forbids with conditions on arguments.
fn hundred_policies() -> String {
    let guards = (0..99).map(|number| {
        format!(
            "@id(\"no-{number}\") forbid(principal, action == Mcp::Action::\"call_tool\", resource) when {{ context.raw_arguments.hasTag(\"/text\") && context.raw_arguments.getTag(\"/text\") has string && context.raw_arguments.getTag(\"/text\").string like \"*secret{number}*\" }};\n"
        )
    });
    let all = "@id(\"all\") permit(principal, action, resource);\n".to_owned();
    std::iter::once(all).chain(guards).collect()
}

/// The least server that does the job: it looks at nothing but the id.
fn serve() -> Result<(), Failure> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut buffer = vec![0; 64 * 1024];
    let mut held = Vec::new();
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        held.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let mut answers = Vec::new();
        while let Some(end) = held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = held.drain(..=end).collect();
            answer(&String::from_utf8(line)?, &mut answers)?;
        }
        output.write_all(&answers)?;
        output.flush()?;
    }
}

fn answer(line: &str, out: &mut Vec<u8>) -> Result<(), Failure> {
    let Some((_, rest)) = line.split_once("\"id\":") else {
        return Ok(());
    };
    let id = rest.split([',', '}']).next().unwrap_or_default();
    let result = if line.contains("\"initialize\"") {
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#
    } else if line.contains("tools/list") {
        r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#
    } else {
        r#"{"content":[{"type":"text","text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]}"#
    };
    writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
    Ok(())
}
