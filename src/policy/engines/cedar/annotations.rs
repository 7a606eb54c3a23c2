//! What `@…` on a policy means.

use std::sync::Arc;

use crate::policy::suggest::nearest;
use crate::policy::{EscalationTarget, Obligation, OnDeny};

/// The annotations of one policy.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) id: Option<String>,
    pub(super) code: Option<Arc<str>>,
    pub(super) advice: Option<Arc<str>>,
    pub(super) on_deny: Option<OnDeny>,
    pub(super) obligations: Vec<Obligation>,
    pub(super) problems: Vec<AnnotationProblem>,
}

/// What is wrong with an annotation.
#[derive(Debug)]
pub(super) struct AnnotationProblem {
    /// The annotation; none where the policy is not what all of them say.
    pub(super) key: Option<String>,
    pub(super) severity: miette::Severity,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

const KNOWN: [&str; 10] = [
    "id",
    "code",
    "advice",
    "requires_consent",
    "lint_ignore",
    "add_label",
    "raise_sensitivity",
    "obligation_annotate",
    "obligation_canonical",
    "obligation_strip_meta",
];

/// Annotations that had another name before. They are errors: a warning can be allowed, and the policy would
/// then be without them.
const RENAMED: [(&str, &str); 4] = [
    ("lint_allow", "lint_ignore"),
    ("obligation_label", "add_label"),
    ("obligation_raise", "raise_sensitivity"),
    ("on_deny", "requires_consent"),
];

impl Annotations {
    /// `permits` tells a permit from a forbid: obligations only make sense on what permits.
    pub(super) fn read<'p>(
        annotations: impl Iterator<Item = (&'p str, &'p str)>,
        effect: cedar_policy::Effect,
    ) -> Self {
        let mut read = Self::default();
        // The order of annotations is not the author's business.
        let mut annotations: Vec<_> = annotations.collect();
        annotations.sort_unstable();
        for (key, value) in annotations {
            let known = read.problems.len();
            read.take(key, value);
            for problem in read.problems.iter_mut().skip(known) {
                problem.key = Some(key.to_owned());
            }
        }
        if effect == cedar_policy::Effect::Forbid && !read.obligations.is_empty() {
            read.obligations.clear();
            read.error(
                "an obligation on a `forbid` would never be carried out".to_owned(),
                Some("put it on the `permit` whose use it goes with".to_owned()),
            );
        }
        if effect == cedar_policy::Effect::Permit && read.on_deny.take().is_some() {
            read.error(
                "`@requires_consent` on a `permit` has no effect".to_owned(),
                Some(
                    "put it on a `forbid` with `unless { context.env.consent.granted }`".to_owned(),
                ),
            );
        }
        read
    }

    fn take(&mut self, key: &str, value: &str) {
        match key {
            "id" if value.is_empty() => self.error("`@id` is empty".to_owned(), None),
            "id" => self.id = Some(value.to_owned()),
            "code" => self.code = Some(value.into()),
            "advice" => self.advice = Some(value.into()),
            // Read by `check`, which knows the lints; it changes no decision.
            "lint_ignore" => {}
            "requires_consent" if value.is_empty() => self.on_deny = Some(OnDeny::AskConsent),
            "requires_consent" => self.error("`@requires_consent` takes no value".to_owned(), None),
            "obligation_annotate" if value.is_empty() => {
                self.error("`@obligation_annotate` needs a text".to_owned(), None);
            }
            "obligation_annotate" => self.obligations.push(Obligation::Annotate(value.into())),
            "obligation_canonical" => {
                let words: Vec<&str> = value.split_whitespace().collect();
                let known: Vec<Obligation> = words
                    .iter()
                    .filter_map(|it| Obligation::canonical(it))
                    .collect();
                if known.is_empty() || known.len() < words.len() {
                    self.error(
                        format!(
                            "`@obligation_canonical` does not know `{}`",
                            value.escape_debug()
                        ),
                        Some("known: `paths`, `uris`".to_owned()),
                    );
                }
                self.obligations.extend(known);
            }
            "add_label" => {
                let before = self.obligations.len();
                let labels = value.split_whitespace();
                self.obligations
                    .extend(labels.map(|label| Obligation::Label(label.into())));
                if self.obligations.len() == before {
                    self.error(
                        "`@add_label` needs the labels".to_owned(),
                        Some("for example `@add_label(\"pii\")`".to_owned()),
                    );
                }
            }
            "raise_sensitivity" => match EscalationTarget::named(value) {
                Some(to) => self.obligations.push(Obligation::Raise(to)),
                None => self.error(
                    format!(
                        "`@raise_sensitivity` does not know `{}`",
                        value.escape_debug()
                    ),
                    Some("known: `internal`, `confidential`, `secret`, `untrusted`".to_owned()),
                ),
            },
            "obligation_strip_meta" => {
                let keys = value.split_whitespace();
                let strip = keys.map(|key| Obligation::StripMeta(key.into()));
                let before = self.obligations.len();
                self.obligations.extend(strip);
                if self.obligations.len() == before {
                    self.error(
                        "`@obligation_strip_meta` needs the keys to strip".to_owned(),
                        Some(
                            "for example `@obligation_strip_meta(\"example.com/user\")`".to_owned(),
                        ),
                    );
                }
            }
            _ if let Some((_, name)) = RENAMED.iter().find(|(old, _)| *old == key) => self.error(
                format!("unknown annotation `@{key}`"),
                Some(format!("it is `@{name}` now")),
            ),
            _ if key.starts_with("obligation") => {
                self.error(
                    format!("unknown obligation `@{key}`"),
                    Some(suggestion(key).unwrap_or_else(|| {
                        "known: `@obligation_annotate`, `@obligation_canonical`, `@add_label`, \
                         `@raise_sensitivity`, `@obligation_strip_meta`"
                            .to_owned()
                    })),
                );
            }
            _ => self.problems.push(AnnotationProblem {
                key: None,
                severity: miette::Severity::Warning,
                message: format!("unknown annotation `@{key}`"),
                help: suggestion(key),
            }),
        }
    }

    fn error(&mut self, message: String, help: Option<String>) {
        self.problems.push(AnnotationProblem {
            key: None,
            severity: miette::Severity::Error,
            message,
            help,
        });
    }
}

fn suggestion(key: &str) -> Option<String> {
    nearest(key, KNOWN.iter().copied()).map(|known| format!("did you mean `@{known}`?"))
}
