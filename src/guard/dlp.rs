//! Credentials in a whole message: which strings show some, and what they say without them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::wire::Value;

use super::secrets::{
    Redacted, RuleId, SecretFinding, SecretMembers, SecretRules, is_random, replaced,
};

/// What a message shows of credentials.
#[derive(Debug, Default)]
pub struct DlpFindings<'m> {
    /// Strings that say something else without them.
    pub strings: Vec<DlpFinding<'m>>,
    /// Rules that found one in the name of a member, where nothing can stand for it.
    pub names: Vec<RuleId>,
}

/// One string that shows credentials.
#[derive(Debug)]
pub struct DlpFinding<'m> {
    pub value: Value<'m>,
    pub without: String,
    pub rules: Vec<RuleId>,
}

/// Bytes of the name of a member, from its end, that are looked at together with its value.
const MOST_OF_NAME: usize = 128;

/// The longest string that is looked at together with the name of its member: a longer one is text
/// that says itself what is in it.
const SHORT: usize = 512;

/// Bytes of the halves of a pair of which only the first one shows what it is (AWS).
const ID: usize = 20;
const HALF: usize = 40;

/// A secret that is as short may stand elsewhere by chance.
const TELLING: usize = 8;

/// The same where only the words of a text say that it is one.
const TELLING_BY_TEXT: usize = 12;

/// A longer one is a whole text, and the automaton that looks for it would take hundreds of bytes for each
/// of its own.
const LONGEST: usize = 4096;

/// The most findings in one string that are told apart.
const MOST_OF_ONE: usize = 4096;

/// The most secrets of one message that are looked for in its other strings.
const MOST_KNOWN: usize = 256;

/// Finds credentials in every string of a message but those at `spare` and at the paths of `handles`, which
/// must go back as they were, or the conversation breaks off.
///
/// What surely is a credential is taken out of all other strings too: one that structured content gives
/// away by the name of its member stands in a text as well, without that name. What only the words of a
/// text call a secret, which a stranger may have written, goes where it stands, and where a string says
/// that and nothing else.
///
/// A string for which `said` has another text is looked at as if it said that.
pub fn dlp_findings<'m>(
    message: Value<'m>,
    spare: &[Range<usize>],
    handles: &[&[&str]],
    said: &dyn Fn(Value<'m>) -> Option<String>,
    (rules, names): (&SecretRules, MemberNames),
) -> DlpFindings<'m> {
    let handles = handles.iter().filter_map(|path| message.at(path));
    let handles = handles.filter(|handle| handle.as_str().is_some());
    let spare = spare.iter().cloned().chain(handles.map(Value::range));
    let mut search = DlpSearch {
        rules,
        members: match names {
            MemberNames::TellSecrets => Some(rules.members()),
            MemberNames::AreHints => None,
        },
        said,
        spare: spare.collect(),
        strings: Vec::new(),
        names: Vec::new(),
        known: HashMap::new(),
        said_to_be: HashMap::new(),
    };
    search.visit(message, None, None);
    search.strings_of_all();
    let found = search
        .strings
        .into_iter()
        .filter(|(_, _, found)| !found.is_empty())
        .map(|(value, text, found)| {
            let mut rules: Vec<RuleId> = found.iter().map(|finding| finding.rule.clone()).collect();
            rules.dedup();
            let Redacted { text, .. } = replaced(&text, found);
            let without = text.into_owned();
            DlpFinding {
                value,
                without,
                rules,
            }
        });
    DlpFindings {
        strings: found.collect(),
        names: search.names,
    }
}

/// What the name of a member tells of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemberNames {
    /// A value is a secret because of the name alone.
    TellSecrets,
    /// A value has to look like a secret, too.
    #[default]
    AreHints,
}

struct DlpSearch<'s, 'm> {
    rules: &'s SecretRules,
    /// Names whose values are secrets, if that counts.
    members: Option<&'s SecretMembers>,
    said: &'s dyn Fn(Value<'m>) -> Option<String>,
    spare: Vec<Range<usize>>,
    strings: Vec<(Value<'m>, Cow<'m, str>, Vec<SecretFinding>)>,
    names: Vec<RuleId>,
    /// Secrets by what they say.
    known: HashMap<String, RuleId>,
    /// What words of some text say to be one.
    said_to_be: HashMap<String, RuleId>,
}

/// What a rule can see of a name beside a value: many values may have one that is as long as the message.
fn end_of(name: &str) -> &str {
    let least = name.len().saturating_sub(MOST_OF_NAME);
    let start = (least..=name.len()).find(|at| name.is_char_boundary(*at));
    start.and_then(|at| name.get(at..)).unwrap_or(name)
}

/// What tells that something is a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretEvidence {
    /// The name of the member that it stands in: those who fill a member do not choose it.
    ByMember,
    /// The string itself.
    ByText,
}

impl<'m> DlpSearch<'_, 'm> {
    /// The wire's depth limit bounds the recursion.
    fn visit(&mut self, value: Value<'m>, name: Option<&str>, id: Option<&str>) {
        let beside = self.name_beside(value);
        let id_beside = self.id_among(value);
        let id_beside = id_beside.as_deref();
        for (key, member) in value.entries() {
            let shown = self.rules.find(&key).into_iter();
            self.names.extend(shown.map(|finding| finding.rule));
            let name = beside
                .as_deref()
                .filter(|_| VALUE.eq_ignore_ascii_case(&key));
            self.visit(member, name.or(Some(&key)), id_beside);
        }
        for item in value.items() {
            self.visit(item, name, id_beside);
        }
        let said = || (self.said)(value).map(Cow::Owned);
        if let Some(text) = value.as_str().map(|text| said().unwrap_or(text))
            && !self.spare.contains(&value.range())
        {
            let (mut found, mut told) = self.find(&text, name);
            if found.is_empty() && text.len() == HALF && id.is_some() {
                (found, told) = self.find(&text, id);
            }
            self.note_all(&found, &text, told);
            if let Some(members) = self.members {
                let (hits, told) = self.by_name(members, name, &text);
                self.note_all(&hits, &text, told);
                found = merge_overlapping(found, hits, text.len());
            }
            self.strings.push((value, text, found));
        }
    }

    /// The name that a record gives to its value.
    fn name_beside(&self, record: Value<'m>) -> Option<Cow<'m, str>> {
        let names = NAMES.iter().filter_map(|name| record.get(name)?.as_str());
        let mut names = names.filter(|name| name.len() <= SHORT).peekable();
        let first = names.peek().cloned();
        let of_secret = |name: &Cow<'_, str>| self.members.is_some_and(|it| it.has(name));
        names.find(of_secret).or(first)
    }

    /// The id of a pair among members or items: beside it the other half is known without a name.
    fn id_among(&self, value: Value<'m>) -> Option<Cow<'m, str>> {
        let members = value.entries().map(|(_, member)| member);
        let mut texts = members.chain(value.items()).filter_map(Value::as_str);
        texts.find(|text| {
            let is_whole = |it: &SecretFinding| it.range == (0..text.len());
            text.len() == ID && self.rules.find(text).iter().any(is_whole)
        })
    }

    fn note_all(&mut self, found: &[SecretFinding], text: &str, told: SecretEvidence) {
        for finding in found {
            let secret = text.get(finding.range.clone()).unwrap_or_default();
            self.note(secret, &finding.rule, told);
        }
    }

    /// What is a secret because of the name of its member: all of the text, or parts of it.
    fn by_name(
        &self,
        members: &SecretMembers,
        name: Option<&str>,
        text: &str,
    ) -> (Vec<SecretFinding>, SecretEvidence) {
        let is_new = |finding: &SecretFinding| {
            let secret = text.get(finding.range.clone());
            // What a gate has taken out already is not taken out again.
            secret.is_some_and(|secret| !self.rules.is_placeholder(secret))
        };
        let whole = name.and_then(|name| members.value(end_of(name), text));
        if let Some(whole) = whole {
            let whole = Some(whole).filter(is_new);
            return (Vec::from_iter(whole), SecretEvidence::ByMember);
        }
        let hits = members.in_text(text).filter(is_new);
        let mut hits: Vec<_> = hits.take(MOST_OF_ONE).collect();
        // The gate looks for no more of them: the rest of the text goes with the last one.
        if hits.len() == MOST_OF_ONE
            && let Some(last) = hits.last_mut()
        {
            last.range.end = text.len();
        }
        (hits, SecretEvidence::ByText)
    }

    /// Keeps what is to be looked for in other strings.
    fn note(&mut self, secret: &str, rule: &RuleId, told: SecretEvidence) {
        let is_sure = told == SecretEvidence::ByMember || self.rules.knows_by_form(rule);
        let (known, least) = if is_sure {
            (&mut self.known, TELLING)
        } else {
            (&mut self.said_to_be, TELLING_BY_TEXT)
        };
        let is_telling = (least..=LONGEST).contains(&secret.len()) && is_random(secret);
        if is_telling && known.len() < MOST_KNOWN {
            known.insert(secret.to_owned(), rule.clone());
        }
    }

    /// In the text; if there is nothing, in the text beside the name of its member.
    fn find(&self, text: &str, name: Option<&str>) -> (Vec<SecretFinding>, SecretEvidence) {
        let found = self.rules.find(text);
        let Some(name) = name.filter(|_| found.is_empty() && (1..=SHORT).contains(&text.len()))
        else {
            return (found, SecretEvidence::ByText);
        };
        let before = format!("{}=\"", end_of(name));
        let beside = format!("{before}{text}\"");
        let shift = |at: usize| at.saturating_sub(before.len()).min(text.len());
        let within = self.rules.find(&beside).into_iter().filter_map(|finding| {
            let Range { start, end } = finding.range;
            let range = shift(start)..shift(end);
            (!range.is_empty()).then_some(SecretFinding { range, ..finding })
        });
        (within.collect(), SecretEvidence::ByMember)
    }

    fn strings_of_all(&mut self) {
        for (_, text, found) in self.strings.iter_mut().filter(|it| it.2.is_empty()) {
            let rule = self.said_to_be.get(text.trim());
            found.extend(rule.map(|rule| SecretFinding::plain(rule.clone(), 0..text.len())));
        }
        let (secrets, rules): (Vec<&String>, Vec<&RuleId>) = self.known.iter().unzip();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&secrets);
        // INVARIANT: so few and such short ones always make one.
        let Ok(finder) = finder else {
            return;
        };
        if secrets.is_empty() {
            return;
        }
        for (_, text, found) in &mut self.strings {
            let again = finder.find_iter(text.as_ref()).filter_map(|hit| {
                let rule = rules.get(hit.pattern().as_usize())?;
                Some(SecretFinding::plain((*rule).clone(), hit.range()))
            });
            *found = merged(std::mem::take(found), again, text.len());
        }
    }
}

/// What lists of variables call the member that has the name of one, and that of its value: those of
/// containers, builds and tags.
const NAMES: [&str; 4] = ["name", "key", "Name", "Key"];
const VALUE: &str = "value";

/// Both together, in order; what overlaps is one. After [`MOST_OF_ONE`] the rest of the text is one.
fn merge_overlapping(
    found: Vec<SecretFinding>,
    hits: Vec<SecretFinding>,
    length: usize,
) -> Vec<SecretFinding> {
    if hits.is_empty() {
        return found;
    }
    let mut all: Vec<_> = found.into_iter().chain(hits).collect();
    all.sort_by_key(|finding| finding.range.start);
    let mut apart: Vec<SecretFinding> = Vec::with_capacity(all.len());
    for one in all {
        match apart.last_mut() {
            Some(last) if one.range.start < last.range.end => {
                // One within another is part of that.
                if one.range.end > last.range.end {
                    *last = SecretFinding::plain(one.rule, last.range.start..one.range.end);
                }
            }
            Some(_) | None => apart.push(one),
        }
    }
    apart.truncate(MOST_OF_ONE);
    if apart.len() == MOST_OF_ONE
        && let Some(last) = apart.last_mut()
    {
        last.range.end = length;
    }
    apart
}

/// Both are in order, and apart among themselves. Where they meet the first ones stay; after
/// [`MOST_OF_ONE`] the rest of the text is one finding.
fn merged(
    found: Vec<SecretFinding>,
    again: impl Iterator<Item = SecretFinding>,
    length: usize,
) -> Vec<SecretFinding> {
    let mut found = found.into_iter().peekable();
    let mut all: Vec<SecretFinding> = Vec::new();
    for hit in again {
        while let Some(before) = found.next_if(|one| one.range.start < hit.range.end) {
            all.push(before);
        }
        let meets = all
            .last()
            .is_some_and(|last| hit.range.start < last.range.end);
        if meets {
            continue;
        }
        if all.len() >= MOST_OF_ONE {
            let range = hit.range.start..length;
            all.push(SecretFinding { range, ..hit });
            return all;
        }
        all.push(hit);
    }
    all.extend(found);
    all
}

#[cfg(test)]
mod tests;
