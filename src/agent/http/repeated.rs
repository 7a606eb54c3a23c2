//! Arguments of a call that headers repeat, against the body (MCP 2026-07-28, basic/transports).

use hyper::HeaderMap;

use crate::wire::{Message, Mirror, Mirrors};

use super::fields;
use super::refusal::Refused;

/// How answers call them, whichever it is.
const PARAM: &str = "Mcp-Param-*";

/// Headers of a tool that was not listed yet cannot be told from any others, and are ignored: the
/// server gets ones that are made from the body.
pub(super) fn check(
    mirrors: &Mirrors,
    tool: &str,
    call: &Message,
    headers: &HeaderMap,
) -> Result<(), Refused> {
    let of_tool = mirrors.of_tool(tool);
    let mut of_tool = of_tool.iter().flat_map(|mirrors| mirrors.iter());
    of_tool.try_for_each(|mirror| check_one(mirror, call, headers))
}

fn check_one(mirror: &Mirror, call: &Message, headers: &HeaderMap) -> Result<(), Refused> {
    let mut said = headers.get_all(mirror.header()).iter();
    let (first, second) = (said.next(), said.next());
    if second.is_some() {
        return Err(Refused::Repeated(PARAM));
    }
    let Some(said) = first else {
        return match mirror.value(call) {
            Some(_) => Err(Refused::HeaderMissing(PARAM)),
            None => Ok(()),
        };
    };
    let said = said.to_str().ok().and_then(fields::mirrored);
    let said = said.ok_or(Refused::Unreadable(PARAM))?;
    if mirror.is_said_by(call, &said) {
        Ok(())
    } else {
        Err(Refused::HeaderMismatch(PARAM))
    }
}
