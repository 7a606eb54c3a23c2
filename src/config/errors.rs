//! What is wrong with a configuration, told to its author.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};
use thiserror::Error;

use super::conceal::ConcealedText;

/// All that is wrong with one configuration; never empty.
#[derive(Debug, Error)]
#[error("{origin}: {} in the configuration", count(problems.len()))]
pub struct ConfigErrors {
    pub(super) origin: String,
    pub(super) problems: Vec<ConfigError>,
}

/// One thing that is wrong: which field, why, where, and what to do.
#[derive(Debug, Clone)]
pub struct ConfigError {
    pub(super) field: String,
    pub(super) reason: ConfigReason,
    pub(super) help: Option<String>,
    pub(super) labels: Vec<(Range<usize>, &'static str)>,
    pub(super) snippets: Option<Arc<ConcealedText>>,
}

/// Why a field is refused. The variant is the stable code, the text is what people read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigReason {
    /// The file could not be read; the operating system's words.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is larger than 1 MiB")]
    FileTooLarge,
    #[error("is not UTF-8 at byte {0}")]
    NotUtf8(usize),
    #[error("is empty")]
    EmptyFile,
    /// The TOML parser's words, which never quote the text.
    #[error("{0}")]
    Syntax(String),
    #[error("defined twice")]
    DuplicateKey,
    #[error("unknown key")]
    UnknownKey,
    #[error("expected {expected}, found {found}")]
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    /// `None` when the value came out of a variable and therefore is not shown.
    #[error("unknown value{}", quoted(.0.as_deref()))]
    UnknownValue(Option<String>),
    #[error("required")]
    Required,
    /// Required because of another setting.
    #[error("required when {0}")]
    RequiredWhen(&'static str),
    #[error("exceeds maximum")]
    ExceedsMaximum,
    #[error("below minimum")]
    BelowMinimum,
    #[error("{0}")]
    Invalid(&'static str),
    /// The same in words that depend on what is written.
    #[error("{0}")]
    Unusable(String),
    #[error("environment variable `{0}` is not set")]
    UndefinedVariable(String),
    #[error("environment variable `{0}` is not valid UTF-8")]
    VariableNotUtf8(String),
    #[error("{0}")]
    MalformedVariable(&'static str),
    #[error("{0} is not done in this file")]
    Elsewhere(&'static str),
    /// What the server is to be confined to cannot be, here and now.
    #[error("{0}")]
    Unconfinable(String),
    /// What a file that is named here has, or that it is not there.
    #[error("{0}")]
    UnusableFile(String),
    /// Valid, and without effect beside another setting.
    #[error("has no effect {0}")]
    NoEffect(&'static str),
    /// Valid, and probably not what its author meant.
    #[error("{0}")]
    Suspicious(&'static str),
    /// A file that is read again says less than what is in force.
    #[error("{0}")]
    Missed(&'static str),
}

impl ConfigErrors {
    /// Something is wrong with a file as a whole.
    pub(super) fn about_file(path: &Path, reason: ConfigReason, help: &str) -> Self {
        let origin = path.display().to_string();
        let problem = ConfigError::without_place(&origin, reason, help);
        Self {
            origin,
            problems: vec![problem],
        }
    }

    /// What was found beside the reading of a file; `None` where nothing was.
    pub fn of(file: &Path, problems: Vec<ConfigError>) -> Option<Self> {
        let origin = file.display().to_string();
        (!problems.is_empty()).then_some(Self { origin, problems })
    }

    /// The single problems, in the order of the file where they have a place in it.
    pub fn problems(&self) -> &[ConfigError] {
        &self.problems
    }
}

impl ConfigError {
    /// What the file alone does not show.
    pub fn of_the_sandbox(field: &str, why: String, help: &str) -> Self {
        Self::without_place(field, ConfigReason::Unconfinable(why), help)
    }

    /// The same of a file that the configuration names.
    pub fn of_a_file(field: &str, why: String, help: &str) -> Self {
        Self::without_place(field, ConfigReason::UnusableFile(why), help)
    }

    /// It can be used, and its author should know this of it.
    pub fn of_a_doubtful_file(field: &str, why: &'static str, help: &str) -> Self {
        Self::without_place(field, ConfigReason::Suspicious(why), help)
    }

    pub(super) fn without_place(field: &str, reason: ConfigReason, help: &str) -> Self {
        Self {
            field: field.to_owned(),
            reason,
            help: Some(help.to_owned()),
            labels: Vec::new(),
            snippets: None,
        }
    }

    /// The dotted path of the field, such as `limits.request_timeout`; the file's name when it is
    /// about the whole file; empty when a syntax error could not be tied to a field.
    pub fn field(&self) -> &str {
        &self.field
    }

    pub fn reason(&self) -> &ConfigReason {
        &self.reason
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Line and column (in characters), both from 1, where they are known.
    pub fn position(&self) -> Option<(usize, usize)> {
        let (span, _) = self.labels.first()?;
        let contents = self
            .snippets
            .as_ref()?
            .read_span(&span.clone().into(), 0, 0)
            .ok()?;
        Some((
            contents.line().saturating_add(1),
            contents.column().saturating_add(1),
        ))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            reason if self.field.is_empty() => write!(f, "{reason}"),
            reason => write!(f, "{}: {reason}", self.field),
        }
    }
}

impl std::error::Error for ConfigError {}

impl ConfigReason {
    /// The stable name of the kind of problem.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "config::unreadable",
            Self::FileTooLarge => "config::file_too_large",
            Self::NotUtf8(_) => "config::not_utf8",
            Self::EmptyFile => "config::empty",
            Self::Syntax(_) => "config::syntax",
            Self::DuplicateKey => "config::duplicate_key",
            Self::UnknownKey => "config::unknown_key",
            Self::WrongType { .. } => "config::wrong_type",
            Self::UnknownValue(_) => "config::unknown_value",
            Self::Required | Self::RequiredWhen(_) => "config::required",
            Self::ExceedsMaximum => "config::exceeds_maximum",
            Self::BelowMinimum => "config::below_minimum",
            Self::Invalid(_) | Self::Unusable(_) => "config::invalid_value",
            Self::UndefinedVariable(_) | Self::VariableNotUtf8(_) | Self::MalformedVariable(_) => {
                "config::variable"
            }
            Self::Elsewhere(_) => "config::wrong_file",
            Self::Unconfinable(_) => "config::sandbox",
            Self::UnusableFile(_) => "config::file",
            Self::NoEffect(_) => "config::no_effect",
            Self::Suspicious(_) => "config::suspicious",
            Self::Missed(_) => "config::removed",
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Required | Self::RequiredWhen(_))
    }

    pub(super) fn severity(&self) -> Severity {
        if matches!(self, Self::NoEffect(_) | Self::Suspicious(_)) {
            Severity::Warning
        } else {
            Severity::Error
        }
    }
}

impl Diagnostic for ConfigErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems
                .iter()
                .map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

impl Diagnostic for ConfigError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.reason.code()))
    }

    fn severity(&self) -> Option<Severity> {
        Some(self.reason.severity())
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.snippets
            .as_deref()
            .map(|snippets| snippets as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() {
            return None;
        }
        Some(Box::new(self.labels.iter().enumerate().map(
            |(index, (span, label))| {
                if index == 0 {
                    LabeledSpan::new_primary_with_span(Some((*label).to_owned()), span.clone())
                } else {
                    LabeledSpan::new_with_span(Some((*label).to_owned()), span.clone())
                }
            },
        )))
    }
}

fn count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    }
}

/// The written value, cut to a readable length.
fn quoted(value: Option<&str>) -> String {
    const SHOWN: usize = 60;
    let Some(value) = value else {
        return String::new();
    };
    let start: String = value.chars().take(SHOWN).collect();
    let more = if start.len() < value.len() { "…" } else { "" };
    format!(" '{}{more}'", start.escape_debug())
}
