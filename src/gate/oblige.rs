//! Carries out what an allowance obliges to. The only code that edits a message.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::audit::{self, Redactor};
use crate::guard::{DlpFinding, MemberNames};
use crate::policy::{CanonicalPathError, Obligation, PolicySnapshot, Roots};
use crate::wire::{Edits, Fragment, Limits, Message, Side, Value, pointer_step};

use super::canonical::{self, value_at};
use super::classified::Identified;
use super::edit_counts::{self, EditCounts};
use super::edits::{Cleaned, EditPlan, Removal};
use super::handles::{self, Handles};
use super::look::shows;
use super::noted::{MOST_NOTED, note_replaced};
use super::obliged::Obliged;
use super::passage::Passage;
use super::permit::Allowed;
use super::query::Respelled;
use super::rejection::Rejection;
use super::renaming::{note_renamed, outward, renamed};
use super::saver::Saved;
use super::settings::Secrets;
use super::shortening::Shortening;
use super::{excerpts, leaks, sensitivity, user_identity};

/// What the audit says of a secret of the configuration's own.
const OWN_SECRET: &str = "configuration_secret";

/// What the steps before want changed.
#[derive(Debug, Default)]
pub(super) struct Wanted<'m> {
    pub(super) plan: EditPlan<'m>,
    pub(super) shortening: Option<Shortening<'m>>,
    /// The roots that the agent knows by other paths.
    pub(super) renaming: Option<&'m Roots>,
    /// What must go back as it is.
    pub(super) handles: Handles,
    /// Whether the message says how many edits it has.
    pub(super) tells_edits: bool,
    /// What the names of its members say of their values.
    pub(super) names: MemberNames,
}

impl<'m> Wanted<'m> {
    /// What is so of any message.
    pub(super) fn of(identified: &Identified<'_>, snapshot: &'m PolicySnapshot) -> Self {
        Self {
            renaming: outward(identified, snapshot),
            handles: handles::of(identified),
            tells_edits: edit_counts::are_told(identified),
            names: leaks::member_names(identified),
            ..Self::default()
        }
    }
}

/// What strings say from here on, by where they begin.
type Said<'m> = HashMap<usize, (Value<'m>, String)>;

/// Applies obligations, removals, rewrites, ids and redactions to a message, and seals it.
///
/// # Errors
/// [`Rejection`] when a secret of the configuration's own stands where no string can be
/// replaced: in a key, or as a number.
pub(super) fn oblige<'m>(
    message: &'m Message,
    mut allowed: Allowed,
    wanted: Wanted<'m>,
    ids: Vec<(Value<'m>, Fragment)>,
    mut passage: Passage,
    (secrets, others): (&Redactor, Option<&Secrets>),
) -> Result<Obliged, Rejection> {
    let mut edits: Edits<'m> = message.edits();
    let mut notes = Vec::with_capacity(wanted.plan.removals.len());
    let mut brings = sensitivity::obliged(&allowed);
    let obligations = carried_out(message, &allowed, &mut edits, &mut notes);
    for removal in &wanted.plan.removals {
        allowed.respelled.remove(&removal.pointer);
    }
    let gone: Vec<Range<usize>> = wanted
        .plan
        .removals
        .iter()
        .map(|it| it.item.range())
        .collect();
    let mut counts = EditCounts::default();
    take_out(wanted.plan.removals, &mut edits, &mut notes);
    let mut own = Vec::with_capacity(wanted.plan.rewrites.len() + ids.len());
    for rewrite in wanted.plan.rewrites {
        own.push(rewrite.value.range());
        edits.replace(rewrite.value, rewrite.with);
        notes.push(audit::Edit {
            pointer: rewrite.pointer.into(),
            op: audit::EditOp::Replace,
            reason: Some(rewrite.because.into()),
        });
    }
    let respelled = respell(message, &allowed.respelled, &mut notes)?;
    // What a server wrote is no less looked at for that.
    let mut links = Said::default();
    for (value, text) in respelled {
        if allowed.from() == Side::Agent {
            own.push(value.range());
            edits.replace(value, Fragment::string(text));
        } else {
            links.insert(value.range().start, (value, text.to_owned()));
        }
    }
    for (value, id) in ids {
        own.push(value.range());
        edits.replace(value, id);
    }
    let mut texts = cleaned(wanted.plan.texts, &gone, &own, &mut notes);
    counts.sanitized = texts.len();
    texts.extend(links);
    let from = allowed.from();
    // What is hidden in a credential may not hide it.
    let found = leaks::received(
        message,
        from,
        &own,
        &wanted.handles,
        &texts,
        (others, wanted.names),
    )?;
    brings = brings.join(&sensitivity::shown(&found));
    let mut redactions = Vec::new();
    let mut said = without_credentials(texts, found.strings, secrets, &mut redactions);
    if may_hold(message.text(), secrets) {
        conceal(
            message.document().root(),
            secrets,
            &own,
            &mut said,
            &mut redactions,
        );
    }
    if let Some(roots) = wanted.renaming {
        rename(message, roots, &own, &mut said, &mut notes);
    }
    let mut saved = Saved::default();
    if let Some(shortening) = wanted.shortening {
        let keeping = shortening.keeping(&brings, secrets);
        let shortening = shortening.with(&keeping);
        counts.truncated = shorten(message, shortening, &mut edits, &mut said, &mut notes);
        saved = keeping.end()?;
    }
    for (value, text) in said.into_values() {
        edits.replace(value, Fragment::string(&text));
    }
    counts.redacted = redactions.len();
    let counts = wanted.tells_edits.then_some(&counts);
    edit_counts::tell(message, from, counts, &mut edits, &mut notes);
    let assertion = wanted.plan.user.assertion.as_deref();
    user_identity::write(message, meta_of(message), assertion, &mut edits, &mut notes);
    passage.proof = wanted.plan.user.proof;
    passage.carried.conceal(secrets);
    let permit = allowed.seal(edits, passage);
    if shows(permit.line(), secrets) {
        return Err(Rejection::secret());
    }
    Ok(Obliged {
        permit,
        edits: notes,
        obligations,
        redactions,
        findings: found.findings,
        saved,
        brings,
    })
}

/// Removes items, each with its reason.
fn take_out<'m>(removals: Vec<Removal<'m>>, edits: &mut Edits<'m>, notes: &mut Vec<audit::Edit>) {
    for removal in removals {
        edits.remove(removal.item);
        notes.push(audit::Edit {
            pointer: removal.pointer.into(),
            op: audit::EditOp::Remove,
            reason: Some(removal.because.into()),
        });
    }
}

/// What strings say without credentials and secrets.
fn without_credentials<'m>(
    texts: Said<'m>,
    leaks: Vec<DlpFinding<'m>>,
    secrets: &Redactor,
    redactions: &mut Vec<String>,
) -> Said<'m> {
    let mut said = Said::default();
    for (start, (value, text)) in texts {
        let redacted = secrets.redact(&text);
        redactions.extend(matches!(redacted, Cow::Owned(_)).then(|| OWN_SECRET.to_owned()));
        said.insert(start, (value, redacted.into_owned()));
    }
    for leak in leaks {
        redactions.extend(leak.rules.iter().map(ToString::to_string));
        // Its own secrets are no less secret where others stand beside them.
        let text = secrets.redact(&leak.without).into_owned();
        said.insert(leak.value.range().start, (leak.value, text));
    }
    said
}

/// Carries out what allowances oblige to, once each, and says what that was.
fn carried_out<'m>(
    message: &'m Message,
    allowed: &Allowed,
    edits: &mut Edits<'m>,
    notes: &mut Vec<audit::Edit>,
) -> Vec<String> {
    let due = allowed.allowances.iter();
    let due: BTreeSet<&Obligation> = due.flat_map(|allowance| &allowance.obligations).collect();
    let mut told = Vec::with_capacity(due.len());
    for obligation in due {
        match obligation {
            // Paths and URIs are written below, where there are any; `sensitivity.rs` raises before
            // anything leaves.
            Obligation::CanonicalPaths
            | Obligation::CanonicalUris
            | Obligation::Label(_)
            | Obligation::Raise(_) => told.push(obligation.to_string()),
            // A note for the audit changes nothing in the message.
            Obligation::Annotate(note) => told.push(note.to_string()),
            Obligation::StripMeta(key) => {
                told.push(obligation.to_string());
                let (place, meta) = meta_of(message);
                if let Some(value) = meta.and_then(|meta| meta.get(key)) {
                    edits.remove(value);
                    notes.push(audit::Edit {
                        pointer: format!("{place}/_meta/{}", pointer_step(key)).into(),
                        op: audit::EditOp::Remove,
                        reason: Some(obligation.to_string().into()),
                    });
                }
            }
        }
    }
    told
}

/// What is written as it was judged, and where.
fn respell<'m, 'p>(
    message: &'m Message,
    respelled: &'p Respelled,
    notes: &mut Vec<audit::Edit>,
) -> Result<Vec<(Value<'m>, &'p str)>, Rejection> {
    let mut all = Vec::with_capacity(respelled.len());
    for place in places(message, respelled) {
        let (value, pointer, text) = place?;
        if all.len() < MOST_NOTED {
            notes.push(audit::Edit {
                pointer: pointer.to_owned().into(),
                op: audit::EditOp::Replace,
                reason: Some(canonical::cause(pointer).to_string().into()),
            });
        }
        all.push((value, text));
    }
    Ok(all)
}

/// The message as it will be sent, as far as its paths and URIs are concerned, for whatever else is
/// asked of its words; `None` where nothing is written otherwise.
pub(super) fn respelled(
    message: &Message,
    respelled: &Respelled,
    limits: &Limits,
) -> Result<Option<Message>, Rejection> {
    let strings = places(message, respelled).map(|place| {
        let (value, _, text) = place?;
        Ok((value, text.to_owned()))
    });
    let strings: Vec<_> = strings.collect::<Result<_, Rejection>>()?;
    rewritten(message, strings, limits)
}

/// A message with other texts; `None` where there are none. Nothing is judged yet.
pub(super) fn rewritten<'m>(
    message: &'m Message,
    strings: Vec<(Value<'m>, String)>,
    limits: &Limits,
) -> Result<Option<Message>, Rejection> {
    if strings.is_empty() {
        return Ok(None);
    }
    let mut edits = message.edits();
    for (value, text) in strings {
        edits.replace(value, Fragment::string(&text));
    }
    let text = edits.finish();
    Ok(Some(Message::decode(text.as_bytes(), limits)?))
}

/// A line of the gate's own with this assertion in it, and no other.
pub(super) fn asserting(
    line: &str,
    assertion: Option<&str>,
    limits: &Limits,
) -> Result<Fragment, Rejection> {
    let message = Message::decode(line.as_bytes(), limits)?;
    let (mut edits, meta) = (message.edits(), meta_of(&message));
    user_identity::write(&message, meta, assertion, &mut edits, &mut Vec::new());
    Ok(edits.into_fragment())
}

/// Where in a message something is written otherwise, by what pointer, and how.
fn places<'m, 'p>(
    message: &'m Message,
    respelled: &'p Respelled,
) -> impl Iterator<Item = Result<(Value<'m>, &'p str, &'p str), Rejection>> {
    let root = message.document().root();
    respelled.iter().map(move |(pointer, text)| {
        let place = value_at(root, pointer);
        let value = place.filter(|value| value.as_str().is_some());
        // INVARIANT: they were found at their pointers when they were judged.
        let value = value.ok_or_else(|| CanonicalPathError::Unclear(pointer.clone()))?;
        Ok((value, pointer.as_str(), text.as_str()))
    })
}

/// What texts say from here on, by where they begin: all that are still there, and not the gate's own.
fn cleaned<'m>(
    texts: Vec<Cleaned<'m>>,
    gone: &[Range<usize>],
    own: &[Range<usize>],
    notes: &mut Vec<audit::Edit>,
) -> Said<'m> {
    let stays = |text: &Cleaned<'_>| {
        let range = text.value.range();
        let within = |it: &Range<usize>| it.start <= range.start && range.end <= it.end;
        !gone.iter().any(within) && !own.contains(&range)
    };
    let kept: Vec<_> = texts.into_iter().filter(stays).collect();
    let told = |text: &Cleaned<'m>| (text.value, format!("hidden text: {}", text.removed));
    note_replaced(kept.iter().map(told), notes);
    let said = |text: Cleaned<'m>| (text.value.range().start, (text.value, text.without));
    kept.into_iter().map(said).collect()
}

/// Where the members are that a protocol of others may read, and their place (RFC 6901).
fn meta_of(message: &Message) -> (&'static str, Option<Value<'_>>) {
    let place = if message.params().is_some() {
        "/params"
    } else {
        "/result"
    };
    (place, message.meta())
}

/// Whether a message may hold a secret: as it is, or behind escapes that JSON does not ask for.
fn may_hold(text: &str, secrets: &Redactor) -> bool {
    let needless = || text.contains("\\u") || text.contains("\\/");
    !secrets.is_empty() && (shows(text, secrets) || needless())
}

/// Names roots as the agent knows them, in what the message says by now.
fn rename<'m>(
    message: &'m Message,
    roots: &Roots,
    own: &[Range<usize>],
    said: &mut Said<'m>,
    notes: &mut Vec<audit::Edit>,
) {
    let by_now = |value: Value<'m>| {
        let known = said.get(&value.range().start);
        let known = known.map(|(_, text)| Cow::Owned(text.clone()));
        let is_own = own.contains(&value.range());
        known.or_else(|| value.as_str().filter(|_| !is_own))
    };
    let renamed = renamed(message, roots, by_now);
    note_renamed(&renamed, notes);
    for (value, text) in renamed {
        said.insert(value.range().start, (value, text));
    }
}

/// Shortens what is too long of what the message says by now, and counts that.
fn shorten<'m>(
    message: &'m Message,
    shortening: Shortening<'_>,
    edits: &mut Edits<'m>,
    said: &mut Said<'m>,
    notes: &mut Vec<audit::Edit>,
) -> usize {
    let by_now = |value: Value<'m>| match said.get(&value.range().start) {
        Some((_, text)) => Some(text.clone()),
        None => value.as_str().map(Cow::into_owned),
    };
    let shorter = excerpts::shorter(message, shortening, &by_now);
    let count = shorter.notes.len();
    for note in shorter.notes.into_iter().take(MOST_NOTED) {
        notes.push(audit::Edit {
            pointer: note.pointer.into(),
            op: note.op,
            reason: Some(format!("an excerpt of {} bytes", note.bytes).into()),
        });
    }
    for (value, text) in shorter.said {
        said.insert(value.range().start, (value, text));
    }
    for (value, with) in shorter.replaced {
        edits.replace(value, with);
    }
    for value in shorter.removed {
        edits.remove(value);
    }
    count
}

/// Replaces secrets in every string. The wire's depth limit bounds the recursion.
fn conceal<'m>(
    value: Value<'m>,
    secrets: &Redactor,
    ids: &[Range<usize>],
    said: &mut Said<'m>,
    redactions: &mut Vec<String>,
) {
    for (_, member) in value.entries() {
        conceal(member, secrets, ids, said, redactions);
    }
    for item in value.items() {
        conceal(item, secrets, ids, said, redactions);
    }
    // What is written in place of an id is the gate's own.
    if let Some(text) = value.as_str()
        && !ids.contains(&value.range())
        && !said.contains_key(&value.range().start)
        && let Cow::Owned(redacted) = secrets.redact(&text)
    {
        said.insert(value.range().start, (value, redacted));
        redactions.push(OWN_SECRET.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(strings: usize) -> Message {
        let strings = vec![r#""a/../b""#; strings].join(",");
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"n":1,"all":[{strings}]}}}}}}"#
        );
        Message::decode(text.as_bytes(), &Limits::default()).unwrap()
    }

    fn at(pointers: impl IntoIterator<Item = String>) -> Respelled {
        let all = pointers.into_iter();
        all.map(|pointer| (pointer, "b".to_owned())).collect()
    }

    #[test]
    fn what_is_not_where_it_was_judged_does_not_pass() {
        let message = message(1);
        for (pointer, passes) in [
            ("/params/arguments/all/0", true),
            ("/params/arguments/all/1", false),
            ("/params/arguments/gone", false),
            ("/params/arguments/n", false),
        ] {
            let respelled = at([pointer.to_owned()]);
            let written = super::respelled(&message, &respelled, &Limits::default());
            assert_eq!(written.is_ok(), passes, "{pointer}");
            let mut notes = Vec::new();
            let places = respell(&message, &respelled, &mut notes);
            assert_eq!(places.is_ok(), passes, "{pointer}");
            assert_eq!(notes.len(), usize::from(passes), "{pointer}");
        }
    }

    #[test]
    fn everything_is_written_otherwise_and_only_so_much_is_noted() {
        let message = message(MOST_NOTED + 5);
        let all = (0..MOST_NOTED + 5).map(|index| format!("/params/arguments/all/{index}"));
        let (respelled, mut notes) = (at(all), Vec::new());
        let places = respell(&message, &respelled, &mut notes).unwrap();
        assert_eq!((places.len(), notes.len()), (MOST_NOTED + 5, MOST_NOTED));
    }

    #[test]
    fn a_message_that_grows_beyond_the_limits_does_not_pass() {
        let message = message(1);
        let value = value_at(message.document().root(), "/params/name").unwrap();
        let limits = Limits::default();
        let check = |text: String| rewritten(&message, vec![(value, text)], &limits).is_ok();
        assert!(check("u".to_owned()));
        assert!(!check("u".repeat(limits.max_bytes)));
    }
}
