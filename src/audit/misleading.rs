//! What hides in a text from whoever reads it.

/// Characters that act instead of showing: controls, line separators, what turns the direction of
/// text, and what is not seen at all (Unicode 16 `Default_Ignorable_Code_Point`, UAX 44 and UAX 9).
pub fn misleads(c: char) -> bool {
    matches!(c,
        '\u{00}'..='\u{1f}' | '\u{7f}'..='\u{9f}'      // C0, DEL, C1
        | '\u{ad}' | '\u{34f}' | '\u{61c}'             // soft hyphen, grapheme joiner, Arabic mark
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'                      // zero width, direction marks
        | '\u{2028}'..='\u{202e}'                      // line and paragraph separator, bidi
        | '\u{2060}'..='\u{206f}'                      // word joiner, isolates, invisible operators
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'                      // unassigned ignorables, annotation anchors
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'                    // tags, variation selectors
    )
}
