//! The records of the audit log.

use std::time::Duration;

use clap::Parser;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{AdminOperations, SCHEMA, failures};
use crate::admin::{ApiAnswer, ApiProblem, ApiRequest};
use crate::audit::log_files;
use crate::cli::args::AuditFilters;
use crate::cli::audit::{FoundRecords, QueryLimits, records};
use crate::config::Config;
use crate::findings::printable;

/// Records of one answer, unless the operator wants fewer or more.
const USUAL: usize = 100;
const MOST: usize = 1_000;

const MAX_BYTES: usize = 8 << 20;

const MAX_TIME: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize)]
struct RecordsReport {
    schema: u32,
    /// Oldest first, as they are in the log.
    records: Vec<Box<RawValue>>,
    /// Whether a limit ended the query before the end of the log.
    cut: bool,
}

/// The filters of `audit query`, checked as there.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, color = clap::ColorChoice::Never)]
struct Filters {
    #[command(flatten)]
    filters: AuditFilters,
}

impl AdminOperations {
    pub(super) fn query_audit(&self, request: &ApiRequest) -> Result<ApiAnswer, ApiProblem> {
        let wrong = |detail: String| ApiProblem::new(400, "query", detail);
        let limit = match request.parameter("limit")? {
            None => USUAL,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=MOST).contains(limit));
                limit.ok_or_else(|| wrong(format!("`limit` is a number from 1 to {MOST}")))?
            }
        };
        let filters = request.query.iter().filter(|(name, _)| name != "limit");
        let filters = filters.map(|(name, value)| format!("--{name}={value}"));
        let Filters { filters } = Filters::try_parse_from(filters).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            wrong(printable(first.trim_start_matches("error: ")))
        })?;
        let config = Config::load_offline(&self.config);
        let config = config.map_err(|errors| failures::of_servers(errors.into()))?;
        let file = config.audit.file.ok_or_else(|| {
            ApiProblem::new(409, "no_log_file", "the audit log is not a file")
                .with_help("set `file` in `[audit]`")
        })?;
        let limits = QueryLimits {
            records: limit,
            bytes: MAX_BYTES,
            time: MAX_TIME,
        };
        let found = records(&log_files(&file), &filters, limits);
        let FoundRecords { lines, is_cut } =
            found.map_err(|error| ApiProblem::new(500, "log", printable(&error.to_string())))?;
        Ok(ApiAnswer::of(&RecordsReport {
            schema: SCHEMA,
            records: lines,
            cut: is_cut,
        }))
    }
}
