//! Names of arguments that a lenient server could read as others.
//!
//! Decoders of Go and .NET match names without regard to case, and take the last of two; others trim
//! names or drop characters that show nothing. So `Path` beside `path`, or in its place, could reach
//! a file that no rule on `path` has judged.

mod of_schema;
mod unknown;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use thiserror::Error;

use crate::wire::{JsonKind, Value, folded_name};

pub use unknown::{UnknownArgument, check_unknown_arguments};

/// Why the names of a call's arguments are not safe from a lenient server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AmbiguousName {
    #[error(
        "the argument `{}` could be read as `{}`: send one of them, in the spelling of the tool's `inputSchema`",
        .name.escape_debug(), .like.escape_debug()
    )]
    Alike { name: String, like: String },
    #[error("the names of arguments hold more than {MAX_FOLDED_BYTES} bytes outside ASCII")]
    TooMuch,
}

/// Most bytes of names outside ASCII that are compared in one call. Folding makes up to eighteen
/// bytes of three (U+FDFA): without a limit one call takes seconds.
const MAX_FOLDED_BYTES: usize = 64 * 1024;

/// Most names that are taken from one schema, and how deep they are looked for. Schemas of public
/// servers have some hundred names in ten levels.
const MAX_NAMES: usize = 4096;
const MAX_DEPTH: usize = 32;

/// The names that a schema, or the labels of a tool, give to arguments, by where they stand.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ArgumentNames {
    members: HashMap<Box<str>, ArgumentNames>,
    /// The names of members by their folded forms.
    folded: HashMap<Box<str>, Box<str>>,
    /// Of each item of an array.
    items: Option<Box<ArgumentNames>>,
    /// Of each member that has no name of its own.
    others: Option<Box<ArgumentNames>>,
    /// Whether a name here or below has a folded form that is another.
    folds: bool,
    /// There may be more names here than could be read.
    is_cut: bool,
    /// The schema allows no member but those that it names.
    is_closed: bool,
}

impl ArgumentNames {
    /// The names that a JSON Schema declares in `properties`, also behind local references and in
    /// its alternatives. A name beyond the limits is not known.
    pub fn of_schema(schema: Value<'_>) -> Self {
        let mut names = Self::default();
        let mut left = MAX_NAMES;
        names.add_schema(schema, schema, MAX_DEPTH, &mut left);
        names.folds = names.find_folds();
        names
    }

    /// The names in JSON Pointers (RFC 6901), where `*` stands for each item and each member.
    pub fn of_pointers<'p>(pointers: impl IntoIterator<Item = &'p str>) -> Self {
        let mut names = Self::default();
        for pointer in pointers {
            let mut place = &mut names;
            for step in pointer.split('/').skip(1) {
                if step == "*" {
                    place.items.get_or_insert_default();
                    place = place.others.get_or_insert_default();
                } else {
                    let name = step.replace("~1", "/").replace("~0", "~");
                    place = place.insert(&name);
                }
            }
        }
        names.copy_to_items();
        names.folds = names.find_folds();
        names
    }

    /// `*` means items as well as members.
    fn copy_to_items(&mut self) {
        if let Some(others) = &mut self.others {
            others.copy_to_items();
            if let Some(items) = &mut self.items {
                items.clone_from(others);
            }
        }
        self.members.values_mut().for_each(Self::copy_to_items);
    }

    fn insert(&mut self, name: &str) -> &mut Self {
        self.folded
            .entry(fold(name).into())
            .or_insert_with(|| name.into());
        self.members.entry(name.into()).or_default()
    }

    fn find_folds(&self) -> bool {
        let below = [&self.items, &self.others].into_iter().flatten();
        self.members
            .iter()
            .any(|(name, names)| !is_plain(name) || names.find_folds())
            || below.into_iter().any(|names| names.find_folds())
    }

    fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name).or(self.others.as_deref())
    }
}

/// Checks that no server can read a name of these arguments as another.
///
/// Two names of one object that are equal after folding are refused unless `schema` declares both. A
/// name that folds to one that `schema` or `labels` has at its place, and is none of those, is
/// refused as well. Arguments whose names are all plain lower-case ASCII are read once and cost
/// nothing more.
///
/// # Errors
/// The first such name, or [`AmbiguousName::TooMuch`].
pub fn check_argument_names(
    arguments: Value<'_>,
    schema: &ArgumentNames,
    labels: &ArgumentNames,
) -> Result<(), AmbiguousName> {
    if !schema.folds && !labels.folds && has_plain_names(arguments) {
        return Ok(());
    }
    let mut check = Check {
        left: MAX_FOLDED_BYTES,
    };
    check.descend(arguments, [Some(schema), Some(labels)])
}

/// Whether each name is its own folded form, as names in lower-case ASCII are.
fn has_plain_names(value: Value<'_>) -> bool {
    match value.kind() {
        JsonKind::Object => value
            .entries()
            .all(|(name, member)| is_plain(&name) && has_plain_names(member)),
        JsonKind::Array => value.items().all(has_plain_names),
        JsonKind::String | JsonKind::Number | JsonKind::Bool | JsonKind::Null => true,
    }
}

fn is_plain(name: &str) -> bool {
    name.bytes()
        .all(|byte| (0x21..0x7f).contains(&byte) && !byte.is_ascii_uppercase())
}

struct Check {
    left: usize,
}

impl Check {
    /// The wire's limit of depth bounds the recursion.
    fn descend(
        &mut self,
        value: Value<'_>,
        names: [Option<&ArgumentNames>; 2],
    ) -> Result<(), AmbiguousName> {
        match value.kind() {
            JsonKind::Object => {
                self.object(value, names)?;
                for (name, member) in value.entries() {
                    self.descend(member, names.map(|it| it?.member(&name)))?;
                }
            }
            JsonKind::Array => {
                let names = names.map(|it| it?.items.as_deref());
                for item in value.items() {
                    self.descend(item, names)?;
                }
            }
            JsonKind::String | JsonKind::Number | JsonKind::Bool | JsonKind::Null => {}
        }
        Ok(())
    }

    fn object(
        &mut self,
        object: Value<'_>,
        [schema, labels]: [Option<&ArgumentNames>; 2],
    ) -> Result<(), AmbiguousName> {
        let is_in =
            |names: Option<&ArgumentNames>, name: &str| names.is_some_and(|it| it.has(name));
        let mut seen: HashMap<Cow<'_, str>, Cow<'_, str>> = HashMap::with_capacity(object.len());
        for (name, _) in object.entries() {
            self.pay(&name)?;
            let folded = match name {
                Cow::Borrowed(name) => fold(name),
                Cow::Owned(ref name) => Cow::Owned(fold(name).into_owned()),
            };
            let is_labelled = is_in(labels, &name);
            let is_declared = is_labelled || is_in(schema, &name);
            // The server writes the schema, so it excuses no name that reads as a labelled one.
            for (names, excused) in [(labels, is_labelled), (schema, is_declared)] {
                let like = names.and_then(|it| it.folded.get(&*folded));
                if let Some(like) = like.filter(|_| !excused) {
                    return Err(alike(&name, like));
                }
            }
            match seen.entry(folded) {
                Entry::Vacant(place) => {
                    place.insert(name);
                }
                Entry::Occupied(place) => {
                    let earlier = place.get();
                    if !(is_in(schema, &name) && is_in(schema, earlier)) {
                        return Err(alike(&name, earlier));
                    }
                }
            }
        }
        Ok(())
    }

    fn pay(&mut self, name: &str) -> Result<(), AmbiguousName> {
        if !name.is_ascii() {
            let left = self.left.checked_sub(name.len());
            self.left = left.ok_or(AmbiguousName::TooMuch)?;
        }
        Ok(())
    }
}

/// A name as the most lenient of servers compares it.
fn fold(name: &str) -> Cow<'_, str> {
    match folded_name(name) {
        Cow::Borrowed(folded) => Cow::Borrowed(folded.trim()),
        Cow::Owned(folded) if folded.trim().len() == folded.len() => Cow::Owned(folded),
        Cow::Owned(folded) => Cow::Owned(folded.trim().to_owned()),
    }
}

fn alike(name: &str, like: &str) -> AmbiguousName {
    let shortened = |text: &str| text.chars().take(100).collect();
    AmbiguousName::Alike {
        name: shortened(name),
        like: shortened(like),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    fn document(text: &str) -> Document {
        Document::decode(text.as_bytes(), &Limits::default()).unwrap()
    }

    const SCHEMA: &str = r##"{
        "properties": {"path": {}, "filePath": {}, "a": {"$ref": "#/$defs/a"}, "env": {"additionalProperties": {}},
            "both": {}, "Both": {}},
        "$defs": {"a": {"properties": {"b": {"items": {"properties": {"deep": {}}}}, "a": {"$ref": "#/$defs/a"}}}}
    }"##;

    /// Which name is refused, and what it could be read as.
    fn check(schema: &str, labels: &[&str], arguments: &str) -> Option<(String, String)> {
        let schema = ArgumentNames::of_schema(document(schema).root());
        let labels = ArgumentNames::of_pointers(labels.iter().copied());
        let arguments = document(arguments);
        match check_argument_names(arguments.root(), &schema, &labels) {
            Ok(()) => None,
            Err(AmbiguousName::Alike { name, like }) => Some((name, like)),
            Err(AmbiguousName::TooMuch) => Some((String::new(), "too much".to_owned())),
        }
    }

    #[test]
    fn names_that_a_lenient_server_reads_as_others_are_refused() {
        let labels = ["/path", "/list/*/target", "/sourceUrl"];
        for (arguments, name, like) in [
            (r#"{"path":"a","Path":"b"}"#, "Path", "path"),
            (r#"{"Path":"b"}"#, "Path", "path"),
            (r#"{" path":"b"}"#, " path", "path"),
            (r#"{"path ":"b"}"#, "path ", "path"),
            ("{\"pa\u{200b}th\":1}", "pa\u{200b}th", "path"),
            ("{\"\u{a0}path\":1}", "\u{a0}path", "path"),
            ("{\"d\":{\"x\u{17f}\":1,\"xs\":2}}", "xs", "x\u{17f}"),
            ("{\"\u{212a}\":1,\"k\":2}", "k", "\u{212a}"),
            ("{\"\u{ff50}ath\":1}", "\u{ff50}ath", "path"),
            (r#"{"filepath":1}"#, "filepath", "filePath"),
            (r#"{"sourceurl":1}"#, "sourceurl", "sourceUrl"),
            (r#"{"a":{"b":[{"deep":1},{"Deep":1}]}}"#, "Deep", "deep"),
            (r#"{"a":{"a":{"a":{"B":1}}}}"#, "B", "b"),
            (r#"{"list":[{"Target":1}]}"#, "Target", "target"),
            (r#"{"list":{"x":{"Target":1}}}"#, "Target", "target"),
            (r#"{"free":[[{"x":1,"X":2}]]}"#, "X", "x"),
            (r#"{"env":{"HOME":1,"Home":2}}"#, "Home", "HOME"),
        ] {
            let refused = check(SCHEMA, &labels, arguments);
            assert_eq!(
                refused,
                Some((name.to_owned(), like.to_owned())),
                "{arguments}"
            );
        }
    }

    #[test]
    fn names_that_mean_one_thing_to_all_pass() {
        let labels = ["/path", "/list/*/target"];
        for arguments in [
            "{}",
            r#"{"path":1,"filePath":2}"#,
            r#"{"both":1,"Both":2}"#,
            r#"{"env":{"PATH":"/bin","filepath":2}}"#,
            r#"{"other":{"Path":1}}"#,
            r#"{"list":{"target":1},"Target":2}"#,
            "{\"\u{e9}\":1,\"e\":2,\"\u{65e5}\u{672c}\":3}",
        ] {
            assert_eq!(check(SCHEMA, &labels, arguments), None, "{arguments}");
        }
        assert_eq!(check("true", &[], r#"{"path":1}"#), None);
        // A schema excuses no name that reads as a labelled one; another label does.
        let upper = Some(("Both".to_owned(), "both".to_owned()));
        assert_eq!(check(SCHEMA, &["/both"], r#"{"Both":1}"#), upper);
        assert_eq!(check(SCHEMA, &["/both", "/Both"], r#"{"Both":1}"#), None);
    }

    #[test]
    fn what_is_compared_is_bounded() {
        let names: Vec<String> = (0..12_000)
            .map(|number| format!("\"\u{fdfa}{number}\":1"))
            .collect();
        let many = format!("{{{}}}", names.join(","));
        assert_eq!(check("{}", &[], &many).unwrap().1, "too much");
        // A schema that refers to itself twice in each step has an end as well.
        let endless = r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{"$ref":"#"}}}"##;
        assert_eq!(check(endless, &[], r#"{"A":1}"#).unwrap().1, "a");
    }
}
