//! What a message holds: its arguments, what they reach for, and what came back.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the arguments reach for, derived by the gate; never written by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what arguments reach for has independent facts"
)]
pub struct Targets {
    /// Names of the roots that the canonical paths lie in, the outer ones included.
    pub roots: Vec<String>,
    /// Some path lies outside every root, or could not be resolved.
    pub outside: bool,
    /// The highest sensitivity of a root that a path lies in (the innermost), 3 if one is outside.
    pub level: i64,
    /// Every path lies in a root that may be changed.
    pub writable: bool,
    /// Host names found in URLs.
    pub hosts: Vec<String>,
    /// Where the host says that arguments name destinations, those; [`UNREADABLE_DESTINATION`] is one that
    /// cannot be read. Sorted.
    ///
    /// [`UNREADABLE_DESTINATION`]: super::UNREADABLE_DESTINATION
    pub destinations: Vec<String>,
    /// There are some, and the host approves all of them.
    pub approved: bool,
    /// Of several servers, the other ones whose labelled results the arguments repeat. Sorted; empty unless the
    /// gate looks for that.
    pub copied_from: Vec<String>,
    /// Size of the arguments' JSON text.
    pub bytes: i64,
    /// The kinds of credentials that the message shows. Sorted; empty unless some rule
    /// [looks for them](super::RequiredDetectors).
    pub secrets: Vec<String>,
    /// Where strings stand that a program may take for an [option](super::options). Sorted.
    pub options: Vec<String>,
    /// A path leads over links that cannot be followed. Labels make it lie outside; rules do not see it.
    pub astray: bool,
    /// Paths in the real directory of a root that is a link, with what they are by the root's own path. For
    /// labels; rules do not see it.
    pub known_as: BTreeMap<String, String>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Received {
    pub level: i64,
    pub labels: Vec<String>,
    /// Private data sets in it. For the session; rules do not see them.
    pub datasets: Vec<String>,
    /// Size of the result's JSON text.
    pub bytes: i64,
    pub is_error: bool,
    /// It says so, and that nothing is to be tried again: its first text begins with `[FATAL] `.
    pub fatal: bool,
    /// The kinds of credentials that it shows. Sorted; empty unless some rule
    /// [looks for them](super::RequiredDetectors).
    pub secrets: Vec<String>,
    /// What in it instructs a model, or hides. Sorted; empty unless some rule
    /// [looks for it](super::RequiredDetectors).
    pub flags: Vec<String>,
}

/// The leaves of the `arguments` object by JSON pointer (RFC 6901), for example `/opts/depth`.
///
/// INVARIANT: no pointer repeats; the decoder has refused equal keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments<'a>(pub Vec<(String, Leaf<'a>)>);

/// One leaf of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum Leaf<'a> {
    String(Cow<'a, str>),
    /// The exact JSON text; engines decide what they can represent.
    Number(&'a str),
    Bool(bool),
    Null,
    /// An array of nothing but strings, in addition to its items.
    Strings(Vec<Cow<'a, str>>),
    EmptyObject,
    EmptyArray,
    /// An array with something in it that is no string; its items are leaves of their own.
    Array,
}
