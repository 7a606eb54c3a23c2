//! Versions of files, so that no operator overwrites the change of another unseen.

use std::fmt::Write as _;
use std::io;

use sha2::{Digest as _, Sha256};

use crate::admin::{ApiProblem, ApiRequest};

/// Makes versions of texts. They are keyed by a random number of this process: a digest alone would let its reader
/// try out secrets in the text.
pub(super) struct Versions([u8; 32]);

impl Versions {
    pub(super) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// The entity tag of a text.
    pub(super) fn of(&self, text: &str) -> String {
        let digest = Sha256::new().chain_update(self.0).chain_update(text);
        let mut tag = "\"".to_owned();
        for byte in digest.finalize().iter().take(16) {
            // Writing to a string cannot fail.
            let _ = write!(tag, "{byte:02x}");
        }
        tag + "\""
    }

    /// Checks `If-Match` against the text as it is now.
    ///
    /// # Errors
    /// 412 if the operator has seen another version.
    pub(super) fn check(&self, request: &ApiRequest, now: Option<&str>) -> Result<(), ApiProblem> {
        let Some(wanted) = &request.if_match else {
            return Ok(());
        };
        let tag = now.map(|text| self.of(text));
        let is_met = tag.is_some_and(|tag| {
            let mut all = wanted.split(',').map(str::trim);
            all.any(|wanted| wanted == "*" || wanted == tag)
        });
        if is_met {
            return Ok(());
        }
        let problem = ApiProblem::new(412, "version", "the file has another version");
        Err(problem.with_help("read it again, and repeat the change with its `ETag`"))
    }

    /// The same where the operator has to have seen what is replaced.
    ///
    /// # Errors
    /// 428 without `If-Match`.
    pub(super) fn require(
        &self,
        request: &ApiRequest,
        now: Option<&str>,
    ) -> Result<(), ApiProblem> {
        if now.is_some() && request.if_match.is_none() {
            let problem = ApiProblem::new(428, "version_missing", "this replaces what is there");
            return Err(problem.with_help("read it first, and send its `ETag` as `If-Match`"));
        }
        self.check(request, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::{CommandRight, Operation};

    #[test]
    fn a_change_needs_the_version_that_it_replaces() {
        let versions = Versions([7; 32]);
        let status = |if_match: Option<String>, now: Option<&str>| {
            let request = ApiRequest {
                operation: Operation::PutServer,
                subject: None,
                query: Vec::new(),
                body: None,
                if_match,
                commands: CommandRight::Withheld,
            };
            let problem = versions.require(&request, now).err();
            problem.map(|problem| problem.status())
        };
        let tag = |text| Some(versions.of(text));
        assert_eq!(status(None, None), None);
        assert_eq!(status(None, Some("a")), Some(428));
        assert_eq!(status(tag("a"), Some("a")), None);
        assert_eq!(status(tag("b"), Some("a")), Some(412));
        assert_eq!(status(tag("a"), None), Some(412));
        assert_eq!(status(Some("*".to_owned()), Some("a")), None);
        assert_eq!(status(Some("*".to_owned()), None), Some(412));
        let both = format!("\"x\", {}", versions.of("a"));
        assert_eq!(status(Some(both), Some("a")), None);
        assert_ne!(versions.of("a"), Versions([8; 32]).of("a"));
    }
}
