//! YAML, read as the files of CI systems are: scalars are text.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "all events of the parser but a few are wrong at each place"
)]

use std::collections::HashMap;
use std::path::Path;

use saphyr_parser::{Event, Parser, StrInput};
use serde_json::{Map, Value};

/// The document of a file of the project.
pub(crate) fn of_project(path: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    parse(&std::fs::read_to_string(root.join(path)).unwrap()).unwrap()
}

/// The one document of a text.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        anchors: HashMap::new(),
    };
    loop {
        match reader.next()? {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            event => return reader.value(event),
        }
    }
}

struct Reader<'s> {
    events: Parser<'s, StrInput<'s>>,
    anchors: HashMap<usize, Value>,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Result<Event<'s>, String> {
        let next = self.events.next_event().ok_or("the document ends early")?;
        next.map(|(event, _)| event)
            .map_err(|error| error.to_string())
    }

    fn value(&mut self, event: Event<'s>) -> Result<Value, String> {
        let (anchor, value) = match event {
            Event::Scalar(text, _, anchor, _) => (anchor, Value::String(text.into_owned())),
            Event::SequenceStart(anchor, _) => (anchor, self.list()?),
            Event::MappingStart(anchor, _) => (anchor, self.table()?),
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                return value.ok_or_else(|| "an alias of nothing".to_owned());
            }
            other => return Err(format!("{other:?} is no value")),
        };
        self.anchors.insert(anchor, value.clone());
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                event => items.push(self.value(event)?),
            }
        }
    }

    fn table(&mut self) -> Result<Value, String> {
        let mut fields = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(fields)),
                Event::Scalar(key, ..) => key.into_owned(),
                other => return Err(format!("{other:?} is no key")),
            };
            let event = self.next()?;
            let value = self.value(event)?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(format!("`{key}` is there twice"));
            }
        }
    }
}

/// The text of a field, which has one.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("`{key}` is no text in {value}"))
}

/// The fields of a table; none where there is no table.
pub(crate) fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(key, value)| (key.as_str(), value))
}

#[test]
fn tables_lists_scalars_and_aliases_are_read() {
    let read = parse("a: &x [1, 'b']\nc: {d: *x}\n").unwrap();
    assert_eq!(read.to_string(), r#"{"a":["1","b"],"c":{"d":["1","b"]}}"#);
    for wrong in ["a: [", "a: 1\na: 2", ""] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
