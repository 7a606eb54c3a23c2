//! What lies behind a link is judged as what it is, with links on a real disk.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::super::settings::Disk as LinkDisk;
use super::*;
use crate::policy::{Base, Labels, Leaf, Obligation, Root, Roots, ToolLabels};

const RESOLVE: Symlinks = Symlinks::Resolve(LinkDisk::Local);
const BLOCK: Symlinks = Symlinks::Block(LinkDisk::Local);

/// Calls in roots that are not confidential.
fn but_the_confidential(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let may = match (&facts.resource, &facts.action) {
        (_, Action::CallTool { targets, .. }) => {
            !targets.outside && targets.level < 2 && targets.roots != ["reference"]
        }
        (Resource::Resource(it), _) => it.level < 2 && !it.roots.is_empty(),
        _ => true,
    };
    Ok(if may {
        allow()
    } else {
        Verdict::Deny { reasons: vec![] }
    })
}

/// The same, and what passes has one spelling.
fn in_one_spelling(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let verdict = but_the_confidential(facts)?;
    Ok(if verdict == allow() {
        Verdict::Allow {
            reasons: vec![],
            obligations: vec![Obligation::CanonicalPaths, Obligation::CanonicalUris],
        }
    } else {
        verdict
    })
}

/// A disk on which `HERE/work` holds `customers`, with links to and fro.
struct Disk {
    directory: TempDir,
}

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let disk = Self { directory };
        for path in ["work/plain", "work/customers/deep", "reference"] {
            fs::create_dir_all(disk.at(path)).unwrap();
        }
        fs::write(disk.at("work/customers/c.txt"), "confidential").unwrap();
        fs::write(disk.at("work/plain/a.txt"), "a").unwrap();
        for (link, target) in [
            ("work/lnk", disk.at("work/customers")),
            ("work/near", "customers/./".to_owned()),
            ("work/twice", "near".to_owned()),
            ("work/file", "customers/c.txt".to_owned()),
            ("work/dangling", "customers/none".to_owned()),
            ("work/deep", "customers/deep".to_owned()),
            ("work/inner", "plain".to_owned()),
            ("work/self", "self".to_owned()),
            ("work/out", "/etc".to_owned()),
            ("work/process", "/proc/self/root".to_owned()),
            ("work/customers/back", "../plain".to_owned()),
            ("alias", "work".to_owned()),
        ] {
            symlink(target, disk.at(link)).unwrap();
        }
        disk
    }

    fn at(&self, path: &str) -> String {
        let here = self.directory.path().canonicalize().unwrap();
        format!("{}/{path}", here.display())
    }

    /// A text in which `HERE` stands for the directory.
    fn in_place(&self, text: &str) -> String {
        text.replace("HERE/", &self.at(""))
    }

    fn labels(&self) -> Labels {
        let root = |name: &str, path: &str, level| {
            let mut root = Root::at(name, &self.at(path)).unwrap();
            root.level = level;
            root.writable = true;
            root
        };
        let tool = ToolLabels {
            paths: Some(vec!["/path".to_owned(), "/files/*/path".to_owned()]),
            base: Some(Base::at(&self.at("work")).unwrap()),
            ..ToolLabels::default()
        };
        Labels {
            tools: [("t".to_owned(), tool)].into(),
            roots: Roots::new(vec![
                root("workspace", "work", 1),
                root("customers", "work/customers", 2),
                root("reference", "reference", 0),
            ]),
            ..Labels::default()
        }
    }

    async fn bench(&self, rule: Rule, symlinks: Symlinks) -> Bench {
        let bench = Bench::with(rule, |settings| settings.terms.guards.symlinks = symlinks);
        let policies = snapshot("labelled", rule).with_labels(self.labels());
        bench.gate.policy.publish(policies);
        bench.shake_hands().await;
        bench.list(&["t"]).await;
        bench
    }

    /// What the server gets of the arguments; `None` if it gets nothing.
    async fn sent(&self, bench: &Bench, arguments: &str) -> Option<String> {
        let arguments = self.in_place(arguments);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        bench.agent(&call).await;
        let sent = bench.to_upstream();
        let message = Message::decode(sent.first()?.as_bytes(), &Limits::default()).unwrap();
        let arguments = message.params().and_then(|params| params.get("arguments"));
        Some(arguments.unwrap().text().replace(&self.at(""), "HERE/"))
    }
}

#[tokio::test]
async fn a_call_that_is_denied_for_where_a_path_lies_says_which_and_why() {
    for (arguments, reason, argument, told) in [
        (
            r#"{"path":"HERE/other"}"#,
            "outside_roots",
            "/path",
            "the path at `/path` lies outside of all roots",
        ),
        (
            r#"{"path":"HERE/work/a","files":[{"path":"HERE/work/b"},{"path":"/etc/passwd"}]}"#,
            "outside_roots",
            "/files/1/path",
            "the path at `/files/1/path` lies outside",
        ),
        (
            r#"{"path":"HERE/work/out/passwd"}"#,
            "symlink_outside",
            "/path",
            "the path at `/path` leads outside of all roots over a link",
        ),
        (
            r#"{"path":"HERE/work/a","files":[{"path":"HERE/work/self/a"}]}"#,
            "symlink_outside",
            "/files/0/path",
            "the path at `/files/0/path` leads outside of all roots over a link",
        ),
        (
            r#"{"path":"./out/passwd"}"#,
            "symlink_outside",
            "/path",
            "the path at `/path` leads outside of all roots over a link",
        ),
        (
            r#"{"path":"../other"}"#,
            "outside_roots",
            "/path",
            "the path at `/path` lies outside of all roots",
        ),
        (
            r#"{"other":1}"#,
            "outside_roots",
            "",
            "the call names no path, and may reach outside of all roots",
        ),
        // What is denied for another reason says nothing of places.
        (
            r#"{"path":"HERE/work/customers/c.txt"}"#,
            "",
            "",
            "denied by policy\"",
        ),
        (
            r#"{"path":"HERE/work/lnk/c.txt"}"#,
            "",
            "",
            "denied by policy\"",
        ),
        (
            r#"{"path":"HERE/work/named/../../other"}"#,
            "",
            "",
            "denied by policy\"",
        ),
    ] {
        let disk = Disk::new();
        let bench = disk.bench(but_the_named, RESOLVE).await;
        assert_eq!(disk.sent(&bench, arguments).await, None, "{arguments}");
        let answer = bench.to_agent().remove(0);
        assert!(answer.contains(told), "{answer}");
        let member = |key: &str, value: &str| format!(r#""{key}":"{value}""#);
        for (key, value) in [("reason", reason), ("argument", argument)] {
            let is_told = answer.contains(&member(key, value));
            assert_eq!(is_told, !value.is_empty(), "{answer}");
        }
        assert!(!answer.contains("passwd"), "{answer}");
        let record = bench.records().await.pop().unwrap();
        let code = record.get(&["reason", "code"]);
        let expected = if reason.is_empty() {
            "forbidden"
        } else {
            reason
        };
        assert_eq!(code, expected, "{arguments}");
    }
}

/// The same, but for what is called by a name on the disk that rules forbid.
fn but_the_named(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let is_named = |text: &str| text.contains("/named");
    match (&facts.resource, &facts.action) {
        (_, Action::CallTool { arguments, .. })
            if arguments
                .0
                .iter()
                .any(|(_, leaf)| matches!(leaf, Leaf::String(text) if is_named(text))) =>
        {
            Ok(Verdict::Deny { reasons: vec![] })
        }
        (Resource::Resource(it), _) if is_named(&it.uri) => Ok(Verdict::Deny { reasons: vec![] }),
        _ => but_the_confidential(facts),
    }
}

#[tokio::test]
async fn a_root_that_is_a_link_is_known_by_both_paths() {
    for (path, passes) in [
        ("HERE/alias/plain/a.txt", true),
        ("HERE/work/plain/a.txt", true),
        ("HERE/work/new.txt", true),
        ("HERE/work/plain/../new.txt", true),
        // What lies below it is confidential.
        ("HERE/work", false),
        ("HERE/work/customers/c.txt", false),
        ("HERE/work/lnk/c.txt", false),
        ("HERE/alias/lnk/c.txt", false),
        ("HERE/work/out/passwd", false),
        ("HERE/work/../reference/a", false),
        ("HERE/workshop/a", false),
        ("HERE/reference/a", false),
        // What is said of its text still holds.
        ("HERE/work/named.txt", false),
    ] {
        let disk = Disk::new();
        let labels = || {
            let root = |name: &str, path: &str, level| {
                let mut root = Root::at(name, &disk.at(path)).unwrap();
                root.level = level;
                root
            };
            let roots = Roots::new(vec![
                root("workspace", "alias", 1),
                root("customers", "alias/customers", 2),
            ]);
            Labels {
                roots,
                ..disk.labels()
            }
        };
        let bench = disk.bench(but_the_named, RESOLVE).await;
        let policies = snapshot("labelled", but_the_named).with_labels(labels());
        bench.gate.policy.publish(policies);
        let sent = disk.sent(&bench, &format!(r#"{{"path":"{path}"}}"#)).await;
        assert_eq!(sent.is_some(), passes, "{path}");
        let bench = disk.bench(but_the_named, RESOLVE).await;
        let policies = snapshot("labelled", but_the_named).with_labels(labels());
        bench.gate.policy.publish(policies);
        let uri = disk.in_place(&format!("file://{path}"));
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"{uri}"}}}}"#
            ))
            .await;
        assert_eq!(!bench.to_upstream().is_empty(), passes, "{uri}");
    }
}

#[tokio::test]
async fn a_relative_path_is_followed_from_where_the_server_resolves_it() {
    for (path, passes) in [
        ("new.txt", true),
        ("./plain/../new.txt", true),
        ("near/../a.txt", true),
        ("customers/c.txt", false),
        ("lnk/c.txt", false),
        ("out/passwd", false),
        ("../other", false),
        ("..\\\\plain", false),
    ] {
        let disk = Disk::new();
        let bench = disk.bench(but_the_named, RESOLVE).await;
        let arguments = format!(r#"{{"path":"{path}"}}"#);
        let sent = disk.sent(&bench, &arguments).await;
        // It goes on as it was written.
        assert_eq!(sent, passes.then_some(arguments), "{path}");
    }
}

const PATHS: [(&str, bool); 23] = [
    ("HERE/work/plain/a.txt", true),
    ("HERE/work/new.txt", true),
    ("HERE/work/inner/a.txt", true),
    ("HERE/work/inner/new/er.txt", true),
    ("HERE/work/customers/c.txt", false),
    ("HERE/work/lnk/c.txt", false),
    ("HERE/work/lnk", false),
    // A new file below a link.
    ("HERE/work/lnk/new.txt", false),
    ("HERE/work/lnk/new/er.txt", false),
    ("HERE/work/near/c.txt", false),
    ("HERE/work/twice/c.txt", false),
    ("HERE/work/file", false),
    // Whoever writes there makes what it leads to.
    ("HERE/work/dangling", false),
    ("HERE/work/dangling/x", false),
    // Where `..` follows a link, the server may go up from either end of it.
    ("HERE/work/deep/../c.txt", false),
    ("HERE/work/inner/../plain/a.txt", true),
    ("HERE/work/customers/back/a.txt", false),
    ("HERE/work/self/a", false),
    ("HERE/work/out/passwd", false),
    ("HERE/work/process/etc", false),
    ("HERE/alias/plain/a.txt", false),
    ("file://HERE/work/lnk/c.txt", false),
    ("file://HERE/work/inner/a.txt", true),
];

#[tokio::test]
async fn a_path_is_judged_as_it_is_written_and_where_links_lead() {
    let disk = Disk::new();
    for (path, passes) in PATHS {
        let bench = disk.bench(but_the_confidential, RESOLVE).await;
        let said = format!(r#"{{"path":"{path}"}}"#);
        let sent = disk.sent(&bench, &said).await;
        // Nobody asked for another spelling.
        assert_eq!(sent, passes.then_some(said), "{path}");
    }
}

#[tokio::test]
async fn each_of_several_paths_is_followed() {
    let disk = Disk::new();
    for (said, passes) in [
        (r#"{"path":["HERE/work/a","HERE/work/inner/a"]}"#, true),
        (r#"{"path":["HERE/work/a","HERE/work/lnk/a"]}"#, false),
        (r#"{"files":[{"path":"HERE/work/a"}]}"#, true),
        (
            r#"{"files":[{"path":"HERE/work/a"},{"path":"HERE/work/lnk"}]}"#,
            false,
        ),
        (
            r#"{"path":"HERE/work/inner","files":{"x":{"path":"HERE/work/file"}}}"#,
            false,
        ),
    ] {
        let bench = disk.bench(but_the_confidential, RESOLVE).await;
        assert_eq!(disk.sent(&bench, said).await.is_some(), passes, "{said}");
    }
}

#[tokio::test]
async fn where_links_are_not_followed_a_path_leads_where_it_says() {
    let disk = Disk::new();
    let bench = disk.bench(but_the_confidential, Symlinks::AsWritten).await;
    let said = r#"{"path":"HERE/work/lnk/c.txt"}"#;
    assert_eq!(disk.sent(&bench, said).await.as_deref(), Some(said));
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_is_refused_where_the_configuration_says_so() {
    let disk = Disk::new();
    for (path, passes) in [
        ("HERE/work/plain/a.txt", true),
        ("HERE/work/new.txt", true),
        ("HERE/work/inner/a.txt", false),
        ("HERE/work/inner", false),
        ("HERE/work/deep/../c.txt", false),
        ("HERE/work/self", false),
        ("HERE/alias/plain/a.txt", false),
    ] {
        let requests = [
            format!(r#""tools/call","params":{{"name":"t","arguments":{{"path":"{path}"}}}}"#),
            format!(r#""resources/read","params":{{"uri":"file://{path}"}}"#),
            format!(r#""resources/subscribe","params":{{"uri":"file://{path}"}}"#),
        ];
        for request in requests {
            let bench = disk.bench(open, BLOCK).await;
            let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{request}}}"#);
            bench.agent(&disk.in_place(&request)).await;
            assert_eq!(bench.to_upstream().len(), usize::from(passes), "{request}");
            let record = bench.records().await.pop().unwrap();
            let is_told = record.get(&["reason", "code"]) == "symlink_blocked";
            assert_eq!(is_told, !passes, "{request} {}", record.text());
            assert!(passes || record.text().contains(r#""code":"symlink_"#));
        }
    }
}

/// A policy that looks at no path permits these calls; nothing proves that no link is on the way.
#[tokio::test]
async fn where_links_are_blocked_a_path_that_the_gate_did_not_follow_is_refused() {
    let disk = Disk::new();
    let files = |many: usize| {
        let files = (0..many).map(|at| format!(r#"{{"path":"HERE/work/plain/{at}"}}"#));
        format!(r#"{{"files":[{}]}}"#, files.collect::<Vec<_>>().join(","))
    };
    for (arguments, passes) in [
        (files(16), true),
        (files(257), false),
        (r#"{"path":"plain/a.txt"}"#.to_owned(), true),
        (r#"{"path":"lnk/c.txt"}"#.to_owned(), false),
        (r#"{"path":"~/a.txt"}"#.to_owned(), false),
        (r#"{"path":""}"#.to_owned(), false),
        (r#"{"path":null}"#.to_owned(), false),
        (r#"{"path":{"a":1}}"#.to_owned(), false),
        (r#"{"other":"plain/a.txt"}"#.to_owned(), true),
    ] {
        let bench = disk.bench(open, BLOCK).await;
        let sent = disk.sent(&bench, &arguments).await;
        assert_eq!(sent.is_some(), passes, "{arguments:.80}");
    }
    // A root may be a link; then its own path is the only one to it.
    for (path, passes) in [
        ("HERE/alias/plain/a.txt", true),
        ("HERE/work/plain/a.txt", false),
        ("HERE/alias/lnk/c.txt", false),
    ] {
        let root = Root::at("workspace", &disk.at("alias")).unwrap();
        let labels = Labels {
            roots: Roots::new(vec![root]),
            ..disk.labels()
        };
        let bench = disk.bench(open, BLOCK).await;
        let policies = snapshot("labelled", open).with_labels(labels);
        bench.gate.policy.publish(policies);
        let sent = disk.sent(&bench, &format!(r#"{{"path":"{path}"}}"#)).await;
        assert_eq!(sent.is_some(), passes, "{path}");
    }
    // Without roots too.
    for (path, passes) in [
        ("HERE/work/plain/a.txt", true),
        ("HERE/work/lnk/c.txt", false),
    ] {
        let bench = disk.bench(open, BLOCK).await;
        bench.gate.policy.publish(snapshot("bare", open));
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"file://{path}"}}}}"#
        );
        bench.agent(&disk.in_place(&request)).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{request}");
    }
}

#[tokio::test]
async fn the_record_says_where_a_path_leads() {
    let disk = Disk::new();
    for (path, finding) in [
        ("HERE/work/lnk/c.txt", "leads to HERE/work/customers/c.txt"),
        ("HERE/work/inner/a.txt", "leads to HERE/work/plain/a.txt"),
        ("HERE/work/self", "cannot be followed"),
    ] {
        let bench = disk.bench(but_the_confidential, RESOLVE).await;
        disk.sent(&bench, &format!(r#"{{"path":"{path}"}}"#)).await;
        let records = bench.records_of("tool_call").await;
        let finding = format!(r#""detail":"/params/arguments/path {finding}"#);
        let record = records[0].text();
        assert!(record.contains(&disk.in_place(&finding)), "{record}");
        let told = bench.to_agent().concat();
        assert!(!told.contains("customers"), "{told}");
    }
}

#[tokio::test]
async fn the_one_spelling_of_a_path_is_where_links_lead() {
    let disk = Disk::new();
    for (said, sent) in [
        ("HERE/work/inner/a.txt", Some("HERE/work/plain/a.txt")),
        ("file://HERE/work/inner/x", Some("file://HERE/work/plain/x")),
        ("HERE/work/inner/../b", Some("HERE/work/b")),
        ("HERE/work/lnk/c.txt", None),
        ("HERE/work/self", None),
    ] {
        let bench = disk.bench(in_one_spelling, RESOLVE).await;
        let found = disk.sent(&bench, &format!(r#"{{"path":"{said}"}}"#)).await;
        let sent = sent.map(|sent| format!(r#"{{"path":"{sent}"}}"#));
        assert_eq!(found, sent, "{said}");
    }
}

#[tokio::test]
async fn what_nobody_can_follow_is_not_sent_where_one_spelling_is_asked_for() {
    let disk = Disk::new();
    let always = |_: &Facts<'_>| {
        Ok(Verdict::Allow {
            reasons: vec![],
            obligations: vec![Obligation::CanonicalPaths],
        })
    };
    let bench = disk.bench(always, RESOLVE).await;
    let said = r#"{"path":"HERE/work/self"}"#;
    assert_eq!(disk.sent(&bench, said).await, None);
    let records = bench.records_of("tool_call").await;
    assert_eq!(records[0].get(&["reason", "code"]), "uncanonical");
}

#[tokio::test]
async fn the_uri_of_a_file_is_judged_where_links_lead() {
    let disk = Disk::new();
    for (uri, passes) in [
        ("file://HERE/work/plain/a.txt", true),
        ("file://HERE/work/inner/a.txt", true),
        ("file://HERE/work/lnk/c.txt", false),
        ("file://HERE/work/%6cnk/c.txt", false),
        ("file://HERE/work/deep/../c.txt", false),
        ("file://HERE/work/self", false),
        ("file://HERE/work/out/passwd", false),
    ] {
        for method in ["resources/read", "resources/subscribe"] {
            let bench = disk.bench(but_the_confidential, RESOLVE).await;
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"uri":"{uri}"}}}}"#
            );
            bench.agent(&disk.in_place(&request)).await;
            assert_eq!(bench.to_upstream().len(), usize::from(passes), "{request}");
            let record = bench.records().await.pop().unwrap();
            let is_told = record.text().contains(r#""detail":"/params/uri "#);
            let is_plain = uri.contains("plain");
            assert_eq!(is_told, !is_plain, "{request} {}", record.text());
        }
    }
}

#[tokio::test]
async fn the_uri_of_a_file_goes_on_as_where_links_lead_if_one_spelling_is_asked_for() {
    let disk = Disk::new();
    let bench = disk.bench(in_one_spelling, RESOLVE).await;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file://HERE/work/inner/a.txt"}}"#;
    bench.agent(&disk.in_place(request)).await;
    let sent = bench.to_upstream().concat();
    let expected = disk.in_place(r#""uri":"file://HERE/work/plain/a.txt""#);
    assert!(sent.contains(&expected), "{sent}");
}
