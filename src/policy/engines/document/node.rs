//! The values of a document, and why some fact is none.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A JSON value, with integers apart from other numbers.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum DocumentNode<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<DocumentNode<'a>>),
    Object(Object<'a>),
}

/// Members in the order of their names.
pub(in super::super) type Object<'a> = BTreeMap<Cow<'a, str>, DocumentNode<'a>>;

/// Some fact has no faithful form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum DocumentEncodingError {
    #[error("a time is beyond the years that can be written")]
    Time,
    #[error("the argument `{0}` is a number that neither 64 bits nor 17 digits hold")]
    Number(String),
    #[error("two arguments have the pointer `{0}`")]
    Repeated(String),
    #[error("the arguments below `{0}` are of no shape")]
    Shapeless(String),
}

pub(super) fn object<'a>(
    members: impl IntoIterator<Item = (&'static str, DocumentNode<'a>)>,
) -> Object<'a> {
    members
        .into_iter()
        .map(|(key, value)| (Cow::Borrowed(key), value))
        .collect()
}

pub(super) fn text(text: &str) -> DocumentNode<'_> {
    DocumentNode::Text(Cow::Borrowed(text))
}

pub(super) fn texts<T: AsRef<str>>(items: &[T]) -> DocumentNode<'_> {
    DocumentNode::List(items.iter().map(|item| text(item.as_ref())).collect())
}
