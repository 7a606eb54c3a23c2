//! From a file to a checked configuration, or to everything that is wrong with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::Severity;

use super::conceal::{ConcealedText, TextPiece, VisibleText};
use super::config_text::{ConfigText, ServerFileChange};
use super::env_file::EnvFile;
use super::errors::{ConfigError, ConfigErrors, ConfigReason};
use super::file::{self, ParsedFile, base_of};
use super::outline::join;
use super::reader::{ConfigReader, KnownKeys, UnknownKey, UnsetVariable};
use super::resolve::resolve;
use super::section::without_numbers;
use super::settings::{Config, ConfigFile};
use super::suggest;
use super::variables::Variables;

impl Config {
    /// Reads and checks a file, of one server or of several; variables come from `env_file` and
    /// from the environment of this process. No other file is opened.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        Self::load_with(path, UnsetVariable::Refused)
    }

    /// Reads and checks a file for what is done without its servers: where nothing is decided by
    /// what a variable holds (tokens, URLs, the environments of servers), it need not be set.
    pub fn load_offline(path: &Path) -> Result<Self, ConfigErrors> {
        Self::load_with(path, UnsetVariable::StandIn)
    }

    /// Reads and checks a file as [`Config::load`] does, as it would be with a change of the file of one server.
    pub fn load_changed(path: &Path, change: &ServerFileChange<'_>) -> Result<Self, ConfigErrors> {
        let text = ConfigText::read_changed(path, Some(change))?;
        Self::of_file(text, path, UnsetVariable::Refused)
    }

    fn load_with(path: &Path, unset: UnsetVariable) -> Result<Self, ConfigErrors> {
        Self::of_file(ConfigText::read(path)?, path, unset)
    }

    fn of_file(text: ConfigText, path: &Path, unset: UnsetVariable) -> Result<Self, ConfigErrors> {
        let mut config = Self::of_text(&text, path, unset)?;
        config.file = Some(ConfigFile {
            path: path.to_owned(),
            text,
        });
        Ok(config)
    }

    fn of_text(text: &ConfigText, path: &Path, unset: UnsetVariable) -> Result<Self, ConfigErrors> {
        let base = base_of(path);
        let variables = EnvFile::of(text.text(), &base, unset)?;
        let look_up = |name: &str| variables.get(name).or_else(|| std::env::var_os(name));
        Self::parse_with(text, path, &base, &look_up, unset)
    }

    /// Checks the text of a file. `path` is what reports call it, `base` is where relative paths
    /// start.
    pub fn parse(
        text: &str,
        path: &Path,
        base: &Path,
        variables: &Variables<'_>,
    ) -> Result<Self, ConfigErrors> {
        let text = ConfigText::new(text.to_owned());
        Self::parse_with(&text, path, base, variables, UnsetVariable::Refused)
    }

    /// Checks the text of a file as [`Config::load_offline`] does.
    pub fn parse_offline(
        text: &str,
        path: &Path,
        base: &Path,
        variables: &Variables<'_>,
    ) -> Result<Self, ConfigErrors> {
        let text = ConfigText::new(text.to_owned());
        Self::parse_with(&text, path, base, variables, UnsetVariable::StandIn)
    }

    fn parse_with(
        text: &ConfigText,
        path: &Path,
        base: &Path,
        variables: &Variables<'_>,
        unset: UnsetVariable,
    ) -> Result<Self, ConfigErrors> {
        let written = ParsedFile::parse(text.text());
        if written.outline.entries.is_empty() && written.problems.is_empty() {
            let help = "the smallest configuration is `[upstream]` with a `command`";
            return Err(ConfigErrors::about_file(
                path,
                ConfigReason::EmptyFile,
                help,
            ));
        }
        let mut reading = ConfigReader::new(&written, variables);
        reading.unset = unset;
        let mut config = resolve(&mut reading, base);
        let (errors, warnings) = assemble(&text.pieces(path), text.text(), &written, reading);
        if !errors.is_empty() {
            return Err(ConfigErrors {
                origin: path.display().to_string(),
                problems: errors,
            });
        }
        config.warnings = warnings;
        Ok(config)
    }
}

impl ConfigFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was read.
    pub fn text(&self) -> &ConfigText {
        &self.text
    }

    /// Whether it is a file that can be read more than once: a pipe is not.
    pub fn stays(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| found.is_file())
    }

    /// What was found beside the reading of the file, each at its field or at the nearest table around that;
    /// `None` where nothing was.
    pub fn errors(&self, mut problems: Vec<ConfigError>) -> Option<ConfigErrors> {
        let text = self.text.text();
        let written = ParsedFile::parse(text);
        for problem in problems.iter_mut().filter(|it| it.labels.is_empty()) {
            if let Some(entry) = written.outline.nearest(&problem.field) {
                problem.labels = vec![(entry.key.clone(), "here")];
            }
        }
        let pieces = self.text.pieces(&self.path);
        (!problems.is_empty()).then(|| written.errors(text, &pieces, problems))
    }

    /// The same file with another text.
    #[must_use]
    pub fn with_text(&self, text: &ConfigText) -> Self {
        Self {
            path: self.path.clone(),
            text: text.clone(),
        }
    }

    /// The directory of servers' files that the file names now, whatever else is wrong with it.
    pub fn servers_dir_now(&self) -> Option<PathBuf> {
        let text = file::read(&self.path).ok()?;
        ConfigText::new(text).servers_dir(&self.path)
    }

    /// The directory of servers' files, if it names one.
    pub fn servers_dir(&self) -> Option<PathBuf> {
        self.text.servers_dir(&self.path)
    }

    /// Reads it again.
    pub fn read(&self) -> Result<ConfigText, ConfigErrors> {
        // To read a pipe again would take for ever.
        if fs::metadata(&self.path).is_ok_and(|found| !found.is_file()) {
            let reason = ConfigReason::Unreadable("it is not a file any more".to_owned());
            let help = "put a file in its place";
            return Err(ConfigErrors::about_file(&self.path, reason, help));
        }
        ConfigText::read(&self.path)
    }

    /// What such a text means in its place.
    pub fn parse(&self, text: &ConfigText) -> Result<Config, ConfigErrors> {
        Config::of_text(text, &self.path, UnsetVariable::Refused)
    }
}

/// All problems in the order of the file, with the text they may show; errors, then warnings.
fn assemble(
    pieces: &[TextPiece],
    text: &str,
    written: &ParsedFile<'_>,
    reading: ConfigReader<'_>,
) -> (Vec<ConfigError>, Vec<ConfigError>) {
    let snippets = Arc::new(concealed(pieces, text, written, &reading));
    let ConfigReader {
        mut problems,
        unknown,
        known,
        ..
    } = reading;
    let is_whole = written.broken.is_empty();
    // What the parser lost may well have held what is missing, or the section of a key.
    problems.retain(|problem| is_whole || !problem.reason.is_missing());
    let likely = |unknown: &&UnknownKey| {
        is_whole
            || suggest::sibling(&without_numbers(&unknown.section), &unknown.key, &known).is_some()
    };
    problems.extend(
        unknown
            .iter()
            .filter(likely)
            .map(|key| tell_unknown(key, &known)),
    );
    problems.extend(
        written
            .problems
            .iter()
            .cloned()
            .map(|problem| settle(problem, &known)),
    );

    for problem in &mut problems {
        problem.snippets = Some(Arc::clone(&snippets));
    }
    problems.sort_by_key(|problem| problem.labels.first().map(|(place, _)| place.start));
    problems
        .into_iter()
        .partition(|problem| problem.reason.severity() == Severity::Error)
}

/// The text as reports may show it.
pub(super) fn concealed(
    pieces: &[TextPiece],
    text: &str,
    written: &ParsedFile<'_>,
    reading: &ConfigReader<'_>,
) -> ConcealedText {
    let shown = reading.shown.iter().cloned().chain(written.keys());
    let shown = shown.filter(|place| !written.is_broken(place) && !reading.hidden.contains(place));
    let shown: Vec<_> = shown.collect();
    ConcealedText::new(
        pieces,
        text,
        &VisibleText {
            words: &reading.words,
            strings: &written.outline.strings,
            places: &shown,
        },
    )
}

fn tell_unknown(unknown: &UnknownKey, known: &KnownKeys) -> ConfigError {
    ConfigError {
        field: join(&unknown.section, &unknown.key),
        reason: ConfigReason::UnknownKey,
        help: Some(suggest::for_unknown_key(
            &without_numbers(&unknown.section),
            &unknown.key,
            known,
        )),
        labels: vec![(unknown.place.clone(), "here")],
        snippets: None,
    }
}

/// Names the field of a syntax error only as far as its keys are known: the parser may have taken
/// a piece of a secret for a key.
fn settle(mut problem: ConfigError, known: &KnownKeys) -> ConfigError {
    let is_known = |path: &str| {
        known
            .keys()
            .any(|(section, key)| join(section, key) == path)
    };
    let is_settled = |path: &str| path.is_empty() || is_known(path);
    while problem.reason != ConfigReason::DuplicateKey && !is_settled(&problem.field) {
        let parent = problem
            .field
            .rsplit_once('.')
            .map(|(parent, _)| parent.to_owned());
        problem.field = parent.unwrap_or_default();
    }
    problem
}
