//! The servers of the configuration, and how they are.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{AdminOperations, SCHEMA, failures, rights, table};
use crate::admin::{ApiAnswer, ApiProblem, ApiRequest, RecordChange, ServerCondition};
use crate::cli::args::Handshake;
use crate::cli::servers::{
    self, AllReaches, CheckReport, HandshakeResult, Others, PreparedEdit, ServerEdit, ServerStatus,
};
use crate::config::{Config, ServerFiles, WrittenServer};
use crate::explain::ToolReach;
use crate::findings::Finding;
use crate::policy::ServerKey;

/// One server.
#[derive(Debug, Default, Serialize)]
struct ServerEntry {
    /// Absent for `[upstream]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Absent if the files of the configuration have no such server, or cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// Whether the gate serves a server with this key, be it with a former table.
    served: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locked_tools: Option<usize>,
}

#[derive(Debug, Serialize)]
struct ServersReport {
    schema: u32,
    servers: Vec<ServerEntry>,
    /// Whether the files of the configuration are valid as they are.
    files_valid: bool,
}

/// One server, with its table.
#[derive(Debug, Serialize)]
struct ServerReport {
    schema: u32,
    #[serde(flatten)]
    entry: ServerEntry,
    /// Its lines of the configuration, without what may be secret.
    text: String,
}

#[derive(Debug, Serialize)]
struct HealthReport {
    schema: u32,
    #[serde(flatten)]
    entry: ServerEntry,
}

/// What becomes of the tools of a server for one agent.
#[derive(Debug, Serialize)]
struct ReachEntry {
    agent: String,
    /// Whether it stands for every agent that no file names.
    others: bool,
    /// Whether it reaches the server.
    reaches: bool,
    #[serde(flatten)]
    tools: BTreeMap<&'static str, Vec<String>>,
}

/// The result of a change, or of a try.
#[derive(Debug, Serialize)]
struct ChangeReport {
    schema: u32,
    key: String,
    file: String,
    written: bool,
    /// Absent without a handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerStatus>,
    /// Whether tools of the server differ from the lock: they are denied until they are approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    differs_from_lock: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Vec<ReachEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents_not_evaluated: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Finding>,
    /// What else has to be done before it comes into force.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

const HELD_BACK: &str = "this removes a restriction: a running gate keeps the former configuration and policies until \
     it gets SIGHUP, unless `[policy]` has `on_policy_removal = \"apply\"`";

/// Whether a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Done,
    DryRun,
}

/// Whether an operator has to name the version that a change replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Required,
    IfGiven,
}

/// A change of the file of a server.
struct Change<'c> {
    edit: ServerEdit<'c>,
    version: Version,
    handshake: Handshake,
    write: Write,
}

const ASKED: Handshake = Handshake {
    no_handshake: false,
};
const NOT_ASKED: Handshake = Handshake { no_handshake: true };

/// The key in the path of a request.
fn key_of(request: &ApiRequest) -> Result<ServerKey, ApiProblem> {
    let subject = request.subject.as_deref().unwrap_or_default();
    ServerKey::of(subject).ok_or_else(|| {
        let detail = "a key is a lower-case letter and up to 31 more, digits and `-`";
        failures::no_server(detail.to_owned())
    })
}

impl AdminOperations {
    pub(super) fn list_servers(&self) -> ApiAnswer {
        let config = Config::load_offline(&self.config).ok();
        let mut conditions = (self.conditions)();
        let mut servers = Vec::new();
        for key in config.iter().flat_map(|config| config.servers.keys()) {
            let condition = taken(&mut conditions, key);
            servers.extend(config.iter().map(|it| entry(it, key, condition.as_ref())));
        }
        servers.extend(conditions.iter().map(ServerEntry::of_gate));
        servers.sort_by(|one, other| one.key.cmp(&other.key));
        ApiAnswer::of(&ServersReport {
            schema: SCHEMA,
            servers,
            files_valid: config.is_some(),
        })
    }

    pub(super) fn get_server(&self, request: &ApiRequest) -> Result<ApiAnswer, ApiProblem> {
        let key = key_of(request)?;
        // Before the text: a version that is too old is refused, one that is too new would hide a change.
        let etag = self.version_of(&key);
        let (config, written) = self.written(&key)?;
        let condition = taken(&mut (self.conditions)(), &key);
        let report = ServerReport {
            schema: SCHEMA,
            entry: entry(&config, &key, condition.as_ref()),
            text: written.text,
        };
        Ok(ApiAnswer::of(&report).with_etag(etag))
    }

    pub(super) fn get_server_health(&self, request: &ApiRequest) -> Result<ApiAnswer, ApiProblem> {
        let key = key_of(request)?;
        let entry = if let Some(condition) = taken(&mut (self.conditions)(), &key) {
            ServerEntry::of_gate(&condition)
        } else {
            let (config, _) = self.written(&key)?;
            entry(&config, &key, None)
        };
        Ok(ApiAnswer::of(&HealthReport {
            schema: SCHEMA,
            entry,
        }))
    }

    pub(super) fn check_server(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        let key = key_of(request)?;
        let config =
            Config::load(&self.config).map_err(|errors| failures::of_servers(errors.into()))?;
        let config = servers::valid(config, &self.config, self.load);
        let config = config.map_err(failures::of_servers)?;
        // The handshake may run a command.
        record_change()?;
        let report = CheckReport::of(&config, &key, ASKED);
        Ok(ApiAnswer::of(&report.map_err(failures::of_servers)?))
    }

    pub(super) fn put_server(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        let key = key_of(request)?;
        let Some(body) = &request.body else {
            return Err(ApiProblem::new(400, "body", "there is no body"));
        };
        let table = table::table(body.root())?;
        rights::check_new(&table, request.commands)?;
        let change = Change {
            edit: ServerEdit::Put(&table),
            version: Version::Required,
            handshake: request.switch("handshake", ASKED, NOT_ASKED, ASKED)?,
            write: request.switch("dry_run", Write::DryRun, Write::Done, Write::Done)?,
        };
        self.change(request, &key, &change, record_change)
    }

    pub(super) fn delete_server(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        self.edit(request, ServerEdit::Remove, NOT_ASKED, record_change)
    }

    pub(super) fn enable_server(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        let handshake = request.switch("handshake", ASKED, NOT_ASKED, ASKED)?;
        self.edit(request, ServerEdit::Enable, handshake, record_change)
    }

    pub(super) fn disable_server(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        self.edit(request, ServerEdit::Disable, NOT_ASKED, record_change)
    }

    fn edit(
        &self,
        request: &ApiRequest,
        edit: ServerEdit<'_>,
        handshake: Handshake,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        let change = Change {
            edit,
            version: Version::IfGiven,
            handshake,
            write: Write::Done,
        };
        self.change(request, &key_of(request)?, &change, record_change)
    }

    fn change(
        &self,
        request: &ApiRequest,
        key: &ServerKey,
        change: &Change<'_>,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        let prepare = || {
            let prepared = servers::prepared(&self.config, key, change.edit, self.load);
            let prepared = prepared.map_err(failures::of_servers)?;
            let before = prepared.edited.before.as_deref();
            match change.version {
                Version::Required if change.write == Write::DryRun => {}
                Version::Required => self.versions.require(request, before)?,
                Version::IfGiven => self.versions.check(request, before)?,
            }
            if let (ServerEdit::Put(_) | ServerEdit::Remove, Some(text)) = (change.edit, before) {
                rights::check_former(text, key, request.commands)?;
            }
            Ok::<PreparedEdit, ApiProblem>(prepared)
        };
        let prepared = prepare()?;
        // The handshake may run a command.
        record_change()?;
        let shaken = if change.handshake.no_handshake {
            None
        } else {
            let shaken = servers::handshake(&prepared.config, key);
            shaken.map_err(failures::of_servers)?
        };
        let mut report = ChangeReport::of(&prepared, key, shaken);
        if servers::is_held_back(&self.config, &prepared) {
            report.hint = Some(HELD_BACK);
        }
        if change.write == Write::DryRun {
            return Ok(ApiAnswer::of(&report));
        }
        let _alone = self.write_alone();
        // The handshake may have taken long, and others may have written.
        let PreparedEdit { edited, .. } = prepare()?;
        edited.write().map_err(failures::of_servers)?;
        report.written = true;
        let is_new = edited.before.is_none();
        let etag = edited.after.as_deref().map(|text| self.versions.of(text));
        let answer = ApiAnswer::of(&report).with_etag(etag);
        Ok(answer.with_status(if is_new { 201 } else { 200 }))
    }

    /// The configuration of the files, and a server of it as it is written.
    fn written(&self, key: &ServerKey) -> Result<(Config, WrittenServer), ApiProblem> {
        let config = Config::load_offline(&self.config);
        let config = config.map_err(|errors| failures::of_servers(errors.into()))?;
        let written = config.file.as_ref().and_then(|file| file.written(key));
        let no_server = || {
            let detail = format!("the configuration has no server `{key}`");
            failures::no_server(detail)
        };
        Ok((config, written.ok_or_else(no_server)?))
    }

    /// The version of the file of a server, if it has one of its own.
    fn version_of(&self, key: &ServerKey) -> Option<String> {
        let file = ServerFiles::of(&self.config).ok()?.file_of(key)?;
        let text = std::fs::read_to_string(file).ok()?;
        Some(self.versions.of(&text))
    }
}

/// Takes the condition of one server.
fn taken(conditions: &mut Vec<ServerCondition>, key: &ServerKey) -> Option<ServerCondition> {
    let is_it = |it: &ServerCondition| it.key.as_deref() == Some(key.as_str());
    let place = conditions.iter().position(is_it)?;
    Some(conditions.swap_remove(place))
}

fn entry(config: &Config, key: &ServerKey, condition: Option<&ServerCondition>) -> ServerEntry {
    let upstream = config.servers.get(key);
    let written = config.file.as_ref().and_then(|file| file.written(key));
    let transport = upstream.map(|it| if it.http.is_some() { "http" } else { "stdio" });
    let of_gate = condition.map(ServerEntry::of_gate);
    ServerEntry {
        key: Some(key.to_string()),
        enabled: upstream.map(crate::config::Upstream::is_enabled),
        file: written.as_ref().map(|it| it.file.display().to_string()),
        line: written.map(|it| it.line),
        transport,
        ..of_gate.unwrap_or_default()
    }
}

impl ServerEntry {
    fn of_gate(condition: &ServerCondition) -> Self {
        Self {
            key: condition.key.clone(),
            served: true,
            transport: Some(condition.transport),
            condition: Some(condition.condition),
            error: condition.error.clone(),
            latency_ms: condition.latency_ms,
            locked_tools: Some(condition.locked_tools),
            ..Self::default()
        }
    }
}

impl ChangeReport {
    fn of(prepared: &PreparedEdit, key: &ServerKey, shaken: Option<HandshakeResult>) -> Self {
        let warnings = servers::warnings_of(&prepared.config, key);
        let mut report = Self {
            schema: SCHEMA,
            key: key.to_string(),
            file: prepared.edited.path.display().to_string(),
            written: false,
            server: None,
            differs_from_lock: None,
            left_out: Vec::new(),
            agents: None,
            agents_not_evaluated: None,
            warnings: warnings.map(|warning| Finding::of(warning)).collect(),
            hint: None,
        };
        if let Some(shaken) = shaken {
            let AllReaches { agents, left_out } = shaken.reaches;
            let entry = |agent: servers::AgentReach| ReachEntry {
                agent: agent.id,
                others: agent.others == Others::Included,
                reaches: agent.tools.is_some(),
                tools: agent
                    .tools
                    .into_iter()
                    .flatten()
                    .map(|(reach, tools)| (word(reach), tools))
                    .collect(),
            };
            report.server = Some(shaken.status);
            report.differs_from_lock = shaken.lock.map(|lock| !lock.is_empty());
            report.left_out = shaken.left_out;
            report.agents = Some(agents.into_iter().map(entry).collect());
            report.agents_not_evaluated = Some(left_out);
        }
        report
    }
}

fn word(reach: ToolReach) -> &'static str {
    match reach {
        ToolReach::Permitted => "permitted",
        ToolReach::Asks => "asks",
        ToolReach::ByArguments => "by_arguments",
        ToolReach::Denied => "denied",
    }
}
