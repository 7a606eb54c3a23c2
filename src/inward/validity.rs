//! From when until when a certificate is valid (RFC 5280, 4.1.2.5).

use der::asn1::AnyRef;
use der::{Decode as _, Reader, Result, SliceReader, Tag, Tagged as _};
use jiff::civil::{DateTime, date};

/// The first and the last second, in UTC.
pub(super) fn validity(certificate: &[u8]) -> Result<[DateTime; 2]> {
    SliceReader::new(certificate)?.sequence(|certificate| {
        let validity = certificate.sequence(validity_of_contents)?;
        skip_rest(certificate)?;
        Ok(validity)
    })
}

/// The contents are what an authority signs.
fn validity_of_contents<'r>(contents: &mut impl Reader<'r>) -> Result<[DateTime; 2]> {
    // Certificates of version 1 have no version.
    if matches!(Tag::peek(contents)?, Tag::ContextSpecific { .. }) {
        contents.tlv_bytes()?;
    }
    for _ in ["serial number", "signature", "issuer"] {
        contents.tlv_bytes()?;
    }
    let validity = contents.sequence(|times| Result::Ok([time(times)?, time(times)?]))?;
    skip_rest(contents)?;
    Ok(validity)
}

/// Years before 1970 too: a program that leaves out the first second writes the year 1.
fn time<'r>(times: &mut impl Reader<'r>) -> Result<DateTime> {
    let time = AnyRef::decode(times)?;
    read(time).ok_or_else(|| time.tag().value_error().into())
}

fn read(time: AnyRef<'_>) -> Option<DateTime> {
    let text = str::from_utf8(time.value()).ok()?;
    let tag = time.tag();
    let (digits, century) = if tag == Tag::GeneralizedTime {
        (14, "")
    } else if tag == Tag::UtcTime {
        (12, if text < "5" { "20" } else { "19" })
    } else {
        return None;
    };
    let written = time.value().strip_suffix(b"Z")?;
    if written.len() != digits || !written.iter().all(u8::is_ascii_digit) {
        return None;
    }
    DateTime::strptime("%Y%m%d%H%M%SZ", format!("{century}{text}")).ok()
}

/// Seconds since 1970. jiff's own time stamps end a day before the last time that a certificate can have.
pub(super) fn seconds(time: DateTime) -> i64 {
    time.duration_since(date(1970, 1, 1).at(0, 0, 0, 0))
        .as_secs()
}

fn skip_rest<'r>(reader: &mut impl Reader<'r>) -> Result<()> {
    reader.drain(reader.remaining_len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value with its tag and length.
    fn der(tag: u8, value: &[u8]) -> Vec<u8> {
        let length = u8::try_from(value.len()).unwrap();
        let length = match length {
            0..=127 => vec![length],
            _ => vec![0x81, length],
        };
        [vec![tag], length, value.to_vec()].concat()
    }

    const SEQUENCE: u8 = 0x30;
    const UTC: u8 = 0x17;
    const GENERALIZED: u8 = 0x18;

    fn certificate(version: &[u8], times: [(u8, &str); 2]) -> Vec<u8> {
        let times = times.map(|(tag, text)| der(tag, text.as_bytes()));
        let contents = [
            version.to_vec(),
            der(2, &[7]),
            der(SEQUENCE, &[5, 0]),
            der(SEQUENCE, &[]),
            der(SEQUENCE, &times.concat()),
            der(SEQUENCE, &[1; 90]),
        ];
        let signed = [der(SEQUENCE, &contents.concat()), der(3, &[0, 1])];
        der(SEQUENCE, &signed.concat())
    }

    fn check(times: [(u8, &str); 2], expected: Option<[&str; 2]>) {
        // Of version 3, of version 1, and with bytes behind it.
        let mut long = certificate(&der(0xa0, &[2, 1, 2]), times);
        long.push(0);
        for certificate in [certificate(&[], times), long] {
            let found = validity(&certificate).ok();
            let found = found.map(|times| times.map(|time| time.to_string()));
            let expected = expected.map(|times| times.map(str::to_owned));
            assert_eq!(found, expected, "{times:?}");
        }
    }

    #[test]
    fn the_times_of_a_certificate_are_read_in_both_forms() {
        for (text, expected) in [
            ("261130120001Z", "2026-11-30T12:00:01"),
            ("491231235959Z", "2049-12-31T23:59:59"),
            ("500101000000Z", "1950-01-01T00:00:00"),
            ("991231235959Z", "1999-12-31T23:59:59"),
        ] {
            let end = (GENERALIZED, "99991231235959Z");
            check([(UTC, text), end], Some([expected, "9999-12-31T23:59:59"]));
        }
        let times = [
            (GENERALIZED, "00010101000000Z"),
            (GENERALIZED, "20500101000000Z"),
        ];
        check(times, Some(["0001-01-01T00:00:00", "2050-01-01T00:00:00"]));
    }

    #[test]
    fn times_before_1970_and_the_last_one_are_counted_in_seconds() {
        let last = date(9999, 12, 31).at(23, 59, 59, 0);
        assert_eq!(seconds(last), 253_402_300_799);
        assert_eq!(seconds(date(1969, 12, 31).at(23, 59, 59, 0)), -1);
    }

    #[test]
    fn what_is_no_time_of_a_certificate_is_an_error() {
        for time in [
            (UTC, ""),
            (UTC, "2611301200Z"),
            (UTC, "261130120001"),
            (UTC, "261130120001+0000"),
            (UTC, "20261130120001Z"),
            (UTC, "261330120001Z"),
            (UTC, "261130126001Z"),
            (UTC, "26113012000½"),
            (GENERALIZED, "261130120001Z"),
            (GENERALIZED, "20261130120001.5Z"),
            (GENERALIZED, "-2026113012000Z"),
            (GENERALIZED, "2026113012000 Z"),
            (0x0c, "261130120001Z"),
        ] {
            let good = (UTC, "261130120001Z");
            check([time, good], None);
            check([good, time], None);
        }
        let good = certificate(&[], [(UTC, "261130120001Z"), (UTC, "271130120001Z")]);
        for end in 0..good.len() {
            assert!(validity(&good[..end]).is_err(), "{end}");
        }
    }
}
