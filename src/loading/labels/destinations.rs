//! `destinations` in `tools.toml`: where calls may send something without a question.

use super::pointers::is_pointer;
use crate::policy::table::TomlTable;
use crate::policy::{ApprovedDestination, Destination, DestinationSyntax, ToolLabels};

/// The most approved destinations of one argument.
const MOST: usize = 4096;

/// By arguments: `labels` says which of them are URLs and hosts.
pub(super) fn by_arguments(table: &mut TomlTable<'_, '_>, labels: &ToolLabels) -> Vec<Destination> {
    let Some(mut by) = table.table("destinations") else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (pointer, place, field) in by.entries() {
        if !is_pointer(&pointer) {
            let message = format!("`{}` is no JSON pointer", pointer.escape_debug());
            let help = "`\"/to\" = [\"*@corp.example\"]` is for the argument `to`";
            by.report(place.clone(), &message, Some(help.to_owned()));
        }
        let syntax = if labels.urls.contains(&pointer) {
            DestinationSyntax::Url
        } else if labels.hosts.contains(&pointer) {
            DestinationSyntax::Host
        } else {
            DestinationSyntax::Text
        };
        let given = by.strings_of(&field);
        if given.len() > MOST {
            let message = format!("`{}` has more than {MOST} destinations", field.path);
            by.report(place, &message, None);
        }
        let mut approved = Vec::new();
        for (text, place) in given.into_iter().take(MOST) {
            if let Some(known) = ApprovedDestination::of(&text, syntax) {
                approved.push(known);
                continue;
            }
            let message = format!("`{}` is no destination", text.escape_debug());
            by.report(place, &message, Some(help(syntax).to_owned()));
        }
        all.push(Destination {
            pointer,
            syntax,
            approved,
        });
    }
    all
}

const fn help(syntax: DestinationSyntax) -> &'static str {
    match syntax {
        DestinationSyntax::Url | DestinationSyntax::Host => {
            "the argument is among `urls` or `hosts`: write the exact name of a host, as in `docs.example.com`"
        }
        DestinationSyntax::Text => {
            "write it as the argument has it, or `*@corp.example` for all mail addresses of a domain"
        }
    }
}
