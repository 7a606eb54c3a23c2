//! `[servers]`.

use super::{check, valid};
use crate::config::changes::ConfigChanges;
use crate::config::{ConfigError, ConfigText, Listen, ServerNeed};
use crate::gate::Evidence;
use crate::loading::FlowRule;
use crate::policy::ServerKey;

const OVER_HTTP: &str = "listen.transport = 'http'\nlisten.port = 0\npolicy.allow = ['a/b']\n";

#[test]
fn each_server_is_what_is_written_of_it_alone() {
    let config = valid(&format!(
        "{OVER_HTTP}[servers.mail]
         url = 'https://mail.example.com/mcp'
         [servers.crm]
         command = ['crm-server']
         env.A = 'a'
         [servers.crm.isolated]
         command = ['other']"
    ));
    let each = config.each();
    let found: Vec<_> = each
        .iter()
        .map(|config| {
            let upstream = &config.upstream;
            let isolated = upstream.isolated.first().map(|it| it.section.as_str());
            (upstream.section.as_str(), upstream.name.as_str(), isolated)
        })
        .collect();
    let expected = [
        ("servers.crm", "crm", Some("servers.crm.isolated")),
        ("servers.mail", "mail", None),
    ];
    assert_eq!(found, expected);
    assert!(each[0].upstream.env.contains_key("A") && each[1].upstream.http.is_some());
    assert!(each.iter().all(|config| config.servers.is_empty()));
    let one = valid("upstream.command = ['a']\npolicy.allow = ['b']").each();
    assert_eq!(one.len(), 1);
    assert!(one[0].key.is_none());
}

#[test]
fn a_mistake_in_several_servers_is_told_where_it_stands() {
    let check = |text: &str, expected: &[&str]| check(&format!("{OVER_HTTP}{text}"), expected);
    check(
        "upstream.command = ['a']\nservers.crm.command = ['b']",
        &["4 upstream: `[upstream]` is the only server, and `[servers]` has several"],
    );
    for key in ["Crm", "a_b", "2a", "''"] {
        let name = key.trim_matches('\'');
        check(
            &format!("servers.{key}.command = ['b']"),
            &[&format!(
                "4 servers.{}: expected a lower-case letter and up to 31 more, digits and `-`",
                if name.is_empty() { "\"\"" } else { name }
            )],
        );
    }
    check("servers = {}", &["4 servers: expected 1 to 32 servers"]);
    check(
        "servers.crm = 1",
        &["4 servers.crm: expected a table, found an integer"],
    );
    check(
        "[servers.crm]\ncommand = ['a']\nname = 'b'\nsandbx = {}",
        &[
            "6 servers.crm.name: unknown key",
            "7 servers.crm.sandbx: unknown key",
        ],
    );
    check("servers.crm = {}", &["4 servers.crm.command: required"]);
}

#[test]
fn a_server_that_is_disabled_is_known_and_not_there() {
    let config = valid(&format!(
        "{OVER_HTTP}[servers.crm]
         command = ['crm-server']
         enabled = false
         [servers.mail]
         command = ['mail-server']
         required = true"
    ));
    let each = config.each();
    let names: Vec<_> = each.iter().map(|it| it.upstream.name.as_str()).collect();
    assert_eq!(names, ["mail"]);
    assert_eq!(config.upstream.name, "mail");
    assert_eq!(each[0].upstream.need, ServerNeed::Required);
    assert_eq!(config.upstreams().count(), 1);
    let disabled: Vec<_> = config.disabled().map(ServerKey::as_str).collect();
    assert_eq!(disabled, ["crm"]);
    // What is written of it is checked all the same.
    check(
        &format!("{OVER_HTTP}servers.crm.command = ['a']\nservers.mail.enabled = false"),
        &["5 servers.mail.command: required"],
    );
    check(
        &format!(
            "{OVER_HTTP}[servers.crm]\ncommand = ['a']\nenabled = false\n[servers.mail]\ncommand = ['a']\nenabled = false"
        ),
        &["4 servers: has no server that is enabled"],
    );
    check(
        "upstream = { command = ['a'], enabled = true }\npolicy.allow = ['a']",
        &["1 upstream.enabled: unknown key"],
    );
    let both = "servers.crm.command = ['a']
        servers.mail = { command = ['a'], enabled = false, required = true }";
    let config = valid(&format!("{OVER_HTTP}{both}"));
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    let expected = "servers.mail.required: has no effect where `enabled` is false: the gate does not wait for this server";
    assert_eq!(warnings, [expected]);
}

#[test]
fn what_all_servers_share_is_not_said_of_one_and_names_of_tools_are_said_at_theirs() {
    const SERVER: &str = "servers.crm.command = ['a']\n";
    let check = |text: &str, expected: &str| {
        check(&format!("{OVER_HTTP}{SERVER}{text}"), &[expected]);
    };
    for key in [
        "max_memory = '1GiB'",
        "max_connections = 5",
        "calls_per_session = 5",
        "max_depth = 9",
    ] {
        let (name, _) = key.split_once(' ').unwrap();
        check(
            &format!("servers.crm.limits.{key}"),
            &format!("5 servers.crm.limits.{name}: holds for all servers together"),
        );
    }
    for key in ["suspicious_words = { a = 'b' }", "secret_rules = {}"] {
        let (name, _) = key.split_once(' ').unwrap();
        check(
            &format!("servers.crm.guards.{key}"),
            &format!("5 servers.crm.guards.{name}: holds for all servers together"),
        );
    }
    check(
        "servers.crm.limits.typo = 1",
        "5 servers.crm.limits.typo: unknown key",
    );
    check(
        "servers.crm.guards.typo = 1",
        "5 servers.crm.guards.typo: unknown key",
    );
    check(
        "servers.crm.limits.request_timeout = 1",
        "5 servers.crm.limits.request_timeout: expected a duration such as `\"60s\"`, found an integer",
    );
    for key in [
        "limits.tool_timeouts = { a = '1s' }",
        "limits.rates.tools = { a = '1/s' }",
        "guards.content_tools = { a = { trim = true } }",
        "truncation.tools = { a = 'none' }",
        "truncation.prompts = { a = 'none' }",
    ] {
        let (name, _) = key.split_once(' ').unwrap();
        check(
            key,
            &format!("5 {name}: names tools or prompts without their server"),
        );
        valid(&format!("{OVER_HTTP}{SERVER}servers.crm.{key}"));
    }
}

#[test]
fn keys_without_effect_are_told_where_no_server_makes_them_have_one() {
    let check = |text: &str, expected: &[&str]| {
        let servers = "servers.crm.command = ['a']\nservers.mail.command = ['a']\n";
        let config = valid(&format!("{OVER_HTTP}{servers}{text}"));
        let warnings = config.warnings.iter().map(|it| it.field().to_owned());
        assert_eq!(warnings.collect::<Vec<_>>(), expected, "{text}");
    };
    check("guards.content_tags = 'all'", &["guards.content_tags"]);
    check(
        "guards.content_tags = 'all'\nservers.crm.guards.content = 'report'",
        &[],
    );
    check(
        "servers.crm.guards.content_tags = 'all'",
        &["servers.crm.guards.content_tags"],
    );
    check(
        "guards.content = 'report'\nservers.crm.guards.content_tags = 'all'",
        &[],
    );
    check(
        "guards.content = 'report'\nservers.crm.guards = { content = 'off', content_tags = 'all' }",
        &["servers.crm.guards.content_tags"],
    );
    check("truncation.save_for = '1h'", &["truncation.save_for"]);
    check(
        "truncation.save_for = '1h'\nservers.crm.truncation.save = 'a'",
        &[],
    );
    check(
        "servers.crm.truncation.save_for = '1h'",
        &["servers.crm.truncation.save_for"],
    );
}

#[test]
fn several_servers_need_agents_over_http() {
    let servers = "servers.crm.command = ['a']\npolicy.allow = ['b']";
    check(
        servers,
        &["listen.transport: required when there are several servers"],
    );
    check(
        &format!("listen.transport = 'stdio'\n{servers}"),
        &["1 listen.transport: standard streams lead to one server"],
    );
    check(
        "listen.transport = 'http'\nlisten.port = 0\nlisten.path = '/'\npolicy.allow = ['a/b']\nservers.crm.command = ['a']",
        &["3 listen.path: has no room for the paths of several servers"],
    );
}

#[test]
fn a_server_may_have_policies_of_its_own_beside_those_of_all() {
    let config = valid(&format!(
        "{OVER_HTTP}servers.crm = {{ command = ['a'], policy = 'crm' }}
         servers.mail.command = ['a']"
    ));
    let directories = config.policy.directories();
    let fields: Vec<_> = directories
        .iter()
        .map(|(field, _)| field.as_str())
        .collect();
    assert_eq!(fields, ["servers.crm.policy"]);
    let crm = ServerKey::of("crm").unwrap();
    assert_eq!(config.policy.own.keys().collect::<Vec<_>>(), [&crm]);
    let warned: Vec<_> = config.warnings.iter().map(ConfigError::field).collect();
    assert_eq!(warned, ["servers.mail"]);
    super::check(
        "upstream.command = ['a']\nupstream.policy = 'p'\npolicy.allow = ['b']",
        &["2 upstream.policy: unknown key"],
    );
}

#[test]
fn what_policies_know_of_a_server_is_its_own() {
    let config = valid(&format!(
        "{OVER_HTTP}[servers.crm]
         command = ['crm-server']
         groups = ['internal', 'sales']
         clearance = 'confidential'
         [servers.web]
         url = 'https://web.example.com/mcp'
         untrusted = true"
    ));
    let facts: Vec<_> = config.servers.values().map(|it| &it.facts).collect();
    assert_eq!(facts[0].groups, ["internal", "sales"]);
    assert_eq!((facts[0].clearance, facts[0].untrusted), (2, false));
    assert_eq!((facts[1].clearance, facts[1].untrusted), (3, true));
    let check = |text: &str, expected: &[&str]| check(&format!("{OVER_HTTP}{text}"), expected);
    check(
        "[servers.crm]\ncommand = ['a']\ngroups = ['']\nclearance = 'none'\nuntrusted = 1",
        &[
            "6 servers.crm.groups[0]: names no group",
            "7 servers.crm.clearance: unknown value 'none'",
            "8 servers.crm.untrusted: expected `true` or `false`, found an integer",
        ],
    );
    super::check(
        "upstream.command = ['a']\nupstream.untrusted = true\npolicy.allow = ['b']",
        &["2 upstream.untrusted: unknown key"],
    );
}

#[test]
fn walls_stand_between_known_servers_and_come_into_force_while_the_gate_runs() {
    let text = |flow: &str| {
        format!(
            "{OVER_HTTP}[servers.crm]\ncommand = ['a']\n[servers.mail]\ncommand = ['b']\n[flow]\n{flow}"
        )
    };
    let walled = valid(&text("from.crm = { to = ['mail', 'crm'] }"))
        .flow
        .rules;
    let walls: Vec<_> = walled
        .walls
        .iter()
        .map(|(from, to)| (from.as_str(), to.iter().map(ServerKey::as_str).collect()))
        .collect();
    assert_eq!(walls, [("crm", vec!["mail", "crm"])]);
    assert_eq!(
        (walled.flow_out, walled.flow_in, walled.flow_context),
        (FlowRule::Deny, FlowRule::Ask, FlowRule::Deny)
    );
    let one = valid("upstream.command = ['a']\npolicy.allow = ['b']")
        .flow
        .rules;
    assert_eq!(
        (one.flow_in, one.flow_context),
        (FlowRule::Off, FlowRule::Off)
    );
    let check = |flow: &str, expected: &[&str]| check(&text(flow), expected);
    check(
        "from.crn = { to = ['male'] }\nfrom.mail = {}\nflow_out = 'never'\nflowin = 'ask'",
        &[
            "9 flow.from.crn: names no server",
            "9 flow.from.crn.to[0]: names no server",
            "10 flow.from.mail.to: required",
            "11 flow.flow_out: unknown value 'never'",
            "12 flow.flowin: unknown key",
        ],
    );
    for (word, evidence, copied) in [
        ("off", Evidence::Off, FlowRule::Off),
        ("record", Evidence::Kept, FlowRule::Off),
        ("ask", Evidence::Kept, FlowRule::Ask),
        ("deny", Evidence::Kept, FlowRule::Deny),
    ] {
        let flow = valid(&text(&format!("evidence = '{word}'"))).flow;
        assert_eq!((flow.evidence, flow.rules.copied), (evidence, copied));
    }
    let config = |to: &str| ConfigText::new(text(&format!("from.crm = {{ to = [{to}] }}")));
    let (before, after) = (config(""), config("'mail'"));
    let told = |after: &ConfigText| {
        let changes = ConfigChanges::between(&before, &before, after);
        assert!(changes.restart.is_empty(), "{changes:?}");
        changes.told().unwrap_or_default()
    };
    assert!(told(&after).contains("flow.from.crm.to"));
    let after = ConfigText::new(text("from.crm = { to = [] }\nevidence = 'record'"));
    assert!(told(&after).contains("flow.evidence"));
    for word in ["record", "ask", "deny"] {
        super::check(
            &format!("upstream.command = ['a']\npolicy.allow = ['b']\nflow.evidence = '{word}'"),
            &["3 flow.evidence: needs several servers"],
        );
    }
}

#[test]
fn a_view_has_servers_and_tools_of_theirs() {
    let text = |views: &str| {
        format!(
            "{OVER_HTTP}[servers.crm]\ncommand = ['a']\n[servers.mail]\ncommand = ['b']\n\
             [unified]\naliases = {{ post = 'mail__send' }}\n{views}"
        )
    };
    let views = valid(&text(
        "[views.dev]\nservers = ['mail']\ntools = ['po*', 'mail__*']\n[views.all]\nservers = ['mail', 'crm']\n",
    ))
    .views;
    let views: Vec<_> = views
        .iter()
        .map(|(name, view)| {
            let servers: Vec<_> = view.servers.iter().map(ServerKey::as_str).collect();
            (name.as_str(), servers, view.tools.as_ref().map(Vec::len))
        })
        .collect();
    let expected = [
        ("all", vec!["mail", "crm"], None),
        ("dev", vec!["mail"], Some(2)),
    ];
    assert_eq!(views, expected);
    let check_views = |views: &str, expected: &[&str]| check(&text(views), expected);
    check_views(
        "[views.Dev]\nservers = ['mail']\n",
        &["10 views.Dev: expected a lower-case letter and up to 31 more, digits and `-`"],
    );
    check_views("[views.dev]\n", &["10 views.dev.servers: required"]);
    check_views(
        "[views.dev]\nservers = []\ntools = []\n",
        &[
            "11 views.dev.servers: leaves the view no server",
            "12 views.dev.tools: leaves the view no tool",
        ],
    );
    check_views(
        "[views.dev]\nservers = ['mail', 'crn']\ntools = ['crm__find', 'send', '*', 'mail__x', 'ost']\ntool = ''\n",
        &[
            "11 views.dev.servers[1]: names no server",
            "12 views.dev.tools[0]: names no tool of a server of the view",
            "12 views.dev.tools[1]: names no tool of a server of the view",
            "12 views.dev.tools[4]: names no tool of a server of the view",
            "13 views.dev.tool: unknown key",
        ],
    );
    let disabled = text("[views.dev]\nservers = ['crm']\n")
        .replace("command = ['a']", "command = ['a']\nenabled = false");
    check(
        &disabled,
        &["12 views.dev.servers: leaves the view no server that is enabled"],
    );
    let without = text("[views.dev]\nservers = ['crm']\n")
        .replace("[unified]\naliases = { post = 'mail__send' }\n", "");
    check(&without, &["8 views: needs `[unified]`"]);
    let on_stdio =
        text("[views.dev]\nservers = ['crm']\n").replace(OVER_HTTP, "policy.allow = ['a/b']\n");
    check(&on_stdio, &["8 views: has paths of a listener"]);
    check(
        &format!("{OVER_HTTP}[servers.view]\ncommand = ['a']\n"),
        &["4 servers.view: is the path of views (`[views]`)"],
    );
}

#[test]
fn agents_attach_to_servers_with_keys_and_the_log_has_a_file() {
    const LOCAL: &str = "listen.transport = 'local'\npolicy.allow = ['a/b']\n";
    let servers = "servers.a.command = ['a']\n";
    let file = "audit.file = 'audit.jsonl'\n";
    let config = valid(&format!("{LOCAL}{servers}{file}ratchet.session = 'work'"));
    assert!(matches!(config.listen, Listen::Local));
    check(
        &format!("{LOCAL}{servers}"),
        &["audit.file: required when transport is 'local'"],
    );
    check(
        &format!("{LOCAL}{file}upstream.command = ['a']"),
        &["servers: required when transport is 'local'"],
    );
    for key in [
        "listen.port = 1",
        "limits.max_sessions = 5",
        "ratchet.session_header = 'x'",
    ] {
        let (name, _) = key.split_once(' ').unwrap();
        check(
            &format!("{LOCAL}{servers}{file}{key}"),
            &[&format!("5 {name}: only applies when transport is 'http'")],
        );
    }
}

#[test]
fn a_rule_that_asks_a_person_where_no_person_can_be_asked_gets_a_warning() {
    let check = |text: &str, expected: &[&str]| {
        let config = valid(&format!("{OVER_HTTP}servers.crm.command = ['a']\n{text}"));
        let told = config.warnings.iter().map(|warning| warning.field.as_str());
        let told: Vec<_> = told.filter(|path| !path.starts_with("listen")).collect();
        assert_eq!(told, expected, "{text}");
    };
    check("", &[]);
    check("flow.flow_in = 'ask'", &["flow.flow_in"]);
    check(
        "flow = { flow_out = 'ask', flow_in = 'deny' }\nratchet.network.confidential = 'ask'",
        &["flow.flow_out", "ratchet.network.confidential"],
    );
    check("flow.flow_context = 'ask'", &["flow.flow_context"]);
    check(
        "flow = { flow_in = 'deny', evidence = 'ask' }",
        &["flow.evidence"],
    );
    check(
        "flow.flow_in = 'ask'\nconsent.channels = ['elicitation']",
        &[],
    );
}
