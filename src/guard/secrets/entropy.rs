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

#[cfg(test)]
mod tests {
    use super::*;

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
