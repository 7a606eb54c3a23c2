//! Policy fixtures, judged by the path that the gate itself uses.
//!
//! A fixture (TOML) says who sends what and what must become of it. It is read (`read`) and put
//! beside the policies that it tests (`load`); each test's message goes through a [`Gate`] of its
//! own between two ends in this process (`judge`); what the gate recorded of it is compared with
//! what was expected (`compare`) and reported. Nothing is started, and nothing but files is read.
//!
//! [`Gate`]: crate::gate::Gate

mod actual;
mod at_endpoint;
mod bench;
mod changed_definitions;
mod claims;
mod clock;
mod compare;
mod coverage;
mod dry_run;
mod endpoints;
mod errors;
mod failover;
mod find;
mod fixture;
mod fixture_words;
mod gate_file;
mod groups;
mod json;
mod judge;
mod lines;
mod listing;
mod load;
mod mutate;
mod offers;
mod pack_paths;
mod printable;
mod read;
mod read_expect;
mod read_start;
mod read_step;
mod read_test;
mod recorder;
mod replay;
mod report;
mod run;
mod section;
mod servers;
mod shared_session;
mod suggest;
mod suite_context;
mod survey;
mod table;
mod test_runner;

pub use claims::{check_granted, read_claims};
pub use coverage::{ConditionCoverage, Coverage, CoverageLevel, RuleCoverage, WantedCoverage};
pub(crate) use dry_run::{DryRun, DryRunMessage, DryRunOutcome};
pub use errors::{FixtureErrors, FixtureProblem};
pub use fixture::StartState;
pub use fixture_words::{ServerInstance, TestDecision};
pub use gate_file::{ConfigLoader, ConfiguredEndpoint, ConfiguredPolicies, ConfiguredServer};
pub use mutate::{Mutants, Mutation, NearbyTest, Survivor, UnusedSuppression};
pub use read_start::read_start;
pub use replay::{JudgedRecord, ReplayJudge, ReplayedDecision};
pub use report::{
    Actual, ChangedDecision, DecidingPolicy, Expected, NotRun, Paint, ReplayReport, Report,
    RunOutcome, RunProblem, SCHEMA, StepReport, SuiteReport, Summary, TestOutcome, TestReport,
    UnknownDecision,
};
pub use run::{Progress, Settings, run, run_telling, watched};
pub use survey::{Survey, packs, survey};

#[cfg(test)]
mod tests;
pub(crate) use recorder::{QueryDescription, RecordedQuery, Requester};
