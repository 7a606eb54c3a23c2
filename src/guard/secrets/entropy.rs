//! How random a text looks.

/// Bytes that are counted. Longer secrets are random in their beginning too.
const COUNTED: usize = 512;

/// Shannon's entropy of the bytes of a text, in bits per byte.
pub(super) fn bits_per_byte(text: &[u8]) -> f64 {
    let mut counts = [0_u16; 256];
    let mut total = 0_u16;
    for &byte in text.iter().take(COUNTED) {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
            total += 1;
        }
    }
    let total = f64::from(total);
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// Whether a text is nothing that stands in others for what it means: no word, number, or identifier of
/// the usual form (RFC 9562).
pub fn is_random(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && bits_per_byte(text.as_bytes()) >= 2.75
        && !is_uuid(text)
}

fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(|group| {
        let is_hex = group.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then_some(group.len())
    });
    groups.eq([8, 4, 4, 4, 12].map(Some))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_identifiers_are_not_random() {
        let check = |text: &str, random: bool| assert_eq!(is_random(text), random, "{text}");
        check("completed", false);
        check("transfer-desk", false);
        check("202611231200", false);
        check("order-4", false);
        check("aaaaaaaaaaaaaa1", false);
        check("6f1d2c3b-aaaa-4bbb-8ccc-1234567890ab", false);
        check("q7Vx2mPzL9sK", true);
        check("0a1b2c3d4e5f60718293a4b5c6d7e8f9", true);
    }

    #[track_caller]
    fn check(text: &str, tenths: f64) {
        let bits = bits_per_byte(text.as_bytes());
        assert!((bits * 10.0 - tenths).abs() < 0.01, "{text}: {bits}");
    }

    #[test]
    fn entropy_is_that_of_the_bytes() {
        check("", 0.0);
        check("aaaaaaaa", 0.0);
        check("abababab", 10.0);
        check("0123456789abcdef", 40.0);
        check(&"ab".repeat(100_000), 10.0);
    }
}
