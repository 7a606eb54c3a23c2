//! Files of labels, read as a policy directory is.

use super::*;
use crate::policy::{Agent, PolicyProblem};

/// Tokens grant nothing, and there is one server.
const OF_NONE: (TokenGrants, Option<&[ServerKey]>) = (TokenGrants::Nothing, None);

#[test]
fn labels_of_tools_are_read() {
    let labels = read_well(
        "tools.toml",
        r#"
        [default]
        sensitivity = "internal"

        [tools.fetch]
        permission = ["read", "connect"]
        capabilities = ["net.connect"]
        sensitivity = "confidential"
        urls = "/url"
        hosts = ["/proxy/host"]

        [tools."fs/write~file"]
        permission = "write"
        destructive = false
        idempotent = true
        "#,
    );
    let fetch = &labels.tools["fetch"];
    assert!(fetch.permissions.read && fetch.permissions.connect && !fetch.permissions.write);
    assert_eq!(fetch.capabilities, ["net.connect"]);
    assert_eq!(fetch.level, 2);
    assert_eq!(
        (&*fetch.urls, &*fetch.hosts),
        (&["/url".to_owned()][..], &["/proxy/host".to_owned()][..])
    );
    let write = &labels.tools["fs/write~file"];
    assert!(write.permissions.write && !write.permissions.connect && write.idempotent);
    assert_eq!(write.destructive, Some(false));
    assert_eq!(labels.unlabelled.level, 1);
    assert!(labels.unlabelled.permissions.connect);
}

#[test]
fn data_sets_are_read_where_data_is_labelled() {
    let labels = read_well(
        "tools.toml",
        r#"
        [default]
        datasets = "others"

        [tools.pay]
        datasets = ["payroll", "staff.2026"]

        [tools.query.datasets_by]
        "/table" = { users = "customers", staff = ["payroll", "people"], colours = [] }
        "/joins/*/table" = { users = "customers" }
        "#,
    );
    assert_eq!(labels.unlabelled.datasets, ["others"]);
    assert_eq!(labels.tools["pay"].datasets, ["payroll", "staff.2026"]);
    let [table, joins] = &labels.tools["query"].datasets_by[..] else {
        panic!("{labels:?}");
    };
    assert_eq!((&*table.pointer, table.values.len()), ("/table", 3));
    assert_eq!(table.values["staff"], ["payroll", "people"]);
    assert!(table.values["colours"].is_empty());
    assert_eq!(joins.pointer, "/joins/*/table");
    assert_eq!(labels.datasets().len(), 5);
    let roots = "[roots.hr]\npath = \"/hr\"\ndatasets = \"payroll\"";
    assert_eq!(
        read_well("roots.toml", roots).datasets(),
        ["payroll"].into()
    );
    let resources = "[resources.\"a://hr\"]\ndatasets = [\"payroll\"]\n[default]\ndatasets = \"b\"";
    assert_eq!(
        read_well("resources.toml", resources).datasets(),
        ["b", "payroll"].into()
    );
}

#[test]
fn data_sets_have_short_plain_names_and_there_is_an_end_to_them() {
    let about = "(up to 64 ASCII letters, digits, `.`, `-` and `_`, of which the first is a letter or digit)";
    let no_name = |name: &str| format!("`{name}` is no name of a data set {about}");
    check(
        "tools.toml",
        r#"
        [tools.a]
        datasets = ["?", "pay roll"]
        [tools.b.datasets_by]
        table = { users = "customers" }
        "/table" = { users = "", staff = 1 }
        "/other" = "customers"
        [tools.c]
        datasets_by = ["/table"]
        "#,
        &[
            &no_name("?"),
            &no_name("pay roll"),
            "`table` is no JSON pointer (`\"/table\" = { users = \"customers\" }` is for the argument `table`)",
            &no_name(""),
            "`tools.b.datasets_by./table.staff` has to be a string or an array of strings",
            "`tools.b.datasets_by./other` has to be a table",
            "`tools.c.datasets_by` has to be a table",
        ],
    );
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("\"d{at}\"")).collect();
        format!("[tools.a]\ndatasets = [{}]", names.join(", "))
    };
    assert_eq!(read_well("tools.toml", &many(128)).datasets().len(), 128);
    check(
        "tools.toml",
        &many(129),
        &[
            "labels name 129 data sets, more than 128 (give one name to data sets that no policy tells apart)",
        ],
    );
}

#[test]
fn an_agent_has_its_roles_and_those_of_its_teams() {
    let labels = read_well(
        "agents.toml",
        r#"
        [teams.payments]
        roles = ["writer", "reader"]

        [agents.claude]
        roles = ["reader"]
        teams = ["payments", "others"]
        user = "alice"
        trust = 2
        "#,
    );
    let agent = Agent {
        id: "claude".to_owned(),
        ..Agent::default()
    };
    let agent = labels.agent(&agent).unwrap();
    assert_eq!(agent.roles, ["reader", "writer"]);
    assert_eq!(agent.teams, ["payments", "others"]);
    assert_eq!((agent.user.as_deref(), agent.trust), (Some("alice"), 2));
}

#[test]
fn all_mistakes_are_told_at_once_and_with_help() {
    check(
        "tools.toml",
        r#"
        version = 1
        [tools.a]
        permision = "read"
        permission = "reed"
        sensitivity = "top secret"
        capabilities = ["fs.", 1]
        urls = ["url", "/a~2"]
        base = "work"
        idempotent = "yes"
        [tools.b]
        hosts = 3
        [defaults]
        "#,
        &[
            "`reed` is not known here (did you mean `read`?)",
            "`tools.a.capabilities` has to be a string or an array of strings",
            "`top secret` is not known here (one of `public`, `internal`, `confidential`, `secret` is meant)",
            "`tools.a.idempotent` has to be `true` or `false`",
            "`url` is no JSON pointer (`/url` is the argument `url`, `/opts/url` one inside `opts` (RFC 6901))",
            "`/a~2` is no JSON pointer (`/url` is the argument `url`, `/opts/url` one inside `opts` (RFC 6901))",
            "`work` is no absolute path that all readers take for the same place (the directory from which the server resolves relative paths, such as `/srv/work`)",
            "`tools.a.permision` is no known key (did you mean `permission`?)",
            "`tools.b.hosts` has to be a string or an array of strings",
            "`version` is no known key (the keys here are `default`, `tools`)",
            "`defaults` is no known key (did you mean `default`?)",
        ],
    );
}

#[test]
fn servers_of_an_agent_or_a_role_are_keys_that_are_known() {
    let keys: Vec<_> = ["crm", "mail"]
        .into_iter()
        .filter_map(ServerKey::of)
        .collect();
    let check_keys = |text: &str, known: Option<&[ServerKey]>, expected: &[&str]| {
        let mut problems = Vec::new();
        let sources = [source("x/agents.toml", text)];
        read(&sources, (TokenGrants::Nothing, known), &mut problems);
        assert_eq!(told(&problems), expected, "{text}");
        let begins = problems.iter().map(|problem| problem.labels[0].offset());
        assert!(begins.into_iter().all(|at| at >= text.find('=').unwrap()));
    };
    check_keys(
        "[agents.a]\nservers = [\"crm\"]\nnot_servers = \"mail\"\n",
        Some(&keys),
        &[],
    );
    check_keys("[roles.a]\nservers = []\n", Some(&keys), &[]);
    check_keys(
        "[agents.a]\nservers = [\"crn\", \"mail\"]\n[roles.b]\nnot_servers = [\"x y\"]\n",
        Some(&keys),
        &[
            "there is no server `x y` (the servers are `crm`, `mail`)",
            "there is no server `crn` (did you mean `crm`? the servers are `crm`, `mail`)",
        ],
    );
    check_keys(
        "[agents.a]\ndeny = [\"read\", \"mail/send\"]\n",
        Some(&keys),
        &[
            "`read` does not begin with the key of a server and a slash (write the key of its server before it, as in `KEY/read`; the servers are `crm`, `mail`)",
        ],
    );
    check_keys(
        "[agents.a]\nservers = [\"crm\"]\n",
        Some(&[]),
        &["there is no server `crm` (there is one server, without a key: remove it)"],
    );
    // Without a configuration.
    check_keys("[agents.a]\nservers = [\"crm\"]\n", None, &[]);
    check_keys(
        "[agents.a]\nservers = [\"C\"]\n",
        None,
        &["there is no server `C`"],
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    let mut problems = Vec::new();
    let text = "[tools.a]\npermission = read\n";
    read(&[source("tools.toml", text)], OF_NONE, &mut problems);
    let [problem] = &problems[..] else {
        panic!("{problems:?}")
    };
    assert_eq!(problem.labels[0].offset(), text.find("read\n").unwrap());
}

#[test]
fn one_tool_is_labelled_once() {
    let one = source(
        "x/tools.toml",
        "[tools.a]\npermission = \"read\"\n[default]\n",
    );
    let other = source("y/tools.toml", "[tools.a]\n[default]\n");
    let mut problems = Vec::new();
    read(&[one, other], OF_NONE, &mut problems);
    assert_eq!(
        told(&problems),
        [
            "`default` is labelled twice (the first time in x/tools.toml)",
            "`a` is labelled twice (the first time in x/tools.toml)",
        ]
    );
}

#[track_caller]
fn read_well(name: &str, text: &str) -> Labels {
    let mut problems = Vec::new();
    let (labels, _) = read(&[source(name, text)], OF_NONE, &mut problems);
    assert_eq!(told(&problems), [""; 0]);
    labels
}

#[track_caller]
fn check(name: &str, text: &str, expected: &[&str]) {
    let mut problems = Vec::new();
    read(&[source(name, text)], OF_NONE, &mut problems);
    assert_eq!(told(&problems), expected);
}

fn told(problems: &[PolicyProblem]) -> Vec<String> {
    let told = problems.iter().map(|problem| match &problem.help {
        Some(help) => format!("{problem} ({help})"),
        None => problem.to_string(),
    });
    told.collect()
}

fn source(name: &str, text: &str) -> PolicySource {
    PolicySource::new(name, text)
}

#[test]
fn an_empty_permission_is_no_permission() {
    check(
        "x/tools.toml",
        "[tools.a]\npermission = []\n[tools.b]\npermission = \"read\"\n[default]\npermission = []\n",
        &["`permission` names nothing (a tool that only looks has `permission = \"read\"`, others `\"write\"`, `\"connect\"` or several; without the key a tool may do all three)";
            2],
    );
}

#[test]
fn what_labels_come_to_is_cedar() {
    let compiled = |files: &[(&str, &str)]| {
        let sources: Vec<_> = files
            .iter()
            .map(|(name, text)| source(name, text))
            .collect();
        let mut problems = Vec::new();
        let (_, compiled) = read(&sources, OF_NONE, &mut problems);
        assert_eq!(told(&problems), [""; 0]);
        let names = compiled
            .sources
            .iter()
            .map(|source| source.name.to_string());
        (names.collect::<Vec<_>>(), compiled)
    };
    let agents = r#"
        [agents."a\"b"]
        allow = ["write_file"]
        deny = ["x"]
    "#;
    assert!(compiled(&[]).0.is_empty());
    let (names, compiled_agents) = compiled(&[("x/agents.toml", agents)]);
    assert_eq!(names, ["<agents.toml>"]);
    let text = &compiled_agents.sources[0].text;
    assert!(
        text.contains(r#"principal == Mcp::Agent::"a\"b""#),
        "{text}"
    );
    let group = r#"agents.a"b.allow"#;
    assert!(compiled_agents.groups.members(group).eq(["write_file"]));
    let tools = "[tools.t]\nconsent = \"always\"\ncapabilities = \"fs.write\"\n";
    let roles = "[roles.writer]\ncapabilities = [\"fs\"]\n";
    let (names, _) = compiled(&[("x/tools.toml", tools), ("x/agents.toml", roles)]);
    assert_eq!(names, ["<capabilities.cedar>", "<consent.cedar>"]);
}

#[test]
fn a_granted_capability_brings_the_narrower_ones() {
    let tools = "[tools.t]\ncapabilities = [\"fs.write\", \"fsx\"]\n";
    let agents = "[roles.writer]\ncapabilities = [\"fs\"]\n[agents.a]\ncapabilities = \"net\"\nroles = \"writer\"\n";
    let sources = [
        source("x/agents.toml", agents),
        source("x/tools.toml", tools),
    ];
    let mut problems = Vec::new();
    let (labels, _) = read(&sources, OF_NONE, &mut problems);
    let agent = Agent {
        id: "a".to_owned(),
        ..Agent::default()
    };
    assert_eq!(
        labels.agent(&agent).unwrap().capabilities,
        ["net", "fs", "fs.write"]
    );
}

#[test]
fn a_capability_of_a_token_brings_the_narrower_ones_and_puts_the_rule_in_force() {
    let tools = "[tools.t]\ncapabilities = [\"fs.write\", \"fsx\"]\n";
    let sources = [source("x/tools.toml", tools)];
    let check = |tokens, rules: &[&str]| {
        let mut problems = Vec::new();
        let (labels, compiled) = read(&sources, (tokens, None), &mut problems);
        let names = compiled.sources.iter().map(|source| &*source.name);
        assert_eq!(names.collect::<Vec<_>>(), rules, "{tokens:?}");
        labels
    };
    check(OF_NONE.0, &[]);
    let labels = check(TokenGrants::Capabilities, &["<capabilities.cedar>"]);
    let agent = Agent {
        capabilities: vec!["fs".to_owned()],
        ..Agent::default()
    };
    let described = labels.agent(&agent).unwrap();
    assert_eq!(described.capabilities, ["fs", "fs.write"]);
    assert_eq!(labels.agent(&Agent::default()), None);
}

#[test]
fn places_are_described_once_and_so_that_all_find_them() {
    check(
        "x/roots.toml",
        r#"
        [roots.data]
        path = "/srv/data"
        sensitivity = "internal"
        writable = true
        labels = ["code"]
        [roots.again]
        path = "/srv/./data"
        [roots.blank]
        path = "/srv/secret "
        [roots." padded"]
        path = "/srv/padded"
        [roots.relative]
        path = "data"
        writable = "yes"
        [roots.nowhere]
        [roots.both]
        path = "/a"
        uri = "a://b"
        "#,
        &[
            "`/srv/secret ` is neither an absolute path nor a URI that all readers take for the same place (an absolute path without `..` beyond the top, escapes, a backslash, or a name with white space or a quote at an end; or a URI such as `notes://team`)",
            "the name of the root ` padded` has white space or a quote at an end (policies must contain the exact name, in which this is hard to see)",
            "`data` is neither an absolute path nor a URI that all readers take for the same place (an absolute path without `..` beyond the top, escapes, a backslash, or a name with white space or a quote at an end; or a URI such as `notes://team`)",
            "`roots.relative.writable` has to be `true` or `false`",
            "the root `nowhere` needs one place (`path` for files, `uri` for other resources)",
            "the root `both` needs one place (`path` for files, `uri` for other resources)",
            "the roots `again` and `data` are the same place",
        ],
    );
    check(
        "x/roots.toml",
        r#"
        [roots.relative]
        path = "/srv/a"
        virtual = "workspace"
        [roots.remote]
        uri = "notes://team"
        virtual = "/notes"
        [roots.one]
        path = "/srv/one"
        virtual = "/shown"
        [roots.two]
        path = "/srv/two"
        virtual = "/Shown/two"
        "#,
        &[
            "`workspace` is no absolute path that all readers take for the same place (as in `virtual = \"/workspace\"`: the path under which agents know the root)",
            "`/notes` stands for a root of files, and this one is none (as in `virtual = \"/workspace\"`: the path under which agents know the root)",
            "agents could take the `virtual` path of the root `one` for `two` (one path must neither be nor lie in another, whatever their case)",
        ],
    );
    check(
        "x/resources.toml",
        r#"
        [default]
        sensitivity = "secret"
        [resources."notes://a"]
        labels = ["pii"]
        [resources."notes://a/"]
        groups = "hr"
        [resources.notes]
        [resources."notes://a/b'"]
        "#,
        &[
            "`notes://a/` is labelled twice",
            "`notes` is no URI that all readers take for the same resource",
            "`notes://a/b'` is no URI that all readers take for the same resource",
        ],
    );
    check(
        "x/prompts.toml",
        "[prompts.p]\ngroup = \"g\"",
        &["`prompts.p.group` is no known key (did you mean `groups`?)"],
    );
}

#[test]
fn what_is_one_of_few_words_is_told_with_them() {
    let check = |text: &str, says: &str| {
        let mut problems = Vec::new();
        let source = PolicySource::new("p/tools.toml", text);
        read(&[source], OF_NONE, &mut problems);
        let told: Vec<&str> = problems.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(told, [says], "{text}");
    };
    check(
        "[tools.c]\nconsent = true\n",
        "`tools.c.consent` has to be one of `never`, `always`, `once_per_session`",
    );
    check(
        "[tools.c]\nsensitivity = 2\n",
        "`tools.c.sensitivity` has to be one of `public`, `internal`, `confidential`, `secret`",
    );
}

#[test]
fn an_agent_or_its_role_is_agentic_and_a_standing_approval_says_who_and_until_when() {
    let labels = read_well(
        "agents.toml",
        r#"
        [roles.staff]
        agentic = true
        [roles.guest]
        agentic = false
        [agents.a]
        roles = ["staff"]
        [agents.b]
        agentic = true
        consent = { standing = true, by = "olga", until = "2027-01-31" }
        [agents.never]
        roles = ["staff"]
        agentic = false
        [agents.c]
        roles = ["guest"]
        consent = { standing = true, by = "olga", until = "2027-01-31T01:00:00+01:00" }
        "#,
    );
    let check = |id: &str, roles: &[&str], agentic, until_ms: Option<i64>| {
        let agent = Agent {
            id: id.to_owned(),
            roles: roles.iter().map(ToString::to_string).collect(),
            ..Agent::default()
        };
        let terms = labels.agent(&agent).unwrap().sampling;
        assert_eq!(terms.agentic, agentic, "{id}");
        assert_eq!(terms.standing.map(|it| it.until_ms), until_ms, "{id}");
    };
    let midnight = Some(1_801_353_600_000);
    check("a", &[], true, None);
    check("b", &[], true, midnight);
    check("c", &[], false, midnight);
    check("never", &[], false, None);
    check("never", &["staff"], false, None);
    // By its token.
    check("d", &["staff"], true, None);
    check("d", &["guest", "writer"], false, None);
}

#[test]
fn half_a_standing_approval_is_none_and_says_what_it_lacks() {
    let told = |consent: &str| {
        let text = format!("[agents.a]\nconsent = {consent}\n");
        let mut problems = Vec::new();
        let sources = [source("agents.toml", &text)];
        let (labels, _) = read(&sources, OF_NONE, &mut problems);
        let mut agents = labels.agents.values();
        let is_known = !consent.contains("forever");
        assert!(!is_known || agents.all(|it| it.sampling.standing.is_none()));
        assert!(
            problems
                .iter()
                .all(|it| !it.labels.is_empty() && it.code == "policy::labels")
        );
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let check = |consent: &str, expected: &[&str]| assert_eq!(told(consent), expected, "{consent}");
    check("true", &["`agents.a.consent` has to be a table"]);
    check(
        "{}",
        &[
            "`consent` lacks `standing`: `true`",
            "`consent` lacks `by`: the person who has agreed",
            "`consent` lacks `until`: the time at which the approval ends",
        ],
    );
    let rest = "by = 'olga', until = '2027-01-31'";
    check(
        &format!("{{ standing = false, {rest} }}"),
        &["`standing` has to be `true`"],
    );
    let named = "`by` has to name a person, in 1 to 256 bytes without control characters";
    for by in [
        String::new(),
        " ".to_owned(),
        "o\\nlga".to_owned(),
        "o".repeat(257),
    ] {
        check(
            &format!("{{ standing = true, by = \"{by}\", until = '2027-01-31' }}"),
            &[named],
        );
    }
    for until in [
        "",
        "soon",
        "2027-02-30",
        "2027-01-31T12:00:00",
        "20270131",
        "31.01.2027",
    ] {
        check(
            &format!("{{ standing = true, by = 'olga', until = '{until}' }}"),
            &[&format!("`{until}` is no time")],
        );
    }
    check(
        "{ standing = true, by = 'olga', until = 2027-01-31 }",
        &["`agents.a.consent.until` has to be a string"],
    );
    check(
        &format!("{{ standing = true, {rest}, forever = true }}"),
        &["`agents.a.consent.forever` is no known key"],
    );
}
