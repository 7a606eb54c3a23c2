//! What exactly is taken out.

use super::BUILTIN;
use super::corpus::{Code, Dice, encoded};
use crate::guard::secrets::{Encoding, Layer};

/// A credential in two parts, so that none stands in this file.
fn github() -> String {
    ["gh", "p_", "9aB8cD7eF6gH5iJ4kL3mN2oP1qR0sT9uV8wX"].concat()
}

#[track_caller]
fn check(text: &str, becomes: &str) {
    assert_eq!(BUILTIN.redact(text).text, becomes, "{text}");
}

#[track_caller]
fn check_encoding(text: &str, encoding: Encoding) {
    let findings = BUILTIN.find(text);
    let told: Vec<Encoding> = findings.iter().map(|finding| finding.encoding).collect();
    assert_eq!(told, [encoding], "{text}");
}

#[test]
fn only_the_secret_goes() {
    let it = github();
    check(&it, "[redacted:github-token]");
    check(&format!("({it})"), "([redacted:github-token])");
    check(
        &format!("é{it}"),
        &format!("é{it}").replace(&it, "[redacted:github-token]"),
    );
    check(
        &format!("{it} {it},{it}"),
        "[redacted:github-token] [redacted:github-token],[redacted:github-token]",
    );
    check(
        &format!("postgres://app:{}@db/x", "pa5s-w0rd"),
        "postgres://app:[redacted:postgres-url]@db/x",
    );
    check(
        &format!("{{\"password\": \"{}\"}}", "zK8#mQ2!vL"),
        "{\"password\": \"[redacted:generic-password]\"}",
    );
}

#[test]
fn a_bot_is_given_its_token() {
    let it = [
        "MTk4NjIyNDgzNDcxOTI1MjQ4",
        "Cl2FMQ",
        "ZnCjm1XVW7vRze4b7Cq4se7kKWs1",
    ]
    .join(".");
    check(&format!("bot = {it}"), "bot = [redacted:discord-bot-token]");
}

#[test]
fn a_longer_word_is_another_word() {
    let it = github();
    let longer = format!("{it}Z");
    check(&longer, &longer);
    let inside = format!("my{it}");
    check(&inside, &inside);
}

#[test]
fn examples_are_no_secrets() {
    for text in [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "api_key = YOUR_API_KEY_1234567890",
        "token: 00000000000000000000000000000000",
    ] {
        check(text, text);
    }
}

#[test]
fn a_key_over_many_lines_goes_whole() {
    let line = "MIIEvQ9aB8cD7eF6gH5iJ4kL3mN2oP1qR0sT9uV8wXyZ+/a1B2c3D4e5F6g7H8i9";
    for line_break in [
        "\n",
        "\r\n",
        "\\n",
        "\\\\n",
        "\n    ",
        "\",\n\"",
        "\" +\n  \"",
    ] {
        for end in ["", "-----END PRIVATE KEY-----"] {
            let key = [
                &["-----BEGIN PRIVATE", " KEY-----"].concat(),
                line,
                line,
                end,
            ]
            .join(line_break);
            check(
                &format!("a {} b", key.trim_end()),
                &format!(
                    "a [redacted:private-key]{} b",
                    if end.is_empty() {
                        line_break.trim_end()
                    } else {
                        ""
                    }
                ),
            );
        }
    }
}

#[test]
fn an_encoded_secret_goes_with_all_of_its_run() {
    let mut dice = Dice::new(1);
    let it = format!("see {} there", github());
    for (code, layer) in [
        (Code::Base64, Layer::Base64),
        (Code::Base64Url, Layer::Base64),
        (Code::Hex, Layer::Hex),
        (Code::Url, Layer::Url),
    ] {
        let run = encoded(&it, code, &mut dice).1;
        check(&format!("a={run}&b=1"), "a=[redacted:github-token]&b=1");
        check_encoding(&run, Encoding::Once(layer));
        let twice = encoded(&run, Code::Base64, &mut dice).1;
        check_encoding(
            &twice,
            Encoding::Twice {
                outer: Layer::Base64,
                inner: layer,
            },
        );
    }
    check_encoding(&it, Encoding::Plain);
}

#[test]
fn base64_is_found_from_any_place_of_a_run() {
    let mut dice = Dice::new(1);
    let run = encoded(&format!(" {} ", github()), Code::Base64, &mut dice).1;
    for before in ["", "x", "xy", "xyz", "wxyz/", "a/b/c/"] {
        check(&format!("?{before}{run}?"), "?[redacted:github-token]?");
    }
}

#[test]
fn what_nobody_sees_hides_no_credential() {
    let it = github();
    let parted = |with: &str| {
        let (head, tail) = it.split_at(11);
        [head, with, tail].concat()
    };
    let wide: String = it
        .chars()
        .map(|letter| char::from_u32(u32::from(letter) + 0xfee0).unwrap())
        .collect();
    for text in [
        parted("\u{200b}"),
        parted("\u{ad}"),
        parted("\u{2060}\u{feff}"),
        parted("\u{e0041}"),
        it.replacen('_', "_\u{fe0f}", 1),
        it.replace('_', "\\_"),
        wide.clone(),
    ] {
        check(&format!("a {text} b"), "a [redacted:github-token] b");
    }
    let both = format!("\u{e9} {it} {wide} \u{200b}c");
    let becomes = "\u{e9} [redacted:github-token] [redacted:github-token] \u{200b}c";
    check(&both, becomes);
}

#[test]
fn text_of_two_bytes_for_each_character_is_decoded() {
    let mut dice = Dice::new(1);
    let it = format!("$env:X='{}'", github());
    let little: String = it.chars().flat_map(|letter| [letter, '\0']).collect();
    let big: String = it.chars().flat_map(|letter| ['\0', letter]).collect();
    for text in [little, big] {
        for (code, layer) in [(Code::Base64, Layer::Base64), (Code::Hex, Layer::Hex)] {
            let run = encoded(&text, code, &mut dice).1;
            check(
                &format!("powershell -EncodedCommand {run}"),
                "powershell -EncodedCommand [redacted:github-token]",
            );
            check_encoding(&run, Encoding::Once(layer));
        }
    }
}

#[test]
fn a_value_in_quotes_goes_with_the_quotes_in_it() {
    check(
        r#"{"password":"aB3dE6gH9\"jK2\\","user":"\"me\""}"#,
        r#"{"password":"[redacted:generic-password]","user":"\"me\""}"#,
    );
    check(
        r#"{\"password\":\"aB3dE6gH9\",\"user\":\"me\"}"#,
        r#"{\"password\":\"[redacted:generic-password]\",\"user\":\"me\"}"#,
    );
    check(
        r#"password = "aB3dE6gH9\" and no end"#,
        r#"password = "[redacted:generic-password]\" and no end"#,
    );
}

#[test]
fn what_is_called_is_no_secret() {
    for text in [
        "password = utf8_to_utf16_dup(v);",
        "secret = self.vault2.read_the_secret_of(name)",
        "token = Base64::urlsafe_encode64_v2x(bytes)",
    ] {
        check(text, text);
    }
    check(
        "password = \"utf8to16dup9\"(v)",
        "password = \"[redacted:generic-password]\"(v)",
    );
}

#[test]
fn three_levels_are_not_found() {
    let mut dice = Dice::new(1);
    let mut text = github();
    for _ in 0..3 {
        text = encoded(&text, Code::Base64, &mut dice).1;
    }
    check(&text, &text);
}

#[test]
fn a_form_of_a_placeholder_hides_nothing() {
    check(
        &format!("[redacted:{}]", github()),
        "[redacted:[redacted:github-token]]",
    );
    check("[redacted:jwt]", "[redacted:jwt]");
}

#[test]
fn the_narrower_rule_names_a_secret() {
    check(
        &format!("token = \"{}\"", github()),
        "token = \"[redacted:github-token]\"",
    );
    check(
        &format!("Authorization: Bearer {}", github()),
        "Authorization: Bearer [redacted:github-token]",
    );
}
