//! Ways out of a directory that begin with its name.

use cedar_policy_core::ast::Pattern;

/// The first way up that none of the guards matches.
pub(super) fn open_way(start: &str, guards: &[&Pattern]) -> Option<String> {
    let mut ways = ways(start).into_iter();
    ways.find(|way| !guards.iter().any(|guard| guard.wildcard_match(way)))
}

/// Through the first name or a later one, and with something behind `..` or nothing.
fn ways(start: &str) -> Vec<String> {
    let separators: &[char] = if start.starts_with(['/', '~']) {
        &['/']
    } else {
        // Windows takes both.
        &['\\', '/']
    };
    let mut ways = Vec::new();
    for separator in separators {
        for climb in [
            format!("..{separator}elsewhere"),
            "..".to_owned(),
            format!("a{separator}..{separator}..{separator}elsewhere"),
            format!("a{separator}.."),
        ] {
            ways.push(format!("{start}{climb}"));
        }
    }
    ways
}
