//! What holds for every text that is read as a client's file. Also what the fuzz target `clients` asks for.

use super::client::{CLIENTS, Client, Format};
use super::entries::read;
use super::entry::{Attachment, Entry, Launch};
use super::errors::ClientErrors;
use super::wrapping::{unwrap, wrap};

/// The text is refused with reasons, or read the same each time. Wrapping takes no server away and adds none, and
/// the way back is byte for byte.
#[track_caller]
pub(super) fn laws(text: &str) {
    for client in CLIENTS {
        match read("f", text, client) {
            Ok(entries) => there_and_back(text, client, &entries),
            Err(errors) => told(&errors),
        }
    }
}

#[track_caller]
fn there_and_back(text: &str, client: &Client, before: &[Entry]) {
    let attachments: Vec<Attachment> = before.iter().filter_map(attachment).collect();
    if client.format == Format::Yaml {
        let wrapped = wrap("f", text, client, &attachments);
        assert_eq!(wrapped.is_ok(), attachments.is_empty(), "{text:?}");
        return;
    }
    let wrapped = wrap("f", text, client, &attachments).expect("what was read is wrapped");
    let after = read("f", &wrapped, client).expect("what was wrapped is read");
    assert_eq!(before.len(), after.len(), "{text:?} {wrapped:?}");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.path, after.path, "{text:?} {wrapped:?}");
        assert_eq!(before.enabled, after.enabled, "{text:?} {wrapped:?}");
        let is_attached = matches!(after.launch, Ok(Launch::Attached { .. }));
        assert_eq!(is_attached, before.launch.is_ok(), "{text:?} {wrapped:?}");
    }
    let restored = unwrap("f", &wrapped, text, client).expect("what was wrapped is unwrapped");
    assert_eq!(restored, text);
}

fn attachment(entry: &Entry) -> Option<Attachment> {
    match entry.launch {
        Ok(Launch::Command { .. } | Launch::Url { .. }) => Some(Attachment::new(
            entry,
            "/opt/mcp-protector",
            "key",
            "/home/ada/gate.toml",
        )),
        Ok(Launch::Attached { .. }) | Err(_) => None,
    }
}

/// As people read it.
#[track_caller]
fn told(errors: &ClientErrors) {
    assert!(!errors.problems().is_empty());
    let mut shown = String::new();
    let told = miette::NarratableReportHandler::new().render_report(&mut shown, errors);
    assert!(told.is_ok() && shown.contains("f:"), "{shown:?}");
}
