//! YAML, for reading.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::document::{Field, Node, Source, Value};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};

/// Lists and tables in each other.
const MAX_DEPTH: usize = 64;

/// The first document. Aliases are errors: nine lines of them can mean a billion values.
pub(super) fn parse(source: Source<'_>) -> Result<Option<Node>, ClientErrors> {
    let offsets = source.text.char_indices().map(|(at, _)| at).collect();
    let mut reader = YamlReader {
        source,
        offsets,
        events: Parser::new_from_str(source.text),
    };
    loop {
        match reader.next()? {
            None | Some((Event::StreamEnd, _)) => return Ok(None),
            Some((Event::Nothing | Event::StreamStart | Event::DocumentStart(_), _)) => {}
            Some((event, span)) => {
                let root = reader.node(event, span, MAX_DEPTH)?;
                return Ok((!matches!(root.value, Value::Null)).then_some(root));
            }
        }
    }
}

struct YamlReader<'s> {
    source: Source<'s>,
    /// Where each character begins: the parser counts characters.
    offsets: Vec<usize>,
    events: Parser<'s, StrInput<'s>>,
}

type Next<'s> = Option<(Event<'s>, Span)>;

impl<'s> YamlReader<'s> {
    fn next(&mut self) -> Result<Next<'s>, ClientErrors> {
        let next = self.events.next_event().transpose();
        next.map_err(|error| self.syntax(&error).into())
    }

    fn syntax(&self, error: &ScanError) -> ClientProblem {
        let at = self.offset(error.marker().index());
        self.problem(
            at,
            &format!("not YAML: {}", error.info()),
            "correct the file",
        )
    }

    fn problem(&self, at: usize, what: &str, help: &str) -> ClientProblem {
        self.source.problem(at, ProblemKind::Syntax, what, help)
    }

    fn offset(&self, index: usize) -> usize {
        let offset = self.offsets.get(index).copied();
        offset.unwrap_or(self.source.text.len())
    }

    fn node(&mut self, event: Event<'s>, span: Span, depth: usize) -> Result<Node, ClientErrors> {
        let start = self.offset(span.start.index());
        let Some(depth) = depth.checked_sub(1) else {
            let what = "more than 64 lists and tables in each other";
            return Err(self.problem(start, what, "correct the file").into());
        };
        let value = match event {
            Event::Scalar(text, style, _, _) => scalar(text.into_owned(), style),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                while let Some((event, span)) = self.within(&Event::SequenceEnd)? {
                    items.push(self.node(event, span, depth)?);
                }
                Value::List(items)
            }
            Event::MappingStart(..) => {
                let mut fields = Vec::new();
                while let Some((event, span)) = self.within(&Event::MappingEnd)? {
                    let key = self.node(event, span, depth)?;
                    let node = match self.next()? {
                        Some((event, span)) => self.node(event, span, depth)?,
                        None => break,
                    };
                    fields.push(Field {
                        key: self.key(&key)?,
                        key_at: key.at,
                        node,
                    });
                }
                Value::Table(fields)
            }
            Event::Alias(_) => {
                let what = "an alias (`*name`)";
                let help = "write the value itself";
                return Err(self.problem(start, what, help).into());
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Value::Null,
        };
        let at = start..self.offset(span.end.index());
        Ok(Node { at, value })
    }

    fn within(&mut self, end: &Event<'_>) -> Result<Next<'s>, ClientErrors> {
        let next = self.next()?;
        Ok(next.filter(|(event, _)| event != end))
    }

    fn key(&self, key: &Node) -> Result<String, ClientErrors> {
        match &key.value {
            Value::Text(text) | Value::Other(text) => Ok(text.clone()),
            Value::Null => Ok("null".to_owned()),
            Value::Bool(switch) => Ok(switch.to_string()),
            Value::List(_) | Value::Table(_) => {
                let what = format!("a key that is {}", key.kind());
                let help = "write a string";
                Err(self.problem(key.at.start, &what, help).into())
            }
        }
    }
}

/// By the core schema of YAML 1.2.
fn scalar(text: String, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::Text(text);
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number if number.parse::<f64>().is_ok() => Value::Other(text),
        _ => Value::Text(text),
    }
}
