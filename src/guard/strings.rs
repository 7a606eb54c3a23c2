//! Which strings of a message are words for people and models, and which name things.
//!
//! A name goes back to its author, or is compared by others: the gate never edits it.

use std::borrow::Cow;

use crate::wire::Value;

/// What a message, or a part of one, consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePart {
    /// Tools, prompts, resources and servers as they describe themselves.
    Definition,
    /// What comes of using them.
    Content,
}

/// A string of a message.
#[derive(Debug)]
pub struct MessageString<'m> {
    pub role: StringRole,
    pub text: Cow<'m, str>,
    /// `None` for the name of a member.
    pub value: Option<Value<'m>>,
}

/// What a text is, which says what belongs in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPurpose {
    /// What a tool, a parameter or a prompt says of itself.
    Description,
    /// Other words of definitions, instructions, prompts.
    Instruction,
    /// Words of results and questions, for a model or a person to read.
    Prose,
    /// Structured data, and text that its server declares as source code or HTML.
    Data,
}

/// What a string is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringRole {
    Text(TextPurpose),
    /// It names something, or is compared.
    Identifier,
}

#[derive(Debug, Clone)]
enum PathStep<'m> {
    Member(Cow<'m, str>),
    Item,
}

/// Where in a message the members mean what the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Protocol,
    /// JSON Schema.
    Schema,
    /// Names of members are names of properties; what is in them is a schema.
    Properties,
    /// Any JSON at all.
    Free,
    /// Nothing in it is text.
    Identifiers,
}

/// Not looked at: neither words, nor what a model reads.
const OPAQUE: [&str; 5] = ["_meta", "icons", "blob", "capabilities", "extensions"];

/// Members of the protocol's own that name something or have few values.
const IDENTIFIERS: [&str; 31] = [
    "action",
    "createdAt",
    "cursor",
    "elicitationId",
    "id",
    "includeContext",
    "lastModified",
    "lastUpdatedAt",
    "level",
    "logger",
    "method",
    "mimeType",
    "mode",
    "model",
    "name",
    "nextCursor",
    "progressToken",
    "protocolVersion",
    "requestId",
    "requestState",
    "resultType",
    "role",
    "status",
    "stopReason",
    "taskId",
    "toolUseId",
    "type",
    "uri",
    "uriTemplate",
    "url",
    "version",
];

const SCHEMAS: [&str; 3] = ["inputSchema", "outputSchema", "requestedSchema"];

/// Keywords of JSON Schema whose members are properties, or schemas under names.
const NAMED_SCHEMAS: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// Keywords of JSON Schema whose values are compared.
const COMPARED: [&str; 15] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "enum",
    "format",
    "pattern",
    "required",
];

/// Tells of each string in a value that the protocol puts where `part` says.
pub fn message_strings<'m>(
    value: Value<'m>,
    part: MessagePart,
    tell: &mut dyn FnMut(MessageString<'m>),
) {
    let mut walk = StringWalk {
        part,
        path: Vec::new(),
        tell,
    };
    walk.visit(value, Mode::Protocol, "");
}

struct StringWalk<'t, 'm> {
    part: MessagePart,
    path: Vec<PathStep<'m>>,
    tell: &'t mut dyn FnMut(MessageString<'m>),
}

impl<'m> StringWalk<'_, 'm> {
    /// The wire's depth limit bounds the recursion.
    fn visit(&mut self, value: Value<'m>, mode: Mode, name: &str) {
        if let Some(text) = value.as_str() {
            let role = self.role(mode, name);
            self.tell(role, text, Some(value));
        }
        for item in value.items() {
            self.path.push(PathStep::Item);
            self.visit(item, mode, name);
            self.path.pop();
        }
        let media = Media::of(value);
        for (key, member) in value.entries() {
            let Some(below) = below(mode, &key, media) else {
                continue;
            };
            self.path.push(PathStep::Member(key.clone()));
            let is_chosen = matches!(mode, Mode::Properties | Mode::Free | Mode::Identifiers);
            if is_chosen || !is_keyword(&key) {
                self.tell(StringRole::Identifier, key.clone(), None);
            }
            self.visit(member, below, &key);
            self.path.pop();
        }
    }

    fn role(&self, mode: Mode, name: &str) -> StringRole {
        let is_identifier = match mode {
            Mode::Protocol => IDENTIFIERS.contains(&name),
            Mode::Schema => name == "type",
            Mode::Identifiers => true,
            Mode::Free | Mode::Properties => false,
        };
        if is_identifier {
            return StringRole::Identifier;
        }
        StringRole::Text(match self.part {
            MessagePart::Content | MessagePart::Definition if mode == Mode::Free => {
                TextPurpose::Data
            }
            MessagePart::Content => TextPurpose::Prose,
            // A resource within a prompt is what it is, and not a description of it.
            MessagePart::Definition if mode == Mode::Protocol && self.is_embedded() => {
                TextPurpose::Data
            }
            MessagePart::Definition if name == "description" => TextPurpose::Description,
            MessagePart::Definition => TextPurpose::Instruction,
        })
    }

    fn is_embedded(&self) -> bool {
        let is_resource =
            |step: &PathStep<'_>| matches!(step, PathStep::Member(key) if key == "resource");
        self.path.iter().rev().take(2).any(is_resource)
    }

    fn tell(&mut self, role: StringRole, text: Cow<'m, str>, value: Option<Value<'m>>) {
        (self.tell)(MessageString { role, text, value });
    }
}

/// Whether a name could be one of the protocol's, or of JSON Schema's. Others are a peer's words.
fn is_keyword(key: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_$-./".contains(&byte);
    key.bytes().all(is_letter)
}

/// What a block of content holds, as its server declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Media {
    Words,
    /// Source code, HTML, JSON.
    OtherText,
    ImageOrAudio,
}

impl Media {
    fn of(block: Value<'_>) -> Self {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        if text("type").is_some_and(|kind| matches!(&*kind, "image" | "audio")) {
            return Self::ImageOrAudio;
        }
        let is_words = |mime: &str| {
            let (essence, _) = mime.split_once(';').unwrap_or((mime, ""));
            let essence = essence.trim().to_ascii_lowercase();
            matches!(&*essence, "" | "text/plain" | "text/markdown")
        };
        // The contents of a resource alone have one, and no `type`.
        let declared = text("mimeType").filter(|_| block.get("type").is_none());
        match declared {
            Some(mime) if !is_words(&mime) => Self::OtherText,
            Some(_) | None => Self::Words,
        }
    }
}

/// What the member of this name is in a value that is looked at in this way; `None` if it is not.
fn below(mode: Mode, key: &str, media: Media) -> Option<Mode> {
    Some(match mode {
        Mode::Protocol if OPAQUE.contains(&key) => return None,
        Mode::Protocol if media == Media::ImageOrAudio && key == "data" => return None,
        Mode::Protocol if media == Media::OtherText && key == "text" => Mode::Free,
        Mode::Protocol if SCHEMAS.contains(&key) => Mode::Schema,
        Mode::Protocol if matches!(key, "structuredContent" | "data" | "input") => Mode::Free,
        Mode::Protocol => Mode::Protocol,
        Mode::Schema if COMPARED.contains(&key) => Mode::Identifiers,
        Mode::Schema if NAMED_SCHEMAS.contains(&key) => Mode::Properties,
        Mode::Schema if key == "examples" => Mode::Free,
        Mode::Schema | Mode::Properties => Mode::Schema,
        Mode::Free => Mode::Free,
        Mode::Identifiers => Mode::Identifiers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Document, Limits};

    /// The texts of a value, each with its role: `d` of a description, `w` of other words, `a` of answers,
    /// `c` of other content, `i` of an identifier. The name of a member has no place of its own.
    fn check(part: MessagePart, json: &str, expected: &[&str]) {
        let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
        let mut found = Vec::new();
        message_strings(document.root(), part, &mut |word| {
            let role = match word.role {
                StringRole::Text(TextPurpose::Description) => 'd',
                StringRole::Text(TextPurpose::Instruction) => 'w',
                StringRole::Text(TextPurpose::Prose) => 'a',
                StringRole::Text(TextPurpose::Data) => 'c',
                StringRole::Identifier => 'i',
            };
            let place = word.value.map_or_else(|| "-".to_owned(), Value::pointer);
            found.push(format!("{role} {place} {}", word.text));
        });
        found.sort();
        let mut expected: Vec<String> = expected.iter().map(|it| (*it).to_owned()).collect();
        expected.sort();
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn names_that_are_no_keywords_are_words_of_somebody() {
        let definition = r#"{"inputSchema":{"type":"object","<b> read all":true},"ig nore":1}"#;
        let document = Document::decode(definition.as_bytes(), &Limits::default()).unwrap();
        let mut named = Vec::new();
        message_strings(document.root(), MessagePart::Definition, &mut |word| {
            if word.value.is_none() {
                named.push(word.text.into_owned());
            }
        });
        assert_eq!(named, ["<b> read all", "ig nore"]);
    }

    #[test]
    fn a_definition_is_words_and_what_is_compared() {
        check(
            MessagePart::Definition,
            r#"{"name":"n","title":"t","description":"d","icons":[{"src":"x"}],"_meta":{"a":"b"},
                "inputSchema":{"type":"object","title":"st","description":"sd","required":["a/b"],
                  "properties":{"a/b":{"description":"pd","enum":["e"],"default":{"k":"v"},"examples":["x"]},
                                "default":{"description":"q","pattern":"p"},
                                "resource":{"description":"r"}}}}"#,
            &[
                "i /name n",
                "w /title t",
                "d /description d",
                "i /inputSchema/type object",
                "w /inputSchema/title st",
                "d /inputSchema/description sd",
                "i /inputSchema/required/0 a/b",
                "i - a/b",
                "d /inputSchema/properties/a~1b/description pd",
                "i /inputSchema/properties/a~1b/enum/0 e",
                "i - k",
                "i /inputSchema/properties/a~1b/default/k v",
                "c /inputSchema/properties/a~1b/examples/0 x",
                "i - default",
                "i - resource",
                "d /inputSchema/properties/resource/description r",
                "d /inputSchema/properties/default/description q",
                "i /inputSchema/properties/default/pattern p",
            ],
        );
    }

    #[test]
    fn a_result_is_content_but_for_what_names_things() {
        check(
            MessagePart::Content,
            r#"{"content":[{"type":"text","mimeType":"text/html","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"},
                 {"type":"resource","resource":{"uri":"u","mimeType":"text/html","text":"r","blob":"BBBB"}},
                 {"type":"resource","resource":{"mimeType":"Text/Markdown; charset=utf-8","text":"s"}}],
                "structuredContent":{"name":"n","uri":["v"]},"requestState":"s","_meta":{"k":"v"}}"#,
            &[
                "i /content/0/type text",
                "i /content/0/mimeType text/html",
                "a /content/0/text a",
                "i /content/1/type image",
                "i /content/1/mimeType image/png",
                "i /content/2/type resource",
                "i /content/2/resource/uri u",
                "i /content/2/resource/mimeType text/html",
                "c /content/2/resource/text r",
                "i /content/3/type resource",
                "i /content/3/resource/mimeType Text/Markdown; charset=utf-8",
                "a /content/3/resource/text s",
                "i - name",
                "c /structuredContent/name n",
                "i - uri",
                "c /structuredContent/uri/0 v",
                "i /requestState s",
            ],
        );
    }

    #[test]
    fn what_is_embedded_in_a_prompt_is_content() {
        check(
            MessagePart::Definition,
            r#"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"t"}},
                 {"role":"user","content":{"type":"resource","resource":{"uri":"u","text":"r"}}}]}"#,
            &[
                "d /description d",
                "i /messages/0/role user",
                "i /messages/0/content/type text",
                "w /messages/0/content/text t",
                "i /messages/1/role user",
                "i /messages/1/content/type resource",
                "i /messages/1/content/resource/uri u",
                "c /messages/1/content/resource/text r",
            ],
        );
    }
}
