//! Patterns of names.

/// Whether a name fits a pattern: `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((begins, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(begins) else {
        return false;
    };
    let (middle, ends) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else {
            return false;
        };
        name = after;
    }
    name.ends_with(ends)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By trying each length of what a `*` stands for.
    fn fits(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) => (0..=name.len()).any(|at| fits(rest, &name[at..])),
            (Some((one, pattern)), Some((other, name))) => one == other && fits(pattern, name),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn a_pattern_fits_as_if_each_length_were_tried(pattern in "[ab*]{0,8}", name in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), fits(&chars(&pattern), &chars(&name)));
        }
    }
}
