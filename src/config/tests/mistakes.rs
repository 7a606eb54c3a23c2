//! What authors get wrong, and what they are told: line and message of every problem.

use super::{check, check_rest, parse, valid_with};

/// The advice that comes with the only problem.
#[track_caller]
fn check_advice(text: &str, expected: &str) {
    let errors = parse(text).expect_err(text);
    let [problem] = errors.problems() else {
        panic!("{text}\n{errors:?}")
    };
    assert_eq!(problem.advice(), Some(expected), "{text}");
}

#[test]
fn an_empty_file_is_refused() {
    for text in ["", "\n\n", "# only a comment\n", "\u{feff}", "   "] {
        check(text, &["gate.toml: is empty"]);
    }
}

#[test]
fn an_upstream_is_required() {
    check("version = 1", &["upstream.command: required"]);
    check("[upstream]", &["1 upstream.command: required"]);
    check(
        "[upstream]\nurl = \"stdio\"",
        &["1 upstream.command: required"],
    );
    check(
        "[upstream]\ncommand = []",
        &["2 upstream.command: expected at least a program"],
    );
    check(
        "[upstream]\ncommand = [\"\"]",
        &["2 upstream.command[0]: expected a program"],
    );
    check(
        "[upstream]\ncommand = [\"${EMPTY}\"]",
        &["2 upstream.command[0]: expected a program"],
    );
    check(
        "upstream = 1",
        &["1 upstream: expected a table, found an integer"],
    );
    check_rest(
        "guards = 1\ntruncation = 1\naudit = 1",
        &[
            "2 guards: expected a table, found an integer",
            "3 truncation: expected a table, found an integer",
            "4 audit: expected a table, found an integer",
        ],
    );
}

#[test]
fn a_member_that_the_protocol_needs_is_no_secret() {
    check_rest(
        "guards.secret_members = ['task_id', 'JSONRPC', 'password', 'Password']",
        &[
            "2 guards.secret_members[0]: is a member that messages need",
            "2 guards.secret_members[1]: is a member that messages need",
            "2 guards.secret_members[3]: is listed twice",
        ],
    );
}

#[test]
fn delays_between_restarts_do_not_shrink_and_a_server_over_http_has_none() {
    check_rest(
        "[upstream.restart]\nfirst = '10s'\nmax = '5s'\ntries = 3",
        &["4 upstream.restart.max: shorter than `first`"],
    );
    check_rest(
        "upstream.restart.first = '1ms'",
        &["2 upstream.restart.first: below minimum"],
    );
    check_rest(
        "upstream.restart.max = '10ms'",
        &["2 upstream.restart.max: below minimum"],
    );
    check(
        "[upstream]\nurl = 'https://mcp.example.com/mcp'\nrestart = { tries = 3 }",
        &["3 upstream.restart: only applies when url is 'stdio'"],
    );
}

#[test]
fn each_mistake_about_texts_is_told_where_it_stands() {
    check_rest(
        "[guards]\ncontent_tags = 'some'\ncontent_length = 15\ncontent_trim = 'yes'\n\
         tool_metadata_tags = true\ncontent_tools.x = { tag = 'all', length = 0 }\n\
         content_tools.y = 'all'\ncontent = 'report'\ntool_metadata = 'report'",
        &[
            "3 guards.content_tags: unknown value 'some'",
            "4 guards.content_length: below minimum",
            "5 guards.content_trim: expected `true` or `false`, found a string",
            "6 guards.tool_metadata_tags: expected a string, found a boolean",
            "7 guards.content_tools.x.tag: unknown key",
            "7 guards.content_tools.x.length: below minimum",
            "8 guards.content_tools.y: expected a table, found a string",
        ],
    );
    check_rest(
        "[guards.suspicious_words]\nalways = 'a'\n'a b' = 'a'\nempty = ''\nopen = '('\n\
         large = '\\w{900}{90}'\nnumber = 1",
        &[
            "3 guards.suspicious_words.always: is no name for a pattern",
            "4 guards.suspicious_words.\"a b\": is no name for a pattern",
            "5 guards.suspicious_words.empty: has no pattern of 1 to 256 bytes",
            "6 guards.suspicious_words.open: has a pattern that does not compile",
            "7 guards.suspicious_words.large: has patterns that take more than 1 MiB when compiled",
            "8 guards.suspicious_words.number: expected a string, found an integer",
        ],
    );
    let many: Vec<String> = (0..65).map(|at| format!("w{at} = 'a'")).collect();
    check_rest(
        &format!("[guards.suspicious_words]\n{}", many.join("\n")),
        &["67 guards.suspicious_words.w64: is one pattern too many"],
    );
}

#[test]
fn each_mistake_in_a_rule_for_credentials_is_told_where_it_stands() {
    let check_rule = |rule: &str, expected: &[&str]| {
        check_rest(&format!("[guards.secret_rules.{rule}"), expected);
    };
    check_rest(
        "guards.secret_rules = []",
        &["2 guards.secret_rules: expected a table, found an array"],
    );
    check_rest(
        "guards.secret_rules.badge = \"badge-[0-9]+\"",
        &["2 guards.secret_rules.badge: expected a table, found a string"],
    );
    check_rule(
        "badge]",
        &[
            "2 guards.secret_rules.badge.pattern: required",
            "2 guards.secret_rules.badge.keywords: required",
        ],
    );
    check_rule(
        "Badge]\npattern = 'badge'\nkeywords = ['badge']",
        &[
            "2 guards.secret_rules.Badge: expected a name of 1 to 64 lower-case letters, digits and hyphens",
        ],
    );
    check_rule(
        "jwt]\npattern = 'badge'\nkeywords = ['badge']",
        &["2 guards.secret_rules.jwt: is the name of a rule that is built in"],
    );
    check_rule(
        "badge]\npattern = '(badge'\nkeywords = ['badge', 'ab']\nmin_entropy = 9",
        &[
            "3 guards.secret_rules.badge.pattern: is no regular expression: unclosed group",
            "4 guards.secret_rules.badge.keywords[1]: expected a keyword of 3 to 64 bytes",
            "5 guards.secret_rules.badge.min_entropy: expected a number from 0 to 8",
        ],
    );
    check_rule(
        "badge]\npattern = 'a*'\nkeywords = []\nentropy = 3",
        &[
            "3 guards.secret_rules.badge.pattern: matches nothing at all as well",
            "4 guards.secret_rules.badge.keywords: expected at least one keyword",
            "5 guards.secret_rules.badge.entropy: unknown key",
        ],
    );
    check_rule(
        "badge]\npattern = '(?:\\w{1,100}){1,100}x'\nkeywords = ['badge']",
        &["3 guards.secret_rules.badge.pattern: takes more than 512 KiB when it is compiled"],
    );
    check_rule(
        "badge]\npattern = 1\nkeywords = 'badge'",
        &[
            "3 guards.secret_rules.badge.pattern: expected a string, found an integer",
            "4 guards.secret_rules.badge.keywords: expected an array of strings, found a string",
        ],
    );
    check_rule(
        "badge]\npattern = 'badge'\nkeywords = ['badge', 1]",
        &["4 guards.secret_rules.badge.keywords[1]: expected a string, found an integer"],
    );
    // A word that the pattern repeats stays as unseen as it.
    let text = "[upstream]\ncommand = [\"s\"]\n[guards.secret_rules.badge]\n\
                pattern = 'hunter2('\nkeywords = ['hunt']\n";
    let told = parse(text).unwrap_err();
    let told = format!("{:?}", miette::Report::new(told));
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn a_command_is_an_array_of_strings_or_one_program() {
    check(
        "upstream.command = \"npx -y server\"",
        &["1 upstream.command: expected an array of strings, found a string"],
    );
    check(
        "upstream.command = \"${ARGUMENTS}\"",
        &["1 upstream.command: expected an array of strings, found a string"],
    );
    check(
        "upstream.command = \"\"",
        &["1 upstream.command: expected a program"],
    );
    for (text, program) in [
        ("server", "server"),
        ("./bin/server", "/etc/gate/./bin/server"),
    ] {
        let config = parse(&format!("upstream.command = \"{text}\"")).unwrap();
        assert_eq!(config.upstream.command, [program]);
    }
    check(
        "upstream.command = [\"npx\", 1,\n true, [\"a\"]]",
        &[
            "1 upstream.command[1]: expected a string, found an integer",
            "2 upstream.command[2]: expected a string, found a boolean",
            "2 upstream.command[3]: expected a string, found an array",
        ],
    );
    check(
        "upstream.command = [\"a\\u0000\"]",
        &["1 upstream.command[0]: contains a NUL character"],
    );
}

#[test]
fn unknown_keys_are_refused_everywhere() {
    check_rest("typo = 1", &["2 typo: unknown key"]);
    check_rest("[typo]\na = 1", &["2 typo: unknown key"]);
    check_rest("[[typo]]\na = 1", &["2 typo: unknown key"]);
    check_rest("\"\" = 1", &["2 \"\": unknown key"]);
    check_rest("\"a b\" = 1", &["2 \"a b\": unknown key"]);
    for section in ["listen", "policy", "audit", "limits"] {
        check_rest(
            &format!("{section}.typo = 1"),
            &[&format!("2 {section}.typo: unknown key")],
        );
    }
    check_rest("upstream.typo = 1", &["2 upstream.typo: unknown key"]);
    check_rest(
        "admin = { port = 1, typo = 1 }",
        &["2 admin.typo: unknown key"],
    );
    check(
        "[upstream]\nurl = \"https://a\"\nauth = { type = \"bearer\", token_file = \"a\", typo = 1 }",
        &["3 upstream.auth.typo: unknown key"],
    );
    // Case counts: TOML keys are compared as they are written.
    check_rest("policy.Allow = []", &["2 policy.Allow: unknown key"]);
}

#[test]
fn unknown_keys_and_values_get_a_suggestion() {
    let with = |text: &str| format!("upstream.command = [\"server\"]\n{text}");
    check_advice(&with("policy.alow = []"), "did you mean `allow`?");
    check_advice(
        &with("limits.request-timeout = \"1s\""),
        "did you mean `request_timeout`?",
    );
    check_advice(&with("audti.file = \"a\""), "did you mean `audit`?");
    check_advice(&with("allow = [\"a\"]"), "`allow` belongs in `[policy]`");
    check_advice(
        &with("policy.command = [\"a\"]"),
        "`command` belongs in `[upstream]`",
    );
    check_advice(
        &with("audit.certificate = 1"),
        "known keys: `arguments`, `checkpoint_interval`, `digest_key_file`, `durability`, `file`, `max_file_age`, `max_file_size`, `on_fault`, `results`, `signing_key_file`, `syslog`",
    );
    check_advice(
        "upstream = { url = \"https://a\", bearer_token = \"b\" }",
        "what the server is shown is `auth`, as in `auth = { type = \"bearer\", token = \
         \"${TOKEN}\" }`",
    );
    check_advice(
        &with("upstream.args = [\"-y\"]"),
        "`command` is one array: the program, then its arguments",
    );
    check_advice(
        &with("[admin]\nport = \"${PORT}\""),
        "variables stand in texts alone: write the value itself",
    );
    check_advice(
        &with("limits.max_depth = \"12\""),
        "write it without quotes",
    );
    check_advice(
        &with("audit.durability = \"sync\""),
        "did you mean `async`?",
    );
    check_advice(
        &with("audit.durability = \"fsync\""),
        "did you mean `async`?",
    );
    check_advice(
        &with("audit.durability = \"disk\""),
        "known values: `async`, `strict`",
    );
    check_advice(
        &with("policy.deny_response = \"Tool-Result\""),
        "did you mean `tool_result`?",
    );
    check_advice(&with("policy.reload = \"wacth\""), "did you mean `watch`?");
    check_advice(
        &with("policy.on_policy_removal = \"deny\""),
        "known values: `reject`, `apply`",
    );
}

#[test]
fn keys_of_other_files_are_refused_with_the_names_of_those() {
    check_rest(
        "[tools.a]\n[roots.b]",
        &[
            "2 tools: labelling tools is not done in this file",
            "3 roots: mapping roots is not done in this file",
        ],
    );
    check_advice(
        "upstream.command = [\"server\"]\ntools.a.permission = \"read\"",
        "write it into `tools.toml` in the policy directory (`policy.dir`)",
    );
    check_advice(
        "upstream.command = [\"server\"]\nroots.a.path = \"/srv\"",
        "write it into `roots.toml` in the policy directory (`policy.dir`)",
    );
}

#[test]
fn the_version_is_one() {
    check_rest("version = 2", &["2 version: unknown value '2'"]);
    check_rest("version = 0", &["2 version: unknown value '0'"]);
    check_rest(
        "version = \"1\"",
        &["2 version: expected a whole number, found a string"],
    );
    check_rest(
        "version = 1.0",
        &["2 version: expected a whole number, found a float"],
    );
}

#[test]
fn what_is_quoted_is_cut_and_escaped() {
    let expected = format!(
        "2 policy.deny_response: unknown value 'a\\u{{7}}{}…'",
        "b".repeat(58)
    );
    check_rest(
        &format!("policy.deny_response = \"a\\u0007{}\"", "b".repeat(500)),
        &[&expected],
    );
}

#[test]
fn names_are_labels() {
    let wrong = "2 upstream.name: expected 1 to 64 letters, digits, `-`, `_` or `.`";
    for name in ["", "a b", "a/b", "é", "a\\n", &"a".repeat(65)] {
        check_rest(&format!("upstream.name = \"{name}\""), &[wrong]);
    }
    check_rest(
        "upstream.name = 1",
        &["2 upstream.name: expected a string, found an integer"],
    );
}

#[test]
fn names_of_tools_are_texts_that_a_call_could_carry() {
    check_rest(
        "policy.allow = [\"\", \"a\\u0007\", 1]",
        &[
            "2 policy.allow[0]: expected the name of a tool",
            "2 policy.allow[1]: contains a control character",
            "2 policy.allow[2]: expected a string, found an integer",
        ],
    );
    check_rest(
        "policy.allow = \"a\"",
        &["2 policy.allow: expected an array of strings, found a string"],
    );
    check_rest(
        "limits.tool_timeouts = { \"\" = \"1s\", \"a\\nb\" = \"1s\", c = \"0s\", d = 5 }",
        &[
            "2 limits.tool_timeouts.\"\": expected the name of a tool",
            "2 limits.tool_timeouts.\"a\\nb\": contains a control character",
            "2 limits.tool_timeouts.c: below minimum",
            "2 limits.tool_timeouts.d: expected a duration such as `\"60s\"`, found an integer",
        ],
    );
    check_rest(
        "limits.rates = { global = 5, tools = { \"\" = \"1/s\", a = \"0/s\", b = \"1/d\" } }",
        &[
            "2 limits.rates.global: expected a rate such as `\"100/m\"`, found an integer",
            "2 limits.rates.tools.\"\": expected the name of a tool",
            "2 limits.rates.tools.a: below minimum",
            "2 limits.rates.tools.b: expected a number and `/s`, `/m` or `/h`",
        ],
    );
}

#[test]
fn environment_variables_have_names_and_strings() {
    check_rest(
        "[upstream.env]\nA = 1\n\"\" = \"x\"\n\"B=C\" = \"x\"\nD = \"a\\u0000\"\nE = \"${NOPE}\"",
        &[
            "3 upstream.env.A: expected a string, found an integer",
            "4 upstream.env.\"\": is not the name of an environment variable",
            "5 upstream.env.\"B=C\": is not the name of an environment variable",
            "6 upstream.env.D: contains a NUL character",
            "7 upstream.env.E: environment variable `NOPE` is not set",
        ],
    );
    check_rest(
        "upstream.env = []",
        &["2 upstream.env: expected a table, found an array"],
    );
}

#[test]
fn an_undefined_variable_names_its_field() {
    check(
        "[upstream]\ncommand = [\"a\", \"${NOPE}\"]\nname = \"${NOPE}\"\n[policy]\nallow = [\"${A}${B}\"]",
        &[
            "2 upstream.command[1]: environment variable `NOPE` is not set",
            "3 upstream.name: environment variable `NOPE` is not set",
            "5 policy.allow[0]: environment variable `A` is not set",
            "5 policy.allow[0]: environment variable `B` is not set",
        ],
    );
    check_rest(
        "policy.dir = \"${HOME\"",
        &["2 policy.dir: `${` without a closing `}`"],
    );
    check_rest(
        "policy.dir = \"${HOME:-/x}\"",
        &["2 policy.dir: `${…}` does not hold the name of an environment variable"],
    );
}

#[test]
fn paths_are_not_empty() {
    check_rest("policy.dir = \"\"", &["2 policy.dir: expected a path"]);
    check_rest(
        "audit.file = \"${EMPTY}\"",
        &["2 audit.file: expected a path"],
    );
    check_rest(
        "upstream.cwd = \"a\\u0000\"",
        &["2 upstream.cwd: expected a path"],
    );
    check_rest(
        "policy.dir = [\"a\"]",
        &["2 policy.dir: expected a string, found an array"],
    );
}

#[test]
fn keys_of_a_log_need_what_they_apply_to() {
    for (text, expected) in [
        (
            "max_file_size = \"1MiB\"",
            "audit.max_file_size: only applies with `file`",
        ),
        (
            "max_file_age = \"1h\"",
            "audit.max_file_age: only applies with `file`",
        ),
        (
            "checkpoint_interval = \"1h\"",
            "audit.checkpoint_interval: only applies with `signing_key_file`",
        ),
    ] {
        check_rest(&format!("[audit]\n{text}"), &[&format!("3 {expected}")]);
    }
}

#[test]
fn a_flight_recorder_needs_a_database_and_the_file_of_the_log() {
    check_rest(
        "[flight_recorder]\nevent_kinds = 'mcp'\n[audit]\nfile = 'a'",
        &["2 flight_recorder.file: required"],
    );
    check_rest(
        "[flight_recorder]\nfile = 'a'\nevent_kinds = 'tools'\n[audit]\nfile = 'a'",
        &["4 flight_recorder.event_kinds: unknown value 'tools'"],
    );
    check_rest(
        "[flight_recorder]\nfile = 'a'",
        &["audit.file: required when there is a flight recorder"],
    );
}

#[test]
fn records_cross_a_network_in_clear_only_where_that_is_allowed() {
    let check = |text: &str, expected: &[&str]| {
        check_rest(&format!("[audit.syslog]\n{text}"), expected);
    };
    let check_warning = |text: &str, expected: &str| {
        let config = valid_with(&format!("[audit.syslog]\n{text}"));
        let warnings = config.warnings.iter().map(ToString::to_string);
        let warnings: Vec<_> = warnings.filter(|it| it.starts_with("audit")).collect();
        assert_eq!(warnings, [expected], "{text}");
    };
    check("address = 'unix:/dev/log'", &[]);
    check("address = 'udp://127.0.0.1'", &[]);
    check("address = 'tcp://localhost:601'", &[]);
    check("address = 'tls://log.example.com'\nca_file = 'a.pem'", &[]);
    check("address = 'udp://log.example.com'\nallow_plain = true", &[]);
    for address in [
        "udp://log.example.com",
        "tcp://10.0.0.1",
        "tcp://localhost.evil",
    ] {
        check(
            &format!("address = '{address}'"),
            &["3 audit.syslog.address: is not encrypted"],
        );
    }
    for address in ["unix:/dev/log", "udp://[::1]", "tls://log.example.com"] {
        check_warning(
            &format!("address = '{address}'\nallow_plain = true"),
            "audit.syslog.allow_plain: has no effect beside TLS, or an address of this machine",
        );
    }
    check_warning(
        "address = 'udp://[::1]'\nca_file = 'a.pem'",
        "audit.syslog.ca_file: has no effect without TLS",
    );
    check("facility = 'local1'", &["2 audit.syslog.address: required"]);
    check(
        "address = 'syslog://log.example.com'",
        &["3 audit.syslog.address: does not begin with `unix:/`, `udp://`, `tcp://` or `tls://`"],
    );
}

#[test]
fn strict_durability_needs_a_file() {
    let required = "2 audit.file: required when durability is 'strict'";
    check_rest("[audit]\ndurability = \"strict\"", &[required]);
    // A file that is wrong is not missing.
    check_rest(
        "[audit]\ndurability = \"strict\"\nfile = 1",
        &["4 audit.file: expected a string, found an integer"],
    );
}

#[test]
fn limits_have_bounds() {
    let cases = [
        ("max_message_bytes", "1023", "below minimum"),
        ("max_message_bytes", "\"1023B\"", "below minimum"),
        ("max_message_bytes", "-1", "below minimum"),
        ("max_message_bytes", "\"257MiB\"", "exceeds maximum"),
        (
            "max_message_bytes",
            "99999999999999999999999999999999999999999999",
            "exceeds maximum",
        ),
        (
            "max_message_bytes",
            "-99999999999999999999999999999999999999999999",
            "below minimum",
        ),
        ("max_message_bytes", "\"99999999999GiB\"", "exceeds maximum"),
        ("max_message_bytes_to_agent", "0", "below minimum"),
        ("max_memory", "\"95MiB\"", "below minimum"),
        ("max_memory", "\"1025GiB\"", "exceeds maximum"),
        (
            "max_memory",
            "\"300MiB\"\nlimits.max_message_bytes_to_agent = \"64MiB\"",
            "too little for one message of `max_message_bytes_to_agent`",
        ),
        (
            "max_memory",
            "\"300MiB\"\nlimits.max_message_bytes = \"64MiB\"",
            "too little for one message of `max_message_bytes`",
        ),
        ("max_depth", "65", "exceeds maximum"),
        ("max_depth", "7", "below minimum"),
        ("max_nodes", "99", "below minimum"),
        ("max_nodes", "1_000_001", "exceeds maximum"),
        ("max_in_flight", "0", "below minimum"),
        ("max_in_flight", "65537", "exceeds maximum"),
        ("request_timeout", "\"0s\"", "below minimum"),
        ("request_timeout", "\"25h\"", "exceeds maximum"),
        ("shutdown_grace_period", "\"11m\"", "exceeds maximum"),
        ("max_request_timeout", "\"25h\"", "exceeds maximum"),
        (
            "max_request_timeout",
            "\"59s\"",
            "shorter than `request_timeout`",
        ),
        (
            "progress_extends",
            "1",
            "expected `true` or `false`, found an integer",
        ),
        (
            "max_depth",
            "\"64\"",
            "expected a whole number, found a string",
        ),
        (
            "max_depth",
            "6.4e1",
            "expected a whole number, found a float",
        ),
        (
            "max_message_bytes",
            "1.5",
            "expected a size such as `\"4MiB\"`, or a number of bytes, found a float",
        ),
        (
            "max_message_bytes",
            "\"4 MB\"",
            "expected a whole number and a unit: `1500B`, `64KiB` or `4MiB`",
        ),
        (
            "request_timeout",
            "\"60\"",
            "expected a whole number and a unit: `500ms`, `60s`, `2m` or `1h`",
        ),
        (
            "request_timeout",
            "60",
            "expected a duration such as `\"60s\"`, found an integer",
        ),
        (
            "request_timeout",
            "00:01:00",
            "expected a duration such as `\"60s\"`, found a date or time",
        ),
    ];
    for (key, value, reason) in cases {
        check_rest(
            &format!("limits.{key} = {value}"),
            &[&format!("2 limits.{key}: {reason}")],
        );
    }
}

#[test]
fn the_bounds_themselves_are_accepted() {
    let cases = [
        ("max_message_bytes", "1024"),
        ("max_message_bytes", "\"256MiB\""),
        ("max_depth", "8"),
        ("max_depth", "64"),
        ("max_nodes", "100"),
        ("max_nodes", "1_000_000"),
        ("max_in_flight", "1"),
        ("max_in_flight", "65536"),
        ("request_timeout", "\"1ms\""),
        ("request_timeout", "\"24h\""),
        ("shutdown_grace_period", "\"0ms\""),
        ("shutdown_grace_period", "\"10m\""),
    ];
    for (key, value) in cases {
        check_rest(&format!("limits.{key} = {value}"), &[]);
    }
}
