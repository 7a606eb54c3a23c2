//! Credentials behind and before what is no word: escapes, colours, markup.

use super::BUILTIN;
use super::corpus::{CredentialPosition, percent, samples};

/// What may stand round a line of a file, `{}`; in a string of JSON if so marked.
const LINES: [(&str, TextForm); 14] = [
    (
        r#"{"path":".env","content":"FOO\n{}\nBAR"}"#,
        TextForm::InJson,
    ),
    (r#"{"content":"FOO\r\n{}\r\nBAR"}"#, TextForm::InJson),
    (r#"{"stdout":"github\t{}\t1"}"#, TextForm::InJson),
    (r#"{"t":"{\"content\":\"a\\n{}\\nb\"}"}"#, TextForm::InJson),
    ("{\"u\":\"a?it\\u003d{}\\u0026b\"}", TextForm::InJson),
    ("{\"u\":\"\\u003c{}\\u003e\"}", TextForm::InJson),
    ("b'it\\x3d{}\\x0a'", TextForm::InJson),
    ("\u{1b}[32m{}\u{1b}[0m", TextForm::Plainly),
    ("\u{1b}[1mit\u{1b}[0m{}\n", TextForm::Plainly),
    ("{\"log\":\"\\u001b[32m{}\\u001b[0m\"}", TextForm::InJson),
    ("https://a.invalid/?q=a%0A{}%0Ab", TextForm::Plainly),
    ("it=3D{}\n", TextForm::Plainly),
    ("<a b=&quot;{}&quot;>", TextForm::Plainly),
    ("&lt;{}&gt;", TextForm::Plainly),
];

/// How a name and its value are written beside each other.
const PAIRS: [(&str, TextForm); 20] = [
    (r#"{"name":"{NAME}","value":"{}"}"#, TextForm::Plainly),
    (r#"{"key": "{NAME}", "value": "{}"}"#, TextForm::Plainly),
    (
        "[\n  {\n    \"name\": \"{NAME}\",\n    \"value\": \"{}\"\n  }\n]",
        TextForm::Plainly,
    ),
    (
        r#"{"t":"[{\"name\":\"{NAME}\",\"value\":\"{}\"}]"}"#,
        TextForm::InJson,
    ),
    ("- name: {NAME}\n  value: \"{}\"\n", TextForm::Plainly),
    (
        r#"{"content":"env:\n  - name: {NAME}\n    value: {}\n"}"#,
        TextForm::InJson,
    ),
    (r#"<add key="{NAME}" value="{}"/>"#, TextForm::Plainly),
    (r#"<input name="{name}" value="{}">"#, TextForm::Plainly),
    ("| {NAME} | {} |", TextForm::Plainly),
    ("| `{NAME}` | `{}` | note |", TextForm::Plainly),
    ("|{NAME}|{}|", TextForm::Plainly),
    ("**{NAME}**: {}", TextForm::Plainly),
    ("- **{NAME}:** `{}`", TextForm::Plainly),
    ("`{NAME}`: `{}`", TextForm::Plainly),
    ("{NAME}=&quot;{}&quot;", TextForm::Plainly),
    ("{NAME}=&#39;{}&#39;", TextForm::Plainly),
    (
        r"https://a.invalid/?{name}\u003d{}\u0026b",
        TextForm::InJson,
    ),
    (
        "\u{1b}[1m{NAME}\u{1b}[0m=\u{1b}[32m{}\u{1b}[0m",
        TextForm::Plainly,
    ),
    (
        r"\u001b[1m{NAME}\u001b[0m: \u001b[32m{}\u001b[0m",
        TextForm::InJson,
    ),
    ("{NAME} => '{}'", TextForm::Plainly),
];

#[derive(Clone, Copy)]
enum TextForm {
    Plainly,
    InJson,
}

impl TextForm {
    fn write(self, text: &str) -> String {
        match self {
            Self::Plainly => text.to_owned(),
            Self::InJson => {
                let quoted = serde_json::Value::from(text).to_string();
                quoted.trim_matches('"').to_owned()
            }
        }
    }
}

/// The secret must be wholly in what is found, for nearly all kinds.
#[track_caller]
fn check(around: &str, samples: &[(String, String, String)]) {
    let mut missed = Vec::new();
    for (kind, text, secret) in samples {
        let start = text.find(secret.as_str()).unwrap();
        let end = start + secret.len();
        let found = BUILTIN.find(text);
        if !found
            .iter()
            .any(|it| it.range.start <= start && end <= it.range.end)
        {
            missed.push(kind);
        }
    }
    let found = percent(samples.len() - missed.len(), samples.len());
    println!("{around:?}: {found:.2} % found; missed {missed:?}");
    assert!(found >= 97.0, "{around:?}: {missed:?}");
}

#[test]
fn what_stands_round_a_line_hides_no_credential_in_it() {
    for (around, written) in LINES {
        let lines = samples(1).into_iter().map(|sample| {
            let line = match &sample.kept {
                CredentialPosition::Bare => sample.credential.clone(),
                CredentialPosition::Under(name) => format!("{name}={}", sample.credential),
                CredentialPosition::InText => sample.text.clone(),
            };
            (
                sample.kind,
                around.replace("{}", &written.write(&line)),
                written.write(&sample.credential),
            )
        });
        check(around, &lines.collect::<Vec<_>>());
    }
}

#[test]
fn a_name_tells_a_credential_however_the_two_are_written() {
    for (pair, written) in PAIRS {
        let texts = samples(1).into_iter().filter_map(|sample| {
            let CredentialPosition::Under(name) = &sample.kept else {
                return None;
            };
            let secret = written.write(&sample.credential);
            let text = pair.replace("{NAME}", name);
            let text = text.replace("{name}", &name.to_lowercase());
            Some((sample.kind, text.replace("{}", &secret), secret))
        });
        check(pair, &texts.collect::<Vec<_>>());
    }
}
