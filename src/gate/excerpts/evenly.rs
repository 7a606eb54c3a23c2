//! Resources and prompts: of each text something is shown, so that every content stays at its URI and every
//! message has its turn.

use crate::guard::Preset;
use crate::wire::{Message, Value};

use crate::gate::shortening::Shortening;

use super::shorter::{Block, Shorter};

/// What is shown of a text at least: of less nobody would know what it is.
const LEAST: usize = 512;

/// A text, and how it is shortened.
struct Text<'m> {
    block: Block<'m>,
    preset: Preset,
}

/// Shortens the contents of a resource.
pub(super) fn contents<'m>(
    message: &'m Message,
    shortening: Shortening<'_>,
    named: Option<Preset>,
    said: &dyn Fn(Value<'m>) -> Option<String>,
    shorter: &mut Shorter<'m>,
) {
    let contents = message.result().and_then(|result| result.get("contents"));
    let contents = contents.into_iter().flat_map(Value::items).enumerate();
    let texts = contents.filter_map(|(index, content)| {
        let preset = named.or_else(|| shortening.of_uri(&text_at(content, "uri")));
        Some(Text {
            preset: preset.unwrap_or_else(|| by_type(content)),
            block: block(content, format!("/result/contents/{index}/text"), said)?,
        })
    });
    evenly(texts, shortening, shorter);
}

/// Shortens the messages of a prompt. All of them are for a model, whatever their types.
pub(super) fn messages<'m>(
    message: &'m Message,
    shortening: Shortening<'_>,
    named: Option<Preset>,
    said: &dyn Fn(Value<'m>) -> Option<String>,
    shorter: &mut Shorter<'m>,
) {
    let messages = message.result().and_then(|result| result.get("messages"));
    let messages = messages.into_iter().flat_map(Value::items).enumerate();
    let texts = messages.filter_map(|(index, message)| {
        let place = format!("/result/messages/{index}/content");
        let content = message.get("content")?;
        let Some(resource) = content.get("resource") else {
            return Some(Text {
                preset: named.unwrap_or_default(),
                block: block(content, format!("{place}/text"), said)?,
            });
        };
        let preset = named.or_else(|| shortening.of_uri(&text_at(resource, "uri")));
        let by_type = || Some(by_type(resource)).filter(|it| *it != Preset::Whole);
        Some(Text {
            preset: preset.or_else(by_type).unwrap_or_default(),
            block: block(resource, format!("{place}/resource/text"), said)?,
        })
    });
    evenly(texts, shortening, shorter);
}

fn block<'m>(
    whole: Value<'m>,
    place: String,
    said: &dyn Fn(Value<'m>) -> Option<String>,
) -> Option<Block<'m>> {
    let text = whole.get("text")?;
    Some(Block {
        whole,
        text,
        place,
        says: said(text)?,
    })
}

fn text_at(value: Value<'_>, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    text.unwrap_or_default().into_owned()
}

fn by_type(content: Value<'_>) -> Preset {
    let media_type = content.get("mimeType").and_then(Value::as_str);
    Preset::by_type(media_type.as_deref(), &text_at(content, "uri"))
}

/// The longest texts lose what there is no room for.
fn evenly<'m>(
    texts: impl Iterator<Item = Text<'m>>,
    shortening: Shortening<'_>,
    shorter: &mut Shorter<'m>,
) {
    let texts: Vec<Text<'m>> = texts.filter(|it| it.preset != Preset::Whole).collect();
    let lengths = texts.iter().map(|text| text.block.says.len());
    let most = share(lengths.collect(), shortening.over());
    for Text { block, preset } in texts {
        if let Some(text) = shortening.shortened(&block.says, preset, most) {
            shorter.say(block, text);
        }
    }
}

/// Bytes that each of several texts may have, so that all have their room: what short ones leave of it is
/// for the others.
fn share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    let texts = (1..=lengths.len()).rev();
    for (texts, length) in texts.zip(lengths) {
        let most = left / texts;
        if length > most {
            return most.max(LEAST.min(room));
        }
        left -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_short_texts_leave_is_for_the_long_ones() {
        for (lengths, room, expected) in [
            (vec![], 0, usize::MAX),
            (vec![3000], 3000, usize::MAX),
            (vec![3001], 3000, 3000),
            (vec![9000, 9000], 3000, 1500),
            (vec![10, 9000], 3000, 2990),
            (vec![9000, 10, 1300, 9000], 3000, 996),
            (vec![9000, 10, 900, 9000], 3000, 1045),
            (vec![1000, 1000, 1000], 3000, usize::MAX),
            // Something is shown of each.
            (vec![9000; 100], 3000, LEAST),
        ] {
            assert_eq!(share(lengths.clone(), room), expected, "{lengths:?} {room}");
        }
    }
}
