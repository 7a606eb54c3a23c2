//! What checking has found nothing in, so that compiling nearly the same needs no second check.

use std::collections::HashSet;
use std::sync::Arc;

use super::lock::Lock;

/// Policies whose types were checked, by their texts, and that there was nothing to say of.
///
/// Checking is most of what compiling costs, and of a directory that is read again mostly one file
/// has changed. What there was something to say of is not among them: it is said each time.
#[derive(Debug, Clone, Default)]
pub struct CheckedPolicies {
    /// Whose types they were checked against.
    lock: Arc<Lock>,
    texts: Arc<HashSet<Arc<str>>>,
}

/// What a check depends on beside the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckBasis {
    /// The schema that every gate has.
    Base,
    /// That with the types of arguments that this lock gives.
    Lock,
}

impl CheckedPolicies {
    pub fn new(lock: &Arc<Lock>, texts: HashSet<Arc<str>>) -> Self {
        Self {
            lock: Arc::clone(lock),
            texts: Arc::new(texts),
        }
    }

    /// What of it stands under another lock.
    pub fn under(&self, lock: &Lock) -> impl Fn(&str, CheckBasis) -> bool + use<> {
        let same = self.lock.typed().eq(lock.typed());
        let texts = Arc::clone(&self.texts);
        move |text, against| match against {
            CheckBasis::Base => texts.contains(text),
            CheckBasis::Lock => same && texts.contains(text),
        }
    }
}
