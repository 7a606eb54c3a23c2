//! Names below `input` that no document has: what they lead to is undefined, and a rule that needs
//! it never holds, or always does behind a `not`.

use super::functions::Refused;
use super::tokens::{Kind, Token};
use crate::policy::engines::document::Known;

/// The first such name of each path, as far as paths are written out.
pub(super) fn unknown(tokens: &[Token<'_>]) -> Vec<Refused> {
    let mut refused = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_member = at
            .checked_sub(1)
            .and_then(|before| tokens.get(before))
            .is_some_and(|before| before.is("."));
        if token.kind == Kind::Word && token.is("input") && !is_member {
            let rest = tokens.get(at.saturating_add(1)..).unwrap_or_default();
            refused.extend(doubt(rest));
        }
    }
    refused
}

fn doubt(mut rest: &[Token<'_>]) -> Option<Refused> {
    let mut known = Known::get();
    loop {
        let (name, at, behind) = match rest {
            [dot, name, behind @ ..]
                if dot.is(".") && !dot.begins_line && name.kind == Kind::Word =>
            {
                (name.text, name.at, behind)
            }
            [open, name, close, behind @ ..]
                if open.is("[") && !open.begins_line && close.is("]") =>
            {
                (name.plain_string()?, name.at, behind)
            }
            _ => return None,
        };
        match known.below(name) {
            Ok(below) => known = below?,
            Err(unknown) => {
                return Some(Refused {
                    at,
                    message: unknown.message,
                    help: Some(unknown.help),
                });
            }
        }
        rest = behind;
    }
}
