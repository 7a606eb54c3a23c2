//! Text that a server sends: without what nobody sees, and told of where it instructs.

use crate::audit::{Finding, Guard};
use crate::guard::StringRole as WordRole;
use crate::guard::text::{Flags, HiddenKinds, flags, revealed, sanitize};
use crate::guard::{MessagePart, message_strings};
use crate::session::Page;
use crate::wire::{KnownMethod, Message, Side, Value};

use super::classified::{Identified, Role};
use super::context::RequestContext;
use super::edits::{Cleaned, EditPlan};
use super::filter::{Filter, Flow, Hook};
use super::look::flags_in;
use super::settings::{Cleaning, Texts};

/// The most items of a list whose flags are told of each by itself.
const MOST_TOLD: usize = 32;

/// Removes invisible text from the messages of the server.
#[derive(Debug)]
pub(super) struct Sanitizer;

impl Filter for Sanitizer {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let identified = &cx.understood.identified;
        if identified.from == Side::Upstream {
            let (page, texts) = (cx.page.as_deref(), &cx.terms.guards.texts);
            sanitize_message(identified, page, texts, &mut cx.plan);
        }
        Flow::DONE
    }
}

fn sanitize_message<'m>(
    identified: &Identified<'m>,
    page: Option<&Page>,
    texts: &Texts,
    plan: &mut EditPlan<'m>,
) {
    let message: &'m Message = identified.message;
    let mut look = Look {
        strings: Vec::new(),
        cleaning: Cleaning::Off,
        removed: HiddenKinds::default(),
        named: HiddenKinds::default(),
        flags: Flags::default(),
        has_page: page.is_some(),
    };
    let (result, error, params) = (message.result(), message.error(), message.params());
    let result = result.map(|result| (result, result_of(identified, texts)));
    let error = error.map(|error| (error, (MessagePart::Content, texts.content)));
    let params = params.map(|params| (params, (MessagePart::Content, texts.content)));
    for (value, (part, cleaning)) in [result, error, params].into_iter().flatten() {
        if cleaning != Cleaning::Off {
            look.at(value, part, cleaning);
        }
    }
    plan.findings.extend(look.told());
    if look.cleaning != Cleaning::Off {
        plan.findings
            .extend(page.into_iter().flat_map(told_of_items));
    }
    plan.texts.append(&mut look.strings);
}

/// What a result consists of, and what is done about it.
fn result_of(identified: &Identified<'_>, texts: &Texts) -> (MessagePart, Cleaning) {
    let defines = matches!(&identified.role, Role::Reply(taken) if matches!(
        taken.exchange.method,
        KnownMethod::Initialize
            | KnownMethod::Discover
            | KnownMethod::ToolsList
            | KnownMethod::PromptsList
            | KnownMethod::ResourcesList
            | KnownMethod::ResourceTemplatesList
            | KnownMethod::PromptsGet
    ));
    if defines {
        (MessagePart::Definition(texts.longest), texts.definitions)
    } else {
        (MessagePart::Content, texts.content)
    }
}

struct Look<'m> {
    strings: Vec<Cleaned<'m>>,
    cleaning: Cleaning,
    removed: HiddenKinds,
    /// What hides in names, where nothing can be taken out.
    named: HiddenKinds,
    flags: Flags,
    /// Then its flags are known already, by item.
    has_page: bool,
}

impl<'m> Look<'m> {
    fn at(&mut self, value: Value<'m>, part: MessagePart, cleaning: Cleaning) {
        self.cleaning = cleaning;
        message_strings(value, part, &mut |word| match word.role {
            WordRole::Identifier => {
                self.named = self.named.and(revealed(&word.text).removed);
            }
            WordRole::Text(what) => {
                if !self.has_page {
                    self.flags = self.flags.and(flags(&word.text));
                }
                let found = sanitize(&word.text, what);
                self.removed = self.removed.and(found.removed);
                let wanted = cleaning == Cleaning::Clean && !found.removed.is_empty();
                if let (Some(value), true) = (word.value, wanted) {
                    self.strings.push(Cleaned {
                        value,
                        without: found.text.into_owned(),
                        removed: found.removed,
                    });
                }
            }
        });
    }

    fn told(&self) -> Vec<Finding> {
        let mut told = Vec::new();
        if self.cleaning == Cleaning::Warn && !self.removed.is_empty() {
            told.push(finding("hidden_text", self.removed.to_string()));
        }
        if !self.named.is_empty() {
            told.push(finding("hidden_text_in_name", self.named.to_string()));
        }
        if !self.flags.is_empty() {
            told.push(finding("flags", self.flags.to_string()));
        }
        told
    }
}

fn finding(code: &'static str, detail: String) -> Finding {
    Finding {
        guard: Guard::Text,
        code: code.into(),
        detail: detail.into(),
    }
}

/// The flags of what a list defines.
fn told_of_items(page: &Page) -> impl Iterator<Item = Finding> {
    let flagged = page.items.iter().filter_map(|item| {
        let flags = item.flags.filter(|flags| !flags.is_empty())?;
        Some(finding("flags", item.because(&flags.to_string())))
    });
    flagged.take(MOST_TOLD)
}

/// What instructs or hides in a definition, in all its words and names.
pub(super) fn flags_of(definition: Value<'_>) -> Flags {
    flags_in(definition, MessagePart::Definition(usize::MAX))
}

/// What hides in the names of a definition, where nothing can be taken out.
pub(super) fn hidden_names(definition: Value<'_>) -> HiddenKinds {
    let mut found = HiddenKinds::default();
    message_strings(
        definition,
        MessagePart::Definition(usize::MAX),
        &mut |word| {
            if word.role == WordRole::Identifier {
                found = found.and(revealed(&word.text).removed);
            }
        },
    );
    found
}
