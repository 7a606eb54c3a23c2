//! The floor: the least proxy that reads messages. It judges nothing.
//!
//! One task a connection handles each request in place, on one thread. Each connection of an agent has a connection to
//! the server, or a process, of its own. Every message is decoded as the gate decodes it.

use std::cell::RefCell;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::rc::Rc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use mcp_protector::wire::{Limits, Message};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::task::{LocalSet, spawn_local};

use super::measure::Failure;

type Sender = client::SendRequest<Full<Bytes>>;

/// Serves until it is killed, by the words of the command line: the agent's transport, and the server's address if it
/// has one.
pub(crate) fn serve(words: &[String]) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let serving = async {
        match *words.as_slice() {
            ["http", address] => listen(Some(address.to_owned())).await,
            ["http"] => listen(None).await,
            ["stdio", address] => lines_to_http(address).await,
            _ => lines_to_lines().await,
        }
    };
    LocalSet::new().block_on(&runtime, serving)
}

fn decode(message: &[u8]) -> Result<Message, Failure> {
    Message::decode(message, &Limits::default()).map_err(|cause| format!("{cause:?}").into())
}

fn spawn_server() -> Result<Child, Failure> {
    let child = Command::new(std::env::current_exe()?)
        .arg("serve-lines")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    Ok(child)
}

async fn connect(
    address: &str,
) -> Result<(Sender, client::Connection<TokioIo<TcpStream>, Full<Bytes>>), Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(client::handshake(TokioIo::new(stream)).await?)
}

/// Says first where it listens.
async fn listen(address: Option<String>) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let address = address.clone();
        spawn_local(async move {
            // A connection that fails is its agent's concern.
            drop(match address {
                Some(address) => http_to_http(stream, &address).await,
                None => http_to_lines(stream).await,
            });
        });
    }
}

async fn http_to_http(stream: TcpStream, address: &str) -> Result<(), Failure> {
    let (sender, connection) = connect(address).await?;
    let sender = Rc::new(Mutex::new(sender));
    let service = service_fn(|request| {
        let sender = Rc::clone(&sender);
        async move { exchange(request, &mut *sender.lock().await).await }
    });
    let serving = server::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = serving => Ok(served?),
        closed = connection => Ok(closed?),
    }
}

async fn exchange(
    request: Request<Incoming>,
    sender: &mut Sender,
) -> Result<Response<Full<Bytes>>, Failure> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    if !body.is_empty() {
        decode(&body)?;
    }
    let request = Request::from_parts(head, Full::new(body));
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    if !body.is_empty() {
        decode(&body)?;
    }
    Ok(Response::from_parts(head, Full::new(body)))
}

/// A process, and the two ends of its pipes.
struct Process {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

async fn http_to_lines(stream: TcpStream) -> Result<(), Failure> {
    let mut child = spawn_server()?;
    let process = Rc::new(Mutex::new(Process {
        input: child.stdin.take().ok_or("no stdin")?,
        output: BufReader::new(child.stdout.take().ok_or("no stdout")?),
        line: Vec::new(),
    }));
    let service = service_fn(|request| {
        let process = Rc::clone(&process);
        async move { ask(request, &mut *process.lock().await).await }
    });
    let io = TokioIo::new(stream);
    server::Builder::new().serve_connection(io, service).await?;
    child.kill().await?;
    Ok(())
}

async fn ask(
    request: Request<Incoming>,
    process: &mut Process,
) -> Result<Response<Full<Bytes>>, Failure> {
    let body = request.into_body().collect().await?.to_bytes();
    let Ok(message) = decode(&body) else {
        let mut refusal = Response::new(Full::default());
        *refusal.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(refusal);
    };
    process.line.clear();
    process.line.extend_from_slice(&body);
    process.line.push(b'\n');
    process.input.write_all(&process.line).await?;
    if message.id().is_none() {
        let mut accepted = Response::new(Full::default());
        *accepted.status_mut() = StatusCode::ACCEPTED;
        return Ok(accepted);
    }
    let mut line = Vec::new();
    process.output.read_until(b'\n', &mut line).await?;
    decode(&line)?;
    Response::builder()
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(line)))
        .map_err(Failure::from)
}

/// Standard input and standard output, which are pipes.
fn standard_streams() -> Result<(BufReader<pipe::Receiver>, pipe::Sender), Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    let input = pipe::Receiver::from_owned_fd(input)?;
    let output = pipe::Sender::from_owned_fd(output)?;
    Ok((BufReader::with_capacity(64 * 1024, input), output))
}

async fn lines_to_lines() -> Result<(), Failure> {
    let mut child = spawn_server()?;
    let input = child.stdin.take().ok_or("no stdin")?;
    let output = child.stdout.take().ok_or("no stdout")?;
    let (from_agent, to_agent) = standard_streams()?;
    let from_server = BufReader::with_capacity(64 * 1024, output);
    tokio::select! {
        ended = pass(from_agent, input) => ended,
        ended = pass(from_server, to_agent) => ended,
    }
}

/// Lines that came together leave together.
async fn pass(
    mut from: BufReader<impl AsyncRead + Unpin>,
    mut to: impl AsyncWrite + Unpin,
) -> Result<(), Failure> {
    let mut lines = Vec::new();
    loop {
        let start = lines.len();
        if from.read_until(b'\n', &mut lines).await? == 0 {
            return Ok(());
        }
        decode(lines.get(start..).unwrap_or_default())?;
        if !from.buffer().contains(&b'\n') {
            to.write_all(&lines).await?;
            lines.clear();
        }
    }
}

/// Each line is a request on a connection that no other uses meanwhile.
async fn lines_to_http(address: &str) -> Result<(), Failure> {
    let (mut input, output) = standard_streams()?;
    let output = Rc::new(Mutex::new(output));
    let idle: Rc<RefCell<Vec<Sender>>> = Rc::default();
    let address: Rc<str> = address.into();
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        decode(&line)?;
        let (output, idle, address) = (Rc::clone(&output), Rc::clone(&idle), Rc::clone(&address));
        spawn_local(async move {
            let kept = idle.borrow_mut().pop();
            let mut sender = if let Some(sender) = kept {
                sender
            } else {
                let (sender, connection) = connect(&address).await?;
                spawn_local(connection);
                sender
            };
            let reply = post(&address, line, &mut sender).await?;
            idle.borrow_mut().push(sender);
            if !reply.is_empty() {
                output.lock().await.write_all(&reply).await?;
            }
            Ok::<(), Failure>(())
        });
    }
}

/// The line that answers; nothing for a notification.
async fn post(address: &str, line: Vec<u8>, sender: &mut Sender) -> Result<Vec<u8>, Failure> {
    sender.ready().await?;
    let request = Request::post("/mcp")
        .header("host", address)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .body(Full::new(Bytes::from(line)))?;
    let response = sender.send_request(request).await?;
    let body = response.into_body().collect().await?.to_bytes();
    let mut reply = body.to_vec();
    if !reply.is_empty() {
        decode(&reply)?;
        reply.push(b'\n');
    }
    Ok(reply)
}
