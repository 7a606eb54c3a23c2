//! Texts of agents and servers among the gate's own words.
//!
//! A person, or a model that reads with them, must not take what they say for what the gate says. No
//! text here can close its fence: of a [block] each line begins with a bar, and a [quoted] text has no
//! quotation mark and no line end in it. No random word is needed, and the same question reads the
//! same each time.

/// What every line of a block begins with.
const BAR: &str = "| ";

/// Lines of somebody else: how long they are, and what they are, stands above, and their end below.
pub fn block(what: &str, text: &str) -> Vec<String> {
    let size = text.len();
    let first = format!("{what}, {size} bytes of untrusted data, after a bar in each line:");
    let last = "End of the untrusted data.".to_owned();
    let within = lines(text).map(|line| format!("{BAR}{line}"));
    std::iter::once(first).chain(within).chain([last]).collect()
}

/// A short text of somebody else, within a line.
pub fn quoted(text: &str) -> String {
    let without = text.replace('"', "\\u0022");
    format!("\"{}\"", lines(&without).collect::<Vec<_>>().join("\\n"))
}

/// Whatever some reader takes for the end of a line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split([
        '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
    ])
}
