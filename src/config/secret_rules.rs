//! `guards.secret_rules` and `guards.secret_members`: credentials that only the author knows.

use crate::guard::secrets::{CustomRules, RuleError, RuleWarning, SecretRule, tenths};

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};

const KEYWORDS: &str =
    "as in `keywords = [\"acme_\"]`: the pattern is tried only where one of them stands";

/// Where parts of one rule are written.
struct RuleFields<'t> {
    rule: ConfigField<'t>,
    pattern: Option<ConfigField<'t>>,
    keywords: Option<ConfigField<'t>>,
    min_entropy: Option<ConfigField<'t>>,
    /// Each of them.
    words: Vec<(ConfigField<'t>, String)>,
}

/// The most names of members, and bytes of one.
const MOST_MEMBERS: usize = 256;
const LONGEST_MEMBER: usize = 64;

/// Members that the protocol needs, without separators and in lower case.
const OF_THE_PROTOCOL: [&str; 27] = [
    "blob",
    "code",
    "content",
    "contents",
    "data",
    "description",
    "error",
    "id",
    "iserror",
    "jsonrpc",
    "message",
    "messages",
    "meta",
    "method",
    "mimetype",
    "name",
    "params",
    "result",
    "resulttype",
    "role",
    "status",
    "structuredcontent",
    "taskid",
    "text",
    "title",
    "type",
    "uri",
];

/// `guards.secret_members`: names of members whose values are credentials.
pub(super) fn secret_members(section: &mut ConfigSection<'_, '_>) -> Option<Vec<String>> {
    let help =
        "as in `[\"password\", \"badge_number\"]`: 1 to 64 letters, digits, `_`, `-` and `.` each";
    let items = section.items("secret_members", help)?;
    if items.len() > MOST_MEMBERS {
        let reason = ConfigReason::Invalid("expected at most 256 names");
        section.refuse("secret_members", reason, None);
    }
    let mut names: Vec<String> = Vec::new();
    for item in items.iter().take(MOST_MEMBERS) {
        let Some(text) = section.text(item) else {
            continue;
        };
        let name = text.value.to_lowercase();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || name.len() > LONGEST_MEMBER || !name.chars().all(is_plain) {
            section.tell(
                item,
                ConfigReason::Invalid("expected the name of a member"),
                Some(help),
            );
        } else if OF_THE_PROTOCOL.contains(&&*name.replace(['_', '-', '.'], "")) {
            let reason = ConfigReason::Invalid("is a member that messages need");
            section.tell(item, reason, Some("name the member that has the secret"));
        } else if names.contains(&name) {
            section.tell(
                item,
                ConfigReason::Invalid("is listed twice"),
                Some("remove it"),
            );
        } else {
            names.push(name);
        }
    }
    Some(names)
}

pub(super) fn secret_rules(mut section: ConfigSection<'_, '_>) -> CustomRules {
    let mut rules = Vec::new();
    let mut places = Vec::new();
    for field in section.entries() {
        if let Some((rule, written)) = rule(&mut section, field) {
            rules.push(rule);
            places.push(written);
        }
    }
    match CustomRules::new(rules) {
        Ok(rules) => {
            for doubt in rules.doubts() {
                warn(&mut section, &places, &doubt);
            }
            rules
        }
        Err(problems) => {
            for problem in problems {
                tell(&mut section, &places, &problem);
            }
            CustomRules::default()
        }
    }
}

/// Points at what does not do what it is for.
fn warn<'t>(section: &mut ConfigSection<'_, 't>, places: &[RuleFields<'t>], doubt: &RuleWarning) {
    let of = |id: &str| places.iter().find(|it| it.rule.key == id);
    let (place, reason, help) = match doubt {
        RuleWarning::Nothing { rule } => (
            of(rule).and_then(|it| it.pattern.as_ref()),
            ConfigReason::NoEffect("because the pattern matches no text"),
            "look for a class without characters, such as `[^\\s\\S]`",
        ),
        RuleWarning::Entropy { rule } => (
            of(rule).and_then(|it| it.min_entropy.as_ref()),
            ConfigReason::Suspicious("no secret of this pattern has so much, and none is found"),
            "a text has at most as many bits as the base-2 logarithm of how many bytes, or different ones, it may have: \
             eight decimal digits have 3",
        ),
        RuleWarning::Apart { rule } => (
            of(rule).and_then(|it| it.keywords.as_ref()),
            ConfigReason::Suspicious(
                "nothing that the pattern matches holds any of these: it is found only close to one",
            ),
            "take what is part of every match, or let the pattern begin with the word: \
             `(?s)badge.{0,80}?(?<secret>[0-9]{8})`",
        ),
    };
    // INVARIANT: a doubt names a rule that was given.
    if let Some(field) = place {
        section.tell(field, reason, Some(help));
    }
}

fn rule<'t>(
    all: &mut ConfigSection<'_, 't>,
    field: ConfigField<'t>,
) -> Option<(SecretRule, RuleFields<'t>)> {
    let mut section = all.table_in(&field)?;
    // It may hold what it looks for, so that reports do not show it.
    let pattern = section.take("pattern");
    let text = pattern.as_ref().and_then(|it| section.text(it));
    if !section.has("pattern") {
        let help = "a regular expression, as in `pattern = 'acme_[a-z0-9]{32}'`";
        section.require("pattern", ConfigReason::Required, help);
    }
    let keywords = section.take("keywords");
    let items = section.items("keywords", KEYWORDS);
    let mut words = Vec::new();
    let mut unread = 0;
    for item in items.into_iter().flatten() {
        if let Some(word) = section.text(&item) {
            words.push((item, word.value));
        } else {
            unread += 1;
        }
    }
    if !section.has("keywords") {
        section.require("keywords", ConfigReason::Required, KEYWORDS);
    }
    let min_entropy = section.take("min_entropy");
    let expected = "a number from 0 to 8";
    let entropy = section.number("min_entropy", 0.0..=8.0, expected);
    section.finish();
    let rule = SecretRule {
        id: field.key.to_owned(),
        keywords: words.iter().map(|(_, word)| word.clone()).collect(),
        pattern: text?.value,
        // In tenths, of which there are 80 at most.
        min_entropy: entropy.map(tenths),
    };
    let is_read = keywords.as_ref().is_some_and(|it| it.value.is_array()) && unread == 0;
    let written = RuleFields {
        rule: field,
        pattern,
        keywords,
        min_entropy,
        words,
    };
    // What could not be read has been told.
    is_read.then_some((rule, written))
}

/// Points at what a problem is about.
fn tell<'t>(section: &mut ConfigSection<'_, 't>, places: &[RuleFields<'t>], problem: &RuleError) {
    let of = |id: &str| places.iter().find(|it| it.rule.key == id);
    let (place, reason, help): (Option<&ConfigField<'t>>, String, &str) = match problem {
        RuleError::Id { rule } => (
            of(rule).map(|it| &it.rule),
            "expected a name of 1 to 64 lower-case letters, digits and hyphens".to_owned(),
            "it stands in place of the secret, as `[redacted:NAME]`",
        ),
        RuleError::Repeated { rule } => (
            of(rule).map(|it| &it.rule),
            "is the name of a rule that is built in".to_owned(),
            "give it another one",
        ),
        RuleError::NoKeyword { rule } => (
            of(rule).and_then(|it| it.keywords.as_ref()),
            "expected at least one keyword".to_owned(),
            KEYWORDS,
        ),
        RuleError::Keywords { rule, count, most } => (
            of(rule).and_then(|it| it.keywords.as_ref()),
            format!("holds {count} keywords, more than {most}"),
            "keywords that are part of all that matches need not be many",
        ),
        RuleError::Keyword {
            rule,
            keyword,
            least,
            most,
        } => {
            let words = of(rule).into_iter().flat_map(|it| &it.words);
            let mut words = words.filter(|(_, word)| word == keyword);
            (
                words.next().map(|(field, _)| field),
                format!("expected a keyword of {least} to {most} bytes"),
                KEYWORDS,
            )
        }
        RuleError::Pattern { rule, message } => (
            of(rule).and_then(|it| it.pattern.as_ref()),
            format!("is no regular expression: {}", without_quotes(message)),
            "the syntax is that of the `regex` crate, without look-around and back-references",
        ),
        RuleError::TooLarge { rule } => (
            of(rule).and_then(|it| it.pattern.as_ref()),
            "takes more than 512 KiB when it is compiled".to_owned(),
            "repeat less, and narrower classes: `[0-9]` for `\\d`, `[A-Za-z]` for `\\w`",
        ),
        RuleError::Empty { rule } => (
            of(rule).and_then(|it| it.pattern.as_ref()),
            "matches nothing at all as well".to_owned(),
            "let it begin with what is always there",
        ),
        RuleError::TooMany { count, most } => {
            let reason = ConfigReason::Unusable(format!("holds {count} rules, more than {most}"));
            section.refuse_section(reason, "remove some");
            return;
        }
    };
    // INVARIANT: a problem names a rule that was given.
    if let Some(field) = place {
        section.tell(field, ConfigReason::Unusable(reason), Some(help));
    }
}

/// What is wrong, without the pattern, which comes before it.
fn without_quotes(message: &str) -> &str {
    message.rsplit("error: ").next().unwrap_or_default().trim()
}
