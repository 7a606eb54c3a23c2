//! The server of the first story: it keeps notes in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::json;

use super::tools::{DemoTools, argument, tool, unknown_tool};

/// A note with a credential, which the gate redacts.
pub(in crate::cli::demo) const BACKUP: &str =
    "Nightly, from postgres://notes:Vk8qT2mZr4wLx9Jd@db.internal/notes to the other disk.";

/// The notes at the start.
const NOTES: [(&str, &str); 2] = [
    ("welcome", "Remember to water the plants."),
    ("backup", BACKUP),
];

pub(super) struct Notes(Mutex<BTreeMap<String, String>>);

impl Default for Notes {
    fn default() -> Self {
        let notes = NOTES.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Self(Mutex::new(BTreeMap::from(notes)))
    }
}

impl DemoTools for Notes {
    const NAME: &'static str = "notes-server";

    fn tools() -> Vec<Tool> {
        let local = || ToolAnnotations::new().open_world(false);
        let reads = local().read_only(true);
        let writes = local().read_only(false).destructive(false);
        let deletes = local().read_only(false).destructive(true);
        let reaches_out = || ToolAnnotations::new().read_only(true).open_world(true);
        vec![
            tool("read_note", "Reads a note.", &["name"], reads),
            tool("write_note", "Writes a note.", &["name", "text"], writes),
            tool("delete_note", "Deletes a note.", &["name"], deletes),
            tool("export_notes", "Exports all notes.", &[], reaches_out()),
            tool("fetch", "Fetches a page.", &["url"], reaches_out()),
        ]
    }

    fn call(&self, request: &CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
        let argument = |name| argument(request, name);
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
            _ => return Err(unknown_tool(request)),
        };
        Ok(match text {
            Some(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            None => CallToolResult::error(vec![ContentBlock::text("there is no such note")]),
        })
    }
}
