//! `proxy`: runs the gate.

mod absence;
mod agents;
mod among_policies;
mod certificates;
mod command_settings;
mod conditions;
mod configured;
mod confinement;
mod connections;
mod conversations;
mod converse;
mod decisions;
mod end;
mod entrance;
mod exposed;
mod files;
mod flight;
mod followers;
mod held;
mod isolated;
mod later;
mod lines;
mod loading_settings;
#[cfg(unix)]
mod local;
mod network;
mod news;
mod numbers;
mod open;
mod operators;
mod outbox;
mod own_roots;
mod parts;
mod prepare;
mod pulse;
mod reading;
mod renew;
mod restart;
mod saved_results;
mod server_changes;
mod server_set;
mod servers;
mod service;
mod settings;
mod shortage;
mod single;
mod start_failures;
mod starts;
mod switched_off;
mod traces;
mod trial;
mod trials;
mod unified;
mod unified_stdio;
mod unusable;
mod upkeep;
mod user_identity;

use std::sync::Arc;

use tokio::sync::Notify;
use tracing::{error, warn};

use crate::audit::{self, Audit, Kind, Record};
use crate::config::{Config, Listen};
use crate::gate::{self, Gate};
use crate::loading::{self, LoadedPolicies};
use crate::memory::Memory;
use crate::shutdown::ShutdownCause;

use super::args::ProxyArgs;
use super::exit::Exit;
use super::report;

pub use command_settings::{
    default_gate_settings, gate_settings, limited_gate_settings, policy_settings,
};
pub(super) use command_settings::{
    upstream_over_http, upstream_sandbox, upstream_secrets, upstream_settings,
};
pub(super) use files::{certificate_expires_soon, unusable as unusable_files};
pub use operators::{MakeOperations, OperationsSetup};
pub(super) use parts::server;
pub(super) use unified::endpoint;

use converse::FLUSH;
use end::End;
use entrance::Entrance;
use open::{Opened, open};
use start_failures::invalid;

/// Stack of the thread that judges. Cedar evaluates recursively: how deep an expression may be must
/// not depend on which thread happens to ask.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Runs the gate until the agent has gone, a signal comes or the upstream cannot be brought back.
pub fn run(args: ProxyArgs, operations: MakeOperations, allocated: fn() -> usize) -> Exit {
    let config = match args.settings() {
        Ok(config) => config,
        Err(errors) => {
            report::configuration(&errors);
            error!("{}", report::in_short(&errors));
            return Exit::Invalid;
        }
    };
    for warning in &config.warnings {
        warn!("{warning}");
    }
    // Before the policies are read: a file of an earlier run among them would be reported as an unrecognized policy file.
    if let Some(told) = among_policies::files(&config).first() {
        return invalid(told);
    }
    // Compiling these rules takes as long as compiling the policies, so both happen at once. If no thread starts, the
    // first message waits for the rules.
    let _ = std::thread::Builder::new().spawn(gate::compile_rules);
    let loaded = match loading::load(&policy_settings(&config)) {
        Ok(loaded) => loaded,
        Err(errors) => {
            report::policies(&errors);
            error!(
                "the policies are refused: {} problem(s)",
                errors.problems.len()
            );
            return Exit::Invalid;
        }
    };
    let memory = Memory::limited(config.limits.max_memory, allocated);
    let judging = std::thread::Builder::new()
        .name("gate".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || run_here(&config, loaded, memory, operations));
    match judging.map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        Ok(Err(_)) => Exit::Unrecoverable,
        Err(cause) => {
            error!("cannot start a thread: {cause}");
            Exit::Unrecoverable
        }
    }
}

fn run_here(
    config: &Config,
    loaded: LoadedPolicies,
    memory: Memory,
    operations: MakeOperations,
) -> Exit {
    let runtime = match &config.listen {
        // One agent, one upstream: a second thread would add a wake-up to every message and do
        // nothing.
        Listen::Stdio => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
        Listen::Http(_) | Listen::Local => tokio::runtime::Builder::new_multi_thread()
            .thread_name("gate")
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build(),
    };
    match runtime {
        // Boxed: the future may hold a whole conversation, tens of kilobytes.
        Ok(runtime) => runtime.block_on(Box::pin(start(config, loaded, memory, operations))),
        Err(cause) => {
            error!("cannot start the event loop: {cause}");
            Exit::Unrecoverable
        }
    }
}

/// Serves agents until the end.
async fn start(
    config: &Config,
    loaded: LoadedPolicies,
    memory: Memory,
    operations: MakeOperations,
) -> Exit {
    let Opened {
        changes,
        audit,
        shutdown,
        memory,
        conversations,
        entrance,
        renewal,
        health,
        operators,
        exporter,
        flight,
        reserved,
    } = match open(config, loaded, memory, operations).await {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    let servers = Arc::clone(&changes.servers);
    let upkeep = Arc::clone(&changes.upkeep);
    let first = servers.current().servers.first().cloned();
    let desk = first.as_ref().map(|parts| Arc::clone(&parts.gate));
    let metrics = first.and_then(|parts| parts.for_operators.metrics.clone());
    let inside = service::Inside {
        servers,
        changes,
        audit: audit.clone(),
        shutdown: shutdown.clone(),
        metrics,
        renewal,
        health,
        unified: unified::settings(config),
    };
    let serving = serve(entrance, inside);
    let over = Notify::new();
    let serving = async {
        let end = tokio::select! {
            end = Box::pin(serving) => end,
            never = shortage::tell(&memory) => match never {},
        };
        over.notify_one();
        end
    };
    let (end, ()) = tokio::join!(serving, end_questions_until(desk, over.notified()));
    // However it ended.
    shutdown.request(ShutdownCause::UpstreamGone);
    upkeep.ended().await;
    let exit = finish(&audit, &end).await;
    flight
        .stop(FLUSH.min(config.limits.shutdown_grace_period))
        .await;
    if let Some(exporter) = exporter {
        exporter
            .close(FLUSH.min(config.limits.shutdown_grace_period))
            .await;
    }
    drop(operators);
    if end.exit() == Exit::Unrecoverable {
        error!("the gate cannot go on: {end}");
    }
    lines::stops(&end, conversations.ever());
    drop(reserved);
    exit
}

async fn serve(entrance: Entrance, inside: service::Inside) -> End {
    match entrance {
        Entrance::Stdio(ends) => {
            let (session, server, events) = *ends;
            let Some(parts) = inside.servers.current().servers.first().cloned() else {
                return End::UpstreamGone("there is none".to_owned());
            };
            Box::pin(single::serve(
                &parts,
                session,
                server,
                events,
                inside.renewal,
                inside.changes,
            ))
            .await
        }
        Entrance::UnifiedStdio(ratchet) => Box::pin(unified_stdio::serve(inside, &ratchet)).await,
        Entrance::Http {
            listener,
            endpoints,
            authenticate,
            certificates,
        } => {
            let serving = service::serve(inside, *listener, &endpoints, authenticate, certificates);
            Box::pin(serving).await
        }
        #[cfg(unix)]
        Entrance::Local(listener, ratchet) => {
            Box::pin(local::serve(inside, listener, ratchet)).await
        }
    }
}

/// Ends questions to people whose time is over. All servers share the desk.
async fn end_questions_until(gate: Option<Arc<Gate>>, over: impl Future<Output = ()>) {
    match gate {
        Some(gate) => gate.end_questions_until(over).await,
        None => over.await,
    }
}

/// The last record, and whatever waits to be written.
async fn finish(audit: &Audit, end: &End) -> Exit {
    let last =
        audit.record(Record::new(Kind::Shutdown).reason(audit::Reason::text(end.to_string())));
    let written = match last.await {
        Ok(()) => audit.close(FLUSH).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = written {
        error!("the audit is not complete: {fault}");
        return Exit::Unrecoverable;
    }
    end.exit()
}
