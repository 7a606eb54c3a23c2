//! Entries that lead through the gate, and back.

use super::client::{Client, Format};
use super::document::{Node, Source};
use super::entries::read_tree;
use super::entry::{Attachment, Entry, LAUNCH_KEYS, Launch};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};
use super::parsing::parse;
use super::{json, toml};

/// The text in which these entries start the gate; all else is as it was. In TOML that mixes both line
/// ends, all become `\n`.
pub fn wrap(
    name: &str,
    text: &str,
    client: &Client,
    attachments: &[Attachment],
) -> Result<String, ClientErrors> {
    let source = Source { name, text };
    if attachments.is_empty() {
        return Ok(text.to_owned());
    }
    match client.format {
        Format::Json => json::wrap(source, attachments),
        Format::Toml => toml::wrap(source, attachments),
        Format::Yaml => Err(ClientProblem::new(
            ProblemKind::NotSupported,
            format!("{name}: the gate does not write YAML"),
            "write the entries by hand: `command: mcp-protector` and \
             `args: [attach, KEY, --config, PATH]`"
                .to_owned(),
        )
        .into()),
    }
}

/// The text before it was wrapped, by the backup. JSON may have been edited outside of the wrapped
/// entries since; TOML, whose parts of an entry may be anywhere, may not.
pub fn unwrap(
    name: &str,
    text: &str,
    backup: &str,
    client: &Client,
) -> Result<String, ClientErrors> {
    let source = Source { name, text };
    let Some(root) = parse(source, client.format)? else {
        return Ok(text.to_owned());
    };
    let attachments: Vec<Attachment> = read_tree(source, &root, client)?
        .into_iter()
        .filter_map(attachment)
        .collect();
    if attachments.is_empty() {
        return Ok(text.to_owned());
    }
    if client.format != Format::Json {
        let wrapped = wrap(name, backup, client, &attachments)?;
        return if wrapped == text {
            Ok(backup.to_owned())
        } else {
            Err(edited(format!("{name}: edited since it was wrapped")).into())
        };
    }
    let before = Source { name, text: backup };
    let Some(before) = parse(before, client.format)? else {
        return Err(edited(format!("{name}: the backup is empty")).into());
    };
    let mut pieces = Vec::new();
    for attachment in &attachments {
        let now = root.at_path(&attachment.path);
        let then = before.at_path(&attachment.path);
        let piece = then.and_then(|then| backup.get(then.at.clone()));
        let name = attachment.path.last().map(String::as_str);
        let name = name.unwrap_or_default().escape_debug();
        let (Some(now), Some(then), Some(piece)) = (now, then, piece) else {
            let what = format!("{}: the backup has no `{name}`", source.name);
            return Err(edited(what).into());
        };
        if !same_but_launch(now, then) {
            let at = now.at.start;
            let what = &format!("`{name}` was edited since it was wrapped");
            let problem = source.problem(at, ProblemKind::EditedSince, what, BY_HAND);
            return Err(problem.into());
        }
        pieces.push((now.at.clone(), piece));
    }
    Ok(json::splice(text, pieces))
}

const BY_HAND: &str = "make the same change in the backup, then copy the backup over the file";

fn edited(what: String) -> ClientProblem {
    ClientProblem::new(ProblemKind::EditedSince, what, BY_HAND.to_owned())
}

fn attachment(entry: Entry) -> Option<Attachment> {
    match entry.launch {
        Ok(Launch::Attached { program, args }) => Some(Attachment {
            path: entry.path,
            program,
            args,
        }),
        Ok(Launch::Command { .. } | Launch::Url { .. }) | Err(_) => None,
    }
}

fn same_but_launch(one: &Node, two: &Node) -> bool {
    let stays = |key: &str| !LAUNCH_KEYS.contains(&key);
    let count = |node: &Node| {
        let fields = node.fields().iter();
        fields.filter(|field| stays(&field.key)).count()
    };
    let mut kept = one.fields().iter().filter(|field| stays(&field.key));
    count(one) == count(two)
        && kept.all(|field| {
            let mut others = two.fields().iter();
            let other = others.find(|other| other.key == field.key);
            other.is_some_and(|other| field.node.means_the_same(&other.node))
        })
}
