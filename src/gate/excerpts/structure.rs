//! Structured content of which a part is shown: its names and numbers, and of its arrays and strings what
//! there is room for.

use crate::wire::{Document, Fragment, Limits, Value};

use crate::gate::shortening::Output;

use super::shorter::{Block, Shorter, Tool};

/// How structured content is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    ArraysAndStrings,
    /// A schema may say of a string what is not so of a part of it.
    Arrays,
}

/// Strings that are never cut: names, and words that others understand.
const SHORT: usize = 64;

/// Shortens structured content that is too large, where its schema leaves it to be shorter and a model
/// can read that it is: in the text that repeats it, behind another text, or in one of its own.
pub(super) fn structure<'m>(
    place: &str,
    answer: Value<'m>,
    of: Tool<'_>,
    said: &dyn Fn(Value<'m>) -> Option<String>,
    blocks: &mut Vec<Block<'m>>,
    shorter: &mut Shorter<'m>,
) -> Option<()> {
    let Tool {
        shortening,
        preset,
        output,
    } = of;
    let value = answer.get("structuredContent")?;
    let over = shortening.over();
    // What it says by now may be longer or shorter than what came.
    let mut unlimited = usize::MAX;
    let whole = built(value, said, None, &mut unlimited).0.into_string();
    let bytes = whole.len();
    if bytes <= over {
        return None;
    }
    let cuts = [Cut::ArraysAndStrings, Cut::Arrays].into_iter();
    let mut cuts = cuts.map(|cut| {
        let mut room = over;
        built(value, said, Some(cut), &mut room).0
    });
    let shown = cuts.find(|it| it.as_str().len() < bytes && fits(it, output))?;
    let content = answer.get("content").filter(|content| content.is_array())?;
    if blocks.is_empty() && !content.is_empty() {
        return None;
    }
    let told = shortening.told(&whole);
    let note = format!(
        "[mcp-protector: parts of `structuredContent`, of {bytes} bytes, are left out. {told}]"
    );
    let same = canonical(&whole).and_then(|whole| {
        let is_whole = |block: &Block<'m>| canonical(&block.says).as_ref() == Some(&whole);
        blocks.iter().position(is_whole)
    });
    if let Some(same) = same {
        let block = blocks.remove(same);
        shorter.say(block, format!("{}\n{note}", shown.as_str()));
    } else if let Some(last) = blocks.pop() {
        let text = shortening.shortened(&last.says, preset, over);
        let text = text.unwrap_or_else(|| last.says.clone());
        shorter.say(last, format!("{text}\n{note}"));
    } else {
        let kind = ("type", Fragment::string("text"));
        let block = Fragment::object([kind, ("text", Fragment::string(&note))]);
        shorter.note(format!("{place}/content"), 0);
        shorter.replaced.push((content, Fragment::array([block])));
    }
    shorter.note(format!("{place}/structuredContent"), bytes);
    shorter.replaced.push((value, shown));
    Some(())
}

/// What a JSON text says, in whatever order and spelling.
fn canonical(text: &str) -> Option<String> {
    let document = Document::decode(text.as_bytes(), &Limits::default()).ok()?;
    Some(document.root().canonical())
}

fn fits(shown: &Fragment, output: Output<'_>) -> bool {
    match output {
        Output::Any => true,
        Output::Unknown => false,
        Output::Schema(schema) => {
            let decoded = Document::decode(shown.as_str().as_bytes(), &Limits::default());
            decoded.is_ok_and(|document| schema.check(document.root()).is_ok())
        }
    }
}

/// Whether all of a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Whole,
    InPart,
}

/// A value as it is by now, with as much of its arrays and strings as there is room for, and of each
/// array the first item at least. The wire's depth limit bounds the recursion.
fn built<'m>(
    value: Value<'m>,
    said: &dyn Fn(Value<'m>) -> Option<String>,
    cut: Option<Cut>,
    room: &mut usize,
) -> (Fragment, Shown) {
    let mut all = Shown::Whole;
    if value.is_object() {
        let members: Vec<(String, Fragment)> = value
            .entries()
            .map(|(key, member)| {
                *room = room.saturating_sub(key.len() + 4);
                let (member, shown) = built(member, said, cut, room);
                if shown == Shown::InPart {
                    all = Shown::InPart;
                }
                (key.into_owned(), member)
            })
            .collect();
        let members = members.iter().map(|(key, it)| (key.as_str(), it.clone()));
        return (Fragment::object(members), all);
    }
    if value.is_array() {
        let mut items = Vec::new();
        for item in value.items() {
            // Without any item a list would say that there is nothing.
            let is_first = items.is_empty();
            if cut.is_some() && *room == 0 && !is_first {
                all = Shown::InPart;
                break;
            }
            let before = *room;
            let (item, shown) = built(item, said, cut, room);
            // One that does not fit is not shown in part, unless it is the first.
            let is_whole = shown == Shown::Whole && before > item.as_str().len();
            if cut.is_some() && !is_whole {
                all = Shown::InPart;
                *room = 0;
                if is_first {
                    items.push(item);
                }
                break;
            }
            *room = before.saturating_sub(item.as_str().len() + 1);
            items.push(item);
        }
        return (Fragment::array(items), all);
    }
    let Some(text) = said(value) else {
        *room = room.saturating_sub(value.text().len());
        return (Fragment::copy_of(value), all);
    };
    let shown = match cut {
        Some(Cut::ArraysAndStrings) if text.len() > SHORT.max(*room) => {
            all = Shown::InPart;
            let end = text.floor_char_boundary(SHORT.max(*room));
            format!("{}…", text.get(..end).unwrap_or_default())
        }
        Some(Cut::ArraysAndStrings | Cut::Arrays) | None => text,
    };
    let shown = Fragment::string(&shown);
    *room = room.saturating_sub(shown.as_str().len());
    (shown, all)
}
