//! Puts the agent's name in the place of a server's, and back.

use super::name_map::NameMap;
use super::server_names::{NameKind, NameRef};
use crate::wire::{Edits, Fragment};

/// The agent's name in place of the server's.
pub(super) fn name_for_agent<'d>(
    edits: &mut Edits<'d>,
    (kind, value): NameRef<'d>,
    server: usize,
    names: &NameMap,
) {
    let name = value.as_str();
    let shown = match (kind, &name) {
        (NameKind::ProgressToken, _) => names.encode_id(server, value.text()),
        (NameKind::Tool, Some(name)) => names.encode_tool(server, name),
        (NameKind::Prompt, Some(name)) => names.encode_prompt(server, name),
        (NameKind::Uri, Some(uri)) => names.encode_uri(server, uri),
        (NameKind::OpaqueId, Some(text)) => names.encode_id(server, text),
        // For the agent, this server is all of them.
        (NameKind::Context, Some(context)) if context == "thisServer" => "none".to_owned(),
        // Any other context stays, and what is no text is no name.
        (NameKind::Context, Some(_)) | (_, None) => return,
    };
    edits.replace(value, Fragment::string(&shown));
}

/// The server, and its own name for what an agent calls so; `None` if it has no such name.
pub(super) fn name_for_server(
    (kind, value): NameRef<'_>,
    names: &NameMap,
) -> Option<(usize, Fragment)> {
    let shown = value.as_str()?;
    match kind {
        NameKind::Tool => of(names.decode_tool(&shown)),
        NameKind::Prompt => of(names.decode_prompt(&shown)),
        NameKind::OpaqueId => of(names.decode_id(&shown)),
        NameKind::Uri => {
            let (server, uri) = names.decode_uri(&shown)?;
            Some((server, Fragment::string(&uri)))
        }
        // Only servers ask for it.
        NameKind::Context => None,
        NameKind::ProgressToken => {
            let (server, token) = names.decode_id(&shown)?;
            Some((server, Fragment::decode(token).ok()?))
        }
    }
}

fn of(own: Option<(usize, &str)>) -> Option<(usize, Fragment)> {
    own.map(|(server, name)| (server, Fragment::string(name)))
}
