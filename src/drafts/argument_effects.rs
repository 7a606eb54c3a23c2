//! What a tool does, as far as its arguments tell: by their names, formats and listed values.

use super::words::Words;
use crate::wire::{JsonKind, Value};

/// Schemas inside each other that are looked at. What lies deeper is taken for the worst.
const MAX_DEPTH: usize = 32;

/// Words in names of arguments that say what to change.
const WRITES: [&str; 19] = [
    "cmd",
    "command",
    "commandline",
    "delete",
    "eval",
    "exec",
    "execute",
    "mutation",
    "overwrite",
    "patch",
    "payload",
    "remove",
    "replacement",
    "script",
    "shell",
    "sql",
    "statement",
    "stdin",
    "write",
];

/// The same where they end a name: `content_type` and `data_source` only select.
const WRITES_LAST: [&str; 7] = [
    "body",
    "change",
    "content",
    "data",
    "diff",
    "edit",
    "operation",
];

/// The same where they are the whole name: `country_code` and `last_update` only select.
const WRITES_WHOLE: [&str; 15] = [
    "code",
    "create",
    "force",
    "insert",
    "jscode",
    "merge",
    "publish",
    "pythoncode",
    "replace",
    "save",
    "send",
    "set",
    "sourcecode",
    "update",
    "upload",
];

/// Words in names of arguments that say where to connect, or whom to reach.
const CONNECTS: [&str; 26] = [
    "callback",
    "callbackurl",
    "domain",
    "email",
    "endpoint",
    "ftp",
    "host",
    "hostname",
    "href",
    "http",
    "https",
    "imageurl",
    "ip",
    "mail",
    "proxy",
    "receiver",
    "recipient",
    "smtp",
    "ssh",
    "uri",
    "url",
    "webhook",
    "webpage",
    "website",
    "websocket",
    "www",
];

/// The same where they are the whole name. `to` is not among them: beside `from`, it is the end of a range.
const CONNECTS_WHOLE: [&str; 3] = ["bcc", "cc", "link"];

/// Words in names of arguments that are paths.
const PATHS: [&str; 9] = [
    "dir",
    "directory",
    "directories",
    "file",
    "filename",
    "filepath",
    "folder",
    "path",
    "root",
];

/// Formats of other machines and of mailboxes.
const FORMATS: [&str; 13] = [
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "uri",
    "uri-reference",
    "uri-template",
    "url",
    "websocket",
];

/// Words of listed values that choose a change. No forms of them: `created` and `updated` are orders of lists.
const CHOICES: [&str; 44] = [
    "append",
    "apply",
    "cancel",
    "clear",
    "create",
    "delete",
    "deploy",
    "destroy",
    "disable",
    "drop",
    "edit",
    "enable",
    "erase",
    "exec",
    "execute",
    "insert",
    "install",
    "kill",
    "modify",
    "move",
    "overwrite",
    "patch",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "revoke",
    "run",
    "send",
    "shutdown",
    "submit",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "wipe",
    "write",
];

/// Keywords whose values are no schemas.
const TEXTS: [&str; 6] = [
    "$comment",
    "default",
    "description",
    "example",
    "examples",
    "title",
];

/// Keywords with schemas by the names of arguments.
const BY_ARGUMENT: [&str; 3] = ["dependentSchemas", "properties", "dependencies"];

/// Keywords with schemas by other names.
const BY_NAME: [&str; 3] = ["$defs", "definitions", "patternProperties"];

/// What arguments add to the effects of their tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ArgumentEffects {
    pub(super) writes: bool,
    pub(super) connects: bool,
    /// An argument is a path, as far as its name tells.
    pub(super) takes_a_path: bool,
}

impl ArgumentEffects {
    /// Of a tool that could do anything.
    const WORST: Self = Self {
        writes: true,
        connects: true,
        takes_a_path: true,
    };

    /// By the names of arguments beside each other.
    pub(super) fn of_names<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut found = Self::default();
        let (mut has_to, mut has_from) = (false, false);
        for name in names {
            let whole: String = name.chars().filter(|it| it.is_alphabetic()).collect();
            let whole = whole.to_lowercase();
            let singular = whole.strip_suffix('s').unwrap_or(&whole);
            let is = |listed: &[&str]| listed.contains(&&*whole) || listed.contains(&singular);
            let ends = |listed: &[&str]| last_is(name, listed);
            let words = Words::of(name);
            found.writes |= words.have_one_of(&WRITES) || ends(&WRITES_LAST) || is(&WRITES_WHOLE);
            found.connects |= words.have_one_of(&CONNECTS) || is(&CONNECTS_WHOLE);
            found.takes_a_path |= words.have_one_of(&PATHS);
            has_to |= whole == "to";
            has_from |= whole == "from";
        }
        found.connects |= has_to && !has_from;
        found
    }

    /// By the schema of all arguments.
    pub(super) fn of_schema(schema: Value<'_>) -> Self {
        let mut found = Self::default();
        found.see(schema, 0);
        found
    }

    fn see(&mut self, schema: Value<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            *self = Self::WORST;
            return;
        }
        for item in schema.items() {
            self.see(item, depth + 1);
        }
        for (keyword, value) in schema.entries() {
            let keyword = &*keyword;
            if BY_ARGUMENT.contains(&keyword) {
                self.add_names(value.entries().map(|(name, _)| name.into_owned()));
            }
            if BY_ARGUMENT.contains(&keyword) || BY_NAME.contains(&keyword) {
                for (_, schema) in value.entries() {
                    self.see(schema, depth + 1);
                }
            } else if keyword == "required" {
                let names = value.items().filter_map(Value::as_str);
                self.add_names(names.map(std::borrow::Cow::into_owned));
            } else if keyword == "enum" || keyword == "const" {
                self.see_choices(value, depth);
            } else if keyword == "format" {
                let format = value.as_str().unwrap_or_default().to_lowercase();
                self.connects |= FORMATS.contains(&&*format);
            } else if keyword == "pattern" {
                let pattern = value.as_str().unwrap_or_default().to_lowercase();
                self.connects |= pattern.contains("http") || pattern.contains("://");
            } else if keyword == "$ref" {
                // What another document says of the arguments is not known.
                self.writes |= !value.as_str().is_some_and(|place| place.starts_with('#'));
            } else if !TEXTS.contains(&keyword) {
                self.see(value, depth + 1);
            }
        }
    }

    fn see_choices(&mut self, value: Value<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            *self = Self::WORST;
            return;
        }
        if value.kind() == JsonKind::String {
            let text = value.as_str().unwrap_or_default();
            self.writes |= Words::of(&text).have_one_of(&CHOICES);
        }
        for item in value.items() {
            self.see_choices(item, depth + 1);
        }
        for (_, member) in value.entries() {
            self.see_choices(member, depth + 1);
        }
    }

    fn add_names(&mut self, names: impl Iterator<Item = String>) {
        let names: Vec<String> = names.collect();
        let more = Self::of_names(names.iter().map(String::as_str));
        self.writes |= more.writes;
        self.connects |= more.connects;
        self.takes_a_path |= more.takes_a_path;
    }
}

/// Whether a name ends with one of these words, or with its plural.
fn last_is(name: &str, listed: &[&str]) -> bool {
    Words::of(name).last().is_some_and(|last| {
        let singular = last.strip_suffix('s').unwrap_or(last);
        listed.contains(&last) || listed.contains(&singular)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    fn found(schema: &str) -> ArgumentEffects {
        let document = Document::decode(schema.as_bytes(), &Limits::default()).unwrap();
        ArgumentEffects::of_schema(document.root())
    }

    #[test]
    fn names_formats_and_values_of_arguments_add_effects() {
        let check = |properties: &str, writes: bool, connects: bool| {
            let plain = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
            let list = format!(r#"{{"type":"array","items":{plain}}}"#);
            let deep = format!(r#"{{"type":"object","properties":{{"list":{list}}}}}"#);
            let choice = format!(r#"{{"anyOf":[{{}},{plain}]}}"#);
            let defined = format!(r##"{{"$ref":"#/$defs/x","$defs":{{"x":{plain}}}}}"##);
            for schema in [plain, deep, choice, defined] {
                let found = found(&schema);
                assert_eq!(
                    (found.writes, found.connects),
                    (writes, connects),
                    "{schema}"
                );
            }
        };
        for name in [
            "command",
            "cmd",
            "script",
            "code",
            "sql",
            "statement",
            "shell",
            "content",
            "contents",
            "file_content",
            "body",
            "data",
            "patch",
            "edits",
            "diff",
            "shellCommand",
            "SQL",
        ] {
            check(&format!(r#""{name}":{{"type":"string"}}"#), true, false);
        }
        for name in [
            "url",
            "uri",
            "host",
            "hostname",
            "endpoint",
            "domain",
            "webhook",
            "email",
            "recipient",
            "recipients",
            "to",
            "imageURL",
            "url2",
            "base_url",
            "urls",
        ] {
            check(&format!(r#""{name}":{{"type":"string"}}"#), false, true);
        }
        for format in ["uri", "hostname", "email", "URI"] {
            check(&format!(r#""x":{{"format":"{format}"}}"#), false, true);
        }
        check(r#""x":{"pattern":"^https://"}"#, false, true);
        check(r#""m":{"enum":["DELETE","GET"]}"#, true, false);
        check(r#""m":{"enum":["list","drop_table"]}"#, true, false);
        check(r#""m":{"const":"writeAll"}"#, true, false);
        check(r#""x":{"$ref":"https://a.example/x"}"#, true, false);
        for harmless in [
            r#""path":{"type":"string"},"head":{"type":"number"},"tail":{"type":"number"}"#,
            r#""path":{},"pattern":{},"excludePatterns":{"type":"array","items":{}}"#,
            r#""sortBy":{"enum":["name","size"],"description":"delete url"}"#,
            r#""sort":{"enum":["created","updated","comments"]},"state":{"enum":["open","closed"]}"#,
            r#""text":{},"query":{},"timezone":{},"country_code":{},"content_type":{},"data_source":{}"#,
            r#""from":{"format":"date"},"to":{"format":"date"},"last_update":{}"#,
            r#""owner":{},"repo":{},"sha":{},"page":{"default":{"url":1}}"#,
        ] {
            check(harmless, false, false);
        }
    }

    #[test]
    fn a_required_name_counts_and_what_lies_too_deep_is_the_worst() {
        assert!(found(r#"{"required":["url"]}"#).connects);
        let deep =
            (0..=MAX_DEPTH).fold("{}".to_owned(), |inner, _| format!(r#"{{"not":{inner}}}"#));
        assert_eq!(found(&deep), ArgumentEffects::WORST);
        assert!(found(r#"{"properties":{"paths":{}}}"#).takes_a_path);
    }
}
