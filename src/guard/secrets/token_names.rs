//! Names of tokens that are no credentials: places in a list, and marks by which a request is known again.

/// What stands before `token` in them, in lower case and without separators. Of AWS, Google, Azure,
/// OData (`$skiptoken`), MongoDB, CalDAV (`sync-token`) and MCP (`progressToken`).
const WORDS: [&str; 22] = [
    "next",
    "prev",
    "previous",
    "page",
    "paging",
    "pagination",
    "continuation",
    "continue",
    "cursor",
    "sync",
    "delta",
    "skip",
    "scroll",
    "start",
    "starting",
    "resume",
    "resumption",
    "progress",
    "upload",
    "idempotency",
    "clientrequest",
    "concurrency",
];

/// Bytes of the longest of them, with separators.
const LONGEST: usize = 16;

/// Whether a `token` behind this text is of that sort. What stands apart by more than one character is
/// another name.
pub(super) fn leads_to(text: &[u8]) -> bool {
    let apart = text.last().is_some_and(|byte| b"_-. ".contains(byte));
    let text = text.iter().rev().skip(usize::from(apart));
    let name = text.take(LONGEST);
    let name = name.filter(|byte| !matches!(byte, b'_' | b'-' | b'\\'));
    let mut name: Vec<u8> = name.map(u8::to_ascii_lowercase).collect();
    name.reverse();
    WORDS.iter().any(|word| name.ends_with(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], are_handles: bool) {
        for name in names {
            assert_eq!(leads_to(name.as_bytes()), are_handles, "{name}");
        }
    }

    #[test]
    fn a_place_in_a_list_is_told_from_a_credential() {
        check(
            &[
                "\"next",
                "\"Next",
                "nextPage",
                "next_page_",
                "--next-",
                "--starting-",
                "continuation_",
                "$skip",
                "nextSync",
                "client_request_",
                "clientRequest",
                "next\\_",
                "Next ",
                "idempotency-",
            ],
            true,
        );
        check(
            &[
                "",
                "access_",
                "session",
                "refresh_",
                "oauth_request_",
                "auth",
                "my ",
                "csrf",
                "--start --",
                "see the page. ",
                "x",
            ],
            false,
        );
    }
}
