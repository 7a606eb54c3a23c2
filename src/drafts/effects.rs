//! What a tool does, as far as its name and its server tell.

use crate::wire::Value;

/// First words of names of tools that change nothing.
const READS: [&str; 17] = [
    "check", "count", "describe", "diff", "echo", "explain", "fetch", "find", "get", "has",
    "inspect", "list", "lookup", "read", "search", "show", "view",
];

/// Words that a name of a tool that changes nothing does not have.
const WRITES: [&str; 47] = [
    "add",
    "append",
    "apply",
    "archive",
    "cancel",
    "clear",
    "close",
    "commit",
    "create",
    "delete",
    "disable",
    "drop",
    "edit",
    "enable",
    "erase",
    "exec",
    "execute",
    "grant",
    "import",
    "insert",
    "install",
    "kill",
    "merge",
    "modify",
    "move",
    "patch",
    "purge",
    "put",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "revoke",
    "run",
    "save",
    "set",
    "start",
    "stop",
    "submit",
    "transfer",
    "truncate",
    "uninstall",
    "update",
    "upsert",
    "wipe",
    "write",
];

/// Words in names of tools that reach other machines.
const CONNECTS: [&str; 30] = [
    "api", "browse", "browser", "clone", "connect", "crawl", "curl", "deploy", "download", "email",
    "fetch", "forward", "http", "https", "mail", "navigate", "notify", "post", "publish", "pull",
    "push", "request", "scrape", "send", "slack", "sync", "upload", "url", "web", "webhook",
];

/// What a tool is labelled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effects {
    /// It changes nothing.
    pub(super) reads: bool,
    /// It reaches other machines.
    pub(super) connects: bool,
}

impl Effects {
    pub(super) fn of_name(name: &str) -> Self {
        let words = words(name);
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let begins = words.first();
        let begins = begins.is_some_and(|word| READS.contains(&word.as_str()));
        Self {
            reads: begins && !has(&WRITES),
            connects: has(&CONNECTS),
        }
    }

    /// The same with what the server says of the tool. The server could lie, so that a hint can only add an effect:
    /// one that denies an effect, or that is missing, changes nothing.
    pub(super) fn with_hints(self, definition: Value<'_>) -> Self {
        let hints = definition.get("annotations");
        // A hint of another type than a boolean denies nothing.
        let is_other = |name: &str, harmless: bool| {
            let hint = hints.and_then(|hints| hints.get(name));
            hint.is_some_and(|hint| hint.as_bool() != Some(harmless))
        };
        Self {
            reads: self.reads
                && !is_other("readOnlyHint", true)
                && !is_other("destructiveHint", false),
            connects: self.connects || is_other("openWorldHint", false),
        }
    }
}

/// The words of a name, in lower case: `getURL`, `get_url` and `GET-URL` are the same.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = None;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek();
        let follows_lower = before.is_some_and(|it: char| !it.is_uppercase());
        let precedes_lower = next.is_some_and(|it| it.is_lowercase());
        let begins = character.is_uppercase() && (follows_lower || precedes_lower);
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[test]
    fn a_name_tells_what_a_tool_does_in_any_spelling() {
        let check = |names: &[&str], reads: bool, connects: bool| {
            for name in names {
                let found = Effects::of_name(name);
                assert_eq!((found.reads, found.connects), (reads, connects), "{name}");
            }
        };
        check(&["read_file", "readFile", "READ-FILE", "list"], true, false);
        check(&["getURL", "get_url", "GetURLs2Web", "fetch"], true, true);
        check(
            &["write_file", "get_or_create", "frobnicate", ""],
            false,
            false,
        );
        check(&["sendMail", "HTTPPost", "git_push"], false, true);
    }

    #[test]
    fn a_hint_adds_an_effect_and_takes_none_away() {
        let check = |name: &str, hints: &str, reads: bool, connects: bool| {
            let definition = format!(r#"{{"annotations":{hints}}}"#);
            let definition = Document::decode(definition.as_bytes(), &Limits::default()).unwrap();
            let found = Effects::of_name(name).with_hints(definition.root());
            assert_eq!(
                (found.reads, found.connects),
                (reads, connects),
                "{name} {hints}"
            );
        };
        let harmless = r#"{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}"#;
        for hints in [harmless, "{}", "null", "[]", "7"] {
            check("read_file", hints, true, false);
            check("write_file", hints, false, false);
            check("send_mail", hints, false, true);
            check("get_url", hints, true, true);
        }
        for worse in ["false", "null", "\"true\"", "0"] {
            check(
                "read_file",
                &format!(r#"{{"readOnlyHint":{worse}}}"#),
                false,
                false,
            );
        }
        for worse in ["true", "null", "\"false\""] {
            check(
                "read_file",
                &format!(r#"{{"destructiveHint":{worse}}}"#),
                false,
                false,
            );
            check(
                "read_file",
                &format!(r#"{{"openWorldHint":{worse}}}"#),
                true,
                true,
            );
        }
    }
}
