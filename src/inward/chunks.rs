//! A body that comes in chunks (RFC 9112 §7.1), read so strictly that no other reader can see another
//! end of it: no extensions, no trailers, no other line ends.

use super::misframed::Misframed;

/// Where in its chunks a body has come to. Nothing of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunks {
    at: At,
    /// Of this chunk, or what of it is to come.
    size: u64,
    digits: u8,
    /// How many chunks may still come before some are long enough to pay for more.
    allowance: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Size,
    /// Behind the carriage return after the size.
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    LastReturn,
    LastEnd,
}

/// More than any body has bytes, and no number overflows.
const DIGITS: u8 = 8;

/// Each chunk costs as much as many bytes: so many may be short, and one for so many bytes.
const SHORT_CHUNKS: u64 = 1024;
const BYTES_OF_A_CHUNK: u64 = 64;

const BROKEN: Misframed = Misframed::Chunks("a chunk is no chunk");
const EXTENDED: Misframed = Misframed::Chunks("the size of a chunk");
const TRAILER: Misframed = Misframed::Chunks("fields after the last chunk");
const TOO_MANY: Misframed = Misframed::Chunks("too many short chunks");

impl Chunks {
    pub(super) fn new() -> Self {
        Self {
            at: At::Size,
            size: 0,
            digits: 0,
            allowance: SHORT_CHUNKS * BYTES_OF_A_CHUNK,
        }
    }

    /// Goes on in what has come next; yields how many of these bytes are the body's if it ends there.
    ///
    /// # Errors
    /// As soon as it is known that they are no chunks.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Option<usize>, Misframed> {
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            let byte = *byte;
            rest = behind;
            self.at = match (self.at, byte) {
                (At::Size, b'\r') if self.digits > 0 => At::SizeEnd,
                (At::Size, _) => {
                    self.digit(byte)?;
                    At::Size
                }
                (At::SizeEnd, b'\n') => self.begin()?,
                (At::Data, _) => {
                    // This byte and what of the chunk is there behind it.
                    let behind = u64::try_from(rest.len()).unwrap_or(u64::MAX);
                    let more = (self.size - 1).min(behind);
                    self.size -= 1 + more;
                    let skipped = usize::try_from(more).unwrap_or(usize::MAX);
                    rest = rest.get(skipped..).unwrap_or_default();
                    if self.size > 0 {
                        At::Data
                    } else {
                        At::DataReturn
                    }
                }
                (At::DataReturn, b'\r') => At::DataEnd,
                (At::DataEnd, b'\n') => At::Size,
                (At::LastReturn, b'\r') => At::LastEnd,
                (At::LastReturn, _) => return Err(TRAILER),
                (At::LastEnd, b'\n') => return Ok(Some(bytes.len() - rest.len())),
                (At::SizeEnd | At::DataReturn | At::DataEnd | At::LastEnd, _) => {
                    return Err(BROKEN);
                }
            };
        }
        Ok(None)
    }

    fn digit(&mut self, byte: u8) -> Result<(), Misframed> {
        let digit = char::from(byte).to_digit(16).ok_or(EXTENDED)?;
        if self.digits == DIGITS {
            return Err(EXTENDED);
        }
        self.digits += 1;
        self.size = self.size * 16 + u64::from(digit);
        Ok(())
    }

    /// A chunk begins whose size is known.
    fn begin(&mut self) -> Result<At, Misframed> {
        self.digits = 0;
        if self.size == 0 {
            return Ok(At::LastReturn);
        }
        self.allowance = (self.allowance + self.size)
            .checked_sub(BYTES_OF_A_CHUNK)
            .ok_or(TOO_MANY)?;
        Ok(At::Data)
    }
}
