//! Ways out of a directory that begin with its name.

use cedar_policy_core::ast::Pattern;

/// The first way up that a pattern lets through and none of the guards matches. The pattern begins
/// with `start`, and has `rest` behind and between its wildcards.
pub(super) fn open_way(
    start: &str,
    rest: &str,
    test: &Pattern,
    guards: &[&Pattern],
) -> Option<String> {
    let mut ways = ways(start, rest).into_iter();
    ways.find(|way| {
        test.wildcard_match(way) && !guards.iter().any(|guard| guard.wildcard_match(way))
    })
}

/// Through the first name or a later one, and with something behind `..` or nothing.
fn ways(start: &str, rest: &str) -> Vec<String> {
    let separators: &[char] = if start.starts_with(['/', '~']) {
        &['/']
    } else {
        // Windows takes both.
        &['\\', '/']
    };
    let in_directory = start.ends_with(['/', '\\']);
    let mut ways = Vec::new();
    for separator in separators {
        let climbs = [
            format!("..{separator}elsewhere"),
            "..".to_owned(),
            format!("a{separator}..{separator}..{separator}elsewhere"),
            format!("a{separator}.."),
        ];
        for climb in climbs {
            // What begins a name has to end it before there is a way up, and `...md` is none.
            let ends = rest.is_empty() || rest.starts_with(separators) || !climb.ends_with("..");
            if ends && (in_directory || climb.starts_with('a')) {
                ways.push(format!("{start}{climb}{rest}"));
            }
        }
    }
    ways
}
