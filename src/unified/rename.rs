//! Puts the agent's name in the place of a server's, and back.

use super::naming::Naming;
use super::server_names::{NamePlace, Named};
use crate::wire::{Edits, Fragment};

/// The agent's name in place of the server's.
pub(super) fn shown<'d>(
    edits: &mut Edits<'d>,
    (named, value): NamePlace<'d>,
    server: usize,
    naming: &Naming,
) {
    let name = value.as_str();
    let shown = match (named, &name) {
        (Named::Token, _) => naming.text(server, value.text()),
        (Named::Tool, Some(name)) => naming.tool(server, name),
        (Named::Prompt, Some(name)) => naming.prompt(server, name),
        (Named::Resource, Some(uri)) => naming.uri(server, uri),
        (Named::Other, Some(text)) => naming.text(server, text),
        // For the agent, this server is all of them.
        (Named::Context, Some(context)) if context == "thisServer" => "none".to_owned(),
        // Any other context stays, and what is no text is no name.
        (Named::Context, Some(_)) | (_, None) => return,
    };
    edits.replace(value, Fragment::string(&shown));
}

/// The server, and its own name for what an agent calls so; `None` if it has no such name.
pub(super) fn own((named, value): NamePlace<'_>, naming: &Naming) -> Option<(usize, Fragment)> {
    let shown = value.as_str()?;
    match named {
        Named::Tool => of(naming.of_tool(&shown)),
        Named::Prompt => of(naming.of_prompt(&shown)),
        Named::Other => of(naming.of_text(&shown)),
        Named::Resource => {
            let (server, uri) = naming.of_uri(&shown)?;
            Some((server, Fragment::string(&uri)))
        }
        // Only servers ask for it.
        Named::Context => None,
        Named::Token => {
            let (server, token) = naming.of_text(&shown)?;
            Some((server, Fragment::decode(token).ok()?))
        }
    }
}

fn of(own: Option<(usize, &str)>) -> Option<(usize, Fragment)> {
    own.map(|(server, name)| (server, Fragment::string(name)))
}
