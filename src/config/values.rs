//! Reading single values of a section, each by its kind.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::{DeInteger, DeValue};

use super::errors::ConfigReason;
use super::reader::{ConfigReader, UnsetVariable};
use super::section::{ConfigField, ConfigSection};
use super::units;
use super::variables::{self, ExpandedText, TextSource, expand};
use crate::policy::suggest::{did_you_mean, list};

impl<'t> ConfigSection<'_, 't> {
    /// A string that is no secret.
    pub(super) fn string(&mut self, key: &'static str) -> Option<String> {
        let field = self.take_shown(key)?;
        self.text(&field).map(|text| text.value)
    }

    /// A URL, which may have secrets in its path and query. Where a part of it is not known, another
    /// one stands for all of it: what is asked of ports and schemes cannot be asked of it.
    pub(super) fn secret_url(&mut self, key: &'static str) -> Option<String> {
        let field = self.take(key)?;
        let stands_in = Cell::new(false);
        let text = self.text_or(&field, |name| {
            stands_in.set(true);
            Some(variables::stand_in(name))
        })?;
        Some(if stands_in.get() {
            variables::url_stand_in(&field.path)
        } else {
            text.value
        })
    }

    /// A path; a relative one starts at the directory of the file. What names that directory again (`.`)
    /// is left out.
    pub(super) fn path(&mut self, key: &'static str, base: &Path) -> Option<PathBuf> {
        let text = self.string(key)?;
        if text.is_empty() || text.contains('\0') {
            self.refuse(key, ConfigReason::Invalid("expected a path"), None);
            return None;
        }
        // On Windows a path with a root and no drive gets none here, whichever drive the file is on.
        let path = match Path::new(&text) {
            rooted if rooted.has_root() => rooted.to_owned(),
            relative => base.join(relative),
        };
        Some(path.components().collect())
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        self.reading
            .words
            .extend(choices.iter().map(|(word, _)| *word));
        let field = self.take(key)?;
        self.one_of_in(&field, choices)
    }

    /// The word in a field.
    pub(super) fn one_of_in<T: Copy>(
        &mut self,
        field: &ConfigField<'t>,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let words = || choices.iter().map(|(word, _)| *word);
        self.show(field);
        let text = self.text(field)?;
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text.value) {
            return Some(*choice);
        }
        let help = did_you_mean(&text.value, words())
            .unwrap_or_else(|| format!("known values: {}", list(words())));
        let quoted = (text.source == TextSource::Literal).then_some(text.value);
        self.tell(field, ConfigReason::UnknownValue(quoted), Some(&help));
        None
    }

    /// `true` and `false` by what they mean.
    pub(super) fn switch<T>(&mut self, key: &'static str, on: T, off: T) -> Option<T> {
        let field = self.take_shown(key)?;
        let DeValue::Boolean(written) = field.value else {
            self.wrong_type(&field, "`true` or `false`", None);
            return None;
        };
        Some(if *written { on } else { off })
    }

    /// A whole number.
    pub(super) fn count(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<u64>,
    ) -> Option<usize> {
        let field = self.take(key)?;
        self.count_in(&field, range)
    }

    /// The whole number in a field.
    pub(super) fn count_in(
        &mut self,
        field: &ConfigField<'t>,
        range: &RangeInclusive<u64>,
    ) -> Option<usize> {
        self.show(field);
        let DeValue::Integer(integer) = field.value else {
            self.wrong_type(field, "a whole number", None);
            return None;
        };
        let count = self.within(field, unsigned(integer), range, ToString::to_string)?;
        usize::try_from(count).ok()
    }

    /// A ratio: a number from 0 to 1.
    pub(super) fn ratio(&mut self, key: &'static str) -> Option<f64> {
        self.number(key, 0.0..=1.0, "a number from 0 to 1")
    }

    /// A number; `expected` says from what to what.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
        expected: &'static str,
    ) -> Option<f64> {
        let field = self.take_shown(key)?;
        let written = if let DeValue::Float(float) = field.value {
            float.as_str().parse().ok()
        } else if let DeValue::Integer(integer) = field.value {
            // What is longer than a few digits is beyond the bounds anyhow.
            unsigned(integer)
                .ok()
                .and_then(|it| u32::try_from(it).ok())
                .map(f64::from)
        } else {
            self.wrong_type(&field, expected, None);
            return None;
        };
        // No comparison with what is no number is true.
        let number = written.filter(|number| range.contains(number));
        if number.is_none() {
            let reason = ConfigReason::Unusable(format!("expected {expected}"));
            self.tell(&field, reason, None);
        }
        number
    }

    /// A number of bytes: an integer, or a string such as `"4MiB"`.
    pub(super) fn size(&mut self, key: &'static str, range: &RangeInclusive<u64>) -> Option<usize> {
        let field = self.take_shown(key)?;
        let size = if let DeValue::Integer(integer) = field.value {
            unsigned(integer)
        } else if let DeValue::String(_) = field.value {
            units::size(&self.text(&field)?.value)
        } else {
            self.wrong_type(
                &field,
                "a size such as `\"4MiB\"`, or a number of bytes",
                None,
            );
            return None;
        };
        let bytes = self.within(&field, size, range, |bytes| units::show_size(*bytes))?;
        usize::try_from(bytes).ok()
    }

    /// A duration such as `"60s"`.
    pub(super) fn duration(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<Duration>,
    ) -> Option<Duration> {
        let field = self.take(key)?;
        self.duration_in(&field, range)
    }

    /// The duration in a field.
    pub(super) fn duration_in(
        &mut self,
        field: &ConfigField<'t>,
        range: &RangeInclusive<Duration>,
    ) -> Option<Duration> {
        self.show(field);
        if !matches!(field.value, DeValue::String(_)) {
            self.wrong_type(field, "a duration such as `\"60s\"`", None);
            return None;
        }
        let duration = units::duration(&self.text(field)?.value);
        self.within(field, duration, range, |duration| {
            units::show_duration(*duration)
        })
    }

    /// The text of a field, variables replaced.
    pub(super) fn text(&mut self, field: &ConfigField<'t>) -> Option<ExpandedText> {
        self.text_or(field, |_| None)
    }

    /// The text of a field that only the server or an authenticated client receives:
    /// no decision depends on it.
    pub(super) fn secret_text(&mut self, field: &ConfigField<'t>) -> Option<ExpandedText> {
        self.text_or(field, |name| Some(variables::stand_in(name)))
    }

    /// The text of a field. `stand_in` says what a variable may hold that is not set, where it
    /// need not be.
    fn text_or(
        &mut self,
        field: &ConfigField<'t>,
        stand_in: impl Fn(&str) -> Option<String>,
    ) -> Option<ExpandedText> {
        let DeValue::String(written) = field.value else {
            self.wrong_type(field, "a string", None);
            return None;
        };
        let ConfigReader {
            variables, unset, ..
        } = *self.reading;
        let expanded = expand(written, &|name| {
            let value = variables(name);
            match unset {
                UnsetVariable::Refused => value,
                UnsetVariable::StandIn => value.or_else(|| stand_in(name).map(Into::into)),
            }
        });
        if let Ok(text) = &expanded {
            let taken = text.variables.iter();
            let taken = taken.map(|(name, value)| (name.clone(), value.clone().into()));
            self.reading.taken.extend(taken);
        }
        expanded
            .map_err(|reasons| {
                for reason in reasons {
                    let help = if let ConfigReason::UndefinedVariable(name) = &reason {
                        format!("set `{name}`, or write `$${{` for a literal `${{`")
                    } else {
                        "write `${NAME}`, or `$${` for a literal `${`".to_owned()
                    };
                    self.tell(field, reason, Some(&help));
                }
            })
            .ok()
    }

    pub(super) fn take_shown(&mut self, key: &'static str) -> Option<ConfigField<'t>> {
        let field = self.take(key)?;
        self.show(&field);
        Some(field)
    }

    fn within<T: PartialOrd>(
        &mut self,
        field: &ConfigField<'t>,
        value: Result<T, ConfigReason>,
        range: &RangeInclusive<T>,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let reason = match value {
            Ok(value) if range.contains(&value) => return Some(value),
            Ok(value) if value < *range.start() => ConfigReason::BelowMinimum,
            Ok(_) => ConfigReason::ExceedsMaximum,
            Err(reason) => reason,
        };
        let help = if reason == ConfigReason::BelowMinimum {
            Some(format!("at least {}", show(range.start())))
        } else if reason == ConfigReason::ExceedsMaximum {
            Some(format!("at most {}", show(range.end())))
        } else {
            None
        };
        self.tell(field, reason, help.as_deref());
        None
    }
}

fn unsigned(integer: &DeInteger<'_>) -> Result<u64, ConfigReason> {
    match i128::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) if number < 0 => Err(ConfigReason::BelowMinimum),
        Ok(number) => u64::try_from(number).map_err(|_| ConfigReason::ExceedsMaximum),
        // More digits than any integer has; the sign is all that matters.
        Err(_) if integer.as_str().starts_with('-') => Err(ConfigReason::BelowMinimum),
        Err(_) => Err(ConfigReason::ExceedsMaximum),
    }
}
