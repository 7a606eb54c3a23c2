//! Texts of peers as literals of Cedar and TOML.

/// A string of Cedar, whose escapes are those of Rust.
pub(super) fn cedar(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// A string or a quoted key of TOML, on one line.
pub(super) fn toml(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            _ if character.is_control() || crate::unseen::misleads(character) => {
                out.extend([format!("\\U{:08X}", u32::from(character))]);
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// A list of TOML, one text a line.
pub(super) fn toml_list<T: AsRef<str>>(texts: impl Iterator<Item = T>) -> String {
    let lines = texts.map(|text| format!("  {},\n", toml(text.as_ref())));
    match lines.collect::<String>() {
        none if none.is_empty() => "[]".to_owned(),
        lines => format!("[\n{lines}]"),
    }
}

/// A text in a comment or in an id: what could end a line or mislead stands as `?`.
pub(super) fn plain(text: &str) -> String {
    let plain = |character: char| {
        if character.is_control() || crate::unseen::misleads(character) {
            '?'
        } else {
            character
        }
    };
    text.chars().take(80).map(plain).collect()
}
