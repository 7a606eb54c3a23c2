//! The server of the demo: it keeps notes in memory. It is built on the official Rust SDK, so that the gate
//! meets an implementation of MCP that is not its own.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;
use tokio::io::{AsyncRead, ReadBuf, Stdin};

use crate::cli::args::DemoServerArgs;
use crate::cli::exit::Exit;

/// A note with a credential, which the gate redacts.
pub(super) const BACKUP: &str =
    "Nightly, from postgres://notes:Vk8qT2mZr4wLx9Jd@db.internal/notes to the other disk.";
pub(super) const PASSWORD: &str = "Vk8qT2mZr4wLx9Jd";

/// The notes at the start.
const NOTES: [(&str, &str); 2] = [
    ("welcome", "Remember to water the plants."),
    ("backup", BACKUP),
];

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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let input = LoggedInput {
            input: tokio::io::stdin(),
            log,
        };
        match Notes::default().serve((input, tokio::io::stdout())).await {
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

struct Notes(Mutex<BTreeMap<String, String>>);

impl Default for Notes {
    fn default() -> Self {
        let notes = NOTES.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Self(Mutex::new(BTreeMap::from(notes)))
    }
}

impl Notes {
    fn call(&self, request: &CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
        let argument = |name: &str| {
            let value = request.arguments.as_ref().and_then(|all| all.get(name));
            let text = value.and_then(|value| value.as_str());
            text.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is missing"), None))
        };
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match request.name.as_ref() {
            "read_note" => notes.get(argument("name")?).cloned(),
            "write_note" => {
                notes.insert(argument("name")?.to_owned(), argument("text")?.to_owned());
                Some("written".to_owned())
            }
            "delete_note" => notes
                .remove(argument("name")?)
                .map(|_| "deleted".to_owned()),
            "export_notes" => Some(json!(*notes).to_string()),
            "fetch" => Some(format!("<h1>{}</h1><p>A page.</p>", argument("url")?)),
            name => {
                let message = format!("unknown tool `{name}`");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(match text {
            Some(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            None => CallToolResult::error(vec![ContentBlock::text("there is no such note")]),
        })
    }
}

impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("notes-server", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let local = || ToolAnnotations::new().open_world(false);
        let reads = local().read_only(true);
        let writes = local().read_only(false).destructive(false);
        let deletes = local().read_only(false).destructive(true);
        let reaches_out = || ToolAnnotations::new().read_only(true).open_world(true);
        Ok(ListToolsResult::with_all_items(vec![
            tool("read_note", "Reads a note.", &["name"], reads),
            tool("write_note", "Writes a note.", &["name", "text"], writes),
            tool("delete_note", "Deletes a note.", &["name"], deletes),
            tool("export_notes", "Exports all notes.", &[], reaches_out()),
            tool("fetch", "Fetches a page.", &["url"], reaches_out()),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(&request).map(Into::into)
    }
}

/// A tool whose arguments are strings, all of them required.
fn tool(
    name: &'static str,
    description: &'static str,
    arguments: &[&str],
    annotations: ToolAnnotations,
) -> Tool {
    let properties = arguments.iter();
    let properties = properties.map(|name| ((*name).to_owned(), json!({"type": "string"})));
    let properties: serde_json::Map<_, _> = properties.collect();
    let schema = json!({"type": "object", "properties": properties, "required": arguments});
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, schema).with_annotations(annotations)
}
