//! Where the tests fall short of what was asked of them, for every format that is no tree.

use super::super::coverage::{Coverage, RuleCoverage};
use super::super::mutate::{Mutation, Survivor};
use super::Report;
use crate::findings::{FileSpan, Finding, FindingLevel, Rule};

const COVERAGE: &str = "test::coverage";
const UNNOTICED: &str = "test::mutant_survived";
const NEEDLESS: &str = "test::needless_excuse";

impl Report {
    /// Each pack of which the tests have seen too little, each change that none of them notices, and
    /// each excuse that is for nothing.
    pub(super) fn shortfalls(&self) -> Vec<Finding> {
        let low = self.coverage.iter();
        let low = low.filter(|pack| pack.percent < self.least);
        let low = low.map(|pack| too_low(pack, self.least));
        let unnoticed = self.mutation.iter().flat_map(of_pack);
        low.chain(unnoticed).collect()
    }
}

/// What they are told under.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    let all = [
        (COVERAGE, "a pack of which the tests have seen too little"),
        (UNNOTICED, "a change of a policy that no test notices"),
        (NEEDLESS, "a comment that excuses no change"),
    ];
    all.into_iter().map(|(code, about)| Rule {
        code: code.to_owned(),
        about: about.to_owned(),
        help_uri: None,
    })
}

fn too_low(pack: &Coverage, least: usize) -> Finding {
    let of = pack.policies.as_deref().unwrap_or("the allowlist");
    let unseen: Vec<&RuleCoverage> = pack.rules.iter().filter(|rule| !rule.is_seen()).collect();
    let names: Vec<String> = unseen.iter().map(|rule| format!("`{}`", rule.id)).collect();
    Finding {
        severity: FindingLevel::Error,
        code: Some(COVERAGE.to_owned()),
        message: format!(
            "the tests have seen {} % of {of} ({} of {}), and {least} % are asked for",
            pack.percent, pack.covered, pack.total
        ),
        help: Some(format!("not seen whole: {}", names.join(", "))),
        place: unseen.first().map(|rule| {
            let line = usize::try_from(rule.line).unwrap_or_default();
            FileSpan::of_line(&rule.file, line.max(1))
        }),
    }
}

fn of_pack(pack: &Mutation) -> Vec<Finding> {
    let needless = pack.needless.iter().map(|needless| Finding {
        severity: FindingLevel::Error,
        code: Some(NEEDLESS.to_owned()),
        message: format!("the comment excuses nothing: {}", needless.why),
        help: None,
        place: Some(FileSpan::of_line(&needless.file, needless.line)),
    });
    needless
        .chain(pack.survivors.iter().map(unnoticed))
        .collect()
}

fn unnoticed(survivor: &Survivor) -> Finding {
    let after = survivor.after.as_deref().unwrap_or("(gone)");
    let (policy, before) = (&survivor.policy, &survivor.before);
    let begin = survivor.near.as_ref().map_or(String::new(), |near| {
        format!("; begin with `{}`, {}:{}", near.name, near.file, near.line)
    });
    Finding {
        severity: FindingLevel::Error,
        code: Some(UNNOTICED.to_owned()),
        message: format!("`{policy}`: no test notices `{before}` becoming `{after}`"),
        help: Some(format!("missing: {}{begin}", survivor.missing)),
        place: Some(FileSpan::of_line(&survivor.file, survivor.line)),
    }
}
