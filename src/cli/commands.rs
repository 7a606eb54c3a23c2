//! Runs the subcommand that was asked for.

use std::io;
use std::sync::Arc;

use super::args::{Cli, Command};
use super::exit::Exit;
use super::{
    admin_api, agents, approvals, attach, audit, check, explain, init, proxy, servers, test_policy,
    tools, unmet_requirements, validate_config,
};
use crate::admin::Operations;
use crate::config::Config;
use crate::loading;
use crate::policy::PolicyErrors;

/// Does what was asked for.
///
/// `allocated` says how many bytes this process has allocated.
pub fn run(typed: Cli, allocated: fn() -> usize) -> Exit {
    match typed.command {
        Command::Proxy(args) => proxy::run(args, operations, allocated),
        Command::Attach(args) => attach::run(args),
        Command::ValidateConfig(args) => {
            validate_config::run(&args, policies, &mut io::stdout(), &mut io::stderr())
        }
        Command::Check(args) => check::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Policy(args) => check::run_policy(&args, &mut io::stdout(), &mut io::stderr()),
        Command::TestPolicy(args) => test_policy::run(&args, &mut io::stdout()),
        Command::Explain(args) => explain::run(&args, &mut io::stdin(), &mut io::stdout()),
        Command::Tools(args) => tools::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Servers(args) => {
            servers::run(&args, policies, &mut io::stdout(), &mut io::stderr())
        }
        Command::Init(args) => init::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Agents(args) => agents::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Approvals(args) => approvals::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Audit(args) => audit::run(&args, &mut io::stdout(), &mut io::stderr()),
        #[cfg(feature = "demo")]
        Command::Demo(args) => super::demo::run(&args, &mut io::stdout()),
        #[cfg(feature = "demo")]
        Command::DemoServer(args) => super::demo::server::run(&args),
    }
}

/// What the admin API of a gate does.
fn operations(setup: proxy::OperationsSetup) -> io::Result<Arc<dyn Operations>> {
    Ok(Arc::new(admin_api::AdminOperations::new(setup, policies)?))
}

/// Loads what a configuration names as `proxy` does, and puts nothing in force.
pub(super) fn policies(config: &Config) -> Result<validate_config::PolicyValidation, PolicyErrors> {
    let mut loaded = loading::load(&proxy::policy_settings(config))?;
    let missing = unmet_requirements::PolicyRequirements::by(config).missing_in(&loaded.snapshot);
    loaded.notices.extend(missing);
    Ok(validate_config::PolicyValidation {
        revision: loaded.snapshot.revision().as_str().to_owned(),
        exposed: loaded.surfaces.to_string(),
        notices: loaded.notices,
        roots: loaded.snapshot.labels().roots.clone(),
    })
}
