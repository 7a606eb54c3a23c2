//! Decompression, by the first bytes of a file.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The bytes of one read of a compressed file.
const INPUT_BYTES: usize = 256 << 10;

/// The text of a file, decompressed if it begins as gzip or zstd does. `database` has that of a file of DuckDB.
pub(super) fn open(
    mut file: impl Read + Send + 'static,
    database: impl FnOnce() -> io::Result<Box<dyn Read + Send>>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::with_capacity(12);
    (&mut file).take(12).read_to_end(&mut magic)?;
    if magic.get(8..) == Some(b"DUCK") {
        // To close it later would end the lock that the database takes on the same file.
        drop(file);
        return database();
    }
    let is_gzip = magic.starts_with(b"\x1f\x8b");
    // A frame, or one that is skipped.
    let is_zstd = matches!(
        magic.as_slice(),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    );
    let file = Cursor::new(magic).chain(file);
    Ok(if is_gzip {
        let file = BufReader::with_capacity(INPUT_BYTES, file);
        Box::new(MultiGzDecoder::new(file))
    } else if is_zstd {
        Box::new(ZstdReader {
            file: BufReader::with_capacity(INPUT_BYTES, file),
            frame: FrameDecoder::new(),
        })
    } else {
        Box::new(file)
    })
}

/// All frames of a file, one after the other. Holds one window.
struct ZstdReader<R> {
    file: BufReader<R>,
    frame: FrameDecoder,
}

impl<R: Read> Read for ZstdReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.frame.can_collect() > 0 {
                return self.frame.read(out);
            }
            if !self.frame.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.frame.decode_blocks(&mut self.file, one);
                decoded.map_err(|error| zstd_error(&error))?;
            } else if !self.check_frame()?.begin_frame()? {
                return Ok(0);
            }
        }
    }
}

impl<R: Read> ZstdReader<R> {
    /// Compares the checksum of a finished frame, if it has one.
    fn check_frame(&mut self) -> io::Result<&mut Self> {
        match self.frame.get_checksum_from_data() {
            Some(sum) if self.frame.get_calculated_checksum() != Some(sum) => {
                Err(zstd_error(&"the checksum differs"))
            }
            Some(_) | None => Ok(self),
        }
    }

    /// Whether there is another frame.
    fn begin_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.file.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.frame.init(&mut self.file) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.file).take(length.into());
                    if io::copy(&mut skipped, &mut io::sink())? < length.into() {
                        return Err(zstd_error(&"a skipped frame is cut"));
                    }
                }
                Err(error) => return Err(zstd_error(&error)),
            }
        }
    }
}

fn zstd_error(error: &dyn Display) -> io::Error {
    io::Error::other(format!("the zstd data is cut or damaged: {error}"))
}
