//! The agents, what they are shown, and their lists of servers and tools.

use serde::Serialize;

use super::{AdminOperations, SCHEMA, failures};
use crate::admin::{ApiAnswer, ApiProblem, ApiRequest, RecordChange};
use crate::cli::agents::{
    self, AgentEdits, AgentFile, AgentLists, AgentReport, AgentsReport, ListEdit,
};
use crate::cli::tools::{ToolsFilter, tools_of};
use crate::wire::Value;

/// Names in one list.
const MAX_NAMES: usize = 1_000;

#[derive(Debug, Serialize)]
struct OneAgent {
    schema: u32,
    #[serde(flatten)]
    agent: AgentReport,
}

/// What the files say of one agent beyond the policies.
#[derive(Debug, Serialize)]
struct OverridesReport<'r> {
    schema: u32,
    agent: &'r str,
    overrides: AgentLists,
    /// What else has to be done before they come into force.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

fn name_of(request: &ApiRequest) -> &str {
    request.subject.as_deref().unwrap_or_default()
}

impl AdminOperations {
    pub(super) fn list_agents(&self) -> Result<ApiAnswer, ApiProblem> {
        let agents = agents::all(&self.config).map_err(failures::of_agents)?;
        Ok(ApiAnswer::of(&AgentsReport {
            schema: SCHEMA,
            agents,
        }))
    }

    pub(super) fn get_agent(&self, request: &ApiRequest) -> Result<ApiAnswer, ApiProblem> {
        let agent = agents::one(&self.config, name_of(request)).map_err(failures::of_agents)?;
        Ok(ApiAnswer::of(&OneAgent {
            schema: SCHEMA,
            agent,
        }))
    }

    pub(super) fn list_agent_tools(&self, request: &ApiRequest) -> Result<ApiAnswer, ApiProblem> {
        let roles = request.query.iter().filter(|(name, _)| name == "role");
        let roles: Vec<String> = roles.map(|(_, role)| role.clone()).collect();
        let filter = ToolsFilter {
            agent: name_of(request),
            roles: &roles,
            server: request.parameter("server")?,
        };
        let report = tools_of(&self.config, filter).map_err(failures::of_tools)?;
        Ok(ApiAnswer::of(&report))
    }

    pub(super) fn get_overrides(&self, request: &ApiRequest) -> Result<ApiAnswer, ApiProblem> {
        let name = name_of(request);
        let file = AgentFile::of(&self.config, name).map_err(failures::of_agents)?;
        let etag = self.versions.of(&file.text);
        let report = OverridesReport {
            schema: SCHEMA,
            agent: name,
            overrides: file.lists(name),
            hint: None,
        };
        Ok(ApiAnswer::of(&report).with_etag(Some(etag)))
    }

    pub(super) fn put_overrides(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        let Some(body) = &request.body else {
            return Err(ApiProblem::new(400, "body", "there is no body"));
        };
        let edits = edits(body.root())?;
        let name = name_of(request);
        let _alone = self.write_alone();
        let file = AgentFile::of(&self.config, name).map_err(failures::of_agents)?;
        self.versions.require(request, Some(&file.text))?;
        let change = file.changed(name, &edits).map_err(failures::of_agents)?;
        record_change()?;
        change.write().map_err(failures::of_agents)?;
        let report = OverridesReport {
            schema: SCHEMA,
            agent: name,
            overrides: change.lists(name),
            hint: change.hint(),
        };
        let etag = self.versions.of(change.text());
        Ok(ApiAnswer::of(&report).with_etag(Some(etag)))
    }
}

/// A list that is not given is removed.
fn edits(body: Value<'_>) -> Result<AgentEdits, ApiProblem> {
    const KEYS: [&str; 4] = ["servers", "not_servers", "allow", "deny"];
    let wrong = |detail: String| ApiProblem::new(422, "value", detail);
    let mut entries = body.entries();
    if let Some((name, _)) = entries.find(|(name, _)| !KEYS.contains(&&**name)) {
        let detail = format!("there is no list `{}`", name.escape_debug());
        return Err(wrong(detail).with_help(format!("the lists are `{}`", KEYS.join("`, `"))));
    }
    let list = |key: &str| {
        let Some(list) = body.get(key) else {
            return Ok(ListEdit::Remove);
        };
        let names = list.items().map(|name| Some(name.as_str()?.into_owned()));
        let names = names.collect::<Option<Vec<String>>>();
        let names = names.filter(|names| list.is_array() && names.len() <= MAX_NAMES);
        let no_list = || wrong(format!("`{key}` is no list of at most {MAX_NAMES} strings"));
        names.map(ListEdit::Set).ok_or_else(no_list)
    };
    Ok(AgentEdits {
        servers: list("servers")?,
        not_servers: list("not_servers")?,
        allow: list("allow")?,
        deny: list("deny")?,
    })
}
