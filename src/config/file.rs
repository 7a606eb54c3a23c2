//! What was written: bytes, text, and a tree that knows where everything stands.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeTable;

use super::conceal::{ConcealedText, TextPiece, VisibleText};
use super::errors::{ConfigError, ConfigErrors, ConfigReason};
use super::outline::{KeyEntry, TableForm, TomlOutline, touches};
use super::syntax;

/// Configurations are written by hand; a larger file is a mistake (`/dev/zero`, a log).
const MAX_BYTES: usize = 1 << 20;

/// A parsed file: the tree as far as it could be read, and what could not.
#[derive(Debug)]
pub(super) struct ParsedFile<'t> {
    pub(super) table: DeTable<'t>,
    pub(super) outline: TomlOutline,
    /// The lines on which text could not be read.
    pub(super) broken: Vec<Range<usize>>,
    pub(super) problems: Vec<ConfigError>,
}

/// Reads the whole text of a configuration file.
pub(super) fn read(path: &Path) -> Result<String, ConfigErrors> {
    let refuse = |reason, help: &str| ConfigErrors::about_file(path, reason, help);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| {
            let limit = u64::try_from(MAX_BYTES)
                .unwrap_or(u64::MAX)
                .saturating_add(1);
            file.take(limit).read_to_end(&mut bytes)
        })
        .map_err(|error| {
            let help = "the gate never starts without its configuration: name an existing, \
                        readable file with `--config`";
            refuse(ConfigReason::Unreadable(error.to_string()), help)
        })?;
    if bytes.len() > MAX_BYTES {
        return Err(refuse(
            ConfigReason::FileTooLarge,
            "is this the right file?",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(ConfigReason::NotUtf8(at), "save the file as UTF-8")
    })
}

/// Where relative paths start. They must mean the same wherever they are used later: at an absolute directory. Without a
/// current directory they stay as they are.
pub(super) fn base_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().unwrap_or(path).to_owned()
}

impl<'t> ParsedFile<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let table = table.into_inner();
        let outline = TomlOutline::of(text, &table);
        let (problems, broken) = syntax::tell(text, &outline, &errors);
        Self {
            table,
            outline,
            broken,
            problems,
        }
    }

    /// Whether a place is on a line that could not be read. What stands there means nothing: a
    /// key may even be a piece of a secret that lost its quote.
    pub(super) fn is_broken(&self, place: &Range<usize>) -> bool {
        self.broken.iter().any(|line| touches(line, place))
    }

    /// Keys and headers that reports may show.
    pub(super) fn keys(&self) -> impl Iterator<Item = Range<usize>> {
        let place = |entry: &KeyEntry| match entry.form {
            TableForm::Headed => entry.value.clone(),
            TableForm::Inline => entry.key.clone(),
        };
        self.outline
            .entries
            .iter()
            .map(place)
            .filter(|place| !self.is_broken(place))
    }

    /// These problems, with the keys around their places.
    pub(super) fn errors(
        &self,
        text: &str,
        pieces: &[TextPiece],
        mut problems: Vec<ConfigError>,
    ) -> ConfigErrors {
        let shown: Vec<_> = self.keys().collect();
        let snippets = Arc::new(ConcealedText::new(
            pieces,
            text,
            &VisibleText {
                words: &BTreeSet::new(),
                strings: &self.outline.strings,
                places: &shown,
            },
        ));
        for problem in problems.iter_mut().filter(|it| !it.labels.is_empty()) {
            let snippets = || Arc::clone(&snippets);
            problem.snippets.get_or_insert_with(snippets);
        }
        let origin = pieces.first().map(|piece| piece.name.clone());
        ConfigErrors {
            origin: origin.unwrap_or_default(),
            problems,
        }
    }
}
