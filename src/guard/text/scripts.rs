//! Which characters have a use for invisible ones beside them: by the tables of Unicode, or by blocks
//! where it has none.

use icu_properties::props::{
    EmojiModifier, ExtendedPictographic, Ideographic, IndicSyllabicCategory,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// What emoji are made of.
pub(super) fn is_pictograph(one: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(one)
        || CodePointSetData::new::<EmojiModifier>().contains(one)
}

/// Letters that are written from right to left, and their marks.
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
    let signs = [
        IndicSyllabicCategory::Virama,
        IndicSyllabicCategory::InvisibleStacker,
        IndicSyllabicCategory::PureKiller,
    ];
    signs.contains(&CodePointMapData::<IndicSyllabicCategory>::new().get(one))
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
    CodePointSetData::new::<Ideographic>().contains(one)
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
