//! Properties over generated documents.

use proptest::prelude::*;

use crate::wire::{Document, JsonErrorKind, Limits};

use super::generate::{Json, gaps, json, members, nearly_json, number};
use super::oracle;

proptest! {
    #[test]
    fn every_document_decodes_and_keeps_its_tokens(json in json(), gaps in gaps()) {
        let written = json.write(&gaps);
        let compact = json.write(&[String::new()]);
        let document = Document::decode(written.as_bytes(), &Limits::default()).unwrap();
        prop_assert_eq!(document.text(), compact);
        oracle::canonical_roundtrip(written.as_bytes());
        oracle::strict_vs_serde(written.as_bytes());
    }

    #[test]
    fn nearly_json_is_read_as_serde_reads_it_or_refused(input in nearly_json()) {
        oracle::strict_vs_serde(&input);
        oracle::canonical_roundtrip(&input);
    }

    #[test]
    fn a_prefix_of_a_container_is_refused(json in json(), gaps in gaps(), cut: prop::sample::Index) {
        let written = Json::Array(vec![json]).write(&gaps);
        let written = written.trim_ascii();
        let cut = cut.index(written.len());
        let prefix = written.as_bytes().get(..cut).unwrap();
        prop_assert!(Document::decode(prefix, &Limits::default()).is_err());
    }

    #[test]
    fn a_member_that_comes_twice_is_refused(
        mut members in members(),
        place: prop::sample::Index,
        gaps in gaps(),
    ) {
        let (key, value) = place.get(&members).clone();
        let expected = crate::wire::json::quoted(&key.decoded());
        members.insert(0, (key, value));
        let written = Json::Object(members).write(&gaps);
        let error = Document::decode(written.as_bytes(), &Limits::default()).unwrap_err();
        prop_assert_eq!(error.kind, JsonErrorKind::DuplicateKey { key: expected });
    }

    #[test]
    fn numbers_keep_their_digits(number in number()) {
        let document = Document::decode(number.as_bytes(), &Limits::default()).unwrap();
        prop_assert_eq!(document.root().as_number(), Some(&*number));
        let plain = !number.contains(['.', 'e', 'E']) && number != "-0";
        let expected = number.parse::<i64>().ok().filter(|_| plain);
        prop_assert_eq!(document.root().as_i64(), expected);
    }

    #[test]
    fn any_bytes_are_read_as_an_envelope_or_refused(input in nearly_json()) {
        oracle::envelope(&input);
    }

    #[test]
    fn any_stream_is_cut_at_its_line_ends(
        stream in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>()],
            0..200,
        ),
    ) {
        oracle::frame_stdio(&stream);
    }
}
