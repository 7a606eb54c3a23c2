//! Laws of generated files.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::clients::oracle::laws;

fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\t",
        "\r\n  ",
        " /* , } */ ",
        " // \"]\n",
        "/**/",
    ])
    .prop_map(str::to_owned)
}

/// A string of JSON, with and without escapes.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ${}:é]{0,8}".prop_map(|text| format!("\"{text}\"")),
        Just(r#""\"\\\/\u0041\n""#.to_owned()),
        Just("\"//\"".to_owned()),
    ]
}

fn joined(open: char, parts: &[String], trailing: bool, close: char) -> String {
    let comma = if trailing && !parts.is_empty() {
        ","
    } else {
        ""
    };
    format!("{open}{}{comma}{close}", parts.join(","))
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        string(),
        prop::sample::select(vec!["null", "true", "false", "0", "-1.5e3"]).prop_map(str::to_owned)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let items = prop::collection::vec((space(), inner.clone(), space()), 0..4);
        let fields = prop::collection::btree_map("[a-z]{1,3}", (space(), inner, space()), 0..4);
        prop_oneof![
            (items, any::<bool>()).prop_map(|(items, trailing)| {
                let items = items.iter().map(|(a, item, b)| format!("{a}{item}{b}"));
                joined('[', &items.collect::<Vec<_>>(), trailing, ']')
            }),
            (fields, any::<bool>()).prop_map(|(fields, trailing)| {
                let fields = fields
                    .iter()
                    .map(|(key, (a, value, b))| format!("{a}\"{key}\":{value}{b}"));
                joined('{', &fields.collect::<Vec<_>>(), trailing, '}')
            }),
        ]
    })
}

const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "type",
    "url",
    "serverUrl",
    "headers",
    "cwd",
    "disabled",
    "timeout",
    "tools",
];

fn json_field() -> impl Strategy<Value = (&'static str, String)> {
    prop::sample::select(KEYS).prop_flat_map(|key| {
        let value = match key {
            "command" | "url" | "serverUrl" | "cwd" => string().boxed(),
            "args" => prop::collection::vec(string(), 0..3)
                .prop_map(|items| joined('[', &items, false, ']'))
                .boxed(),
            "type" => Just("\"stdio\"".to_owned()).boxed(),
            "env" | "headers" => string()
                .prop_map(|text| format!("{{\"A\":{text}}}"))
                .boxed(),
            _ => json().boxed(),
        };
        (Just(key), value)
    })
}

fn json_server() -> impl Strategy<Value = String> {
    let fields = prop::collection::vec((space(), json_field(), space(), space()), 0..6);
    (fields, space(), any::<bool>()).prop_map(|(mut fields, end, trailing)| {
        let mut seen = std::collections::HashSet::new();
        fields.retain(|(_, (key, _), ..)| seen.insert(*key));
        let fields = fields.iter();
        let fields = fields.map(|(a, (key, value), b, c)| format!("{a}\"{key}\"{b}:{c}{value}{a}"));
        let object = joined('{', &fields.collect::<Vec<_>>(), trailing, '}');
        object
            .strip_suffix('}')
            .map_or(String::new(), |open| format!("{open}{end}}}"))
    })
}

fn json_file() -> impl Strategy<Value = String> {
    let servers = prop::collection::btree_map("[a-zé \\\\.]{0,4}", (space(), json_server()), 0..4);
    (space(), json(), servers, space(), any::<bool>()).prop_map(
        |(a, other, servers, b, trailing)| {
            let servers = servers.iter().map(|(name, (space, server))| {
                let name = name.replace('\\', "\\\\");
                format!("{space}\"{name}\":{space}{server}{space}")
            });
            let servers = joined('{', &servers.collect::<Vec<_>>(), trailing, '}');
            let fields = [
                format!("{a}\"other\":{other}"),
                format!("{b}\"mcpServers\":{servers}{a}"),
            ];
            format!("{a}{}{b}", joined('{', &fields, trailing, '}'))
        },
    )
}

fn toml_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ${}#é]{0,8}".prop_map(|text| format!("\"{text}\"")),
        "[a-z #]{0,8}".prop_map(|text| format!("'{text}'")),
        Just("\"\"\"\na \\\n b\"\"\"".to_owned()),
    ]
}

fn toml_server() -> impl Strategy<Value = (Vec<(String, String)>, bool)> {
    let field = prop::sample::select(KEYS).prop_flat_map(|key| {
        let value = match key {
            "args" => prop::collection::vec(toml_value(), 0..3)
                .prop_map(|items| format!("[{}]", items.join(", ")))
                .boxed(),
            "env" | "headers" => toml_value()
                .prop_map(|text| format!("{{ A = {text} }}"))
                .boxed(),
            "type" => Just("'stdio'".to_owned()).boxed(),
            "disabled" => Just("true".to_owned()).boxed(),
            "timeout" => Just("1979-05-27T07:32:00Z".to_owned()).boxed(),
            _ => toml_value().boxed(),
        };
        (Just(key.to_owned()), value)
    });
    (prop::collection::vec(field, 0..6), any::<bool>())
}

fn toml_file() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["", "\n", "# a comment = [\n", "\r\n", "  \n"]);
    let behind = prop::sample::select(vec!["", " # behind", "\t"]);
    let servers = prop::collection::btree_map("[a-z. é]{1,4}", (toml_server(), line, behind), 0..4);
    (servers, toml_value()).prop_map(|(servers, other)| {
        let mut text = vec![format!("other = {other}\n")];
        for (name, ((mut fields, has_tables), line, behind)) in servers {
            let mut seen = std::collections::HashSet::new();
            fields.retain(|(key, _)| seen.insert(key.clone()));
            text.push(line.to_owned());
            text.push(format!("[mcp_servers.\"{name}\"]{behind}\n"));
            for (key, value) in fields {
                text.push(format!("{line}{key} = {value}{behind}\n"));
            }
            if has_tables {
                text.push(format!(
                    "[mcp_servers.\"{name}\".env_http_headers]\nX = 'Y'\n{line}"
                ));
                text.push(format!(
                    "[mcp_servers.\"{name}\".tools.a]\nmode = 'b'{behind}\n"
                ));
            }
        }
        text.push("[last]\nx = 1".to_owned());
        text.concat()
    })
}

proptest! {
    #[test]
    fn any_json_is_the_same_after_wrapping_and_unwrapping(text in json_file()) {
        laws(&text);
    }

    #[test]
    fn any_toml_is_the_same_after_wrapping_and_unwrapping(text in toml_file()) {
        laws(&text);
    }

    #[test]
    fn any_text_is_read_or_rejected(text in "[\\[\\]{}\":,/*#\n a-c0-9=.&*!|>-]{0,40}") {
        laws(&text);
    }
}

#[test]
fn every_seed_of_clients_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/clients");
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        laws(&String::from_utf8_lossy(&bytes));
        seeds += 1;
    }
    assert!(seeds >= 12, "seeds in {}", folder.display());
}
