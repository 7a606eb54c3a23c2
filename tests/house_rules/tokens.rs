//! Rust text without what only looks like code, and without tests.

/// The text with comments and the insides of literals blanked; lines and columns stay.
pub(crate) fn code(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let length = match rest {
            ['/', '/', ..] => rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
            ['/', '*', ..] => block_comment(rest),
            ['"', ..] => string(rest),
            ['r', '"' | '#', ..] if !follows_word(&chars, at) => raw_string(rest),
            ['\'', ..] => character(rest),
            _ => 0,
        };
        if length == 0 {
            out.push(chars[at]);
            at += 1;
        } else {
            let blank = |&c: &char| if c == '\n' { '\n' } else { ' ' };
            out.extend(rest[..length].iter().map(blank));
            at += length;
        }
    }
    out
}

/// The lines before the tests. By our convention the tests are a module at the end of a file.
pub(crate) fn without_tests(code: &str) -> &str {
    let mut before = None;
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let opens_module = line.contains("mod ") && line.trim_end().ends_with('{');
        if let (Some(attribute), true) = (before, opens_module) {
            return code.split_at(attribute).0;
        }
        before = (line.trim() == "#[cfg(test)]").then_some(start);
        start += line.len();
    }
    code
}

/// Whether the file holds nothing but tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// Nothing for `r#type`.
fn raw_string(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let end: Vec<char> = std::iter::once('"')
        .chain(std::iter::repeat_n('#', hashes))
        .collect();
    let inside = &rest[2 + hashes..];
    let length = inside.windows(end.len()).position(|window| window == end);
    2 + hashes + length.map_or(inside.len(), |length| length + end.len())
}

/// Nothing for a lifetime.
fn character(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', ..] => {
            3 + rest[3..]
                .iter()
                .position(|&c| c == '\'')
                .map_or(0, |length| length + 1)
        }
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

fn follows_word(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| chars.get(before));
    // `br"…"` is a literal too.
    before.is_some_and(|&c| c.is_alphanumeric() && c != 'b' || c == '_')
}

#[test]
fn comments_and_literals_are_blank_and_the_rest_stays() {
    let check = |text: &str, expected: &str| assert_eq!(code(text), expected, "{text}");
    check("a // b\nc", "a     \nc");
    check("a /* b /* c */ d */ e", "a                   e");
    check(r#"f("unsafe \" x", y)"#, "f(             , y)");
    check(r##"f(r#"a " b"#, y)"##, "f(          , y)");
    check(r#"f(br"a\", y)"#, "f(b     , y)");
    check("r#type + for_r", "r#type + for_r");
    check(
        r"('a', '\'', '\u{1f}', &'a str)",
        "(   ,     ,         , &'a str)",
    );
    check("'\"' + \"'\"", "    +    ");
}

#[test]
fn tests_end_a_file_and_their_declaration_does_not() {
    let check = |text: &str, expected: &str| assert_eq!(without_tests(text), expected);
    check("a\n#[cfg(test)]\nmod tests {\nb\n}\n", "a\n");
    check(
        "a\n#[cfg(test)]\nmod tests;\nb\n",
        "a\n#[cfg(test)]\nmod tests;\nb\n",
    );
    check("a\n", "a\n");
}
