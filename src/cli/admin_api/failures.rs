//! The failures of the commands as problems of the API.

use crate::admin::ApiProblem;
use crate::cli::agents::AgentsFailure;
use crate::cli::servers::ServersFailure;
use crate::cli::tools::ToolsFailure;
use crate::cli::validate_config::InvalidConfig;
use crate::findings::printable;

/// The configuration is not valid, or would not be.
fn invalid(invalid: &InvalidConfig) -> ApiProblem {
    let problems = invalid.problems.iter();
    // INVARIANT: structs of strings and numbers, which serde_json always writes.
    let problems = problems.filter_map(|problem| serde_json::to_value(problem).ok());
    ApiProblem::new(422, "invalid", "the configuration is not valid")
        .with_help("nothing was changed; `problems` has each problem with its file and line")
        .with_problems(problems.collect())
}

pub(super) fn of_servers(failure: ServersFailure) -> ApiProblem {
    let detail = printable(&failure.to_string());
    match failure {
        ServersFailure::Config(errors) => invalid(&InvalidConfig::of(&errors)),
        ServersFailure::Invalid(found) => invalid(&found),
        ServersFailure::Tools(failure) => of_tools(failure),
        ServersFailure::NoDirectory(_)
        | ServersFailure::InGate { .. }
        | ServersFailure::InGateAlone { .. }
        | ServersFailure::NoTable { .. } => ApiProblem::new(409, "not_in_servers_dir", detail),
        ServersFailure::Absent { .. } | ServersFailure::NoServer { .. } => no_server(detail),
        ServersFailure::Exists { .. } | ServersFailure::Changed(_) => {
            ApiProblem::new(409, "changed", detail)
        }
        ServersFailure::NoAnswer(failure) => {
            let detail = printable(&failure.to_string());
            ApiProblem::new(502, "no_answer", detail).with_help(
                "nothing was changed; `?handshake=false` writes without asking the server",
            )
        }
        ServersFailure::Policies(_) | ServersFailure::NotEvaluated(_) => {
            ApiProblem::new(500, "not_evaluated", detail)
        }
        ServersFailure::NoTerminal
        | ServersFailure::Refused
        | ServersFailure::File { .. }
        | ServersFailure::Report(_) => ApiProblem::new(500, "file", detail),
    }
}

pub(super) fn of_tools(failure: ToolsFailure) -> ApiProblem {
    let detail = printable(&failure.to_string());
    match failure {
        ToolsFailure::Config(errors) => invalid(&InvalidConfig::of(&errors)),
        ToolsFailure::Policies(errors) | ToolsFailure::Lock(errors) => {
            invalid(&InvalidConfig::of_policies(&errors))
        }
        ToolsFailure::NoKey(_) => no_server(detail),
        ToolsFailure::File { .. }
        | ToolsFailure::NoLock(_)
        | ToolsFailure::NoPlace
        | ToolsFailure::NoList(..)
        | ToolsFailure::Secret(_)
        | ToolsFailure::Unhidden(_)
        | ToolsFailure::Ask { .. }
        | ToolsFailure::FromOfSeveral
        | ToolsFailure::NoInstructions { .. }
        | ToolsFailure::Unknown { .. }
        | ToolsFailure::Report(_) => ApiProblem::new(500, "tools", detail),
    }
}

pub(super) fn of_agents(failure: AgentsFailure) -> ApiProblem {
    let detail = printable(&failure.to_string());
    match failure {
        AgentsFailure::Config(errors) => invalid(&InvalidConfig::of(&errors)),
        AgentsFailure::Policies(errors) => invalid(&InvalidConfig::of_policies(&errors)),
        AgentsFailure::NoDirectory => ApiProblem::new(409, "no_policy_dir", detail),
        AgentsFailure::Edit { .. } | AgentsFailure::Changed(_) => {
            ApiProblem::new(409, "changed", detail)
        }
        AgentsFailure::File { .. } | AgentsFailure::Report(_) => {
            ApiProblem::new(500, "file", detail)
        }
    }
}

pub(super) fn no_server(detail: String) -> ApiProblem {
    ApiProblem::new(404, "no_server", detail).with_help("`GET /api/v1/servers` lists the servers")
}
