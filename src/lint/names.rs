//! Names in policies of unknown entities.

use std::collections::BTreeSet;

use cedar_policy_core::ast::{EntityUID, Expr, Literal, Var};

use super::expressions::{comparison, literal, path, text};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use crate::policy::UNKNOWN_DATASET;

/// The group of what the configuration allows.
const GROUP: &str = crate::policy::engines::allowlist::GROUP;

/// What a session is labelled with whose server has sent some.
const CREDENTIALS: &str = "credentials";

/// The names of one type of entity.
struct EntityNames {
    kind: &'static str,
    file: &'static str,
    known: BTreeSet<String>,
    /// Whether there are no others; of tools and agents there may be some without labels.
    all: NameCompleteness,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NameCompleteness {
    Known,
    NotKnown,
    /// There is one, which the file names.
    One,
    /// The gate fills in none.
    None,
}

/// What policies name.
pub(super) fn in_policies(lint: &'static Lint, world: &LintContext<'_>, found: &mut LintFindings) {
    let mut names = agents(world);
    names.extend(tools(world));
    names.extend(capabilities(world));
    names.extend(groups(world));
    names.extend(servers(world));
    let (labels, datasets) = (labels(world), datasets(world));
    for policy in world.policies {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            let of_labels = labels_in(expr).into_iter().map(|it| (&labels, it));
            let of_datasets = datasets_in(expr).into_iter().map(|it| (&datasets, it));
            for (known, (literal, name)) in of_labels.chain(of_datasets) {
                if let Some(say) = known.doubt(name) {
                    let own = literal.source_loc().or_else(|| expr.source_loc());
                    found.at(lint, policy, own, say);
                }
            }
            let Some(Literal::EntityUID(uid)) = literal(expr) else {
                continue;
            };
            for names in names.iter().filter(|it| is(uid, it.kind)) {
                if let Some(say) = names.doubt(uid.eid().as_ref()) {
                    let own = uid.loc().or_else(|| expr.source_loc());
                    let own = own.filter(|loc| (loc.start()..loc.end()) != policy.span);
                    found.at(lint, policy, own, say);
                }
            }
        }
    }
}

fn agents(world: &LintContext<'_>) -> Vec<EntityNames> {
    const FILE: &str = "agents.toml";
    let mut roles = BTreeSet::new();
    let (mut teams, mut users) = (BTreeSet::new(), BTreeSet::new());
    let mut agents = BTreeSet::from(["stdio".to_owned()]);
    if !world.has(FILE) {
        return Vec::new();
    }
    for source in world.label_files(FILE) {
        // What is wrong with the file is told when it is loaded.
        let Ok(file) = source.text.parse::<toml::Table>() else {
            return Vec::new();
        };
        let tables = |key: &str| file.get(key).and_then(toml::Value::as_table).cloned();
        roles.extend(
            tables("roles")
                .unwrap_or_default()
                .into_iter()
                .map(|(name, _)| name),
        );
        for (name, team) in tables("teams").unwrap_or_default() {
            teams.insert(name);
            roles.extend(strings(&team, "roles"));
        }
        for (name, agent) in tables("agents").unwrap_or_default() {
            agents.insert(name);
            roles.extend(strings(&agent, "roles"));
            teams.extend(strings(&agent, "teams"));
            users.extend(strings(&agent, "user"));
        }
    }
    let names = |kind, known, all| EntityNames {
        kind,
        file: FILE,
        known,
        all,
    };
    vec![
        names("Role", roles, NameCompleteness::Known),
        names("Team", teams, NameCompleteness::Known),
        names("User", users, NameCompleteness::Known),
        names("Agent", agents, NameCompleteness::NotKnown),
    ]
}

/// Names of the tools in `tools.lock` and `tools.toml`.
fn tools(world: &LintContext<'_>) -> Option<EntityNames> {
    let labelled = world.given.said.tools.keys().cloned();
    let locked = world.given.lock.tools().map(|(name, _)| name.to_owned());
    let mut known: BTreeSet<String> = locked.collect();
    let file = match (known.is_empty(), world.has("tools.toml")) {
        (true, false) => return None,
        (true, true) => "tools.toml",
        (false, false) => "tools.lock",
        (false, true) => "tools.lock` and `tools.toml",
    };
    known.extend(labelled);
    Some(EntityNames {
        kind: "Tool",
        file,
        known,
        all: NameCompleteness::NotKnown,
    })
}

/// Checks whether a tool name is close to a known one. `unknown_name` reports it, so other lints need not.
pub(super) fn misspelt(world: &LintContext<'_>) -> impl Fn(&str) -> bool {
    let tools = tools(world);
    move |name| tools.as_ref().is_some_and(|it| it.doubt(name).is_some())
}

fn capabilities(world: &LintContext<'_>) -> Option<EntityNames> {
    const FILE: &str = "tools.toml";
    if !world.has(FILE) {
        return None;
    }
    let said = &world.given.said;
    let labels = said.all_tools();
    let mut capabilities: BTreeSet<String> = said.roles.values().flatten().cloned().collect();
    capabilities.extend(
        said.agents
            .values()
            .flat_map(|it| &it.capabilities)
            .cloned(),
    );
    for name in labels.flat_map(|labels| &labels.capabilities) {
        let ends = name.match_indices('.').map(|(end, _)| end);
        capabilities.extend(ends.filter_map(|end| name.get(..end)).map(str::to_owned));
        capabilities.insert(name.clone());
    }
    Some(EntityNames {
        kind: "Capability",
        file: FILE,
        known: capabilities,
        all: NameCompleteness::Known,
    })
}

/// What has no names but those of its file.
fn groups(world: &LintContext<'_>) -> Vec<EntityNames> {
    let said = &world.given.said;
    let labels = said.all_tools();
    let mut tools: BTreeSet<String> = labels.flat_map(|it| &it.groups).cloned().collect();
    tools.insert(GROUP.to_owned());
    let names = |kind, file, known| EntityNames {
        kind,
        file,
        known,
        all: NameCompleteness::Known,
    };
    vec![
        names("ToolGroup", "tools.toml", tools),
        names("Root", "roots.toml", keys(world, "roots.toml", "roots")),
        names(
            "ResourceGroup",
            "resources.toml",
            grouped(world, "resources.toml"),
        ),
        names(
            "PromptGroup",
            "prompts.toml",
            grouped(world, "prompts.toml"),
        ),
    ]
}

/// What there is one of, or none.
fn servers(world: &LintContext<'_>) -> Vec<EntityNames> {
    let names = |kind, known, all| EntityNames {
        kind,
        file: "the configuration",
        known,
        all,
    };
    let own = world.given.server.iter();
    let own = own.map(|name| names("Server", [name.clone()].into(), NameCompleteness::One));
    let groups = names("ServerGroup", BTreeSet::new(), NameCompleteness::None);
    own.chain([groups]).collect()
}

/// Everything that a session, a result or a resource may be labelled with.
fn labels(world: &LintContext<'_>) -> EntityNames {
    const FILES: [&str; 3] = ["tools.toml", "roots.toml", "resources.toml"];
    let files = FILES
        .iter()
        .flat_map(|file| named_by(world, file, "labels"));
    let mut known: BTreeSet<String> = files.collect();
    known.insert(CREDENTIALS.to_owned());
    for policy in world.policies {
        let labels = policy.annotation("add_label").into_iter();
        known.extend(labels.flat_map(str::split_whitespace).map(str::to_owned));
    }
    // In other languages any text may be one.
    let others = world.given.policies.iter();
    for source in others.filter(|source| !source.name.ends_with(".cedar")) {
        let words = source.text.split(['"', '\'', '`']);
        known.extend(words.map(str::to_owned));
    }
    EntityNames {
        kind: "Label",
        file: "tools.toml",
        known,
        all: NameCompleteness::Known,
    }
}

/// The data sets that a session may have read, as far as labels tell: a trusted server names others.
fn datasets(world: &LintContext<'_>) -> EntityNames {
    let named = world.given.said.datasets().into_iter();
    let known = named.chain([UNKNOWN_DATASET]).map(str::to_owned);
    EntityNames {
        kind: "Dataset",
        file: "tools.toml",
        known: known.collect(),
        all: NameCompleteness::NotKnown,
    }
}

/// The data sets that an expression compares with.
fn datasets_in(expr: &Expr) -> Vec<(&Expr, &str)> {
    let is_datasets = |subject: &Expr| matches!(path(subject), Some((Var::Context, path)) if path == ["env", "session", "datasets"]);
    texts_compared_with(expr, is_datasets)
}

/// The labels that an expression compares with.
fn labels_in(expr: &Expr) -> Vec<(&Expr, &str)> {
    let is_labels = |subject: &Expr| match path(subject) {
        Some((Var::Context, path)) => {
            path == ["env", "session", "labels"] || path == ["result", "labels"]
        }
        Some((Var::Resource, path)) => path == ["labels"],
        Some((Var::Principal | Var::Action, _)) | None => false,
    };
    texts_compared_with(expr, is_labels)
}

fn texts_compared_with(expr: &Expr, is_meant: impl Fn(&Expr) -> bool) -> Vec<(&Expr, &str)> {
    let Some((subject, items)) = comparison(expr) else {
        return Vec::new();
    };
    let items = items.into_iter().filter(|_| is_meant(subject));
    items.filter_map(|it| Some((it, text(it)?))).collect()
}

/// The names of the tables in a table of a file.
fn keys(world: &LintContext<'_>, file: &str, table: &str) -> BTreeSet<String> {
    let tables = world.label_files(file).filter_map(|source| {
        let file: toml::Table = source.text.parse().ok()?;
        Some(
            file.get(table)?
                .as_table()?
                .keys()
                .cloned()
                .collect::<Vec<_>>(),
        )
    });
    tables.flatten().collect()
}

/// Every group that something in a file is in.
fn grouped(world: &LintContext<'_>, file: &str) -> BTreeSet<String> {
    named_by(world, file, "groups")
}

/// Everything that some key in a file names, in whatever table.
fn named_by(world: &LintContext<'_>, file: &str, key: &str) -> BTreeSet<String> {
    let files = world.label_files(file);
    let mut open: Vec<toml::Value> = files
        .filter_map(|source| Some(toml::Value::Table(source.text.parse().ok()?)))
        .collect();
    let mut found = BTreeSet::new();
    while let Some(value) = open.pop() {
        found.extend(strings(&value, key));
        let inside = value
            .as_table()
            .into_iter()
            .flat_map(|table| table.values());
        let inside = inside.chain(value.as_array().into_iter().flatten());
        open.extend(inside.cloned());
    }
    found
}

impl EntityNames {
    fn doubt(&self, eid: &str) -> Option<LintMessage> {
        if self.known.contains(eid) {
            return None;
        }
        let (kind, file) = (self.kind, self.file);
        let near = nearest(self.known.iter(), eid).cloned();
        let help = match (&near, self.all) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, NameCompleteness::Known) => {
                format!("add it there, or name one that is there: {}", self.list())
            }
            (None, NameCompleteness::One) => format!("it is called {}", self.list()),
            (None, NameCompleteness::None) => {
                "the one server is `Mcp::Server`, by its name".to_owned()
            }
            (None, NameCompleteness::NotKnown) => return None,
        };
        let message = match self.all {
            NameCompleteness::Known => format!(
                "no `{file}` assigns the {} `{eid}`: this never holds",
                spaced(kind)
            ),
            NameCompleteness::One => format!(
                "by {file} no {} is called `{eid}`: this never holds",
                spaced(kind)
            ),
            NameCompleteness::None => format!(
                "the gate fills in no {}, and so not `{eid}`: this never holds",
                spaced(kind)
            ),
            NameCompleteness::NotKnown => {
                format!(
                    "`{eid}` is not in `{file}`, but `{}` is",
                    near.unwrap_or_default()
                )
            }
        };
        Some(LintMessage {
            message,
            help,
            label: "here",
        })
    }

    fn list(&self) -> String {
        /// The most names that a message lists.
        const FEW: usize = 8;
        if self.known.is_empty() {
            return "there is none".to_owned();
        }
        let names = self.known.iter().take(FEW).map(|name| format!("`{name}`"));
        let mut names: Vec<String> = names.collect();
        if self.known.len() > FEW {
            names.push("…".to_owned());
        }
        names.join(", ")
    }
}

/// `ToolGroup` as people say it.
fn spaced(kind: &str) -> String {
    let mut spaced = String::new();
    for c in kind.chars() {
        if c.is_ascii_uppercase() && !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push(c.to_ascii_lowercase());
    }
    spaced
}

pub(super) fn is(uid: &EntityUID, kind: &str) -> bool {
    uid.entity_type().to_string() == format!("Mcp::{kind}")
}

/// A slip of the pen away, and not a name of its own such as `tool1` beside `tool2`.
pub(super) fn nearest<S: AsRef<str>>(mut known: impl Iterator<Item = S>, name: &str) -> Option<S> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', '.'], "");
    let numbered = |text: &str| {
        text.trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    known.find(|known| {
        let known = known.as_ref();
        let same = plain(known) == plain(name);
        let few = known.chars().count().min(name.chars().count()) / 4;
        let letters = numbered(known) != numbered(name);
        same || letters && strsim::osa_distance(known, name) <= few.min(2)
    })
}

/// A string, or an array of them.
fn strings(table: &toml::Value, key: &str) -> Vec<String> {
    let value = table.get(key);
    let one = value.and_then(toml::Value::as_str).map(str::to_owned);
    let many = value.and_then(toml::Value::as_array).into_iter().flatten();
    let many = many.filter_map(|item| item.as_str().map(str::to_owned));
    one.into_iter().chain(many).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use super::super::fixture::{call, check_in, found, locking, source};
    use super::super::material::Material;
    use crate::policy::{Labels, ToolLabels};

    #[track_caller]
    fn given(files: &[&str], policy: &str, findings: usize) {
        let texts = [
            (
                "agents.toml",
                "[teams.audit]\nroles = [\"auditor\"]\n[teams.ops]\nroles = []\n[agents.nightly]\nteams = [\"audit\", \"ops\"]\nroles = \"editor\"\nuser = \"alice\"\n",
            ),
            ("roots.toml", "[roots.work]\npath = \"/srv\"\n"),
            (
                "resources.toml",
                "[[resources]]\nuri = \"a://b\"\ngroups = [\"guides\"]\n",
            ),
            (
                "tools.toml",
                "[tools.read_file]\ncapabilities = [\"fs.read\"]\n",
            ),
        ];
        let labels = texts.iter().filter(|(name, _)| files.contains(name));
        let tool = ToolLabels {
            capabilities: vec!["fs.read".to_owned()],
            ..ToolLabels::default()
        };
        let mut said = Labels::default();
        if files.contains(&"tools.toml") {
            said.tools.insert("read_file".to_owned(), tool);
        }
        let material = Material {
            policies: vec![source("p/x.cedar", policy)],
            labels: labels
                .map(|(name, text)| source(&format!("p/{name}"), text))
                .collect(),
            said,
            ..Material::default()
        };
        check_in("unknown_name", &material, findings);
    }

    const BOTH: [&str; 2] = ["agents.toml", "tools.toml"];

    #[test]
    fn labels_that_nothing_brings_are_found() {
        let check = |condition: &str, extra: &[(&str, &str)], findings| {
            let policy = call("forbid", "", &format!("when {{ {condition} }}"));
            let mut policies = vec![source("p/x.cedar", &policy)];
            let mut labels = Vec::new();
            for (name, text) in extra {
                let is_labels = ["p/tools.toml", "p/roots.toml", "p/resources.toml"].contains(name);
                let files = if is_labels {
                    &mut labels
                } else {
                    &mut policies
                };
                files.push(source(name, text));
            }
            let material = Material {
                policies,
                labels,
                ..Material::default()
            };
            let found = found("unknown_name", &material);
            assert_eq!(found.len(), findings, "{condition} {extra:?}\n{found:#?}");
        };
        let pii = "context.env.session.labels.contains(\"pii\")";
        let tools = ("p/tools.toml", "[tools.a]\nlabels = [\"pii\"]\n");
        check(pii, &[], 1);
        check(pii, &[tools], 0);
        check(
            pii,
            &[(
                "p/roots.toml",
                "[roots.a]\npath = \"/a\"\nlabels = [\"pii\"]\n",
            )],
            0,
        );
        check(
            pii,
            &[(
                "p/resources.toml",
                "[[resources]]\nuri = \"a://b\"\nlabels = [\"pii\"]\n",
            )],
            0,
        );
        let annotated =
            "@id(\"y\")\n@add_label(\"hr pii\")\npermit (principal, action, resource);\n";
        check(pii, &[("p/y.cedar", annotated)], 0);
        check(pii, &[("p/y.cel.toml", "add_label = [\"pii\"]")], 0);
        let session = "context.env.session.labels";
        check(
            &format!("{session}.containsAny([\"pii\", \"ppi\"])"),
            &[tools],
            1,
        );
        check(&format!("{session}.contains(\"credentials\")"), &[tools], 0);
        check(&format!("{session}.isEmpty()"), &[], 0);
        check("context.targets.hosts.contains(\"pii\")", &[], 0);
    }

    #[test]
    fn a_data_set_that_is_called_almost_as_a_labelled_one_is_found() {
        let check = |condition: &str, findings| {
            let policy = call("forbid", "", &format!("when {{ {condition} }}"));
            let tool = ToolLabels {
                datasets: vec!["payroll".to_owned()],
                ..ToolLabels::default()
            };
            let said = Labels {
                tools: HashMap::from([("pay".to_owned(), tool)]),
                ..Labels::default()
            };
            let material = Material {
                policies: vec![source("p/x.cedar", &policy)],
                said,
                ..Material::default()
            };
            check_in("unknown_name", &material, findings);
        };
        let datasets = "context.env.session.datasets";
        check(&format!("{datasets}.contains(\"payroll\")"), 0);
        check(&format!("{datasets}.containsAny([\"payroll\", \"?\"])"), 0);
        check(&format!("{datasets}.containsAny([\"payrol\", \"?\"])"), 1);
        // A trusted server may name it.
        check(&format!("{datasets}.contains(\"customers\")"), 0);
        check("context.env.session.labels.contains(\"payroll\")", 1);
    }

    #[test]
    fn the_server_is_the_one_of_the_configuration_and_in_no_group() {
        let check = |condition: &str, server: Option<&str>, findings| {
            let policy = call("forbid", "", &format!("when {{ {condition} }}"));
            let material = Material {
                policies: vec![source("p/x.cedar", &policy)],
                server: server.map(ToOwned::to_owned),
                ..Material::default()
            };
            check_in("unknown_name", &material, findings);
        };
        let files = "resource in Mcp::Server::\"files\"";
        check(files, Some("files"), 0);
        check(files, Some("notes"), 1);
        check(
            "resource.server == Mcp::Server::\"flies\"",
            Some("files"),
            1,
        );
        check(files, None, 0);
        check("resource in Mcp::ServerGroup::\"local\"", None, 1);
    }

    #[test]
    fn a_tool_that_is_nearly_one_of_the_lock_is_found_in_any_policy() {
        let check = |locked: &[&str], effect: &str, name: &str, findings| {
            let policy = call(effect, &format!("resource == Mcp::Tool::\"{name}\""), "");
            let mut said = Labels::default();
            said.tools
                .insert("list_files".to_owned(), ToolLabels::default());
            let material = Material {
                policies: vec![source("p/x.cedar", &policy)],
                lock: Arc::new(locking(locked)),
                said,
                ..Material::default()
            };
            check_in("unknown_name", &material, findings);
        };
        check(&["read_file", "write_file"], "forbid", "wirte_file", 1);
        check(&["read_file", "write_file"], "permit", "wirte_file", 1);
        check(&["read_file", "write_file"], "forbid", "write_file", 0);
        check(&["read_file", "write_file"], "forbid", "run", 0);
        check(&["read_file", "list_file"], "forbid", "list_files", 0);
        check(&["read_file"], "forbid", "lsit_files", 1);
        check(&[], "forbid", "wirte_file", 0);
    }

    #[test]
    fn names_that_nobody_has_are_found_where_they_are_given() {
        let cases = [
            ("principal in Mcp::Role::\"editor\"", 0),
            ("principal in Mcp::Role::\"auditor\"", 0),
            ("principal in Mcp::Role::\"editr\"", 1),
            ("principal in Mcp::Role::\"writer\"", 1),
            ("principal in Mcp::Team::\"ops\"", 0),
            ("principal in Mcp::Team::\"dev\"", 1),
            ("principal in Mcp::User::\"alice\"", 0),
            ("principal in Mcp::User::\"bob\"", 1),
            ("principal == Mcp::Agent::\"nightly\"", 0),
            ("principal == Mcp::Agent::\"stdio\"", 0),
            ("principal == Mcp::Agent::\"nightyl\"", 1),
            // The files may not name agents and tools that exist.
            ("principal == Mcp::Agent::\"weekly\"", 0),
            ("resource in Mcp::Capability::\"fs\"", 0),
            ("resource in Mcp::Capability::\"fs.read\"", 0),
            ("resource in Mcp::Capability::\"fs.wirte\"", 1),
            ("resource == Mcp::Tool::\"read_file\"", 0),
            ("resource == Mcp::Tool::\"write_file\"", 0),
            ("resource == Mcp::Tool::\"read_flie\"", 1),
            ("resource == Mcp::Tool::\"read-file\"", 1),
            ("resource == Mcp::Tool::\"read_file2\"", 0),
        ];
        for (condition, findings) in cases {
            let policy = call("permit", "", &format!("when {{ {condition} }}"));
            given(&BOTH, &policy, findings);
            given(&[], &policy, 0);
        }
        // There are no others than the files of labels say.
        for (scope, findings) in [
            ("resource in Mcp::ToolGroup::\"allow\"", 0),
            ("resource in Mcp::ToolGroup::\"alow\"", 1),
        ] {
            given(&[], &call("permit", scope, ""), findings);
        }
        let reads = |scope: &str| {
            call("permit", scope, "").replace(
                "in Mcp::Action::\"call_tool\"",
                "== Mcp::Action::\"read_resource\"",
            )
        };
        given(&[], &reads("resource in Mcp::Root::\"work\""), 1);
        given(
            &["roots.toml"],
            &reads("resource in Mcp::Root::\"work\""),
            0,
        );
        given(&[], &reads("resource in Mcp::ResourceGroup::\"guides\""), 1);
        given(
            &["resources.toml"],
            &reads("resource in Mcp::ResourceGroup::\"guides\""),
            0,
        );
        let scope = call("permit", "resource in Mcp::Capability::\"nte\"", "");
        given(&BOTH, &scope, 1);
        given(&["agents.toml"], &scope, 0);
    }
}
