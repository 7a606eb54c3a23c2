//! Words in names of tools and of arguments.

use std::collections::BTreeSet;

/// First words of names of tools that change nothing. `check`, `echo` and `show` are not among them: `check_out`,
/// `echo_to_file` and `show_alert` change something.
const READS: [&str; 14] = [
    "count", "describe", "diff", "explain", "fetch", "find", "get", "has", "inspect", "list",
    "lookup", "read", "search", "view",
];

/// Parts of words that a name of a tool that changes nothing does not have. They are long enough not to stand in
/// other words by chance, but for those of `HARMLESS`.
const WRITES_WITHIN: [&str; 58] = [
    "accept",
    "append",
    "apply",
    "archiv",
    "cancel",
    "clear",
    "command",
    "commit",
    "consum",
    "creat",
    "create",
    "delet",
    "delete",
    "destroy",
    "disabl",
    "drop",
    "edit",
    "enabl",
    "eras",
    "exec",
    "execut",
    "grant",
    "import",
    "increment",
    "insert",
    "install",
    "kill",
    "merge",
    "merging",
    "modif",
    "modify",
    "move",
    "moving",
    "overwrit",
    "overwrite",
    "patch",
    "purg",
    "remov",
    "remove",
    "renam",
    "rename",
    "replac",
    "replace",
    "reset",
    "restart",
    "revok",
    "rotat",
    "save",
    "shell",
    "shutdown",
    "submit",
    "transfer",
    "truncat",
    "unlink",
    "unsubscrib",
    "update",
    "wipe",
    "writ",
];

/// The same of words that stand in others by chance. Those that join two verbs are among them: the second verb of
/// `read_and_forget` is not one that is known.
const WRITES: [&str; 27] = [
    "add", "and", "chmod", "close", "eval", "evaluate", "fix", "invoke", "mark", "mkdir", "or",
    "pay", "put", "query", "rm", "rmdir", "run", "script", "set", "sign", "sql", "start", "stop",
    "tag", "then", "trigger", "upsert",
];

/// Parts of words in names of tools that reach other machines.
const CONNECTS_WITHIN: [&str; 34] = [
    "brave", "brows", "clone", "cloning", "connect", "crawl", "curl", "deploy", "domain",
    "download", "email", "fetch", "forward", "google", "http", "internet", "mail", "navigat",
    "notif", "notify", "online", "publish", "pull", "push", "request", "scrap", "send", "slack",
    "sync", "tweet", "upload", "weather", "website", "whois",
];

/// The same of words that stand in others by chance.
const CONNECTS: [&str; 15] = [
    "api", "dns", "ftp", "post", "rpc", "rss", "sftp", "smtp", "ssh", "uri", "url", "web",
    "webhook", "webpage", "www",
];

/// Words in names of tools whose results are credentials, or may hold them.
const SECRETS: [&str; 14] = [
    "apikey",
    "cookie",
    "cred",
    "credential",
    "env",
    "environ",
    "environment",
    "keychain",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];

/// Words that a listed part stands in by chance.
const HARMLESS: [&str; 21] = [
    "async",
    "asynchronous",
    "committee",
    "credit",
    "cyclone",
    "dropdown",
    "emergence",
    "emergency",
    "exclamation",
    "immigrant",
    "importance",
    "important",
    "migrant",
    "movement",
    "nuclear",
    "preset",
    "removable",
    "skill",
    "skillset",
    "swipe",
    "unclear",
];

/// Endings of the forms of a word.
const ENDINGS: [&str; 12] = [
    "s", "es", "d", "ed", "r", "er", "rs", "ers", "ing", "ings", "ion", "ions",
];

/// A part of this length counts across the words of `getDeLeTeFile`, too.
const MIN_LETTERS_ACROSS: usize = 6;

/// The words of a name, in lower case: `getURL`, `get_url2` and `GET-URL` have the same.
#[derive(Debug)]
pub(super) struct Words {
    first: Option<String>,
    last: Option<String>,
    all: BTreeSet<String>,
    /// What stands between separators.
    segments: Vec<String>,
}

/// Where `DELETEfile` has its second word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CapitalRun {
    /// The last capital begins a word.
    LastBegins,
    /// All of them are one word.
    IsWord,
}

impl Words {
    pub(super) fn of(name: &str) -> Self {
        let words = split(name, CapitalRun::LastBegins);
        let (first, last) = (words.first().cloned(), words.last().cloned());
        let others = split(name, CapitalRun::IsWord);
        let segments = name.split(|it: char| !it.is_alphabetic());
        Self {
            first,
            last,
            all: words.into_iter().chain(others).collect(),
            segments: segments.map(str::to_lowercase).collect(),
        }
    }

    /// Whether the name begins as those of tools that change nothing.
    pub(super) fn begin_with_a_reading_verb(&self) -> bool {
        let first = self.first.as_deref();
        first.is_some_and(|word| READS.contains(&word))
    }

    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    pub(super) fn write(&self) -> bool {
        self.have(&WRITES_WITHIN, &WRITES)
    }

    pub(super) fn connect(&self) -> bool {
        self.have(&CONNECTS_WITHIN, &CONNECTS)
    }

    pub(super) fn name_a_secret(&self) -> bool {
        self.have(&[], &SECRETS)
    }

    /// Whether one of these is a word, or its plural.
    pub(super) fn have_one_of(&self, listed: &[&str]) -> bool {
        self.all.iter().any(|word| {
            let singular = word.strip_suffix('s').unwrap_or(word);
            listed.contains(&word.as_str()) || listed.contains(&singular)
        })
    }

    fn have(&self, parts: &[&str], whole: &[&str]) -> bool {
        let across = |part: &&&str| part.len() >= MIN_LETTERS_ACROSS;
        let has_across = |segment: &String| {
            let mut long = parts.iter().filter(across);
            !is_harmless(segment) && long.any(|part| segment.contains(part))
        };
        let has_word = |word: &String| {
            let has_part = !is_harmless(word) && parts.iter().any(|part| word.contains(part));
            has_part || whole.iter().any(|base| is_form_of(word, base))
        };
        self.all.iter().any(has_word) || self.segments.iter().any(has_across)
    }
}

fn is_harmless(word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    HARMLESS.contains(&word) || HARMLESS.contains(&singular)
}

/// Whether a word is this one, or a form of it as `deletes` and `pushing` are.
fn is_form_of(word: &str, base: &str) -> bool {
    let ends = |stem: &str| {
        let rest = word.strip_prefix(stem);
        rest.is_some_and(|rest| ENDINGS.contains(&rest))
    };
    let without_e = base.strip_suffix('e');
    let plural = base.strip_suffix('y').and_then(|it| word.strip_prefix(it));
    word == base || ends(base) || without_e.is_some_and(ends) || plural == Some("ies")
}

fn split(name: &str, capitals: CapitalRun) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut run = 0_usize;
    let mut before: Option<char> = None;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let precedes_lower = characters.peek().is_some_and(|it| it.is_lowercase());
        let is_upper = character.is_uppercase();
        let begins = if is_upper {
            run == 0 || (precedes_lower && capitals == CapitalRun::LastBegins)
        } else {
            run > 1 && character.is_lowercase() && capitals == CapitalRun::IsWord
        };
        // Digits end a word, and are none.
        let follows_digit = before.is_some_and(char::is_numeric);
        if (begins || follows_digit || !character.is_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphabetic() {
            word.extend(character.to_lowercase());
        }
        run = if is_upper { run + 1 } else { 0 };
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

    #[test]
    fn a_name_is_split_at_case_digits_and_other_characters() {
        let check = |name: &str, expected: &[&str]| {
            let found = Words::of(name).all;
            let expected: BTreeSet<String> = expected.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(found, expected, "{name}");
        };
        check("get_url2", &["get", "url"]);
        check("getHTTP2page", &["get", "http", "page"]);
        check("read-File.v2", &["read", "file", "v"]);
        check(
            "getDELETEfile",
            &["get", "delet", "efile", "delete", "file"],
        );
        check("", &[]);
    }
}
