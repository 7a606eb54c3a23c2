//! The servers of the demo. They are built on the official Rust SDK, so that the gate meets an implementation
//! of MCP that is not its own.

mod notes;
mod tools;
mod workspace;

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use tokio::io::{AsyncRead, ReadBuf, Stdin};

use crate::cli::args::DemoServerArgs;
use crate::cli::exit::Exit;
use tools::DemoTools;

pub(super) use notes::BACKUP;

struct DemoServer<T>(T);

/// Serves standard input and output until the gate closes them.
pub fn run(args: &DemoServerArgs) -> Exit {
    match serve(args) {
        Ok(()) => Exit::Success,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the server has to stop: {error}");
            Exit::DemoFailed
        }
    }
}

fn serve(args: &DemoServerArgs) -> Result<(), Box<dyn Error>> {
    let open = |path| OpenOptions::new().create(true).append(true).open(path);
    let log = args.log.as_ref().map(open).transpose()?;
    let input = LoggedInput {
        input: tokio::io::stdin(),
        log,
    };
    match args.workspace {
        Some(network) => serve_tools(workspace::Workspace::new(network), input),
        None => serve_tools(notes::Notes::default(), input),
    }
}

fn serve_tools(tools: impl DemoTools, input: LoggedInput) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        match DemoServer(tools).serve((input, tokio::io::stdout())).await {
            Ok(server) => server.waiting().await.map(drop).map_err(Into::into),
            // The gate closed the input before the handshake.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    // A read of standard input blocks a thread; the end does not wait for it.
    runtime.shutdown_background();
    served
}

/// Standard input, with a log of the bytes that the server has read.
struct LoggedInput {
    input: Stdin,
    log: Option<File>,
}

impl AsyncRead for LoggedInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.input).poll_read(context, buffer);
        if let (Poll::Ready(Ok(())), Some(log)) = (&poll, &mut self.log) {
            // A blocking write: the demo reads the log as soon as it has the answer.
            log.write_all(buffer.filled().get(before..).unwrap_or_default())?;
        }
        poll
    }
}

impl<T: DemoTools> ServerHandler for DemoServer<T> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(T::NAME, "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(T::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call(&request).map(Into::into)
    }
}
