//! The agent's requests over HTTP: each message in a POST of its own.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Child;
use std::time::Duration;
use std::{fs, io, thread};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::failure::DemoFailure;
use super::logs::DIAGNOSTICS;
use super::story::DemoToken;

/// The longest wait for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// The pause between two reads of the gate's log, and the number of reads.
const PAUSE: Duration = Duration::from_millis(2);
const MAX_READS: u32 = 10_000;

const SESSION: &str = "mcp-session-id";

pub(super) struct DemoHttp {
    runtime: Runtime,
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    token: String,
    /// The session that the last handshake began.
    session: Option<String>,
    answers: VecDeque<String>,
}

impl DemoHttp {
    /// A random token.
    pub(super) fn token() -> Result<String, DemoFailure> {
        let mut bytes = [0; size_of::<u128>()];
        let filled = getrandom::fill(&mut bytes).map_err(io::Error::from);
        filled.map_err(DemoFailure::io("make a token"))?;
        Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
    }

    /// Waits until the gate says where it listens.
    pub(super) fn open(
        directory: &Path,
        gate: &mut Child,
        token: String,
    ) -> Result<Self, DemoFailure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(DemoFailure::io("start a client of HTTP"))?,
            client: Client::builder(TokioExecutor::new()).build_http(),
            url: url_of(directory, gate)?,
            token,
            session: None,
            answers: VecDeque::new(),
        })
    }

    /// Sends a message, and keeps the answer for [`Self::next_answer`].
    pub(super) fn post(&mut self, line: &str, token: DemoToken) -> Result<StatusCode, DemoFailure> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if token == DemoToken::Sent {
            request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session);
        }
        let request = request.body(Full::from(line.to_owned()));
        let request = request.map_err(io::Error::other);
        let request = request.map_err(DemoFailure::io("make a request"))?;
        let asked = self.runtime.block_on(async {
            let answered = async {
                let response = self.client.request(request).await;
                let (head, body) = response.map_err(io::Error::other)?.into_parts();
                let body = body.collect().await.map_err(io::Error::other)?;
                io::Result::Ok(Response::from_parts(head, body.to_bytes()))
            };
            timeout(RESPONSE_TIMEOUT, answered).await?
        });
        let response = asked.map_err(DemoFailure::io("ask the gate"))?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session = session.to_str().ok().map(str::to_owned);
        }
        let status = response.status();
        // What does not know a session has ended it: the next handshake begins another one.
        if status == StatusCode::NOT_FOUND {
            self.session = None;
        }
        if !response.body().is_empty() {
            let body = String::from_utf8_lossy(response.body()).into_owned();
            self.answers.push_back(body);
        }
        Ok(status)
    }

    pub(super) fn next_answer(&mut self) -> Option<String> {
        self.answers.pop_front()
    }
}

/// The address in the gate's log.
fn url_of(directory: &Path, gate: &mut Child) -> Result<String, DemoFailure> {
    for _ in 0..MAX_READS {
        let said = fs::read_to_string(directory.join(DIAGNOSTICS));
        let said = said.map_err(DemoFailure::io("read the log of the gate"))?;
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut urls = whole
            .lines()
            .filter_map(|line| line.split_once("listening on "));
        if let Some((_, url)) = urls.next() {
            return Ok(url.to_owned());
        }
        let ended = gate.try_wait();
        if let Some(status) = ended.map_err(DemoFailure::io("look at the gate"))? {
            return Err(DemoFailure::GateExited(status));
        }
        thread::sleep(PAUSE);
    }
    Err(DemoFailure::Timeout {
        event: "the address of the gate",
        seconds: RESPONSE_TIMEOUT.as_secs(),
    })
}
