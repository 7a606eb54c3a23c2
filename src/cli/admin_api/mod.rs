//! What the admin API of a running gate does: the same as `servers`, `agents`, `tools list` and `audit query`, by the
//! same code.
//!
//! A change goes to the files of the configuration. The gate then reads them again, and decides whether they come into
//! force.

mod agents;
mod audit;
mod failures;
mod rights;
mod servers;
mod table;
mod version;

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::admin::{
    ApiAnswer, ApiProblem, ApiRequest, Operation, Operations, RecordChange, ServerConditions,
};

use super::proxy::OperationsSetup;
use super::servers::LoadPolicies;

use version::Versions;

/// The version of the documents.
const SCHEMA: u32 = 1;

/// Does what operators ask for.
pub(super) struct AdminOperations {
    config: PathBuf,
    conditions: ServerConditions,
    load: LoadPolicies,
    versions: Versions,
    /// Held by the only writer.
    writing: Mutex<()>,
}

impl AdminOperations {
    pub(super) fn new(setup: OperationsSetup, load: LoadPolicies) -> io::Result<Self> {
        let OperationsSetup { config, conditions } = setup;
        Ok(Self {
            config,
            conditions,
            load,
            versions: Versions::new()?,
            writing: Mutex::new(()),
        })
    }

    fn write_alone(&self) -> MutexGuard<'_, ()> {
        // It guards no value.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operations for AdminOperations {
    fn perform(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        match request.operation {
            Operation::ListServers => Ok(self.list_servers()),
            Operation::GetServer => self.get_server(request),
            Operation::PutServer => self.put_server(request, record_change),
            Operation::DeleteServer => self.delete_server(request, record_change),
            Operation::GetServerHealth => self.get_server_health(request),
            Operation::EnableServer => self.enable_server(request, record_change),
            Operation::DisableServer => self.disable_server(request, record_change),
            Operation::CheckServer => self.check_server(request, record_change),
            Operation::ListAgents => self.list_agents(),
            Operation::GetAgent => self.get_agent(request),
            Operation::ListAgentTools => self.list_agent_tools(request),
            Operation::GetAgentOverrides => self.get_overrides(request),
            Operation::PutAgentOverrides => self.put_overrides(request, record_change),
            Operation::QueryAudit => self.query_audit(request),
            Operation::GetDescription => Err(ApiProblem::new(
                404,
                "path",
                "there is nothing at this path",
            )),
        }
    }
}
