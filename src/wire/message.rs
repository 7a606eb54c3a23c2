//! One JSON-RPC message: exactly one of request, notification and reply.

use std::borrow::Cow;

use super::envelope::{Fault, META, Members, read_envelope, remains};
use super::error::{Likeness, WireError, WireErrorKind};
use super::id::{Id, MAX_ID_BYTES};
use super::json::{Document, Edits, JsonKind, Limits, Value, input_offset};
use super::method::Method;
use super::shape::Shape;
use super::skim::Skim;

/// A message that was decoded strictly. Side-independent: who may send what is the gate's business.
#[derive(Debug, Clone)]
pub struct Message {
    document: Document,
    shape: Shape,
    members: Members<usize>,
}

impl Message {
    /// Reads one frame. Whitespace round the document, such as a CR at the end, is dropped.
    ///
    /// Unknown envelope members pass, unless a lenient peer could take one for a known member.
    pub fn decode(frame: &[u8], limits: &Limits) -> Result<Self, WireError> {
        let (document, fault) = Document::decode_with_fault(frame, limits).map_err(|error| {
            let kind = WireErrorKind::Json(error.kind);
            refused(kind, Some(error.offset), skimmed(frame))
        })?;
        let root = document.root();
        match (root.kind(), fault) {
            (JsonKind::Array, _) => return Err(refused(WireErrorKind::Batch, None, NOTHING)),
            (JsonKind::Object, None) => {}
            (JsonKind::Object, Some(fault)) => {
                let kind = WireErrorKind::Json(fault.kind);
                return Err(refused(kind, Some(fault.offset), remains(root)));
            }
            (kind @ (JsonKind::Null | JsonKind::Bool | JsonKind::Number | JsonKind::String), _) => {
                return Err(refused(WireErrorKind::NotAnObject(kind), None, NOTHING));
            }
        }
        match read_envelope(root) {
            Ok((shape, members)) => Ok(Self {
                document,
                shape,
                members,
            }),
            Err(Fault { kind, position }) => {
                let offset = position.map(|position| input_offset(frame, position));
                Err(refused(kind, offset, remains(root)))
            }
        }
    }

    pub fn document(&self) -> &Document {
        &self.document
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn id(&self) -> Option<&Id> {
        match &self.shape {
            Shape::Request { id, .. } => Some(id),
            Shape::Notification { .. } => None,
            Shape::Reply { id, .. } => id.as_ref(),
        }
    }

    pub fn method(&self) -> Option<&Method> {
        match &self.shape {
            Shape::Request { method, .. } | Shape::Notification { method } => Some(method),
            Shape::Reply { .. } => None,
        }
    }

    /// The `id` member as it was sent; `null` in some error replies.
    pub fn id_value(&self) -> Option<Value<'_>> {
        self.value(self.members.id)
    }

    /// Always an object.
    pub fn params(&self) -> Option<Value<'_>> {
        self.value(self.members.params)
    }

    /// Always an object.
    pub fn result(&self) -> Option<Value<'_>> {
        self.value(self.members.result)
    }

    /// The revision that a result of `initialize` agrees to.
    pub fn agreed_revision(&self) -> Option<Cow<'_, str>> {
        self.result()?.get("protocolVersion")?.as_str()
    }

    /// Always an object with an integer `code` and a string `message`.
    pub fn error(&self) -> Option<Value<'_>> {
        self.value(self.members.error)
    }

    /// `_meta` of the params or the result; of any kind until the params are checked.
    pub fn meta(&self) -> Option<Value<'_>> {
        self.params().or(self.result())?.get(META)
    }

    /// A list of changes to make in a copy of the text.
    pub fn edits(&self) -> Edits<'_> {
        self.document.edits()
    }

    /// The compact text: one line, the tokens that were judged.
    pub fn text(&self) -> &str {
        self.document.text()
    }

    /// [`Message::text`], without a copy.
    pub fn into_text(self) -> String {
        self.document.into_text()
    }

    fn value(&self, index: Option<usize>) -> Option<Value<'_>> {
        Some(self.document.value(index?))
    }
}

/// What can be told of a frame that is no object.
const NOTHING: (Option<Id>, Likeness) = (None, Likeness::Nothing);

/// What can be told of a frame that was not read to its end: whether it is the answer to a request
/// of the gate's.
fn skimmed(frame: &[u8]) -> (Option<Id>, Likeness) {
    match Skim::of(frame).answers() {
        Some(id) => (Some(Id::integer(id)), Likeness::Reply),
        None => NOTHING,
    }
}

/// Kind and id of a frame that the gate does not decode: of the request that a reply answers, or of the
/// request itself.
pub fn seems(frame: &[u8]) -> (Option<Id>, Likeness) {
    let skim = Skim::of(frame);
    if let Some(id) = skim.answers() {
        return (Some(Id::integer(id)), Likeness::Reply);
    }
    let limits = Limits {
        max_bytes: MOST_OF_AN_ID,
        ..Limits::default()
    };
    let text = skim.asks().and_then(|place| frame.get(place));
    let id = text.and_then(|text| Document::decode(text, &limits).ok());
    match id.and_then(|id| Id::read(id.root())) {
        Some(id) => (Some(id), Likeness::Question),
        None => NOTHING,
    }
}

/// Bytes of the longest JSON text of an id: six for each of its own, and quotes.
const MOST_OF_AN_ID: usize = 6 * MAX_ID_BYTES + 2;

fn refused(
    kind: WireErrorKind,
    offset: Option<usize>,
    (id, likeness): (Option<Id>, Likeness),
) -> WireError {
    WireError {
        kind,
        offset,
        id,
        likeness,
    }
}
