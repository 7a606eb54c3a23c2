//! Names that nobody has.

use std::collections::BTreeSet;

use cedar_policy_core::ast::{EntityUID, Literal};

use super::expressions::literal;
use super::found::{Found, Say};
use super::material::World;
use super::table::Lint;

pub(super) const UNKNOWN_NAME: Lint = Lint {
    code: "lint::unknown-name",
    about: "a role, team, user, capability, group or root that no file of labels gives to anybody, \
            or a name that is nearly one of theirs",
    look,
};

/// The group of what the configuration allows.
const GROUP: &str = crate::policy::engines::allowlist::GROUP;

/// The names of one type of entity.
struct Names {
    kind: &'static str,
    file: &'static str,
    known: BTreeSet<String>,
    /// Whether there are no others; of tools and agents there may be some without labels.
    all: All,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum All {
    Known,
    NotKnown,
}

fn look(world: &World<'_>, found: &mut Found) {
    let mut names = agents(world);
    names.extend(tools(world));
    names.extend(groups(world));
    for policy in world.policies {
        let whole = policy.template.condition();
        for expr in whole.subexpressions() {
            let Some(Literal::EntityUID(uid)) = literal(expr) else {
                continue;
            };
            for names in names.iter().filter(|it| is(uid, it.kind)) {
                if let Some(say) = names.doubt(uid) {
                    let own = uid.loc().or_else(|| expr.source_loc());
                    let own = own.filter(|loc| (loc.start()..loc.end()) != policy.span);
                    found.at(&UNKNOWN_NAME, policy, own, say);
                }
            }
        }
    }
}

fn agents(world: &World<'_>) -> Vec<Names> {
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
    let names = |kind, known, all| Names {
        kind,
        file: FILE,
        known,
        all,
    };
    vec![
        names("Role", roles, All::Known),
        names("Team", teams, All::Known),
        names("User", users, All::Known),
        names("Agent", agents, All::NotKnown),
    ]
}

fn tools(world: &World<'_>) -> Vec<Names> {
    const FILE: &str = "tools.toml";
    if !world.has(FILE) {
        return Vec::new();
    }
    let said = &world.given.said;
    let labels = said.tools.values().chain([&said.unlabelled]);
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
    let names = |kind, known, all| Names {
        kind,
        file: FILE,
        known,
        all,
    };
    vec![
        names("Capability", capabilities, All::Known),
        names("Tool", said.tools.keys().cloned().collect(), All::NotKnown),
    ]
}

/// What has no names but those of its file.
fn groups(world: &World<'_>) -> Vec<Names> {
    let said = &world.given.said;
    let labels = said.tools.values().chain([&said.unlabelled]);
    let mut tools: BTreeSet<String> = labels.flat_map(|it| &it.groups).cloned().collect();
    tools.insert(GROUP.to_owned());
    let names = |kind, file, known| Names {
        kind,
        file,
        known,
        all: All::Known,
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

/// The names of the tables in a table of a file.
fn keys(world: &World<'_>, file: &str, table: &str) -> BTreeSet<String> {
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
fn grouped(world: &World<'_>, file: &str) -> BTreeSet<String> {
    let files = world.label_files(file);
    let mut open: Vec<toml::Value> = files
        .filter_map(|source| Some(toml::Value::Table(source.text.parse().ok()?)))
        .collect();
    let mut found = BTreeSet::new();
    while let Some(value) = open.pop() {
        found.extend(strings(&value, "groups"));
        let inside = value
            .as_table()
            .into_iter()
            .flat_map(|table| table.values());
        let inside = inside.chain(value.as_array().into_iter().flatten());
        open.extend(inside.cloned());
    }
    found
}

impl Names {
    fn doubt(&self, uid: &EntityUID) -> Option<Say> {
        let eid: &str = uid.eid().as_ref();
        if self.known.contains(eid) {
            return None;
        }
        let (kind, file) = (self.kind, self.file);
        let near = self.nearest(eid);
        let help = match (&near, self.all) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, All::Known) => {
                format!("add it there, or name one that is there: {}", self.list())
            }
            (None, All::NotKnown) => return None,
        };
        let message = match self.all {
            All::Known => format!(
                "no `{file}` gives the {} `{eid}` to anybody: this never holds",
                spaced(kind)
            ),
            All::NotKnown => {
                format!(
                    "`{eid}` is not in `{file}`, but `{}` is",
                    near.unwrap_or_default()
                )
            }
        };
        Some(Say {
            message,
            help,
            label: "here",
        })
    }

    /// A slip of the pen away, and not a name of its own such as `tool1` beside `tool2`.
    fn nearest(&self, eid: &str) -> Option<String> {
        let plain = |text: &str| text.to_lowercase().replace(['-', '_', '.'], "");
        let numbered = |text: &str| {
            text.trim_end_matches(|c: char| c.is_ascii_digit())
                .to_owned()
        };
        let near = |known: &&String| {
            let same = plain(known) == plain(eid);
            let few = known.chars().count().min(eid.chars().count()) / 4;
            let letters = numbered(known) != numbered(eid);
            same || letters && strsim::osa_distance(known, eid) <= few.min(2)
        };
        self.known.iter().find(near).cloned()
    }

    fn list(&self) -> String {
        /// More than this nobody reads.
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
    use super::super::fixture::{call, check_in, source};
    use super::super::material::Material;
    use crate::policy::{Labels, ToolLabels};

    #[track_caller]
    fn given(files: &[&str], policy: &str, findings: usize) {
        let texts = [
            (
                "agents.toml",
                "[teams.audit]\nroles = [\"auditor\"]\n[agents.nightly]\nteams = [\"audit\", \"ops\"]\nroles = \"editor\"\nuser = \"alice\"\n",
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
        check_in("unknown-name", &material, findings);
    }

    const BOTH: [&str; 2] = ["agents.toml", "tools.toml"];

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
            // Agents and tools may be known to nobody but themselves.
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
