//! What the gate must be told.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::audit::{DigestKey, Redactor};
use crate::guard::secrets::SecretRules;
use crate::guard::text::{AnswerRules, StrippedTags, SuspiciousWords, TextRules};
use crate::guard::{Preset, TextPurpose};
use crate::session::{OverHttp, PerInstance, Rate, Thresholds};
use crate::wire::{Extensions, Limits};

use super::sampling::Tracing;
use super::user_identity::UserIdentities;

/// What the gate must be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Limits of a frame from the agent.
    pub from_agent: Limits,
    /// Limits of a frame from the upstream.
    pub from_upstream: Limits,
    /// What holds until other terms are published.
    pub terms: Terms,
    /// The secrets of the configuration itself.
    pub secrets: Redactor,
    /// What records have of arguments.
    pub arguments: RecordedArguments,
    pub results: RecordedResults,
    /// Whether messages have a place in a trace.
    pub tracing: Tracing,
    /// From which levels on sessions speak to isolated servers.
    pub thresholds: Thresholds,
    /// The isolated servers that are started with a session.
    pub warm: PerInstance<bool>,
    pub unconfined: Unconfined,
    pub eras: Eras,
    pub over_http: OverHttp,
    /// Methods of extensions that are asked of policy; every other one is unknown.
    pub extensions: Extensions,
    pub own_directories: OwnDirectories,
    /// How servers know the user.
    pub user_identities: Arc<UserIdentities>,
}

/// The settings that may change while the gate runs. They come into force with policies, and the gate judges
/// one message by one revision of both.
#[derive(Debug, Clone)]
pub struct Terms {
    /// How long a request may wait for its reply.
    pub request_timeout: Duration,
    /// Whether that counts from the last progress, and up to how long in all.
    pub progress_extends: Option<Duration>,
    /// The same for single tools.
    pub tool_timeouts: HashMap<String, Duration>,
    /// How many requests of one side may wait at once.
    pub max_in_flight: usize,
    /// How often they may come.
    pub rates: Rates,
    /// How a denied call of a visible tool is answered.
    pub denial: DenialForm,
    /// What is asked of the content of messages.
    pub guards: Guards,
    pub server_datasets: ServerDatasets,
    pub asked_again: QuestionsAgain,
    pub evidence: Evidence,
}

/// Whether the gate looks for what calls repeat of other servers' results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Evidence {
    #[default]
    Off,
    Kept,
}

/// When a person is asked again who has consented to a call of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuestionsAgain {
    /// Each time.
    #[default]
    Always,
    /// When the tool sends something to a destination that was not agreed to yet.
    OncePerDestination,
}

/// What becomes of the private data sets that the server names in its results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerDatasets {
    /// They are taken out.
    #[default]
    Ignored,
    /// The session has read them.
    Trusted,
}

/// Whether the directories of roots that each principal or session has for itself are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnDirectories {
    /// They are taken to be there: the gate judges for a command, and starts no server.
    #[default]
    Stated,
    Made,
}

/// What keeps servers from being confined as they are to be, where that is not required.
pub type Unconfined = PerInstance<Option<Arc<str>>>;

/// How a denied call of a visible tool is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialForm {
    /// As a JSON-RPC error.
    Error,
    /// As a result with `isError: true`, which models can read.
    ToolResult,
}

/// What is asked of the content of messages.
#[derive(Debug, Clone, Default)]
pub struct Guards {
    /// Arguments of calls, by `inputSchema`.
    pub arguments: Level,
    /// Arguments that `inputSchema` does not name.
    pub arguments_unknown: Level,
    /// `structuredContent` of results, by `outputSchema`.
    pub results: Level,
    pub secrets: Option<Secrets>,
    pub texts: Texts,
    /// Which names tools may have.
    pub tool_names: ToolNames,
    /// What happens to long texts of results.
    pub excerpts: Option<Excerpts>,
    /// What happens when a tool says that it has failed for good.
    pub on_fatal_tool_error: OnFatal,
    pub asking: Asking,
    /// URIs that readers take for different resources, or for none.
    pub uris: Level,
    pub symlinks: Symlinks,
}

/// How the gate treats symbolic links in paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// Policies judge a path as it is written.
    #[default]
    AsWritten,
    /// Policies judge the place to which a path leads, too.
    Resolve(Disk),
    /// The same, and the gate rejects requests with a path that leads elsewhere or cannot be followed.
    Block(Disk),
}

impl Symlinks {
    /// The same treatment of links on another disk.
    #[must_use]
    pub fn on(&self, disk: Disk) -> Self {
        match self {
            Self::AsWritten | Self::Resolve(_) => Self::Resolve(disk),
            Self::Block(_) => Self::Block(disk),
        }
    }
}

/// The place where the gate looks up symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disk {
    /// The disk of this machine, which the server shares.
    Local,
    /// Stated links, by their paths, with their targets. Everything else exists and is no link.
    Stated(Arc<BTreeMap<String, String>>),
}

/// What servers may not ask of the agent's user, whatever policies permit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asking {
    /// Fields of forms whose names are those of secrets.
    pub secrets: Level,
    pub pages: Pages,
}

/// To which pages servers may send the agent's user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pages {
    /// That is for policies to say.
    #[default]
    Any,
    /// Those of these hosts, in their one spelling, over HTTPS.
    Only(Vec<String>),
}

/// What happens when a tool says that it has failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFatal {
    /// The record contains the error class.
    #[default]
    Report,
    /// The gate closes the session.
    CloseSession,
}

/// Which texts of results are shortened, and how much of what is left out is kept.
#[derive(Debug, Clone)]
pub struct Excerpts {
    /// Bytes that the texts of a result may have.
    pub over: usize,
    /// How texts of single tools are shortened.
    pub tools: HashMap<String, Preset>,
    /// The same of resources, by how their URIs begin: the longest beginning counts.
    pub resources: BTreeMap<String, Preset>,
    /// The same of single prompts.
    pub prompts: HashMap<String, Preset>,
    /// Bytes that are kept for each agent.
    pub keep: usize,
    /// Where whole texts are saved instead, if they are.
    pub save: Option<Save>,
}

/// Where whole texts are saved as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// The name of a root that each principal or session has for itself.
    pub root: String,
    /// Bytes of one directory.
    pub bytes: u64,
    /// Older files are removed.
    pub keep: Duration,
}

impl Excerpts {
    /// What is said of a resource.
    pub(super) fn of_uri(&self, uri: &str) -> Option<Preset> {
        let said = self.resources.iter();
        let said = said.filter(|(beginning, _)| uri.starts_with(beginning.as_str()));
        let said = said.max_by_key(|(beginning, _)| beginning.len());
        said.map(|(_, preset)| *preset)
    }
}

/// What is done about what nobody sees in the text that a server sends.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    /// In what tools, prompts, resources and the server say of themselves, and in prompts.
    pub definitions: Cleaning,
    /// In results, errors, notifications and questions.
    pub content: Cleaning,
    /// Tags to remove from definitions.
    pub definition_tags: StrippedTags,
    /// The most characters of a description.
    pub longest: usize,
    pub answers: AnswerRules,
    /// Of single tools, by exact name.
    pub tools: BTreeMap<String, AnswerRules>,
    /// Reported where definitions are looked at.
    pub words: SuspiciousWords,
}

impl Texts {
    /// The rules of a text that this tool gives out, if it is a tool that does.
    pub(super) fn rules(&self, purpose: TextPurpose, tool: Option<&str>) -> TextRules {
        let instruction = TextRules {
            tags: self.definition_tags,
            ..TextRules::INSTRUCTION
        };
        match purpose {
            TextPurpose::Description => TextRules {
                longest: Some(self.longest),
                ..instruction
            },
            TextPurpose::Instruction => instruction,
            TextPurpose::Prose => {
                let own = tool.and_then(|tool| self.tools.get(tool));
                own.unwrap_or(&self.answers).text_rules()
            }
            TextPurpose::Data => TextRules::CONTENT,
        }
    }
}

/// What happens to a text with something in it that nobody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cleaning {
    /// It is not looked at.
    #[default]
    Off,
    /// It passes, and its record tells.
    Warn,
    /// It passes without that, and its record tells.
    Clean,
}

/// Which names tools may have that nobody has approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNames {
    #[default]
    Ascii,
    Any,
}

/// What is done about credentials, and which there are. Without it nothing is looked for.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// What the agent sends to the server.
    pub sent: Level,
    /// What the server sends to the agent.
    pub received: Treatment,
    pub rules: Arc<SecretRules>,
}

/// What records have of the arguments of calls and prompts.
#[derive(Debug, Clone, Default)]
pub enum RecordedArguments {
    #[default]
    Nothing,
    Digest(DigestKey),
    /// The digest, and the arguments without what looks like a credential.
    Redacted(DigestKey),
}

/// What records have of the results of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordedResults {
    #[default]
    Nothing,
    /// As the agent gets them, without what looks like a credential.
    Redacted,
}

/// What happens where a message is not what a guard asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// It is not looked at.
    #[default]
    Off,
    /// It passes, and its record tells.
    Warn,
    /// It is refused.
    Strict,
}

/// What happens to text that a guard does not let stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It is not looked at.
    Off,
    /// It passes, and its record tells.
    Warn,
    /// It passes without what was found.
    Redact,
}

/// Whether servers are asked what they speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eras {
    /// What they answer is taken as it comes.
    #[default]
    Unasked,
    Asked,
}

/// How often requests may come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates {
    /// Of all together.
    pub global: Option<Rate>,
    /// Of each principal.
    pub principal: Option<Rate>,
    /// Calls of single tools, of all principals together.
    pub tools: HashMap<String, Rate>,
    /// Calls that one session may make in all.
    pub calls_per_session: Option<i64>,
    /// The pause after which what a principal does without a session counts as another one.
    pub rest: Option<Duration>,
}
