//! Lines that are sealed one after the other: none can be written, changed, moved or taken out by somebody
//! who does not have the key.
//!
//! Each seal covers the one before it. What is cut off at the end still fits together; that it was there is
//! known by the number of lines, which stands with the key.

use std::fmt::Write as _;

use ring::hmac;

use super::journal::{JournalError, TITLE};

/// Begins the first line on disk, up to the number of lines that were written before it.
const HEAD: &str = r#"{"mcp-protector":"ratchet","version":2,"after":"#;

/// Stands before the seal, which is the last member of a line.
const MARK: &str = r#","seal":""#;

/// What one of all lines that a gate ever writes is sealed with.
#[derive(Clone)]
pub(super) struct Chain {
    key: hmac::Key,
    /// The seal before.
    last: Vec<u8>,
    /// Lines that were ever written with the key.
    pub(super) count: u64,
}

impl Chain {
    fn begin(key: &hmac::Key, after: u64) -> Self {
        Self {
            key: key.clone(),
            last: Vec::new(),
            count: after,
        }
    }

    /// A journal with its title, written after so many lines.
    pub(super) fn journal(key: &hmac::Key, after: u64, text: &str) -> (Self, String) {
        let mut chain = Self::begin(key, after);
        let mut sealed = chain.line(&format!("{HEAD}{after}}}\n"));
        let lines = text.strip_prefix(TITLE).unwrap_or(text);
        let lines = lines.strip_prefix('\n').unwrap_or(lines);
        sealed.push_str(&chain.add(lines));
        (chain, sealed)
    }

    /// Seals more lines.
    pub(super) fn add(&mut self, lines: &str) -> String {
        let mut sealed = String::with_capacity(lines.len().saturating_mul(2));
        for line in lines.split_inclusive('\n') {
            sealed.push_str(&self.line(line));
            self.count = self.count.saturating_add(1);
        }
        sealed
    }

    /// What stands in a sealed journal, and where its chain ends. A last line without its end is left out.
    ///
    /// # Errors
    /// [`JournalError`] where a line was not sealed with this key in this place.
    pub(super) fn open(key: &hmac::Key, text: &str) -> Result<(Self, String), JournalError> {
        if text.is_empty() {
            return Err(JournalError::Empty);
        }
        let mut lines = (1_usize..).zip(text.split_inclusive('\n'));
        let title = lines.next().map_or("", |(_, title)| title);
        if title.trim_end() == TITLE {
            return Err(JournalError::Unsealed);
        }
        let mut chain = Self::begin(key, 0);
        if !title.starts_with(HEAD) {
            return Err(JournalError::Foreign);
        }
        let title = chain.opened(title).ok_or(JournalError::Forged(1))?;
        let after = title.strip_prefix(HEAD).and_then(|it| it.parse().ok());
        chain.count = after.ok_or(JournalError::Foreign)?;
        let mut plain = format!("{TITLE}\n");
        for (number, line) in lines.filter(|(_, line)| line.ends_with('\n')) {
            let body = chain.opened(line).ok_or(JournalError::Forged(number))?;
            plain.push_str(body);
            plain.push_str("}\n");
            chain.count = chain.count.saturating_add(1);
        }
        Ok((chain, plain))
    }

    fn covered(&self, body: &str) -> Vec<u8> {
        [&*self.last, body.as_bytes()].concat()
    }

    /// One line, which is an object, with its seal as the last member.
    fn line(&mut self, line: &str) -> String {
        let line = line.trim_end_matches('\n');
        let body = line.strip_suffix('}').unwrap_or(line);
        let seal = hmac::sign(&self.key, &self.covered(body));
        self.last = seal.as_ref().to_vec();
        format!("{body}{MARK}{}\"}}\n", hex(&self.last))
    }

    /// The line without its seal and its end, if this is the seal.
    fn opened<'t>(&mut self, line: &'t str) -> Option<&'t str> {
        let (body, seal) = line.strip_suffix("\"}\n")?.rsplit_once(MARK)?;
        let seal = bytes(seal)?;
        hmac::verify(&self.key, &self.covered(body), &seal).ok()?;
        self.last = seal;
        Some(body)
    }
}

/// Never shows its key.
impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Chain").field(&self.count).finish()
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The bytes that pairs of hexadecimal digits stand for, in one spelling.
pub(super) fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: char| digit.to_digit(16).filter(|_| !digit.is_ascii_uppercase());
    let digits: Option<Vec<u32>> = hex.chars().map(digit).collect();
    let pair = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high << 4 | low).ok(),
        _ => None,
    };
    digits?.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32])
    }

    fn sealed(after: u64, lines: &[&str]) -> String {
        let lines = [&[TITLE], lines].concat().join("\n");
        Chain::journal(&key(1), after, &format!("{lines}\n")).1
    }

    #[test]
    fn what_was_sealed_is_read_and_only_with_its_key() {
        let lines = [r#"{"a":1}"#, r#"{"a":",\"seal\":\"0"}"#, "{}"];
        let text = sealed(7, &lines);
        let (chain, plain) = Chain::open(&key(1), &text).unwrap();
        assert_eq!(plain, format!("{TITLE}\n{}\n", lines.join("\n")));
        assert_eq!(chain.count, 10);
        let refused = |text: &str, byte| Chain::open(&key(byte), text).unwrap_err().to_string();
        assert!(refused(&text, 2).starts_with("line 1 "));
        assert!(refused(&format!("{TITLE}\n"), 1).contains("earlier version"));
        assert!(refused("{}\n", 1).contains("no journal"));
        assert!(refused("", 1).contains("empty"));
        // Half a line at the end was never told to anybody.
        let (_, torn) = Chain::open(&key(1), &format!("{text}{{\"princ")).unwrap();
        assert_eq!(torn, plain);
    }

    #[test]
    fn lines_are_neither_moved_nor_taken_out_nor_brought_from_elsewhere() {
        let text = sealed(0, &[r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":3}"#]);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let earlier = sealed(3, &[r#"{"a":0}"#]);
        let foreign = earlier.split_inclusive('\n').next_back().unwrap();
        let check = |order: &[&str], line: usize| {
            let told = Chain::open(&key(1), &order.concat()).map(drop);
            assert!(
                matches!(told, Err(JournalError::Forged(at)) if at == line),
                "{order:?}: {told:?}"
            );
        };
        check(&[lines[0], lines[2], lines[3]], 2);
        check(&[lines[0], lines[2], lines[1], lines[3]], 2);
        check(&[lines[0], lines[1], lines[1]], 3);
        check(&[lines[0], lines[1], foreign], 3);
        check(&[lines[0], "\n", lines[1]], 2);
        check(
            &[&lines[0].replace("\"after\":0", "\"after\":9"), lines[1]],
            1,
        );
    }

    proptest! {
        /// Whatever byte is changed, removed or put in, nothing is read but a beginning of what was written.
        #[test]
        fn no_change_of_a_sealed_journal_is_believed(
            at in 0_usize..600, with in prop::option::of("[ -~\n]"), keep in any::<bool>(),
        ) {
            let text = sealed(0, &[r#"{"principal":"ann","level":2}"#, r#"{"principal":"bob","level":3}"#]);
            let (_, whole) = Chain::open(&key(1), &text).unwrap();
            let at = at % text.len();
            let (before, rest) = text.split_at(at);
            let (_, rest) = rest.split_at(usize::from(!keep));
            let changed = format!("{before}{}{rest}", with.unwrap_or_default());
            if let Ok((_, plain)) = Chain::open(&key(1), &changed) {
                prop_assert!(whole.starts_with(&plain), "{changed}");
            }
        }
    }
}
