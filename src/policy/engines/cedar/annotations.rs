//! What `@…` on a policy means.

use std::sync::Arc;

use crate::policy::Obligation;

/// The annotations of one policy.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) id: Option<String>,
    pub(super) code: Option<Arc<str>>,
    pub(super) advice: Option<Arc<str>>,
    pub(super) obligations: Vec<Obligation>,
    pub(super) problems: Vec<Problem>,
}

/// What is wrong with an annotation.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) severity: miette::Severity,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

const KNOWN: [&str; 6] = [
    "id",
    "code",
    "advice",
    "on_deny",
    "lint_allow",
    "obligation_annotate",
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
            read.take(key, value);
        }
        if effect == cedar_policy::Effect::Forbid && !read.obligations.is_empty() {
            read.obligations.clear();
            read.error(
                "an obligation on a `forbid` would never be carried out".to_owned(),
                Some("put it on the `permit` whose use it goes with".to_owned()),
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
            // Read when humans can be asked; until then the forbid that carries it stands.
            "on_deny" => {}
            // Read by `check`, which knows the lints; it changes no decision.
            "lint_allow" => {}
            "obligation_annotate" if value.is_empty() => {
                self.error("`@obligation_annotate` needs a text".to_owned(), None);
            }
            "obligation_annotate" => self.obligations.push(Obligation::Annotate(value.into())),
            _ if key.starts_with("obligation") => {
                self.error(
                    format!("unknown obligation `@{key}`"),
                    Some(suggestion(key).unwrap_or_else(|| {
                        "known: `@obligation_annotate`; an obligation that nobody carries out \
                         would be an empty promise"
                            .to_owned()
                    })),
                );
            }
            _ => self.problems.push(Problem {
                severity: miette::Severity::Warning,
                message: format!("unknown annotation `@{key}`"),
                help: suggestion(key),
            }),
        }
    }

    fn error(&mut self, message: String, help: Option<String>) {
        self.problems.push(Problem {
            severity: miette::Severity::Error,
            message,
            help,
        });
    }
}

fn suggestion(key: &str) -> Option<String> {
    let nearest = KNOWN
        .iter()
        .min_by_key(|known| strsim::damerau_levenshtein(known, key))?;
    let distance = strsim::damerau_levenshtein(nearest, key);
    (distance <= 1 + key.len() / 4).then(|| format!("did you mean `@{nearest}`?"))
}
