//! Halves of a pair, of which one tells the other.

use super::BUILTIN;

/// No file shows what looks like a credential: it is put together here.
fn halves() -> (String, String) {
    (
        ["AK", "IA", "Q3EGV7T2ZPLX5M4N"].concat(),
        ["q7Vx2mPz/L9sK4tRw", "8nBd+Y3hJ5fGc1aZe", "6uTiOp"].concat(),
    )
}

#[test]
fn the_secret_half_of_a_pair_is_found_without_a_name() {
    let (id, secret) = halves();
    for between in [
        " / ",
        "/",
        ":",
        ",",
        "\n",
        " ",
        "\t",
        ";",
        "|",
        " | ",
        "\", \"",
        "\\n",
        "\r\n",
        " and the other half is ",
        "\"}, {\"b\": \"",
    ] {
        for text in [
            format!("{id}{between}{secret}"),
            format!("a {id}{between}{secret}, b"),
        ] {
            let redacted = BUILTIN.redact(&text).text;
            assert!(!redacted.contains(&secret), "{redacted}");
            assert!(
                redacted.contains("[redacted:aws-secret-access-key]"),
                "{redacted}"
            );
        }
    }
    for between in [" / ", ":", ",", "\n", " ", "\t"] {
        let redacted = BUILTIN
            .redact(&format!("{secret}{between}{id}"))
            .text
            .into_owned();
        assert!(!redacted.contains(&secret), "{redacted}");
    }
}

#[test]
fn what_only_stands_beside_an_id_is_no_secret() {
    let (id, secret) = halves();
    let far = "words and more of them ".repeat(6);
    for other in [
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        &format!("{far}{secret}"),
        &format!("{secret}=="),
        &format!("{secret}a"),
    ] {
        let redacted = BUILTIN.redact(&format!("{id} {other}")).text.into_owned();
        assert!(redacted.ends_with(other), "{redacted}");
    }
    assert!(BUILTIN.find(&secret).is_empty());
}
