//! Which chunks are taken.

use proptest::prelude::*;

use crate::inward::chunks::Chunks;
use crate::inward::oracle::chunk_laws;

/// Where they end; none if more must come.
#[track_caller]
fn end(chunks: &str) -> Option<usize> {
    chunk_laws(chunks.as_bytes());
    let taken = Chunks::new().take(chunks.as_bytes());
    taken.unwrap_or_else(|cause| panic!("{chunks:?}: {cause}"))
}

#[track_caller]
fn why(chunks: &str) -> String {
    chunk_laws(chunks.as_bytes());
    let taken = Chunks::new().take(chunks.as_bytes());
    taken.expect_err(chunks).to_string()
}

#[test]
fn chunks_end_at_the_one_that_is_empty_and_what_follows_is_not_theirs() {
    for chunks in [
        "0\r\n\r\n",
        "00000000\r\n\r\n",
        "1\r\na\r\n0\r\n\r\n",
        "5\r\nab\r\nc\r\n0\r\n\r\n",
        "0000000a\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
        "A\r\n0123456789\r\n3\r\n0\r\n\r\n0\r\n\r\n",
    ] {
        assert_eq!(end(chunks), Some(chunks.len()), "{chunks:?}");
        let followed = format!("{chunks}GET / HTTP/1.1\r\n");
        assert_eq!(end(&followed), Some(chunks.len()), "{chunks:?}");
        for part in 0..chunks.len() {
            let (begun, _) = chunks.split_at(part);
            assert_eq!(end(begun), None, "{chunks:?} until {part}");
        }
    }
}

#[test]
fn what_another_reader_could_take_for_another_chunk_is_refused() {
    for chunks in [
        // Another line end, or none.
        "1\na",
        "1\ra",
        "1\r\r\n",
        "\r\n",
        "\n",
        "1\r\nab",
        "1\r\na\n",
        "1\r\na\r\r\n",
        "1\r\na\r\n\r\n",
        "0\r\n\n",
        "0\r\n\r\r",
        "0\n\n",
        // Another number.
        "+1\r\n",
        "-1\r\n",
        "0x1\r\n",
        "g\r\n",
        "1_0\r\n",
        " 1\r\n",
        "1 \r\n",
        "1\t\r\n",
        "\u{661}\r\n",
        "000000001\r\n",
        "fffffffff\r\n",
        "10000000000000001\r\n",
        // Extensions and trailers.
        "1;a=b\r\n",
        "1;\r\n",
        "1 ;a\r\n",
        "1;a\n",
        "0\r\nX: a\r\n\r\n",
        "0\r\nContent-Length: 4\r\n\r\n",
        "0\r\n \r\n",
    ] {
        why(chunks);
    }
}

#[test]
fn chunks_may_be_short_but_not_all_of_many() {
    let short = "1\r\na\r\n";
    assert_eq!(end(&short.repeat(1000)), None);
    let told = why(&short.repeat(1100));
    assert!(told.contains("too many short chunks"), "{told}");
    // Chunks of this size are not counted as short, however many there are.
    let usual = format!("40\r\n{}\r\n", "a".repeat(0x40));
    assert_eq!(end(&usual.repeat(5000)), None);
}

proptest! {
    #[test]
    fn two_readers_see_one_end_in_whatever_chunks_are_taken(
        mut chunks in prop::collection::vec("(1\r\n[ab]|2\r\n[ab\r\n]{2}|0A\r\n[a0\r\n]{10})\r\n", 0..5),
        at in any::<prop::sample::Index>(),
        byte in any::<Option<u8>>(),
    ) {
        chunks.push("0\r\n\r\nGET /".to_owned());
        let mut chunks = chunks.concat().into_bytes();
        chunk_laws(&chunks);
        let at = at.index(chunks.len());
        match byte {
            Some(byte) => chunks[at] = byte,
            None => { chunks.remove(at); }
        }
        chunk_laws(&chunks);
    }

    #[test]
    fn any_bytes_are_chunks_or_none(bytes in prop::collection::vec(prop::sample::select(b"01aA\r\n; ".to_vec()), 0..40)) {
        chunk_laws(&bytes);
    }
}
