//! Tests of paths, URLs and hosts by the look of their text.

use cedar_policy::Effect;
use cedar_policy_core::ast::{
    EntityReference, Expr, ExprKind, Pattern, PrincipalOrResourceConstraint,
};

use super::expressions::{Sign, argument, equality, membership, pieces, signed, text};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use super::path_traversal::open_way;
use crate::policy::ToolLabels;
use crate::policy::engines::cedar::PolicyTree;

pub(super) const STRING_TEST_ON_PATH: Lint = Lint {
    code: "lint::string_test_on_path",
    about: "a path tested by its prefix, which `..` or a longer name evades",
    look: paths,
};

pub(super) const STRING_TEST_ON_HOST: Lint = Lint {
    code: "lint::string_test_on_host",
    about: "the host of a URL tested as text, which other spellings and longer names evade",
    look: hosts,
};

/// Last names of pointers that people give to what is a path.
const PATHS: [&str; 10] = [
    "path",
    "file",
    "filename",
    "filepath",
    "dir",
    "directory",
    "folder",
    "root",
    "source",
    "destination",
];
const URLS: [&str; 6] = ["url", "uri", "href", "link", "endpoint", "website"];
const HOSTS: [&str; 3] = ["host", "hostname", "domain"];

/// A test of an argument's text.
struct StringTest<'e> {
    at: &'e Expr,
    pointer: String,
    kind: StringTestKind<'e>,
    /// What it does for the whole condition, where that is plain.
    sign: Option<Sign>,
}

enum StringTestKind<'e> {
    /// The pieces between the wildcards.
    Like(Vec<String>, &'e Pattern),
    Is(Vec<&'e str>),
}

fn tests(condition: &Expr) -> Vec<StringTest<'_>> {
    let mut tests = Vec::new();
    for (at, sign) in signed(condition) {
        let mut add = |pointer, kind| {
            tests.push(StringTest {
                at,
                pointer,
                kind,
                sign,
            });
        };
        if let ExprKind::Like { expr, pattern } = at.expr_kind() {
            if let Some(pointer) = argument(expr) {
                add(pointer, StringTestKind::Like(pieces(pattern), pattern));
            }
        } else if let Some((side, value)) = equality(at) {
            if let (Some(pointer), Some(value)) = (argument(side), text(value)) {
                add(pointer, StringTestKind::Is(vec![value]));
            }
        } else if let Some((asked, items)) = membership(at)
            && let Some(pointer) = argument(asked)
        {
            add(
                pointer,
                StringTestKind::Is(items.iter().filter_map(text).collect()),
            );
        }
    }
    tests
}

fn paths(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let tests = policy.condition().map(tests).unwrap_or_default();
        // What lets a path through is no guard against it.
        let guards = |of: &StringTest<'_>| -> Vec<&Pattern> {
            let others = tests.iter().filter(|test| {
                let opposed = test.sign.is_none() || of.sign.is_none() || test.sign != of.sign;
                test.pointer == of.pointer && opposed
            });
            others.filter_map(StringTest::pattern).collect()
        };
        let labels = labels(world, policy);
        let labelled = |pointer: &str| {
            let paths = labels
                .iter()
                .filter_map(|tool| tool.paths.as_ref())
                .flatten();
            paths.into_iter().any(|it| it == pointer)
        };
        let named =
            |test: &&StringTest<'_>| is_named(&test.pointer, &PATHS) || labelled(&test.pointer);
        for test in tests.iter().filter(named) {
            let label = ArgumentLabel::of(labelled(&test.pointer));
            let keeps_out = label == ArgumentLabel::Yes && test.keeps_out(policy.effect);
            let said = test.begins(&guards(test), label).or_else(|| {
                let said = keeps_out.then(|| test.dodged())??;
                Some((said, KEPT_OUT))
            });
            let Some((message, help)) = said else {
                continue;
            };
            let say = LintMessage {
                message,
                help: help.to_owned(),
                label: "tested as text",
            };
            found.at(&STRING_TEST_ON_PATH, policy, test.at.source_loc(), say);
        }
    }
}

/// What to do about a path that is tested by how it begins.
const BEGINS: &str = "say in `roots.toml` where things are and in `tools.toml` which arguments \
     are `paths`, and ask for `context.targets.outside` or `context.targets.roots`, which no spelling \
     gets round; or end the beginning with `/` and exclude whatever leads up, as \
     `!(… like \"*/..*\")` does";

/// What to do about a path that is kept out by its text.
const KEPT_OUT: &str = "make what is meant a root of its own in `roots.toml`, and ask for \
     `context.targets.roots` or `context.targets.level`, which no spelling gets round; or permit what \
     is known instead";

fn begins_a_path(start: &str) -> bool {
    let mut characters = start.chars();
    let drive = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.next() == Some(':')
        && matches!(characters.next(), Some('/' | '\\'));
    drive || start.len() > 1 && start.starts_with(['/', '~'])
}

fn hosts(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let labels = labels(world, policy);
        let labelled = |pointer: &str, of: fn(&ToolLabels) -> &Vec<String>| {
            labels
                .iter()
                .any(|tool| of(tool).iter().any(|it| it == pointer))
        };
        for test in policy.condition().map(tests).unwrap_or_default() {
            let url = labelled(&test.pointer, |tool| &tool.urls);
            let host = labelled(&test.pointer, |tool| &tool.hosts);
            let why = if url || is_named(&test.pointer, &URLS) {
                test.of_url(ArgumentLabel::of(url))
            } else if host || is_named(&test.pointer, &HOSTS) {
                test.of_host(ArgumentLabel::of(host))
            } else {
                None
            };
            let keeps_out = (url || host) && test.keeps_out(policy.effect);
            let why = why.or_else(|| (keeps_out && test.names_host()).then_some(OTHERWISE));
            let Some(why) = why else { continue };
            let help = if url || host {
                "`context.targets.hosts` holds the host as clients read it: compare that, as in \
                 `[\"example.com\"].containsAll(context.targets.hosts)`"
            } else {
                "say in `tools.toml` that the argument is a URL (`urls = [\"…\"]`) or a host, and \
                 compare `context.targets.hosts`; or write the beginning up to the slash after the \
                 host"
            };
            let say = LintMessage {
                message: format!("`{}` is tested as text: {why}", test.pointer),
                help: help.to_owned(),
                label: match policy.effect {
                    Effect::Permit => "lets through what it should not",
                    Effect::Forbid => "does not say which host it is",
                },
            };
            found.at(&STRING_TEST_ON_HOST, policy, test.at.source_loc(), say);
        }
    }
}

/// Whether the host says what an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentLabel {
    Yes,
    No,
}

impl ArgumentLabel {
    const fn of(labelled: bool) -> Self {
        if labelled { Self::Yes } else { Self::No }
    }
}

/// What gets round a URL or a host that is kept out by its text.
const OTHERWISE: &str = "capitals, a port, a user or a dot at the end of the host make another \
     spelling of the same";

impl<'e> StringTest<'e> {
    /// Whether it is there to stop a call: another spelling of the same then goes through. What lets
    /// through, lets through less by being exact.
    fn keeps_out(&self, effect: Effect) -> bool {
        let stops = match effect {
            Effect::Forbid => Sign::Holds,
            Effect::Permit => Sign::Fails,
        };
        self.sign.is_none_or(|sign| sign == stops)
    }

    /// What else begins like a path, and what to do about it.
    fn begins(&self, guards: &[&Pattern], label: ArgumentLabel) -> Option<(String, &'static str)> {
        let StringTestKind::Like(pieces, pattern) = &self.kind else {
            return None;
        };
        let [start, rest @ ..] = pieces.as_slice() else {
            return None;
        };
        if rest.is_empty() || !begins_a_path(start) {
            return None;
        }
        let rest = rest.concat();
        // A name that begins so and has an ending is meant to go on in between.
        let message = if rest.is_empty() && !start.ends_with(['/', '\\']) {
            format!("`{start}*` is also the beginning of `{start}-elsewhere`")
        } else if let Some(way) = open_way(start, &rest, pattern, guards) {
            let how = if rest.is_empty() { "begins so" } else { "fits" };
            format!("`{way}` {how}, too")
        } else if label == ArgumentLabel::Yes {
            format!("`{start}` may be written in other ways, and links are not followed")
        } else {
            return None;
        };
        Some((message, BEGINS))
    }

    /// How a path that is kept out by its text is written so that it is not.
    fn dodged(&self) -> Option<String> {
        match &self.kind {
            StringTestKind::Is(names) => {
                let written = names.iter().find(|name| name.contains('/'))?;
                let (above, name) = written.trim_end_matches('/').rsplit_once('/')?;
                Some(format!(
                    "`{above}/./{name}` and whatever links to it are other texts than `{written}`"
                ))
            }
            StringTestKind::Like(pieces, _) => {
                // Whatever looks for dots looks for spellings.
                let is_guard = pieces.iter().any(|piece| piece.contains(".."));
                let names_place = pieces.iter().any(|piece| piece.contains(['/', '\\']));
                (names_place && !is_guard).then(|| {
                    "capitals, a link, or a slash at the end make another spelling of the same"
                        .to_owned()
                })
            }
        }
    }

    /// Whether it is about the host and not about what follows it alone.
    fn names_host(&self) -> bool {
        match &self.kind {
            StringTestKind::Is(names) => !names.is_empty(),
            StringTestKind::Like(pieces, _) => pieces
                .iter()
                .any(|piece| piece.contains("://") || is_domain(piece)),
        }
    }

    fn pattern(&self) -> Option<&'e Pattern> {
        match &self.kind {
            StringTestKind::Like(_, pattern) => Some(pattern),
            StringTestKind::Is(_) => None,
        }
    }

    /// What gets round a test of a URL.
    fn of_url(&self, labelled: ArgumentLabel) -> Option<&'static str> {
        let StringTestKind::Like(pieces, _) = &self.kind else {
            return None;
        };
        let [start, rest @ ..] = pieces.as_slice() else {
            return None;
        };
        if rest.is_empty() {
            return None;
        }
        if let Some((_, after)) = start.split_once("://") {
            return match after.split_once('/') {
                Some((_, path)) => {
                    let whole_host = path.is_empty() && rest.concat().is_empty();
                    let spellings = "a port, a user or capitals make another spelling";
                    (whole_host && labelled == ArgumentLabel::Yes).then_some(spellings)
                }
                None => Some("the name of the host may go on, or begin otherwise"),
            };
        }
        let names_host = pieces
            .iter()
            .any(|piece| piece.contains("://") || is_domain(piece));
        names_host.then_some("the name may stand anywhere in it, also behind another host")
    }

    /// What gets round a test of a host's name.
    fn of_host(&self, labelled: ArgumentLabel) -> Option<&'static str> {
        let spellings = "capitals and a dot at the end make another spelling";
        match &self.kind {
            StringTestKind::Is(names) => {
                (labelled == ArgumentLabel::Yes && !names.is_empty()).then_some(spellings)
            }
            StringTestKind::Like(pieces, _) => {
                let [first, .., last] = pieces.as_slice() else {
                    return None;
                };
                let begins = first.is_empty()
                    && pieces
                        .get(1)
                        .is_some_and(|it| it.starts_with(char::is_alphanumeric));
                let goes_on =
                    last.is_empty() && pieces.iter().rev().nth(1).is_some_and(|it| is_domain(it));
                if goes_on {
                    Some("the name may go on")
                } else {
                    (begins && is_domain(last)).then_some("the name may begin otherwise")
                }
            }
        }
    }
}

/// Labels of the tools that a policy is about.
fn labels<'w>(world: &'w LintContext<'_>, policy: &PolicyTree<'_>) -> Vec<&'w ToolLabels> {
    let said = &world.given.said;
    let scope = policy.template.resource_constraint().as_inner();
    if let PrincipalOrResourceConstraint::Eq(EntityReference::EUID(uid)) = scope {
        let name: &str = uid.eid().as_ref();
        return vec![said.of_tool(name)];
    }
    said.all_tools().collect()
}

/// Whether the last name of a JSON pointer is one of a few.
fn is_named(pointer: &str, names: &[&str]) -> bool {
    let last = pointer.rsplit('/').next().unwrap_or_default();
    let last = last.to_ascii_lowercase().replace(['_', '-'], "");
    names.contains(&last.as_str())
}

/// Whether a text holds what looks like the name of a host, such as `example.com`.
fn is_domain(text: &str) -> bool {
    let before_path = text.split('/').next().unwrap_or_default();
    let mut labels = before_path.trim_matches('.').split('.');
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    before_path.trim_matches('.').contains('.') && labels.all(is_label)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check_in, found, source};
    use super::super::material::Material;
    use crate::policy::{Labels, PolicyProblem, ToolLabels};

    /// A condition on arguments, with `$p` for the argument's text, and whether it is found.
    #[track_caller]
    fn argument(lint: &str, pointer: &str, condition: &str, labels: ToolLabels, findings: usize) {
        check_in(lint, &material(pointer, condition, labels), findings);
    }

    fn argument_found(lint: &str, pointer: &str, condition: &str) -> Vec<PolicyProblem> {
        found(lint, &material(pointer, condition, ToolLabels::default()))
    }

    fn material(pointer: &str, condition: &str, labels: ToolLabels) -> Material {
        material_of("permit", pointer, condition, labels)
    }

    fn material_of(effect: &str, pointer: &str, condition: &str, labels: ToolLabels) -> Material {
        let guard = format!(
            "context.raw_arguments.hasTag(\"{pointer}\") && context.raw_arguments.getTag(\"{pointer}\") has string"
        );
        let text = format!("context.raw_arguments.getTag(\"{pointer}\").string");
        let condition = condition.replace("$p", &text);
        let scope = "resource == Mcp::Tool::\"t\"";
        let policy = call(
            effect,
            scope,
            &format!("when {{ {guard} && ({condition}) }}"),
        );
        let mut said = Labels::default();
        said.tools.insert("t".to_owned(), labels);
        Material {
            policies: vec![source("p/x.cedar", &policy)],
            said,
            ..Material::default()
        }
    }

    #[test]
    fn a_path_that_only_begins_right_is_found() {
        let check = |pointer: &str, condition: &str, findings| {
            let lint = "string_test_on_path";
            argument(lint, pointer, condition, ToolLabels::default(), findings);
        };
        check("/path", "$p like \"/srv/project/*\"", 1);
        check("/options/file_path", "$p like \"/srv/project/*\"", 1);
        check(
            "/path",
            "$p like \"/srv/project*\" && !($p like \"*..*\")",
            1,
        );
        check("/path", "$p like \"C:\\\\data\\\\*\"", 1);
        check(
            "/path",
            "$p like \"/srv/project/*\" && !($p like \"*/..*\")",
            0,
        );
        check(
            "/path",
            "$p like \"/srv/project/*\" && !($p like \"*..*\")",
            0,
        );
        check(
            "/path",
            "!(!($p like \"/srv/project/*\") || $p like \"*/../*\" || $p like \"*/..\")",
            0,
        );
        check("/path", "$p like \"/srv/project/*.md\"", 1);
        check("/path", "$p like \"/srv/*/public/*\"", 1);
        check("/path", "$p like \"/srv/project/note-*.md\"", 1);
        let guard = "!($p like \"*/..*\")";
        check(
            "/path",
            &format!("$p like \"/srv/project/*.md\" && {guard}"),
            0,
        );
        check(
            "/path",
            &format!("$p like \"/srv/project/n-*.md\" && {guard}"),
            0,
        );
        check(
            "/path",
            &format!("$p like \"/srv/*/public/*\" && {guard}"),
            0,
        );
        // A file of that ending may be meant wherever it is.
        check("/path", "$p like \"*/.*\"", 0);
        check("/path", "$p like \"*.md\"", 0);
        check("/path", "$p like \"/*\"", 0);
        check("/path", "$p == \"/srv/project\"", 0);
        check("/title", "$p like \"/srv/project/*\"", 0);
    }

    #[test]
    fn a_guard_has_to_stop_every_way_up() {
        let told = |condition: &str| {
            let found = argument_found("string_test_on_path", "/path", condition);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            found.join("\n")
        };
        let test = "$p like \"/srv/project/*\"";
        let check = |guard: &str, expected: &str| {
            assert_eq!(told(&format!("{test} && {guard}")), expected, "{guard}");
        };
        check("!($p like \"*/..*\")", "");
        check("!($p like \"*/../*\")", "`/srv/project/..` begins so, too");
        check(
            "!($p like \"*/..\")",
            "`/srv/project/../elsewhere` begins so, too",
        );
        check(
            "!($p like \"/srv/project/..*\")",
            "`/srv/project/a/../../elsewhere` begins so, too\n\
             `/srv/project/..*` is also the beginning of `/srv/project/..-elsewhere`",
        );
        check(
            "!($p like \"*...*\")",
            "`/srv/project/../elsewhere` begins so, too",
        );
        // It asks for what it should exclude.
        check(
            "$p like \"*/..*\"",
            "`/srv/project/../elsewhere` begins so, too",
        );
        let windows = "$p like \"C:\\\\data\\\\*\" && !($p like \"*\\\\..*\")";
        assert_eq!(
            told(windows),
            "`C:\\data\\a/../../elsewhere` begins so, too"
        );
        let windows = "$p like \"C:\\\\data\\\\*\" && !($p like \"*..*\")";
        assert_eq!(told(windows), "");
    }

    #[test]
    fn an_ending_is_no_guard_against_ways_up() {
        let told = |condition: &str| {
            let found = argument_found("string_test_on_path", "/path", condition);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            found.join("\n")
        };
        for (condition, expected) in [
            (
                "$p like \"/srv/project/*.md\"",
                "`/srv/project/../elsewhere.md` fits, too",
            ),
            (
                "$p like \"/srv/project/note-*.md\"",
                "`/srv/project/note-a/../../elsewhere.md` fits, too",
            ),
            (
                "$p like \"/srv/*/public/*\"",
                "`/srv/../elsewhere/public/` fits, too",
            ),
            ("$p like \"/srv/project/*.md\" && !($p like \"*/../*\")", ""),
        ] {
            assert_eq!(told(condition), expected, "{condition}");
        }
    }

    #[test]
    fn a_path_that_the_gate_reads_need_not_be_tested_as_text() {
        let check = |pointer: &str, condition: &str, findings| {
            let labels = ToolLabels {
                paths: Some(vec!["/where".to_owned()]),
                ..ToolLabels::default()
            };
            argument("string_test_on_path", pointer, condition, labels, findings);
        };
        let guarded = "$p like \"/srv/project/*\" && !($p like \"*/..*\")";
        check("/where", guarded, 1);
        check("/path", guarded, 0);
        check("/where", "$p like \"*.md\"", 0);
    }

    #[test]
    fn what_is_kept_out_by_its_text_alone_is_found() {
        let labels = || ToolLabels {
            paths: Some(vec!["/path".to_owned()]),
            urls: vec!["/url".to_owned()],
            hosts: vec!["/host".to_owned()],
            ..ToolLabels::default()
        };
        // In a forbid, negated there, in a permit, negated there; and without labels.
        let check = |pointer: &str, condition: &str, expected: [usize; 5]| {
            let lint = match pointer {
                "/path" => "string_test_on_path",
                _ => "string_test_on_host",
            };
            let not = format!("!({condition})");
            let with = |effect, condition: &str, labels, findings| {
                let material = material_of(effect, pointer, condition, labels);
                check_in(lint, &material, findings);
            };
            let [forbid, unless, permit, but, plain] = expected;
            with("forbid", condition, labels(), forbid);
            with("forbid", &not, labels(), unless);
            with("permit", condition, labels(), permit);
            with("permit", &not, labels(), but);
            with("forbid", condition, ToolLabels::default(), plain);
        };
        check("/path", "$p == \"/etc/passwd\"", [1, 0, 0, 1, 0]);
        check(
            "/path",
            "[\"/etc/passwd\", \"/etc/shadow\"].contains($p)",
            [1, 0, 0, 1, 0],
        );
        check("/path", "$p like \"*/.env\"", [1, 0, 0, 1, 0]);
        check("/path", "$p like \"*/..*\"", [0, 0, 0, 0, 0]);
        check("/path", "$p like \"*.md\"", [0, 0, 0, 0, 0]);
        check("/host", "$p like \"*.evil.example\"", [1, 0, 0, 1, 0]);
        check("/host", "$p == \"evil.example\"", [1, 1, 1, 1, 0]);
        check("/url", "$p == \"https://evil.example/\"", [1, 0, 0, 1, 0]);
        check(
            "/url",
            "$p like \"https://evil.example/guide/*\"",
            [1, 0, 0, 1, 0],
        );
        check("/url", "$p like \"*.pdf\"", [0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_host_that_is_tested_as_text_is_found() {
        let check = |pointer: &str, condition: &str, plain, labelled| {
            let lint = "string_test_on_host";
            argument(lint, pointer, condition, ToolLabels::default(), plain);
            let labels = ToolLabels {
                urls: vec!["/url".to_owned(), "/page".to_owned()],
                hosts: vec!["/host".to_owned()],
                ..ToolLabels::default()
            };
            argument(lint, pointer, condition, labels, labelled);
        };
        check("/url", "$p like \"*.example.com*\"", 1, 1);
        check("/url", "$p like \"*example.com/*\"", 1, 1);
        check("/url", "$p like \"https://example.com*\"", 1, 1);
        check("/url", "$p like \"https://*.example.com/*\"", 1, 1);
        check("/url", "$p like \"*://example.com/*\"", 1, 1);
        check("/page", "$p like \"*.example.com*\"", 0, 1);
        check("/url", "$p like \"https://example.com/*\"", 0, 1);
        // What a list of hosts could not say.
        check("/url", "$p like \"https://example.com/guide/*\"", 0, 0);
        check("/url", "$p == \"https://example.com/guide\"", 0, 0);
        check("/url", "$p like \"*.pdf\"", 0, 0);
        check("/url", "$p like \"*token=*\"", 0, 0);
        check("/title", "$p like \"*example.com*\"", 0, 0);

        check("/host", "$p like \"*example.com\"", 1, 1);
        check("/host", "$p like \"example.com*\"", 1, 1);
        check("/host", "$p == \"example.com\"", 0, 1);
        check(
            "/host",
            "[\"example.com\", \"b.example\"].contains($p)",
            0,
            1,
        );
        check("/host", "$p like \"*.example.com\"", 0, 0);
        check("/host", "$p like \"internal-*\"", 0, 0);
    }

    #[test]
    fn what_another_tool_calls_a_url_is_not() {
        let policy = call(
            "permit",
            "resource == Mcp::Tool::\"other\"",
            "when { context.raw_arguments.hasTag(\"/page\") && context.raw_arguments.getTag(\"/page\") has string && \
             context.raw_arguments.getTag(\"/page\").string like \"*.example.com*\" }",
        );
        let mut said = Labels::default();
        let labels = ToolLabels {
            urls: vec!["/page".to_owned()],
            ..ToolLabels::default()
        };
        said.tools.insert("t".to_owned(), labels);
        let mut material = Material {
            policies: vec![source("p/x.cedar", &policy)],
            said,
            ..Material::default()
        };
        check_in("string_test_on_host", &material, 0);
        let all = policy.replace("resource == Mcp::Tool::\"other\"", "resource");
        material.policies = vec![source("p/x.cedar", &all)];
        check_in("string_test_on_host", &material, 1);
    }
}
