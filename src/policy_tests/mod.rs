//! Policy fixtures, judged by the path that the gate itself uses.
//!
//! A fixture (TOML) says who sends what and what must become of it. It is read (`read`) and put
//! beside the policies that it tests (`load`); each test's message goes through a [`Gate`] of its
//! own between two ends in this process (`judge`); what the gate recorded of it is compared with
//! what was expected (`compare`) and reported. Nothing is started, and nothing but files is read.
//!
//! [`Gate`]: crate::gate::Gate

mod below;
mod changed;
mod clock;
mod compare;
mod coverage;
mod ends;
mod errors;
mod exercise;
mod find;
mod fixture;
mod gate_file;
mod got;
mod groups;
mod json;
mod judge;
mod lines;
mod listing;
mod load;
mod moving;
mod mutate;
mod printable;
mod read;
mod read_expect;
mod read_start;
mod read_step;
mod read_test;
mod rehearsal;
mod replay;
mod report;
mod run;
mod section;
mod suggest;
mod survey;
mod table;
mod witness;

pub use coverage::{ConditionCoverage, Coverage, RuleCoverage, Seen, WantedCoverage};
pub use errors::{FixtureErrors, FixtureProblem};
pub use fixture::{Decision, Instance, Start};
pub use load::{Configured, Reads};
pub use mutate::{Mutants, Mutation, Near, Needless, Survivor};
pub use read_start::read_start;
pub(crate) use rehearsal::{Rehearsal, Rehearsed};
pub use report::{
    Actual, ChangedDecision, DecidingPolicy, Expected, NotRun, Outcome, Paint, Problem,
    ReplayReport, Report, SCHEMA, StepReport, SuiteReport, Summary, TestOutcome, TestReport,
    UnknownDecision,
};
pub use run::{Progress, Settings, run, run_telling, watched};
pub use survey::{Survey, packs, survey};

#[cfg(test)]
mod tests;
pub(crate) use witness::{Asked, Question, Who};
