//! What the servers have in common: tools, and their arguments.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, Tool, ToolAnnotations};
use serde_json::json;

/// What makes one server differ from the other.
pub(super) trait DemoTools: Send + Sync + 'static {
    const NAME: &'static str;

    fn tools() -> Vec<Tool>;

    /// The result of a call: an argument that is missing, and an unknown tool, are errors of the protocol.
    fn call(&self, request: &CallToolRequestParams) -> Result<CallToolResult, ErrorData>;
}

pub(super) fn unknown_tool(request: &CallToolRequestParams) -> ErrorData {
    ErrorData::invalid_params(format!("unknown tool `{}`", request.name), None)
}

pub(super) fn argument<'r>(
    request: &'r CallToolRequestParams,
    name: &str,
) -> Result<&'r str, ErrorData> {
    let value = request.arguments.as_ref().and_then(|all| all.get(name));
    let text = value.and_then(|value| value.as_str());
    text.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is missing"), None))
}

/// A tool whose arguments are strings, all of them required.
pub(super) fn tool(
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
