//! Which characters have a use for invisible ones beside them.
//!
//! By blocks, not by the tables of Unicode: whether a joiner stays is decided by the kind of text that it
//! stands in, and a block more or less changes nothing that can be seen.

/// What emoji are made of (roughly Extended_Pictographic, and skin tones).
pub(super) fn is_pictograph(one: char) -> bool {
    matches!(one,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}'
        | '\u{25aa}'..='\u{25fe}' | '\u{2600}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Letters that are written from right to left.
pub(super) fn is_right_to_left(one: char) -> bool {
    matches!(one,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && one != '\u{61c}'
}

/// Letters that change their form beside others, or join with them.
pub(super) fn joins(one: char) -> bool {
    matches!(one,
        '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1807}'..='\u{180a}'
        | '\u{1820}'..='\u{18af}' | '\u{1a20}'..='\u{1aaf}' | '\u{1b00}'..='\u{1bff}'
        | '\u{a840}'..='\u{a8ff}' | '\u{a980}'..='\u{a9ff}' | '\u{aa60}'..='\u{aaff}'
        | '\u{abc0}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10ac0}'..='\u{10aff}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
        && one != '\u{61c}'
}

/// Signs after which a joiner tells how the letter before them is written, whatever follows.
pub(super) fn is_virama(one: char) -> bool {
    matches!(
        one,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{a4d}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{dca}'
            | '\u{1039}'
            | '\u{103a}'
            | '\u{17d2}'
    )
}

/// Arabic letters, whose joined form stands for them in abbreviations too.
pub(super) fn is_arabic(one: char) -> bool {
    matches!(one, '\u{620}'..='\u{64a}' | '\u{66e}'..='\u{6d3}' | '\u{750}'..='\u{77f}')
}

/// Scripts without spaces, where U+200B tells words apart.
pub(super) fn has_no_spaces(one: char) -> bool {
    matches!(one,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17ff}')
}

/// Ideographs, which have variants by the thousand.
pub(super) fn is_ideograph(one: char) -> bool {
    matches!(one,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Other characters that have one or two standardised variants.
pub(super) fn has_variants(one: char) -> bool {
    matches!(one,
        '\u{2205}' | '\u{2229}'..='\u{22ff}' | '\u{2a3c}'..='\u{2aff}' | '\u{3001}' | '\u{3002}'
        | '\u{ff01}' | '\u{ff0c}' | '\u{ff0e}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}'
        | '\u{1000}'..='\u{1049}' | '\u{a840}'..='\u{a877}' | '\u{13000}'..='\u{1342f}')
}

pub(super) fn is_mongolian(one: char) -> bool {
    matches!(one, '\u{1820}'..='\u{18aa}')
}
