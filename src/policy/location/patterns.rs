//! Names that some servers read as patterns: `[ab]`, `{a,b}`, `@(a|b)`. Files are really called so, too,
//! which is why such a name counts as itself until it could stand for one that matters.
//!
//! What could be meant is taken widely: a bracket for any one character, an extended pattern for any text.

/// What a part of a pattern stands for.
enum PatternAtom {
    Letter(char),
    /// Of a bracket, whichever characters it names.
    AnyLetter,
    AnyText,
    OneOf(Vec<Vec<PatternAtom>>),
}

/// Alternatives within alternatives; of what is deeper anything may be meant.
const MOST_NESTED: usize = 8;

/// Bytes of a pattern that is looked at, as of every name. A longer one may stand for anything. What it is
/// folded to may be longer.
const LONGEST: usize = 4096;

/// Whether a name could be read as a pattern together with what follows it, beyond the next slash.
pub(super) fn is_open(name: &str) -> bool {
    let mut rest = name.chars();
    let mut braces = 0_usize;
    while let Some(letter) = rest.next() {
        let next = rest.as_str();
        match letter {
            '[' => match bracket_end(next) {
                Some(after) => rest = after.chars(),
                None => return true,
            },
            '@' | '+' | '!' if next.starts_with('(') => match next.split_once(')') {
                Some((_, after)) => rest = after.chars(),
                None => return true,
            },
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    braces > 0
}

/// Whether a name, read as a pattern, could stand for another. Both are compared as they are.
pub(super) fn could_be(name: &str, other: &str) -> bool {
    let is_pattern = name.contains(['[', '{', '(']);
    if !is_pattern {
        return false;
    }
    if name.len() > LONGEST {
        return true;
    }
    let (pieces, _) = pieces(name, BraceContext::Nothing, 0);
    let letters: Vec<char> = other.chars().collect();
    let mut starts = vec![false; letters.len() + 1];
    if let Some(first) = starts.first_mut() {
        *first = true;
    }
    let ends = after(&pieces, &letters, starts);
    ends.last() == Some(&true)
}

/// What the text that is read stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BraceContext {
    Nothing,
    Braces,
}

/// The pieces of a text, up to what ends an alternative, and what follows them.
fn pieces(text: &str, within: BraceContext, depth: usize) -> (Vec<PatternAtom>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let mut chars = rest.chars();
        let Some(letter) = chars.next() else {
            return (found, rest);
        };
        let next = chars.as_str();
        match letter {
            ',' | '}' if within == BraceContext::Braces => return (found, rest),
            '[' => {
                found.push(PatternAtom::AnyLetter);
                rest = bracket_end(next).unwrap_or(next);
            }
            '{' if depth >= MOST_NESTED => {
                found.push(PatternAtom::AnyText);
                return (found, "");
            }
            '{' => {
                let (piece, after) = alternatives(next, depth);
                found.push(piece);
                rest = after;
            }
            '@' | '+' | '!' if next.starts_with('(') => {
                found.push(PatternAtom::AnyText);
                return (found, "");
            }
            letter => {
                found.push(PatternAtom::Letter(letter));
                rest = next;
            }
        }
    }
}

/// What stands between braces, and what follows them.
fn alternatives(text: &str, depth: usize) -> (PatternAtom, &str) {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        let (one, after) = pieces(rest, BraceContext::Braces, depth + 1);
        all.push(one);
        let mut chars = after.chars();
        if chars.next() == Some(',') {
            rest = chars.as_str();
            continue;
        }
        // `{a..z}` counts through what lies between.
        let inside = text.strip_suffix(after);
        let counts = inside.is_some_and(|inside| inside.contains(".."));
        let piece = if counts {
            PatternAtom::AnyText
        } else {
            PatternAtom::OneOf(all)
        };
        return (piece, chars.as_str());
    }
}

/// What follows a bracket that was opened; `None` if nothing closes it. A `]` that comes first is one of the
/// characters.
fn bracket_end(inside: &str) -> Option<&str> {
    let start = inside.strip_prefix(['!', '^']).unwrap_or(inside);
    let start = start.strip_prefix(']').unwrap_or(start);
    start.split_once(']').map(|(_, after)| after)
}

/// Up to where letters can be read by these pieces, as one flag for each place between them. The work is the
/// product of both lengths.
fn after(pieces: &[PatternAtom], letters: &[char], starts: Vec<bool>) -> Vec<bool> {
    let mut places = starts;
    for piece in pieces {
        places = match piece {
            PatternAtom::Letter(letter) => step(&places, letters, |it| it == letter),
            PatternAtom::AnyLetter => step(&places, letters, |_| true),
            PatternAtom::AnyText => {
                let mut is_open = false;
                let open = |place: bool| {
                    is_open |= place;
                    is_open
                };
                places.into_iter().map(open).collect()
            }
            PatternAtom::OneOf(all) => {
                let mut any = vec![false; places.len()];
                for one in all {
                    let ends = after(one, letters, places.clone());
                    for (it, end) in any.iter_mut().zip(ends) {
                        *it |= end;
                    }
                }
                any
            }
        };
        if !places.contains(&true) {
            break;
        }
    }
    places
}

/// One letter on from each place at which a letter fits.
fn step(places: &[bool], letters: &[char], fits: impl Fn(&char) -> bool) -> Vec<bool> {
    let next = places.iter().zip(letters);
    let next = next.map(|(place, letter)| *place && fits(letter));
    [false].into_iter().chain(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_could_be_what_it_stands_for_and_a_name_is_itself() {
        let check = |name: &str, other: &str, expected: bool| {
            assert_eq!(could_be(name, other), expected, "{name} {other}");
        };
        check("[c]ustomers", "customers", true);
        check("[!x]ustomers", "customers", true);
        check("[]c]ustomers", "customers", true);
        check("[a-z]ustomer[st]", "customers", true);
        check("{a,customers}", "customers", true);
        check("{customers}", "customers", true);
        check("{a,{b,cust}}omers", "customers", true);
        check("cust{o..q}mers", "customers", true);
        check("@(a|customers)", "customers", true);
        check("c+(u|x)stomers", "customers", true);
        check("[.][.]", "..", true);
        check("{.,..}", "..", true);
        check("[id].tsx", "customers", false);
        check("[...slug]", "customers", false);
        check("{id}", "customers", false);
        check("{a,b}", "customers", false);
        check("(group)", "customers", false);
        check("customers", "customers", false);
        check("{{{{{{{{{{x", "customers", true);
    }

    #[test]
    fn what_is_not_closed_may_go_on_beyond_the_name() {
        for (name, expected) in [
            ("[a", true),
            ("{a,b", true),
            ("a{b{c}", true),
            ("@(a|b", true),
            ("@(a|b)", false),
            ("[]", true),
            ("[]]", false),
            ("a]", false),
            ("a}", false),
            ("[id]", false),
            ("{id}", false),
        ] {
            assert_eq!(is_open(name), expected, "{name}");
        }
    }

    #[test]
    fn a_long_pattern_is_compared_in_reasonable_time() {
        let name = "{a,b,{c,[d]}}".repeat(200);
        assert!(!could_be(&name, "customers"));
        for name in ["{", "[", "{a,b}", "@(", "[a]"] {
            assert!(could_be(&name.repeat(1_000_000), "customers"), "{name}");
        }
        assert!(!is_open(&format!("{}]", "[".repeat(1_000_000))));
        assert!(!is_open(&format!("{})", "@(".repeat(1_000_000))));
    }
}
