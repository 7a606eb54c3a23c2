//! References to variables in a client's strings.

use super::client::References;
use super::entry::Piece;

/// `text` is what the file says.
pub(super) fn pieces(text: &str, references: References) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, name, after)) = next(rest, references) {
        pieces.extend((!before.is_empty()).then(|| Piece::Text(before.to_owned())));
        pieces.push(reference(name, references));
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    pieces
}

/// The text before a reference, what is in its braces, and the text behind it.
fn next(text: &str, references: References) -> Option<(&str, &str, &str)> {
    if references == References::None {
        return None;
    }
    let (before, after) = text.split_once("${")?;
    let (name, after) = after.split_once('}')?;
    Some((before, name, after))
}

fn reference(name: &str, references: References) -> Piece {
    match references {
        References::None => Piece::Text(name.to_owned()),
        References::Plain => variable(name),
        References::Prefixed => prefixed(name),
    }
}

fn prefixed(name: &str) -> Piece {
    match name.split_once(':') {
        Some(("env", name)) => variable(name),
        Some(("input", id)) if !id.is_empty() => Piece::Asked(id.to_owned()),
        Some(("file", _)) => Piece::Unknown("write `${env:NAME}`: the gate reads no such file"),
        Some(_) | None => {
            Piece::Unknown("write the value itself: only the client knows its folders and commands")
        }
    }
}

/// An environment variable, if the gate's own configuration takes its name.
pub(super) fn variable(name: &str) -> Piece {
    if is_variable(name) {
        Piece::Variable(name.to_owned())
    } else {
        Piece::Unknown(
            "name an environment variable, or write the value itself: the gate has neither defaults \
             nor other forms",
        )
    }
}

fn is_variable(name: &str) -> bool {
    let mut characters = name.chars();
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    characters.next().is_some_and(begins)
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
