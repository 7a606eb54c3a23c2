//! Problems with a client's file, for its owner. No message quotes a value: it may be secret.

use std::fmt;

use miette::Diagnostic;
use thiserror::Error;

/// All problems with one file; never empty.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{} in the configuration of a client", count(problems.len()))]
pub struct ClientErrors {
    problems: Vec<ClientProblem>,
}

/// One problem: the file with line and column, the cause, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}")]
pub struct ClientProblem {
    kind: ProblemKind,
    what: String,
    help: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The file cannot be read or written.
    File,
    /// It is not in the client's format.
    Syntax,
    DuplicateKey,
    WrongType,
    /// The gate cannot start or reach this server.
    NotSupported,
    /// The file was edited since it was wrapped.
    EditedSince,
}

impl ClientErrors {
    pub fn problems(&self) -> &[ClientProblem] {
        &self.problems
    }

    pub(super) fn none_of(problems: Vec<ClientProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self { problems })
        }
    }
}

impl From<ClientProblem> for ClientErrors {
    fn from(problem: ClientProblem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}

impl ClientProblem {
    pub(super) const fn new(kind: ProblemKind, what: String, help: String) -> Self {
        Self { kind, what, help }
    }

    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }
}

impl Diagnostic for ClientErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let problems = self.problems.iter();
        Some(Box::new(problems.map(|problem| problem as &dyn Diagnostic)))
    }
}

impl Diagnostic for ClientProblem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(match self.kind {
            ProblemKind::File => "client::file",
            ProblemKind::Syntax => "client::syntax",
            ProblemKind::DuplicateKey => "client::duplicate_key",
            ProblemKind::WrongType => "client::wrong_type",
            ProblemKind::NotSupported => "client::not_supported",
            ProblemKind::EditedSince => "client::edited_since",
        }))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }
}

fn count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        many => format!("{many} problems"),
    }
}
