//! A client's file as a tree, whatever its format.

use std::ops::Range;

use super::errors::{ClientProblem, ProblemKind};

/// The text of a file, under the name by which its author knows it.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) name: &'s str,
    pub(super) text: &'s str,
}

/// A value, and the bytes that it takes.
pub(super) struct Node {
    pub(super) at: Range<usize>,
    pub(super) value: Value,
}

pub(super) enum Value {
    Null,
    Bool(bool),
    /// Numbers and times: nothing of a server's is one, so only the text is kept.
    Other(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Field>),
}

pub(super) struct Field {
    pub(super) key: String,
    pub(super) key_at: Range<usize>,
    pub(super) node: Node,
}

impl Source<'_> {
    pub(super) fn problem(
        &self,
        at: usize,
        kind: ProblemKind,
        what: &str,
        help: &str,
    ) -> ClientProblem {
        let (line, column) = self.place(at);
        ClientProblem::new(
            kind,
            format!("{}:{line}:{column}: {what}", self.name),
            help.to_owned(),
        )
    }

    pub(super) fn has_no(&self, path: &[String]) -> ClientProblem {
        let path = path.join("/");
        let what = format!("{}: has no server at `{}`", self.name, path.escape_debug());
        let help = "read the file again: it is not the one whose servers are to be wrapped";
        ClientProblem::new(ProblemKind::EditedSince, what, help.to_owned())
    }

    /// Line and column, from 1, the column in characters.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
        let above = if line.len() == before.len() {
            0
        } else {
            above.matches('\n').count() + 1
        };
        (above + 1, line.chars().count() + 1)
    }
}

impl Node {
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let mut fields = self.fields().iter();
        let field = fields.find(|field| field.key == key)?;
        // `null` is how some clients write that there is none.
        (!matches!(field.node.value, Value::Null)).then_some(&field.node)
    }

    pub(super) fn at_path(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(super) fn fields(&self) -> &[Field] {
        match &self.value {
            Value::Table(fields) => fields,
            Value::Null | Value::Bool(_) | Value::Other(_) | Value::Text(_) | Value::List(_) => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Other(_) | Value::List(_) | Value::Table(_) => {
                None
            }
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            Value::Null | Value::Bool(_) | Value::Other(_) | Value::Text(_) | Value::Table(_) => {
                None
            }
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Other(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.value {
            Value::List(items) => Box::new(items.iter()),
            Value::Table(fields) => Box::new(fields.iter().map(|field| &field.node)),
            Value::Null | Value::Bool(_) | Value::Other(_) | Value::Text(_) => {
                Box::new(std::iter::empty())
            }
        }
    }

    /// Wherever it stands, and in whichever order its keys are.
    pub(super) fn means_the_same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(one), Value::Bool(two)) => one == two,
            (Value::Other(one), Value::Other(two)) | (Value::Text(one), Value::Text(two)) => {
                one == two
            }
            (Value::List(one), Value::List(two)) => {
                let mut pairs = one.iter().zip(two);
                one.len() == two.len() && pairs.all(|(one, two)| one.means_the_same(two))
            }
            (Value::Table(one), Value::Table(two)) => {
                let mut fields = one.iter();
                one.len() == two.len()
                    && fields.all(|field| {
                        let mut others = two.iter();
                        let same = others.find(|other| other.key == field.key);
                        same.is_some_and(|other| field.node.means_the_same(&other.node))
                    })
            }
            (
                Value::Null
                | Value::Bool(_)
                | Value::Other(_)
                | Value::Text(_)
                | Value::List(_)
                | Value::Table(_),
                _,
            ) => false,
        }
    }
}
