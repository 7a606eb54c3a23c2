//! How the texts of one result are shortened, and what becomes of the rest.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::audit::{Finding, Guard, Redactor};
use crate::guard::{Preset, Schema, excerpt};
use crate::policy::{PolicySnapshot, Received, RequiredDetectors, SessionSensitivity};
use crate::session::Target;
use crate::wire::KnownMethod;

use super::classified::{Role, Scene};
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::kept::{Kept, Origin, Whole};
use super::look::shows;
use super::query::{Doing, Understood};
use super::rejection::Rejection;
use super::saver::Saved;
use super::saving::{Saving, Unsaved, is_covered};
use super::settings::Excerpts;

const NOT_KEPT: &str = "They are not kept.";

/// As long as what is said of something that is left out: what is no longer than that stays.
pub(super) const NOTICE: usize = 200;

/// Shortens the texts of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortening<'g> {
    kept: &'g Kept,
    /// What a session has read with the result, as far as was known before the reply was judged.
    before: [&'g SessionSensitivity; 2],
    excerpts: &'g Excerpts,
    scene: &'g Scene,
    of: Of<'g>,
    target: &'g Target,
    received: &'g Received,
    looked_for: RequiredDetectors,
    now: Duration,
    now_ms: i64,
    snapshot: &'g PolicySnapshot,
    keeping: Option<&'g Keeping<'g>>,
}

/// What the texts of one result that are kept have in common.
#[derive(Debug)]
pub(super) struct Keeping<'g> {
    origin: Arc<Origin>,
    /// The gate's own, which are not kept: whoever reads on chooses where, and might read one by halves.
    secrets: &'g Redactor,
    shows_a_secret: AtomicBool,
    /// Where texts are saved instead, if they are to be, or why they are not.
    saving: Option<Result<Saving<'g>, Unsaved>>,
    saved: Mutex<Saved>,
}

/// Where all of a text can be read.
enum Place {
    Resource(String),
    File(String),
    Nowhere,
}

impl Keeping<'_> {
    /// What became of texts that were to be saved.
    ///
    /// # Errors
    /// [`Rejection`] where a text was to be kept that shows a secret.
    pub(super) fn end(self) -> Result<Saved, Rejection> {
        if self.shows_a_secret.load(Ordering::Relaxed) {
            return Err(Rejection::secret());
        }
        let saved = self.saved.into_inner();
        Ok(saved.unwrap_or_else(PoisonError::into_inner))
    }

    /// Saves a text where it is to be saved, and says where it is.
    fn save(&self, text: &str) -> Option<String> {
        let saving = self.saving.as_ref()?;
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if saved.is_over {
            return None;
        }
        let outcome = match saving {
            Ok(saving) => saving
                .save(text, saved.files.len())
                .map_err(|why| why.to_string()),
            Err(why) => Err(why.to_string()),
        };
        let (code, detail) = match &outcome {
            Ok((path, _)) => ("result_saved", path),
            Err(why) => ("result_not_saved", why),
        };
        saved.findings.push(Finding {
            guard: Guard::Truncation,
            code: code.into(),
            detail: detail.as_str().into(),
        });
        saved.is_over = outcome.is_err();
        let (path, file) = outcome.ok()?;
        saved.files.push(file);
        Some(path)
    }
}

/// What is known of the structured content that a tool may answer with.
#[derive(Clone, Copy)]
pub(super) enum Output<'s> {
    /// Its definition says nothing of it.
    Any,
    Schema(&'s Schema),
    /// Its definition is not kept, or cannot be used.
    Unknown,
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "Any",
            Self::Schema(_) => "Schema",
            Self::Unknown => "Unknown",
        })
    }
}

/// What answers, and how its texts are shortened, as far as somebody has said.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of<'g> {
    Tool(Preset, Output<'g>),
    Resource(Option<Preset>),
    Prompt(Option<Preset>),
}

impl<'g> Of<'g> {
    /// `None` where everything stays.
    fn answer(understood: &'g Understood<'_>, excerpts: &Excerpts) -> Option<Self> {
        let asked_with = match &understood.identified.role {
            Role::Reply(taken) => Some(taken.exchange.method),
            Role::Request { .. } | Role::Notification { .. } => None,
        };
        match (&understood.target, asked_with) {
            (Target::Tool(name), _) => {
                let preset = excerpts.tools.get(name).copied().unwrap_or_default();
                let is_cut = preset != Preset::Whole;
                is_cut.then(|| Self::Tool(preset, output(understood)))
            }
            (Target::Resource(uri), Some(KnownMethod::ResourcesRead)) => {
                Some(Self::Resource(excerpts.of_uri(uri)))
            }
            (Target::Prompt(name), Some(KnownMethod::PromptsGet)) => {
                Some(Self::Prompt(excerpts.prompts.get(name).copied()))
            }
            (Target::Resource(_) | Target::Prompt(_) | Target::Method(_) | Target::Server, _) => {
                None
            }
        }
    }
}

impl<'g> Shortening<'g> {
    /// Bytes that the texts of a result may have, and its structured content.
    pub(super) fn over(self) -> usize {
        self.excerpts.over
    }

    pub(super) fn of(self) -> Of<'g> {
        self.of
    }

    /// What its texts are kept with; `brings` is what a session has read with the result.
    pub(super) fn keeping<'k>(
        self,
        brings: &SessionSensitivity,
        secrets: &'k Redactor,
    ) -> Keeping<'k>
    where
        'g: 'k,
    {
        let before = self.before.into_iter();
        let brings = before.fold(brings.clone(), SessionSensitivity::join);
        Keeping {
            saving: self.saving(&brings),
            saved: Mutex::default(),
            origin: Arc::new(Origin {
                of: self.target.clone(),
                received: self.received.clone(),
                looked_for: self.looked_for,
                brings,
            }),
            secrets,
            shows_a_secret: AtomicBool::new(false),
        }
    }

    fn saving(self, brings: &SessionSensitivity) -> Option<Result<Saving<'g>, Unsaved>> {
        let (save, saver) = (self.excerpts.save.as_ref()?, self.kept.saver.as_ref()?);
        let saving = Saving::of(save, saver, self.snapshot, self.now_ms);
        Some(saving.and_then(|(saving, root)| {
            // The server may repeat in any result what an earlier one brought.
            let brings = brings.clone().join(&self.scene.held);
            is_covered(&root, self.received, &brings)?;
            Ok(saving)
        }))
    }

    /// The same, where what is left out is kept.
    pub(super) fn with<'k>(self, keeping: &'k Keeping<'k>) -> Shortening<'k>
    where
        'g: 'k,
    {
        Shortening {
            keeping: Some(keeping),
            ..self
        }
    }

    /// What is said of a resource by its URI.
    pub(super) fn of_uri(self, uri: &str) -> Option<Preset> {
        self.excerpts.of_uri(uri)
    }

    /// What stands for a text that is longer than that; `None` where it may stay.
    pub(super) fn shortened(self, text: &str, preset: Preset, most: usize) -> Option<String> {
        let shown = excerpt(text, preset, most)?;
        let gap = shown.gap();
        if gap.len() <= NOTICE {
            return None;
        }
        let (from, to, all) = (gap.start, gap.end, text.len());
        let whole = match self.keep(text) {
            Place::Resource(uri) => format!("Read them as the resource {uri}?from={from}"),
            Place::File(path) => format!("All of it is the file {path}"),
            Place::Nowhere => NOT_KEPT.to_owned(),
        };
        let part = |range| text.get(range).unwrap_or_default();
        Some(format!(
            "{}\n[mcp-protector: bytes {from} to {to} of {all} are left out. {whole}]\n{}",
            part(shown.head),
            part(shown.tail)
        ))
    }

    /// Where a text can be read of which nothing is shown.
    pub(super) fn told(self, text: &str) -> String {
        match self.keep(text) {
            Place::Resource(uri) => format!("Read all of it as the resource {uri}"),
            Place::File(path) => format!("All of it is the file {path}"),
            Place::Nowhere => NOT_KEPT.to_owned(),
        }
    }

    fn keep(self, text: &str) -> Place {
        let Some(keeping) = self.keeping else {
            return Place::Nowhere;
        };
        if shows(text, keeping.secrets) {
            keeping.shows_a_secret.store(true, Ordering::Relaxed);
            return Place::Nowhere;
        }
        if let Some(path) = keeping.save(text) {
            return Place::File(path);
        }
        let whole = Whole {
            text: text.to_owned(),
            origin: Arc::clone(&keeping.origin),
        };
        let kept = self.kept.keep(&self.scene.agent.id, whole, self.now);
        kept.map_or(Place::Nowhere, Place::Resource)
    }
}

/// What the tool may answer with, by the definition that it had when it was called.
fn output<'u>(understood: &'u Understood<'_>) -> Output<'u> {
    let Role::Reply(taken) = &understood.identified.role else {
        return Output::Unknown;
    };
    let offered = taken.exchange.about.offered.as_ref();
    let Some(schemas) = offered.and_then(|offered| offered.schemas.as_ref()) else {
        return Output::Unknown;
    };
    match schemas.output() {
        None => Output::Any,
        Some(Ok(schema)) => Output::Schema(schema),
        Some(Err(_)) => Output::Unknown,
    }
}

/// Finds results that are too long.
#[derive(Debug)]
pub(super) struct Shortener(pub(super) Arc<Kept>);

impl Filter for Shortener {
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        cx.plan.shortened_over = shortening(cx, &self.0).map(Shortening::over);
        Flow::DONE
    }
}

/// How the texts of a result are to be shortened, if they are.
pub(super) fn shortening<'g>(cx: &'g RequestContext<'_>, kept: &'g Kept) -> Option<Shortening<'g>> {
    let understood = &cx.understood;
    let excerpts = cx.terms.guards.excerpts.as_ref()?;
    let of = Of::answer(understood, excerpts)?;
    let mut questions = understood.questions.iter();
    let received = questions.find_map(|question| {
        if let Doing::ReceiveResult(received) = &question.doing {
            Some(received)
        } else {
            None
        }
    })?;
    let Role::Reply(taken) = &understood.identified.role else {
        return None;
    };
    Some(Shortening {
        kept,
        before: [&cx.brings, &taken.exchange.admission.brings],
        excerpts,
        scene: &understood.identified.scene,
        of,
        target: &understood.target,
        received,
        looked_for: cx.snapshot.looks_for(),
        now: cx.now.at,
        now_ms: cx.now.now_ms,
        snapshot: cx.snapshot,
        keeping: None,
    })
}
