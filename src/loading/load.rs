//! Files to policy snapshot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::Directory;
use super::engines::EngineKinds;
use super::load_report::{self, LockState};
use super::settings::{OtherMethods, RequiredLabels, Settings};
use super::source_name::source_name;
use super::{claim_names, egress, labels, lock, own_policies, several};
use crate::policy::engines::allowlist::CompiledAllowlist;
use crate::policy::engines::cedar::ToolGroups;
use crate::policy::{
    CheckedPolicies, ExposedActions, ExposedTools, Labels, Lock, Pinning, PolicyEntry,
    PolicyErrors, PolicyProblem, PolicySnapshot, PolicySource, TokenGrants,
};

/// A snapshot that is fit to be published, and what to say about it.
#[derive(Debug)]
pub struct LoadedPolicies {
    pub snapshot: PolicySnapshot,
    /// What an operator should know; nothing here refuses the policies.
    pub notices: Vec<PolicyProblem>,
    /// What is wrong with the shadow policy, which is then not asked.
    pub shadow: Vec<PolicyProblem>,
    pub surfaces: ExposedActions,
}

/// All there is, or all that is wrong with it, the shadow policy included.
pub fn load(settings: &Settings) -> Result<LoadedPolicies, PolicyErrors> {
    let mut loaded = compile(settings, read(settings), None)?;
    match std::mem::take(&mut loaded.shadow) {
        problems if problems.is_empty() => Ok(loaded),
        problems => Err(PolicyErrors::of(problems)),
    }
}

/// Policies with their source texts, whether they load or not, for lints.
#[derive(Debug)]
pub struct PolicySurvey {
    /// Files of policies.
    pub policies: Vec<PolicySource>,
    /// `agents.toml` and `tools.toml`.
    pub labels: Vec<PolicySource>,
    /// What those say, as far as they can be read.
    pub said: Labels,
    pub lock: Arc<Lock>,
    pub loaded: Result<LoadedPolicies, PolicyErrors>,
}

/// Loads, and keeps what was read.
pub fn survey(settings: &Settings) -> PolicySurvey {
    let found = read(settings);
    PolicySurvey {
        policies: found.sources.clone(),
        labels: found.labels.clone(),
        said: settings.labels(&found.labels, &mut Vec::new()).0,
        lock: Arc::new(lock::read(
            &found.labels,
            &settings.servers,
            &mut Vec::new(),
        )),
        loaded: compile(settings, found, None),
    }
}

/// The same, with texts changed between reading and compiling: for tests of tests.
pub fn load_changed(
    settings: &Settings,
    change: impl FnOnce(&mut [PolicySource]),
) -> Result<LoadedPolicies, PolicyErrors> {
    let mut found = read(settings);
    change(&mut found.sources);
    compile(settings, found, None)
}

/// Each `agents.toml`, with its text.
pub fn agents_files(settings: &Settings) -> Vec<(PathBuf, String)> {
    let found = read(settings).labels.into_iter();
    let found = found.filter(labels::is_of_agents);
    found
        .map(|source| (PathBuf::from(&*source.name), source.text.to_string()))
        .collect()
}

/// What would be loaded if a file of labels had this text.
///
/// # Errors
/// All that would be wrong.
pub fn load_with_labels(
    settings: &Settings,
    file: &Path,
    text: &str,
) -> Result<LoadedPolicies, PolicyErrors> {
    let mut found = read(settings);
    found
        .labels
        .retain(|source| Path::new(&*source.name) != file);
    let name = source_name(file);
    found.labels.push(PolicySource::new(name, text));
    compile(settings, found, None)
}

/// The tools whose permission a label names. Errors in the files are left to loading.
pub fn labelled_tools(settings: &Settings) -> BTreeSet<String> {
    let found = read(settings);
    let rules = labels::read(&found.labels, (TokenGrants::Nothing, None), &mut Vec::new()).1;
    rules.labelled
}

/// What `MANIFEST` has to say of the directory, which has to hold policies that are in order, and
/// whatever it says now.
///
/// # Errors
/// What is wrong with the policies.
pub fn manifest(settings: &Settings) -> Result<String, PolicyErrors> {
    let mut found = Directory::default();
    if let Some(dir) = &settings.dir {
        found.read(dir, &EngineKinds::default());
    }
    let text = found.listing();
    compile(settings, found, None).map(|_| text)
}

/// The group of the tools whose permission a label names.
const LABELLED: &str = "tools.labelled";

/// Everything that lies in the directory, read whole.
pub(super) fn read(settings: &Settings) -> Directory {
    let engines = EngineKinds::default();
    let with_own = |dir: Option<&Path>| {
        let mut found = Directory::default();
        if let Some(dir) = dir {
            found.add(Directory::checked(dir, None, &engines));
        }
        for (server, own) in &settings.own {
            found.add(own_policies::read(server, own, settings, &engines));
        }
        found
    };
    let mut found = with_own(settings.dir.as_deref());
    if let Some(dir) = &settings.shadow {
        found.shadow = Some(Box::new(with_own(Some(dir))));
    }
    found
}

/// A shadow policy that is not valid is left out, and never keeps the policies themselves from being
/// taken.
///
/// What was checked for `before`, which may be in force, is not checked again; the result is the
/// same without it.
pub(super) fn compile(
    settings: &Settings,
    mut found: Directory,
    before: Option<&PolicySnapshot>,
) -> Result<LoadedPolicies, PolicyErrors> {
    let shadow = found.shadow.take();
    let mut checked = before.map(PolicySnapshot::checked).unwrap_or_default();
    let mut loaded = compile_one(settings, found, checked.clone())?;
    let Some(shadow) = shadow else {
        return Ok(loaded);
    };
    let settings = Settings {
        dir: settings.shadow.clone(),
        shadow: None,
        ..settings.clone()
    };
    // A shadow policy is mostly what is in force and a little more, and later comes into force.
    checked.extend(loaded.snapshot.checked());
    let before = before.and_then(PolicySnapshot::shadow);
    checked.extend(before.map(PolicySnapshot::checked).unwrap_or_default());
    match compile_one(&settings, *shadow, checked) {
        Ok(shadow) => loaded.snapshot = loaded.snapshot.with_shadow(shadow.snapshot),
        Err(errors) => loaded.shadow = errors.problems,
    }
    Ok(loaded)
}

fn compile_one(
    settings: &Settings,
    mut found: Directory,
    checked: Vec<CheckedPolicies>,
) -> Result<LoadedPolicies, PolicyErrors> {
    let is_listed = found.has_manifest();
    let mut labels = Labels::default();
    let mut sources = vec![builtin(
        "<core.cedar>",
        include_str!("../policy/builtin/core.cedar"),
    )];
    sources.extend(settings.network.compiled());
    sources.extend(settings.flow.compiled());
    sources.extend(egress::compiled(&settings.egress));
    let mut groups = ToolGroups::default();
    let mut entities = None;
    if let Some(names) = &settings.allow {
        found
            .notices
            .extend(names.iter().filter_map(|name| doubt(name)));
        let allowlist = CompiledAllowlist::of(names);
        groups = allowlist.groups;
        sources.push(allowlist.policy);
        entities = Some(allowlist.entities);
        if !settings.has_files() && settings.other_methods == OtherMethods::Allow {
            sources.push(builtin(
                "<base.cedar>",
                include_str!("../policy/builtin/base.cedar"),
            ));
        }
    }
    let mut lock = Lock::default();
    let mut lock_is = LockState::Whole;
    let mut labelled = BTreeSet::new();
    if settings.has_files() {
        let sound = found.problems.len();
        lock = lock::read(&found.labels, &settings.servers, &mut found.problems);
        if found.problems.len() > sound {
            lock_is = LockState::Broken;
        }
        sources.append(&mut found.sources);
        let (read, compiled) = settings.labels(&found.labels, &mut found.problems);
        labels = read;
        sources.extend(compiled.sources);
        groups.extend(compiled.groups);
        labelled = compiled.labelled;
    }
    if settings.labels == RequiredLabels::Permission {
        sources.push(requiring_labels(&labelled, &mut groups));
        let allowed = settings.allow.iter().flatten();
        let closed = allowed.filter(|name| !labelled.contains(*name));
        found.notices.extend(closed.map(|name| unlabelled(name)));
    }
    labels.allowed = settings.allow.iter().flatten().cloned().collect();
    labels.closed_from = settings.network.closed_from();
    let unknown = unknown_names(settings, &sources, &labels);
    found.problems.extend(unknown);
    let lock = Arc::new(lock.with_mode(settings.lock).with_passing(settings.passing));
    if lock.pins() {
        sources.push(builtin(
            "<lock.cedar>",
            include_str!("../policy/builtin/lock.cedar"),
        ));
    }
    if lock.mode() == Pinning::Enforce {
        sources.extend(enforcing(&lock));
        found.notices.extend(nothing_approved(&lock));
        let allowed = labels.allowed.iter();
        found
            .notices
            .extend(allowed.filter_map(|name| unapproved(name, &lock)));
    }
    let kinds = EngineKinds::new(&groups, &lock, settings).after(checked);
    let compiled = match load_report::compiled(&kinds, &sources, (&lock, lock_is)) {
        Ok(compiled) if found.problems.is_empty() => compiled,
        Ok(_) => return Err(PolicyErrors::of(found.problems)),
        Err(errors) => {
            found.problems.extend(errors.problems);
            return Err(PolicyErrors::of(found.problems));
        }
    };
    let mut notices = found.notices;
    if sources.iter().any(reads_typed_arguments) {
        notices.extend(lock::notices(&lock, &found.labels));
    }
    notices.extend(compiled.notices);
    notices.extend(empty_files(&sources, &compiled.policies));
    notices.extend(nameless(&sources, &compiled.policies));
    if compiled.surfaces.tools == ExposedTools::None {
        notices.push(no_tools(settings));
    }
    sources.extend(entities.into_iter().chain(found.labels));
    let snapshot = PolicySnapshot::new(compiled.engines, sources, compiled.policies);
    let mut snapshot = snapshot.with_labels(labels).with_lock(lock);
    snapshot = snapshot.in_directories(&settings.directories());
    if is_listed {
        snapshot = snapshot.with_manifest();
    }
    Ok(LoadedPolicies {
        snapshot,
        notices: PolicyProblem::once(notices),
        shadow: Vec::new(),
        surfaces: compiled.surfaces,
    })
}

/// Names that the configuration would have to say.
fn unknown_names(
    settings: &Settings,
    sources: &[PolicySource],
    labels: &Labels,
) -> Vec<PolicyProblem> {
    let claims = settings.claims.iter();
    let claims = claims.flat_map(|claims| claim_names::unconfigured(sources, claims));
    let strays = several::of_no_server(&settings.servers, labels);
    claims.chain(strays).collect()
}

impl Settings {
    /// The labels, and the policies that the gate generates from them and from what tokens grant.
    fn labels(
        &self,
        sources: &[PolicySource],
        problems: &mut Vec<PolicyProblem>,
    ) -> (Labels, labels::LabelRules) {
        let tokens = self.claims.as_ref().map(|claims| claims.grants);
        let tokens = tokens.unwrap_or(TokenGrants::Unknown);
        // Without a configuration, the servers are unknown.
        let are_known = self.claims.is_some() || !self.servers.is_empty();
        let servers = are_known.then_some(&*self.servers);
        let (mut labels, rules) = labels::read(sources, (tokens, servers), problems);
        if let Some(base) = &self.base {
            labels.resolve_by_default_from(base);
        }
        (labels, rules)
    }
}

/// Whether a policy of the operator may read arguments by their types. Without one, no policy needs types.
fn reads_typed_arguments(source: &PolicySource) -> bool {
    let spaceless = |text: &str| text.split_whitespace().collect::<String>();
    let is_own = !source.name.starts_with('<');
    let reads = [
        "context.arguments",
        "contexthasarguments",
        "context[\"arguments\"]",
    ];
    is_own && {
        let text = spaceless(&source.text);
        reads.iter().any(|words| text.contains(words))
    }
}

fn builtin(name: &str, text: &str) -> PolicySource {
    PolicySource::new(name, text)
}

/// Policies that are called by their line, which moves with every edit: tests, records and reviewers can
/// hold on to a name. One remark for each file.
fn nameless(
    sources: &[PolicySource],
    policies: &[PolicyEntry],
) -> impl Iterator<Item = PolicyProblem> {
    /// Policies of a file that are pointed at.
    const SHOWN: usize = 8;
    // A file of Rego is called by its place when an answer gives no reason.
    let is_asked = |source: &&PolicySource| !source.name.ends_with(".rego");
    sources.iter().filter(is_asked).filter_map(|source| {
        let is_here = |policy: &&PolicyEntry| Arc::ptr_eq(&policy.origin.file, &source.name);
        let here = policies.iter().filter(is_here);
        let nameless: Vec<&PolicyEntry> = here.filter(|policy| !policy.is_named()).collect();
        let first = nameless.first()?;
        let message = format!(
            "`{}` has {} without an `@id`, known by the line (`{}`)",
            source.name,
            counted(nameless.len()),
            first.origin
        );
        let problem = PolicyProblem::warning("policy::no_id", message).with_help(
            "write `@id(\"what-it-does\")` above each: a line moves with every edit, and tests, records \
             and reviews need a name that stays",
        );
        let shown = nameless.iter().take(SHOWN);
        let places = shown.filter_map(|policy| {
            let start = source.text.find(&*policy.text)?;
            Some(start..start + policy.text.lines().next().map_or(0, str::len))
        });
        let problem = problem.in_source(source);
        Some(places.fold(problem, |problem, place| problem.at(place, "no `@id`")))
    })
}

fn counted(policies: usize) -> String {
    match policies {
        1 => "a policy".to_owned(),
        some => format!("{some} policies"),
    }
}

fn empty_files(
    sources: &[PolicySource],
    policies: &[PolicyEntry],
) -> impl Iterator<Item = PolicyProblem> {
    let empty = sources.iter().filter(|source| {
        policies
            .iter()
            .all(|policy| !Arc::ptr_eq(&policy.origin.file, &source.name))
    });
    empty.map(|source| {
        let message = format!("`{}` holds no policy: it permits nothing", source.name);
        PolicyProblem::warning("policy::empty_file", message)
    })
}

fn no_tools(settings: &Settings) -> PolicyProblem {
    let why = match (&settings.allow, settings.has_files()) {
        (None, false) => "there is neither an allowlist nor a policy directory",
        (Some(_), false) => "the allowlist is empty and there is no policy directory",
        (_, true) => "no policy permits it",
    };
    PolicyProblem::warning("policy::no_tools", format!("no tool can be called: {why}"))
}

fn nothing_approved(lock: &Lock) -> Option<PolicyProblem> {
    let message = "no tool can be called: the lock is enforced, and approves none";
    let help = "`mcp-protector tools lock --config FILE` writes `tools.lock` beside the policies";
    let approves_none = lock.tools().next().is_none();
    approves_none.then(|| PolicyProblem::warning("policy::no_tools", message).with_help(help))
}

/// A name in the allowlist that the enforced lock closes.
fn unapproved(name: &str, lock: &Lock) -> Option<PolicyProblem> {
    if lock.tool(name).is_some() || lock.tools().next().is_none() {
        return None;
    }
    let message = format!(
        "`{}` in the allowlist cannot be called: the lock is enforced, and does not approve it",
        name.escape_debug()
    );
    let help = "`mcp-protector tools approve --config FILE` adds it to `tools.lock`";
    Some(PolicyProblem::warning("policy::allow", message).with_help(help))
}

/// The built-in policies of an enforced lock.
fn enforcing(lock: &Lock) -> Vec<PolicySource> {
    let tools = builtin(
        "<approved.cedar>",
        include_str!("../policy/builtin/approved.cedar"),
    );
    let prompts = lock.words().is_some().then(|| {
        builtin(
            "<approved-prompts.cedar>",
            include_str!("../policy/builtin/approved-prompts.cedar"),
        )
    });
    [tools].into_iter().chain(prompts).collect()
}

/// Closes all tools but these.
fn requiring_labels(labelled: &BTreeSet<String>, groups: &mut ToolGroups) -> PolicySource {
    for name in labelled {
        groups.add(name, LABELLED);
    }
    builtin(
        "<labelled.cedar>",
        include_str!("../policy/builtin/labelled.cedar"),
    )
}

/// A name in the allowlist that no label names, where labels are required.
fn unlabelled(name: &str) -> PolicyProblem {
    let message = format!(
        "`{}` in the allowlist cannot be called: no label names its permission, and labels are required",
        name.escape_debug()
    );
    let help = "label it in `tools.toml`, as in `[tools.NAME]` with `permission = \"read\"`";
    PolicyProblem::warning("policy::allow", message).with_help(help)
}

/// A name in the allowlist that looks as if more was meant than the exact name.
pub fn doubt(name: &str) -> Option<PolicyProblem> {
    let why = if name.is_empty() {
        "is empty"
    } else if name.contains(['*', '?']) {
        "holds a `*` or `?`, which stand for themselves: names are exact"
    } else if name.trim() != name {
        "begins or ends with white space, which counts: names are exact"
    } else if name.chars().any(char::is_control) {
        "holds a control character; no tool of that name can be called"
    } else {
        return None;
    };
    let message = format!("`{}` in the allowlist {why}", name.escape_debug());
    Some(PolicyProblem::warning("policy::allow", message))
}
