//! A release on this machine, as the action downloads it.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The asset of the systems that tests pretend to have.
pub(crate) const ASSET: &str = "mcp-protector-x86_64-unknown-linux-musl";

/// Appended to the name of an asset that breaks off when it is sent.
const BROKEN: &str = ".broken";

/// Assets in a directory, and the server that sends them.
pub(crate) struct Release {
    directory: TempDir,
    pub(crate) address: String,
}

impl Release {
    /// The program as the asset `name`, without SHA256SUMS.
    pub(crate) fn of(name: &str, program: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let release = Self { directory, address };
        release.write(name, program);
        let served = release.directory.path().to_owned();
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &served);
            }
        });
        release
    }

    /// The program of these tests for Linux, with SHA256SUMS.
    pub(crate) fn real() -> Self {
        let program = program();
        let release = Self::of(ASSET, &program);
        release.write("SHA256SUMS", &format!("{}  {ASSET}\n", checksum(&program)));
        release
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let assets = self.directory.path().join(format!("v{VERSION}"));
        fs::create_dir_all(&assets).unwrap();
        fs::write(assets.join(name), text).unwrap();
    }

    /// The asset breaks off when it is sent.
    pub(crate) fn break_off(&self, name: &str) {
        self.write(&format!("{name}{BROKEN}"), "");
    }
}

/// What stands in for an asset: small, and the program of these tests.
pub(crate) fn program() -> String {
    let gate = env!("CARGO_BIN_EXE_mcp-protector");
    format!("#!/bin/sh\nexec '{gate}' \"$@\"\n")
}

pub(crate) fn checksum(text: &str) -> String {
    let mut written = String::new();
    for byte in Sha256::digest(text) {
        write!(written, "{byte:02x}").unwrap();
    }
    written
}

/// Answers one request with a file of the directory.
fn answer(mut stream: TcpStream, directory: &Path) {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap_or_default() > 2 {
        request += &line;
        line.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let file = directory.join(path.trim_start_matches('/'));
    let broken = directory.join(format!("{}{BROKEN}", path.trim_start_matches('/')));
    let (status, body) = match fs::read(file) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let sent = if broken.exists() {
        &body[..length / 2]
    } else {
        &body[..]
    };
    // A client that went away has its reason.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(sent));
}
