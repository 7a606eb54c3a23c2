//! What a configuration and its policies presuppose of each other, and do not find: people to ask, tools
//! that are limited, and a network that is.

use std::collections::{BTreeMap, BTreeSet};

use strsim::osa_distance;

use crate::config::{Config, Redaction, ServerDatasets, Upstream};
use crate::policy::{ConsentRule, EscalationTarget, PolicyProblem, PolicySnapshot, ServerKey};
use crate::upstream::sandbox::Network;

/// How a policy says that a person may be asked, in every language.
const ASKS: &str = "requires_consent";

/// How a policy says what a session is raised to, in every language.
const RAISES: &str = "raise_sensitivity";

/// Edits between a name and the one that was meant.
const NEAR: usize = 2;

/// What a configuration says that policies have to fit.
#[derive(Debug, Clone)]
pub(super) struct PolicyRequirements {
    asks_people: bool,
    /// The ids of tools with a rate, and the keys that set these.
    limited: BTreeMap<String, String>,
    /// Those that `policy.allow` names.
    allowed: BTreeSet<String>,
    /// Servers that can send anywhere what they have read, with their keys if there are several.
    unlimited: Vec<Option<ServerKey>>,
    of_server: ServerDatasets,
    /// Whether credentials that a server sends pass, and are seen.
    reports_secrets: bool,
}

/// Where a sensitive session's server can send what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Anywhere: the gate starts it, and its network is not limited.
    Anywhere,
    /// Nowhere else, or it is for others to say.
    Settled,
}

impl PolicyRequirements {
    pub(super) fn by(config: &Config) -> Self {
        let each = config.each();
        Self {
            asks_people: config.consent.is_some(),
            limited: config.each().iter().flat_map(limited).collect(),
            allowed: config.policy.allow.iter().flatten().cloned().collect(),
            unlimited: unlimited(config),
            of_server: config.ratchet.server_datasets,
            reports_secrets: each
                .iter()
                .any(|config| config.guards.secrets == Redaction::Report),
        }
    }

    /// What is not there. None of it permits anything: an unapprovable request stays denied, and a limit
    /// of no tool limits none.
    pub(super) fn missing_in(&self, snapshot: &PolicySnapshot) -> Vec<PolicyProblem> {
        let mut problems = Vec::new();
        if !self.asks_people {
            problems.extend(no_channel(snapshot));
        }
        problems.extend(self.unknown_tools(snapshot));
        problems.extend(self.unlimited_networks(snapshot));
        problems
    }

    fn unknown_tools(&self, snapshot: &PolicySnapshot) -> Vec<PolicyProblem> {
        let labelled = snapshot.labels().tools.keys().map(String::as_str);
        let locked = snapshot.lock().tools().map(|(name, _)| name);
        let allowed = self.allowed.iter().map(String::as_str);
        let known = labelled.chain(locked).chain(allowed);
        let known: BTreeSet<&str> = known.collect();
        // Without named tools, any tool may exist.
        if known.is_empty() {
            return Vec::new();
        }
        let is_named = |tool: &str| {
            let quoted = format!("\"{tool}\"");
            let mut policies = snapshot.policies().iter();
            known.contains(tool) || policies.any(|policy| policy.text.contains(&quoted))
        };
        let unknown = self.limited.iter().filter(|(tool, _)| !is_named(tool));
        let problems = unknown.map(|(tool, key)| unknown_tool(tool, key, &known));
        problems.collect()
    }

    /// What sensitive data can be read by a server that can send it anywhere: one thing for each, and what
    /// all can read once.
    fn unlimited_networks(&self, snapshot: &PolicySnapshot) -> Vec<PolicyProblem> {
        let mut told = BTreeMap::new();
        for key in &self.unlimited {
            // Tools are in no order.
            if let Some(first) = self.sensitive(snapshot, key.as_ref()).into_iter().min() {
                told.entry(first).or_insert(key);
            }
        }
        let problems = told.into_iter().map(|(first, key)| {
            let (whose, section) = match key {
                Some(key) => (format!("the server `{key}`"), format!("servers.{key}")),
                None => ("its server".to_owned(), "upstream".to_owned()),
            };
            let message = format!(
                "{first} can make a session confidential, and {whose} can then send what it has read anywhere: the \
                 server's network is not limited"
            );
            let help = format!(
                "limit it (`{section}.sandbox.network`), or name a second server for sensitive sessions \
                 (`[{section}.isolated]`)"
            );
            PolicyProblem::warning("network::unlimited", message).with_help(help)
        });
        problems.collect()
    }

    /// Everything that can raise a session to confidential or above, but for tools of other servers.
    fn sensitive(&self, snapshot: &PolicySnapshot, server: Option<&ServerKey>) -> Vec<String> {
        let labels = snapshot.labels();
        let tools = labels.tools.iter();
        let tools = tools.filter(|(_, labels)| labels.level >= CONFIDENTIAL);
        let tools = tools.filter(|(id, _)| server.is_none_or(|key| key.name_in(id).is_some()));
        let roots = labels.roots.iter();
        let roots = roots.filter(|root| root.level >= CONFIDENTIAL);
        let raising = snapshot.policies().iter();
        let raising = raising.filter(|policy| raises(&policy.text));
        let own = server.and_then(|key| labels.unlabelled_at.get(key));
        let default = own.unwrap_or(&labels.unlabelled).level >= CONFIDENTIAL;
        let resources = labels.resources.highest_level() >= CONFIDENTIAL;
        let by_server = self.of_server == ServerDatasets::Trust;
        // A credential that is not taken out makes it secret.
        let by_secret = self.reports_secrets;
        let others = [
            (default, "`[default]` of `tools.toml`"),
            (resources, "`resources.toml`"),
            (by_server, "the server (`ratchet.server_datasets`)"),
            (by_secret, "`guards.secrets = \"report\"`"),
        ];
        let others = others.into_iter().filter(|(is_there, _)| *is_there);
        tools
            .map(|(name, _)| format!("`tools.{name}`"))
            .chain(roots.map(|root| format!("`roots.{}`", root.name)))
            .chain(raising.map(|it| format!("`{}` ({})", it.id.as_str(), it.origin.file)))
            .chain(others.map(|(_, what)| what.to_owned()))
            .collect()
    }
}

/// The ids of the tools with a rate at one server.
fn limited(config: &Config) -> impl Iterator<Item = (String, String)> + use<> {
    let key = config.key.clone();
    let tools = config.limits.rates.tools.clone().into_keys();
    tools.map(move |tool| match &key {
        Some(key) => (
            key.id_of(&tool),
            format!("servers.{key}.limits.rates.tools"),
        ),
        None => (tool, "limits.rates.tools".to_owned()),
    })
}

fn unlimited(config: &Config) -> Vec<Option<ServerKey>> {
    let each = config.each().into_iter();
    let unlimited = each.filter(|config| Reach::of(&config.upstream) == Reach::Anywhere);
    unlimited.map(|config| config.key).collect()
}

impl Reach {
    fn of(server: &Upstream) -> Self {
        // Another machine's network is not the gate's, and an isolated server is judged by itself.
        if server.http.is_some() || !server.isolated.is_empty() {
            return Self::Settled;
        }
        let sandbox = server.sandbox.as_ref();
        match sandbox.map(|it| &it.sandbox.network) {
            Some(Network::Absent | Network::Proxied) => Self::Settled,
            // Ports are open at every address, and so is UDP.
            Some(Network::Ports(_) | Network::Full) | None => Self::Anywhere,
        }
    }
}

/// The level from which on an isolated server's network is limited by default.
const CONFIDENTIAL: i64 = 2;

/// Whether a policy can raise sessions so far, in the words of any language. A level that is not written beside
/// the key, as in a variable, may be any.
fn raises(text: &str) -> bool {
    text.split(RAISES).skip(1).any(|rest| {
        let first = rest.trim_start_matches(|char: char| !char.is_alphanumeric());
        let level = first.split(['"', '\'', '`']).next();
        match level.and_then(EscalationTarget::named) {
            Some(EscalationTarget::Internal | EscalationTarget::Untrusted) => false,
            Some(EscalationTarget::Confidential | EscalationTarget::Secret) | None => true,
        }
    })
}

fn unknown_tool(tool: &str, key: &str, known: &BTreeSet<&str>) -> PolicyProblem {
    let message = format!(
        "`{key}` limits `{tool}`, which neither the allowlist nor a policy nor `tools.toml` nor \
         the lock knows: a limit of no tool limits nothing"
    );
    let nearest = known
        .iter()
        .map(|name| (osa_distance(tool, name), name))
        .min();
    let help = match nearest {
        Some((distance, name)) if distance <= NEAR => format!("did you mean `{name}`?"),
        Some(_) | None => "names are compared exactly as the server lists them".to_owned(),
    };
    PolicyProblem::warning("limits::unknown_tool", message).with_help(help)
}

/// Policies that ask a person, where no way to one is configured.
fn no_channel(snapshot: &PolicySnapshot) -> Option<PolicyProblem> {
    // The gate's own rule asks for what `tools.toml` says.
    let written = snapshot.policies().iter();
    let written = written.filter(|policy| !policy.origin.file.starts_with('<'));
    let asking = written.filter(|policy| policy.text.contains(ASKS));
    let mut who: Vec<String> = asking
        .map(|policy| format!("`{}` ({})", policy.id.as_str(), policy.origin.file))
        .collect();
    let tools = snapshot.labels().tools.iter();
    let mut labelled: Vec<String> = tools
        .filter(|(_, labels)| labels.consent != ConsentRule::default())
        .map(|(name, _)| format!("`tools.{name}.consent`"))
        .collect();
    labelled.sort_unstable();
    who.extend(labelled);
    let (first, others) = (who.first()?, who.len().saturating_sub(1));
    let more = match others {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    let message = format!("{first}{more} requires a person's consent, and no person can be asked");
    let help = "configure how people are asked (`[consent] channels`), or remove it: its requests are denied, \
                and no answer can lift that";
    Some(PolicyProblem::warning("consent::no_channel", message).with_help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::proxy;
    use crate::loading;

    /// Reports about a configuration and the files beside it: codes, with a part of message and help.
    #[track_caller]
    fn check(text: &str, files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let text = format!("upstream.command = ['server']\n{text}");
        check_whole(&text, files, expected);
    }

    #[track_caller]
    fn check_whole(text: &str, files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("policies")).unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join("policies").join(name), text).unwrap();
        }
        let file = dir.path().join("gate.toml");
        std::fs::write(&file, text).unwrap();
        let config = Config::load(&file).unwrap();
        let loaded = loading::load(&proxy::policy_settings(&config)).unwrap();
        let told = PolicyRequirements::by(&config).missing_in(&loaded.snapshot);
        let codes: Vec<&str> = told.iter().map(|it| it.code).collect();
        let wanted: Vec<&str> = expected.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, wanted, "{text}: {told:?}");
        for (problem, (_, says)) in told.iter().zip(expected) {
            let help = problem.help.as_deref().unwrap_or_default();
            let all = format!("{} {help}", problem.message);
            assert!(all.contains(says), "{all}");
        }
    }

    const DIRECTORY: &str = "policy.dir = 'policies'\n";
    const ALL: (&str, &str) = (
        "all.cedar",
        "@id(\"all\") permit (principal, action, resource);",
    );
    const ASKING: (&str, &str) = (
        "asks.cedar",
        "@id(\"asks\") @requires_consent forbid (principal, action == Mcp::Action::\"call_tool\", \
         resource == Mcp::Tool::\"send\") unless { context.env.consent.granted };",
    );

    #[test]
    fn consent_that_nobody_can_be_asked_for_is_told_and_by_whom() {
        let code = "consent::no_channel";
        let ways = format!("{DIRECTORY}consent.channels = ['elicitation']");
        let labelled = ("tools.toml", "[tools.send]\nconsent = \"always\"\n");
        check(DIRECTORY, &[ALL], &[]);
        check(DIRECTORY, &[ALL, ASKING], &[(code, "`asks` (")]);
        check(
            DIRECTORY,
            &[ALL, labelled],
            &[(code, "`tools.send.consent`")],
        );
        check(DIRECTORY, &[ALL, ASKING, labelled], &[(code, "and 1 more")]);
        check(&ways, &[ALL, ASKING, labelled], &[]);
        let quiet = ("tools.toml", "[tools.send]\npermission = \"read\"\n");
        check(DIRECTORY, &[ALL, quiet], &[]);
    }

    #[test]
    fn a_server_that_can_send_sensitive_data_anywhere_is_told() {
        let code = "network::unlimited";
        let labelled = |level: &str| format!("[tools.read]\nsensitivity = \"{level}\"\n");
        let with = |text: &str, level: &str, expected: &[(&str, &str)]| {
            let labels = labelled(level);
            let text = format!("{DIRECTORY}{text}");
            check(&text, &[ALL, ("tools.toml", &labels)], expected);
        };
        let told = [(code, "`tools.read`")];
        with("", "internal", &[]);
        with("", "confidential", &told);
        with("", "secret", &told);
        with("upstream.sandbox.network = [443]", "secret", &told);
        with("upstream.sandbox.network = 'full'", "secret", &told);
        with("upstream.sandbox.network = 'none'", "secret", &[]);
        let proxied = "upstream.sandbox = { network = 'proxied', egress = ['a.example:443'] }";
        with(proxied, "secret", &[]);
        with("upstream.isolated.command = ['other']", "secret", &[]);
        let root = "[roots.work]\npath = '/srv'\nsensitivity = 'confidential'\n";
        check(
            DIRECTORY,
            &[ALL, ("roots.toml", root)],
            &[(code, "`roots.work`")],
        );
        let said = |file: &str, text: &str, told: &str| {
            check(DIRECTORY, &[ALL, (file, text)], &[(code, told)]);
        };
        said(
            "tools.toml",
            "[default]\nsensitivity = 'confidential'\n",
            "`[default]` of `tools.toml`",
        );
        said(
            "resources.toml",
            "[resources.'crm://all']\nsensitivity = 'secret'\n",
            "`resources.toml`",
        );
        said(
            "resources.toml",
            "[default]\nsensitivity = 'confidential'\n",
            "`resources.toml`",
        );
        let trusting = format!("{DIRECTORY}ratchet.server_datasets = 'trust'\n");
        check(
            &trusting,
            &[ALL],
            &[(code, "the server (`ratchet.server_datasets`)")],
        );
        let reported = |level: &str, expected: &[(&str, &str)]| {
            let text = format!("{DIRECTORY}guards.secrets = '{level}'\n");
            check(&text, &[ALL], expected);
        };
        reported("report", &[(code, "`guards.secrets = \"report\"`")]);
        reported("redact", &[]);
    }

    #[test]
    fn a_policy_that_raises_sessions_counts_as_a_label_does() {
        let code = "network::unlimited";
        let cedar = |level: &str| {
            format!(
                "@id(\"raise\") @raise_sensitivity(\"{level}\") permit (principal, action == \
                 Mcp::Action::\"call_tool\", resource);"
            )
        };
        let cel = |level: &str| {
            format!(
                "[[rule]]\nid = 'raise'\neffect = 'permit'\nactions = ['call_tool']\nwhen = 'true'\n\
                 raise_sensitivity = '{level}'\n"
            )
        };
        let rego = |level: &str| {
            format!(
                "package mcp\nimport rego.v1\ndecision := {{\"allow\": true, \"obligations\": \
                 [{{\"raise_sensitivity\": \"{level}\"}}]}}\n"
            )
        };
        for (level, expected) in [
            ("internal", &[][..]),
            ("untrusted", &[]),
            ("confidential", &[(code, "raise")]),
            ("secret", &[(code, "raise")]),
        ] {
            for (file, text) in [
                ("raise.cedar", cedar(level)),
                ("raise.cel.toml", cel(level)),
                ("raise.rego", rego(level)),
            ] {
                check(DIRECTORY, &[(file, &text)], expected);
            }
            let raw = rego(level).replace(&format!("\"{level}\""), &format!("`{level}`"));
            check(DIRECTORY, &[("raise.rego", &raw)], expected);
            // A level that is not written beside it may be any.
            let variable = rego(level).replace(&format!("\"{level}\""), "level");
            let variable = format!("{variable}level := \"{level}\"\n");
            let told = [(code, "raise")];
            check(DIRECTORY, &[("raise.rego", &variable)], &told);
        }
    }

    #[test]
    fn a_limit_of_a_tool_that_nothing_names_is_told_with_the_one_that_was_meant() {
        let code = "limits::unknown_tool";
        let limited = |policy: &str| format!("{policy}[limits.rates.tools]\nsend = '5/m'\n");
        let allow = |tool: &str| limited(&format!("policy.allow = ['{tool}']\n"));
        check(&allow("send"), &[], &[]);
        check(&allow("sned"), &[], &[(code, "did you mean `sned`?")]);
        check(&allow("fetch"), &[], &[(code, "limits `send`")]);
        let of_directory = limited(DIRECTORY);
        // No file names the tools.
        check(&of_directory, &[ALL], &[]);
        let named = ("tools.toml", "[tools.send]\npermission = \"read\"\n");
        let other = ("tools.toml", "[tools.fetch]\npermission = \"read\"\n");
        check(&of_directory, &[ALL, named], &[]);
        check(&of_directory, &[ALL, other], &[(code, "limits `send`")]);
        let policy = (
            "send.cedar",
            "@id(\"send\") forbid (principal, action == Mcp::Action::\"call_tool\", \
             resource == Mcp::Tool::\"send\");",
        );
        check(&of_directory, &[ALL, other, policy], &[]);
    }

    #[test]
    fn a_limit_at_one_of_several_servers_is_of_its_own_tool() {
        let code = "limits::unknown_tool";
        let limited = |tool: &str| {
            format!(
                "listen = {{ transport = 'http', port = 0 }}\npolicy.allow = ['crm/send', 'mail/read']\n\
                 servers.mail.url = 'https://mail.example.com'\n\
                 servers.crm = {{ url = 'https://crm.example.com', limits.rates.tools.{tool} = '5/m' }}\n"
            )
        };
        check_whole(&limited("send"), &[], &[]);
        let message = "`servers.crm.limits.rates.tools` limits `crm/read`";
        check_whole(&limited("read"), &[], &[(code, message)]);
    }
}
