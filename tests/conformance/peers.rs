//! What listens on a port while the suite runs: a server, a gate.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;

/// A program that prints `listening on URL` on its standard error; killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) url: String,
    child: Child,
}

impl Listening {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut before = Vec::new();
        let url = loop {
            let Some(line) = lines.next() else {
                panic!("it does not listen: {before:#?}");
            };
            let line = line.unwrap();
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.split_whitespace().next().unwrap().to_owned();
            }
            before.push(line);
        };
        // A full pipe would stop the program.
        thread::spawn(move || lines.for_each(drop));
        Self { url, child }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
