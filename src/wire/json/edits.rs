//! Changes to a copy of a document's text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::document::Document;
use super::fragment::{Fragment, push_member};
use super::value::Value;

/// Changes to one document, made in the order given when [`Edits::finish`] is called.
///
/// Every value outside the changes keeps its very text. A change inside a value that is replaced or
/// removed is dropped, whichever came first; a removed value stays removed, though its key can be
/// inserted anew. The outermost value cannot be removed: it is no member and no item.
///
/// # Panics
///
/// `replace`, `remove` and `insert` panic on a value of another document: carrying out the change
/// in the wrong place, or not at all, would send unevaluated text.
#[derive(Debug)]
pub struct Edits<'d> {
    document: &'d Document,
    /// By node index, hence in the order of the text, and a parent before its children.
    changes: BTreeMap<usize, ValueChange>,
    /// New members by the node index of their object.
    inserts: BTreeMap<usize, Vec<(String, Fragment)>>,
}

#[derive(Debug)]
enum ValueChange {
    Replace(Fragment),
    Remove,
}

impl Document {
    /// A list of changes to make in a copy of the text.
    pub fn edits(&self) -> Edits<'_> {
        Edits {
            document: self,
            changes: BTreeMap::new(),
            inserts: BTreeMap::new(),
        }
    }
}

impl<'d> Edits<'d> {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.inserts.is_empty()
    }

    /// Puts `with` in the place of `value`; a member keeps its key.
    pub fn replace(&mut self, value: Value<'d>, with: Fragment) {
        self.assert_own(value);
        if !self.is_removed(value) {
            self.changes
                .insert(value.index(), ValueChange::Replace(with));
        }
    }

    /// Takes an item out of its array, or a member with its key out of its object.
    pub fn remove(&mut self, value: Value<'d>) {
        self.assert_own(value);
        if value.index() != self.document.root().index() {
            self.changes.insert(value.index(), ValueChange::Remove);
        }
    }

    /// Gives `object` the member `key`, in place of the one it has or at its end.
    /// Dropped when `object` is of another kind.
    pub fn insert(&mut self, object: Value<'d>, key: &str, value: Fragment) {
        self.assert_own(object);
        if !object.is_object() {
            return;
        }
        if let Some(member) = object.get(key).filter(|&member| !self.is_removed(member)) {
            return self.replace(member, value);
        }
        let members = self.inserts.entry(object.index()).or_default();
        match members.iter_mut().find(|(present, _)| present == key) {
            Some(member) => member.1 = value,
            None => members.push((key.to_owned(), value)),
        }
    }

    /// The compact text with all changes made.
    pub fn finish(self) -> String {
        self.spliced(0..self.document.text().len(), self.splices().into_iter())
    }

    /// A part of the text with these replacements, which lie in it.
    fn spliced<'s>(&self, part: Range<usize>, splices: impl Iterator<Item = Splice<'s>>) -> String {
        let splices: Vec<_> = splices.collect();
        let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
        let mut out = String::with_capacity(part.len() + added);
        let mut copied = part.start;
        for Splice { range, text } in splices {
            out.push_str(self.document.slice(copied..range.start));
            out.push_str(&text);
            copied = range.end;
        }
        out.push_str(self.document.slice(copied..part.end));
        out
    }

    /// The same, as a part of another text.
    pub fn into_fragment(self) -> Fragment {
        Fragment::trusted(self.finish())
    }

    /// Values in the order of the text, none within another, each with the changes in it made. Nothing around them
    /// may be replaced or removed.
    pub fn fragments_of(&self, values: impl Iterator<Item = Value<'d>>) -> Vec<Fragment> {
        let mut splices = self.splices().into_iter().peekable();
        let fragments = values.map(|value| {
            self.assert_own(value);
            let part = value.range();
            while splices.next_if(|it| it.range.start < part.start).is_some() {}
            let of_value = std::iter::from_fn(|| splices.next_if(|it| it.range.end <= part.end));
            Fragment::trusted(self.spliced(part.clone(), of_value))
        });
        fragments.collect()
    }

    /// The changes as replacements of text, in order and apart from each other.
    fn splices(&self) -> Vec<Splice<'_>> {
        let root = self.document.root();
        let mut splices = Vec::new();
        if let Some(ValueChange::Replace(with)) = self.changes.get(&root.index()) {
            splices.push(Splice {
                range: root.range(),
                text: Cow::Borrowed(with.as_str()),
            });
            return splices;
        }
        // Each container with a change in it is walked once, so many removals from a long list
        // cost one walk and not one each.
        let mut open = vec![root];
        while let Some(container) = open.pop() {
            self.splice_children(container, &mut splices);
            let touched = |&child: &Value<'d>| self.is_open(child);
            open.extend(container.children().filter(touched));
        }
        splices.sort_unstable_by_key(|splice| splice.range.start);
        splices
    }

    /// A removal takes the comma before it when a sibling before it stays, else the one after it.
    fn splice_children<'s>(&'s self, container: Value<'d>, splices: &mut Vec<Splice<'s>>) {
        let mut stays = false;
        let mut children = container.children().peekable();
        while let Some(child) = children.next() {
            let member = child.node().member_range();
            let (range, text) = match self.changes.get(&child.index()) {
                Some(ValueChange::Remove) if stays => (member.start - 1..member.end, ""),
                Some(ValueChange::Remove) if children.peek().is_some() => {
                    (member.start..member.end + 1, "")
                }
                Some(ValueChange::Remove) => (member, ""),
                Some(ValueChange::Replace(with)) => {
                    stays = true;
                    (child.range(), with.as_str())
                }
                None => {
                    stays = true;
                    continue;
                }
            };
            splices.push(Splice {
                range,
                text: Cow::Borrowed(text),
            });
        }
        if let Some(members) = self.inserts.get(&container.index()) {
            let mut text = String::new();
            for (key, value) in members {
                if stays {
                    text.push(',');
                }
                stays = true;
                push_member(&mut text, key, value);
            }
            let end = container.range().end - 1;
            splices.push(Splice {
                range: end..end,
                text: Cow::Owned(text),
            });
        }
    }

    /// Whether a value stays as it is but something in it changes.
    fn is_open(&self, value: Value<'d>) -> bool {
        let subtree = value.index()..value.node().next as usize;
        !self.changes.contains_key(&value.index())
            && (self.changes.range(subtree.clone()).next().is_some()
                || self.inserts.range(subtree).next().is_some())
    }

    fn is_removed(&self, value: Value<'d>) -> bool {
        matches!(self.changes.get(&value.index()), Some(ValueChange::Remove))
    }

    fn assert_own(&self, value: Value<'_>) {
        assert!(
            value.belongs_to(self.document),
            "an edit must name a value of its own document"
        );
    }
}

struct Splice<'s> {
    range: Range<usize>,
    text: Cow<'s, str>,
}
