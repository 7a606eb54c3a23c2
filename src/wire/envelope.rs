//! The members of an envelope, and what they make of it.

use std::borrow::Cow;

use super::error::{Likeness, ShapeProblem, WireErrorKind};
use super::folding::{LookAlike, folded, look_alike};
use super::id::{Id, IdProblem};
use super::json::{JsonKind, Value, quoted};
use super::method::Method;
use super::shape::{Outcome, Shape};

/// The members of an envelope that the protocol gives meaning to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members<T> {
    pub(super) jsonrpc: Option<T>,
    pub(super) id: Option<T>,
    pub(super) method: Option<T>,
    pub(super) params: Option<T>,
    pub(super) result: Option<T>,
    pub(super) error: Option<T>,
}

pub(super) struct Fault {
    pub(super) kind: WireErrorKind,
    /// In the compact text.
    pub(super) position: Option<usize>,
}

const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
pub(super) const META: &str = "_meta";

/// The member of `_meta` by which the gate shows a server the user. Only the gate writes it.
pub const IDENTITY_MEMBER: &str = "mcp-protector/identity";

pub(super) fn read_envelope(root: Value<'_>) -> Result<(Shape, Members<usize>), Fault> {
    let (members, others) = members(root);
    if others {
        refuse_look_alikes(root, &ENVELOPE)?;
    }
    if members.jsonrpc.and_then(Value::as_str).as_deref() != Some("2.0") {
        return Err(fault(WireErrorKind::Version, members.jsonrpc));
    }
    let shape = match (members.method, members.result, members.error) {
        (Some(method), None, None) => request_or_notification(method, members.id)?,
        (None, Some(_), None) => {
            let id = match members.id {
                Some(id) => read_id(id)?,
                None => return Err(fault(WireErrorKind::Id(IdProblem::Missing), None)),
            };
            Shape::Reply {
                id: Some(id),
                outcome: Outcome::Result,
            }
        }
        (None, None, Some(_)) => {
            let id = members
                .id
                .filter(|id| !id.is_null())
                .map(read_id)
                .transpose()?;
            Shape::Reply {
                id,
                outcome: Outcome::Error,
            }
        }
        (None, None, None) => return Err(shape_fault(ShapeProblem::Empty)),
        (None, Some(_), Some(_)) => return Err(shape_fault(ShapeProblem::ResultAndError)),
        (Some(_), ..) => return Err(shape_fault(ShapeProblem::RequestAndReply)),
    };
    check_params(members)?;
    check_result(members)?;
    check_error(members)?;
    Ok((shape, members.indexes()))
}

fn request_or_notification(method: Value<'_>, id: Option<Value<'_>>) -> Result<Shape, Fault> {
    let id = id.map(read_id).transpose()?;
    let method = Method::from_value(method)
        .map_err(|problem| fault(WireErrorKind::Method(problem), Some(method)))?;
    Ok(match id {
        Some(id) => Shape::Request { id, method },
        None => Shape::Notification { method },
    })
}

fn check_params(members: Members<Value<'_>>) -> Result<(), Fault> {
    let Some(params) = members.params else {
        return Ok(());
    };
    if members.method.is_none() {
        return Err(shape_fault(ShapeProblem::ReplyWithParams));
    }
    if !params.is_object() {
        return Err(fault(
            WireErrorKind::ParamsNotObject(params.kind()),
            Some(params),
        ));
    }
    refuse_look_alikes_of_meta(params)
}

fn check_result(members: Members<Value<'_>>) -> Result<(), Fault> {
    let Some(result) = members.result else {
        return Ok(());
    };
    if !result.is_object() {
        return Err(fault(
            WireErrorKind::ResultNotObject(result.kind()),
            Some(result),
        ));
    }
    match result.get(META) {
        Some(meta) => refuse_look_alikes(meta, &[IDENTITY_MEMBER]),
        None => Ok(()),
    }
}

fn check_error(members: Members<Value<'_>>) -> Result<(), Fault> {
    let Some(error) = members.error else {
        return Ok(());
    };
    let code = error.get("code").and_then(Value::as_i64);
    let message = error.get("message").map(Value::kind);
    match (code, message) {
        (Some(_), Some(JsonKind::String)) => Ok(()),
        _ => Err(fault(WireErrorKind::MalformedError, Some(error))),
    }
}

fn refuse_look_alikes_of_meta(params: Value<'_>) -> Result<(), Fault> {
    refuse_look_alikes(params, &[META])?;
    match params.get(META) {
        Some(meta) => refuse_look_alikes(meta, &[IDENTITY_MEMBER]),
        None => Ok(()),
    }
}

fn refuse_look_alikes(object: Value<'_>, reserved: &[&str]) -> Result<(), Fault> {
    let Some(found) = look_alike(object, reserved.iter().copied()) else {
        return Ok(());
    };
    let (kind, position) = match found {
        LookAlike::Pair {
            key,
            like,
            position,
        } => (
            WireErrorKind::LookAlikeKey {
                key: quoted(&key),
                like: quoted(&like),
            },
            position,
        ),
        LookAlike::TooMuch { position } => (WireErrorKind::KeysTooLong, position),
    };
    Err(Fault {
        kind,
        position: Some(position),
    })
}

fn read_id(value: Value<'_>) -> Result<Id, Fault> {
    Id::from_value(value).map_err(|problem| fault(WireErrorKind::Id(problem), Some(value)))
}

/// What can be told of an envelope that was refused: its id, if one key only could be taken for
/// `id` by any peer, and what it seems to have been meant as.
pub(super) fn remains(root: Value<'_>) -> (Option<Id>, Likeness) {
    let (mut ids, mut likeness) = (Vec::new(), Likeness::Neither);
    // Folding is dear and the sender is suspect: a few vendor members, or no report.
    let mut left = 1024_usize;
    for (key, value) in root.entries() {
        if !key.is_ascii() {
            match left.checked_sub(key.len()) {
                Some(rest) => left = rest,
                None => return (None, Likeness::Nothing),
            }
        }
        match &*folded(Cow::Borrowed(&key)) {
            "id" => ids.push((key == "id").then_some(value)),
            "method" => likeness = Likeness::Question,
            "result" | "error" if likeness == Likeness::Neither => likeness = Likeness::Reply,
            _ => {}
        }
    }
    let id = match ids.as_slice() {
        [Some(id)] if !id.has_lone_surrogate() => Id::from_value(*id).ok(),
        _ => None,
    };
    (id, likeness)
}

/// The members, and whether the envelope has others besides.
fn members(root: Value<'_>) -> (Members<Value<'_>>, bool) {
    let mut others = false;
    let mut members = Members {
        jsonrpc: None,
        id: None,
        method: None,
        params: None,
        result: None,
        error: None,
    };
    for (key, value) in root.entries() {
        let member = match &*key {
            "jsonrpc" => &mut members.jsonrpc,
            "id" => &mut members.id,
            "method" => &mut members.method,
            "params" => &mut members.params,
            "result" => &mut members.result,
            "error" => &mut members.error,
            _ => {
                others = true;
                continue;
            }
        };
        *member = Some(value);
    }
    (members, others)
}

impl Members<Value<'_>> {
    fn indexes(self) -> Members<usize> {
        Members {
            jsonrpc: self.jsonrpc.map(Value::index),
            id: self.id.map(Value::index),
            method: self.method.map(Value::index),
            params: self.params.map(Value::index),
            result: self.result.map(Value::index),
            error: self.error.map(Value::index),
        }
    }
}

fn fault(kind: WireErrorKind, at: Option<Value<'_>>) -> Fault {
    Fault {
        kind,
        position: at.map(Value::position),
    }
}

fn shape_fault(problem: ShapeProblem) -> Fault {
    fault(WireErrorKind::Shape(problem), None)
}
