//! What headers say of the arguments of a call (MCP 2026-07-28, basic/transports). Which of them a tool
//! wants, and whether they say what the body says, is for the gate to tell: it knows the tool.

use hyper::HeaderMap;

use crate::wire::{Mirror, MirroredHeaders, MirroredValue, of_header_value};

pub(super) fn said(headers: &HeaderMap) -> MirroredHeaders {
    let names = headers.keys().map(hyper::header::HeaderName::as_str);
    let wanted = names.filter(|name| name.starts_with(Mirror::PREFIX));
    wanted
        .map(|name| (name.into(), one(headers, name)))
        .collect()
}

fn one(headers: &HeaderMap, name: &str) -> MirroredValue {
    let mut said = headers.get_all(name).iter();
    let (first, second) = (said.next(), said.next());
    if second.is_some() {
        return MirroredValue::Twice;
    }
    let said = first.and_then(|said| said.to_str().ok());
    match said.and_then(of_header_value) {
        Some(said) => MirroredValue::Once(said.into()),
        None => MirroredValue::Unreadable,
    }
}
