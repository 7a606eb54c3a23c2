//! What a tool does, as far as its name and its server tell.

use super::argument_effects::ArgumentEffects;
use super::words::Words;
use crate::wire::Value;

/// What a tool is labelled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effects {
    /// It changes nothing.
    pub(super) reads: bool,
    /// It reaches other machines.
    pub(super) connects: bool,
}

/// What a server says of a tool, where it is what MCP does not take for granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hints {
    /// It changes nothing.
    pub(super) reads: bool,
    /// It reaches nothing outside.
    pub(super) is_closed: bool,
}

impl Hints {
    pub(super) fn of(definition: Value<'_>) -> Self {
        let hints = definition.get("annotations");
        let hint = |name: &str| hints.and_then(|hints| hints.get(name)?.as_bool());
        Self {
            reads: hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true),
            is_closed: hint("openWorldHint") == Some(false),
        }
    }
}

impl Effects {
    /// Of a tool that must not be called.
    pub(super) const WORST: Self = Self {
        reads: false,
        connects: true,
    };

    /// A tool whose results may be credentials counts as one that writes, so that a person is asked.
    pub(super) fn of_name(name: &str) -> Self {
        let words = Words::of(name);
        Self {
            reads: words.begin_with_a_reading_verb() && !words.write() && !words.name_a_secret(),
            connects: words.connect(),
        }
    }

    /// The same with what its arguments tell.
    pub(super) fn with_arguments(self, arguments: ArgumentEffects) -> Self {
        Self {
            reads: self.reads && !arguments.writes,
            connects: self.connects || arguments.connects,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    #[track_caller]
    fn check(names: &[&str], reads: bool, connects: bool) {
        for name in names {
            let found = Effects::of_name(name);
            assert_eq!((found.reads, found.connects), (reads, connects), "{name}");
        }
    }

    #[test]
    fn a_name_that_begins_with_a_reading_verb_reads_in_any_spelling() {
        check(
            &[
                "read_file",
                "readFile",
                "READ-FILE",
                "list",
                "read_text_file",
                "read_media_file",
                "read_multiple_files",
                "list_directory_with_sizes",
                "list_allowed_directories",
                "search_files",
                "get_file_info",
                "search_nodes",
                "list_settings",
                "getStoreSettings",
                "get_dataset",
                "list_assets",
                "get_address",
                "get_output",
                "get_runtime",
                "list_markets",
                "get_benchmark",
                "get_design",
                "get_signal",
                "list_skills",
                "get_important_dates",
                "get_credit",
                "list_presets",
                "get_position",
                "search_postgres",
                "get_payload",
                "list_applications",
                "get_details",
                "list_contests",
                "describe_table",
            ],
            true,
            false,
        );
    }

    #[test]
    fn words_that_write_or_connect_count_anywhere_in_a_name() {
        check(
            &[
                "getURL",
                "get_url",
                "GetURLs2Web",
                "fetch",
                "get_url2",
                "get_http2",
                "list_sends",
                "get_posts",
                "get_uploads",
                "get_webpage",
                "read_website",
                "get_whois",
                "get_dns_record",
                "list_ftp",
                "get_weather",
                "search_google",
                "getPosting",
            ],
            true,
            true,
        );
        check(
            &[
                "write_file",
                "get_or_create",
                "frobnicate",
                "",
                "inspect_deletes",
                "getDELETEfile",
                "getDeLeTeFile",
                "get_deletefile",
                "get_writefile",
                "read_then_overwrite",
                "read_and_forget",
                "list_runs",
                "get_deletion",
                "find_removing",
                "check_in",
                "check_out",
                "show_alert",
                "show_shell",
                "echo_to_file",
                "read_query",
                "get_env",
                "printEnv",
                "get_environment_variables",
                "read_secret",
                "get_password",
                "list_credentials",
                "get_access_token",
            ],
            false,
            false,
        );
        for word in [
            "destroy",
            "overwrite",
            "rm",
            "unlink",
            "eval",
            "shell",
            "command",
            "pay",
            "sign",
            "accept",
            "fix",
            "tag",
            "mark",
            "increment",
            "rotate",
            "unsubscribe",
            "shutdown",
            "consume",
        ] {
            check(
                &[&format!("get_{word}"), &format!("get_{word}_x2")],
                false,
                false,
            );
        }
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
