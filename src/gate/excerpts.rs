//! What of a large result is sent: texts and structured content, each as much as a text may have.
//!
//! Of a tool texts are shown from the first on (of logs, from the last on) until there is no more room;
//! where structured content is shortened, the text that repeats it is, too, so that both say the same. Of
//! resources and prompts something is shown of each text.

mod evenly;
mod shorter;
mod structure;

use shorter::{Block, Tool};

use crate::audit;
use crate::guard::Preset;
use crate::wire::{Message, Value};

use super::shortening::{NOTICE, Of, Shortening};

pub(super) use shorter::{Note, Shorter};
use structure::structure;

/// Shortens what a message brings, as it is by now.
pub(super) fn shorter<'m>(
    message: &'m Message,
    shortening: Shortening<'_>,
    said: &dyn Fn(Value<'m>) -> Option<String>,
) -> Shorter<'m> {
    let mut shorter = Shorter::default();
    let (preset, output) = match shortening.of() {
        Of::Tool(preset, output) => (preset, output),
        Of::Resource(named) => {
            evenly::contents(message, shortening, named, said, &mut shorter);
            return shorter;
        }
        Of::Prompt(named) => {
            evenly::messages(message, shortening, named, said, &mut shorter);
            return shorter;
        }
    };
    let of = Tool {
        shortening,
        preset,
        output,
    };
    for (place, answer) in answers(message) {
        let mut blocks = blocks(place, answer, said);
        // Otherwise it has to be what its schema says, and so it stays.
        let _ = structure(place, answer, of, said, &mut blocks, &mut shorter);
        texts(blocks, of, &mut shorter);
    }
    shorter
}

/// A task's result stands within what is told of the task.
pub(super) fn answers(message: &Message) -> impl Iterator<Item = (&'static str, Value<'_>)> {
    let (result, params) = (message.result(), message.params());
    let answers = [
        ("/result", result),
        ("/result/result", result.and_then(|told| told.get("result"))),
        ("/params/result", params.and_then(|told| told.get("result"))),
    ];
    let answers = answers.into_iter();
    answers.filter_map(|(place, answer)| Some((place, answer?)))
}

fn blocks<'m>(
    place: &str,
    answer: Value<'m>,
    said: &dyn Fn(Value<'m>) -> Option<String>,
) -> Vec<Block<'m>> {
    let content = answer.get("content").into_iter().flat_map(Value::items);
    let blocks = content.enumerate().filter_map(|(index, block)| {
        let own = block.get("text").map(|text| (text, "text"));
        let embedded = || Some((block.at(&["resource", "text"])?, "resource/text"));
        let (text, path) = own.or_else(embedded)?;
        Some(Block {
            whole: block,
            text,
            place: format!("{place}/content/{index}/{path}"),
            says: said(text)?,
        })
    });
    blocks.collect()
}

/// Texts that are too long in all.
fn texts<'m>(mut blocks: Vec<Block<'m>>, of: Tool<'_>, shorter: &mut Shorter<'m>) {
    let Tool {
        shortening, preset, ..
    } = of;
    let over = shortening.over();
    let all: usize = blocks.iter().map(|block| block.says.len()).sum();
    if all <= over {
        return;
    }
    if preset == Preset::LogSearch {
        blocks.reverse();
    }
    let mut room = over;
    let mut left = Vec::new();
    for block in blocks {
        let bytes = block.says.len();
        if left.is_empty() && bytes <= room {
            room -= bytes;
        } else if left.is_empty() && room > over / 4 {
            if let Some(text) = shortening.shortened(&block.says, preset, room) {
                shorter.say(block, text);
            }
            room = 0;
        } else {
            left.push(block);
        }
    }
    if preset == Preset::LogSearch {
        left.reverse();
    }
    let texts: Vec<&str> = left.iter().map(|block| block.says.as_str()).collect();
    let whole = texts.join("\n");
    if whole.len() <= NOTICE {
        return;
    }
    let mut left = left.into_iter();
    let Some(first) = left.next() else {
        return;
    };
    let (count, bytes) = (left.len() + 1, whole.len());
    let told = shortening.told(&whole);
    let note = format!("[mcp-protector: texts are left out: {count}, of {bytes} bytes. {told}]");
    shorter.say(first, note);
    for block in left {
        shorter.notes.push(Note {
            pointer: block.place,
            bytes: block.says.len(),
            op: audit::EditOp::Remove,
        });
        shorter.removed.push(block.whole);
    }
}

impl<'m> Shorter<'m> {
    fn say(&mut self, block: Block<'m>, text: String) {
        self.note(block.place, block.says.len());
        self.said.push((block.text, text));
    }

    fn note(&mut self, pointer: String, bytes: usize) {
        self.notes.push(Note {
            pointer,
            bytes,
            op: audit::EditOp::Replace,
        });
    }
}
