//! Policies that change while the gate runs.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::hostile::dialogue::Talk;
use crate::support::fixtures::fixture;
use crate::support::processes;
use crate::support::setup::{ALLOW_ALL, GATE, Setup};

/// Permits everything but calls of `safe`.
const NOT_SAFE: &str = r#"@id("all") permit (principal, action, resource);
@id("not-safe") forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"safe");
"#;

/// A gate whose policies change.
struct Changing {
    talk: Talk,
    directory: PathBuf,
    calls: usize,
}

impl Changing {
    /// Begins with a policy file, `test.cedar`, that permits everything, and what `prepare` adds.
    fn with(reload: &str, prepare: impl FnOnce(&Path)) -> Self {
        let mut setup = Setup::of([&fixture("hostile-server"), "proper"]).policies(ALLOW_ALL);
        reload.clone_into(&mut setup.reload);
        let directory = setup.path("policies");
        prepare(&directory);
        let mut talk = Talk::through(setup);
        talk.open();
        talk.ask("\"list\"", r#""tools/list""#);
        Self {
            talk,
            directory,
            calls: 0,
        }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.join(name), text).unwrap();
    }

    fn hang_up(&self) {
        let pid = Pid::from_raw(i32::try_from(self.talk.gate.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
    }

    /// Whether `safe` may be called.
    fn may_call(&mut self) -> bool {
        self.calls += 1;
        let id = format!("\"call-{}\"", self.calls);
        self.talk.call(&id, "safe", "x");
        let answer = self.talk.answer(&id);
        answer.contains("safe ran")
    }

    fn reloads(&self) -> Vec<Value> {
        let mut records = self.talk.audit();
        records.retain(|record| record["kind"] == "policy_reload");
        records
    }

    fn first_revision(&self) -> Value {
        processes::eventually(|| {
            let audit = self.talk.audit();
            let first = audit.first().map(|record| record["revision"].clone());
            first.ok_or_else(|| "nothing was recorded".to_owned())
        })
    }

    /// Waits until the last record of a change is as it should be: a look in the middle of a change
    /// may have refused what it saw.
    fn settled(&self, becomes: Becomes) -> Value {
        processes::eventually(|| {
            let mut reloads = self.reloads();
            let all = format!("not {becomes:?}: {reloads:?}");
            let last = reloads.pop().ok_or_else(|| all.clone())?;
            let is_as_it_should_be = match becomes {
                InForce => last["event"] == "published",
                Refused(code) => last["event"] == "rejected" && last["reason"]["code"] == code,
            };
            if is_as_it_should_be {
                Ok(last)
            } else {
                Err(all)
            }
        })
    }

    /// Waits for the next record of a change, the `number`th in all.
    fn reload(&self, number: usize) -> Value {
        processes::eventually(|| {
            let reloads = self.reloads();
            let reload = reloads.get(number - 1).cloned();
            reload.ok_or_else(|| format!("no record of a change came: {reloads:?}"))
        })
    }
}

#[test]
fn a_hang_up_reads_the_policies_again_where_nothing_is_watched() {
    let mut gate = Changing::with("reload = \"off\"", |_| {});
    assert!(gate.may_call());
    let start = gate.first_revision();
    gate.write("test.cedar", NOT_SAFE);
    gate.hang_up();
    let reload = gate.reload(1);
    assert_eq!(reload["event"], "published", "{reload}");
    assert_eq!(reload["decision"], "ALLOW");
    assert_ne!(reload["revision"], start);
    let before = reload["reason"]["text"].as_str().unwrap();
    assert!(before.contains(start.as_str().unwrap()), "{reload}");
    assert!(!gate.may_call());

    gate.write(
        "test.cedar",
        "@id(\"all\") permit (principal, action, resource) when { 1 };",
    );
    gate.hang_up();
    let refusal = gate.reload(2);
    assert_eq!(refusal["event"], "rejected", "{refusal}");
    assert_eq!(refusal["decision"], "BLOCK");
    assert_eq!(refusal["revision"], reload["revision"]);
    assert!(!gate.may_call());
    let past = gate.talk.end();
    assert_eq!(past.ended.code, Some(0));
    assert!(
        past.ended.stderr.contains("test.cedar:1:"),
        "{}",
        past.ended.stderr
    );
}

/// What becomes of a change.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Becomes {
    /// The change is in force: `safe` may not be called any more.
    InForce,
    /// It is refused for this reason, and the old revision stays.
    Refused(&'static str),
}

use Becomes::{InForce, Refused};

type Change = (&'static str, Becomes, fn(&Path));

/// Every way to change a directory that holds `test.cedar` and `more/extra.cedar`.
const CHANGES: &[Change] = &[
    ("written in place", InForce, |dir| {
        fs::write(dir.join("test.cedar"), NOT_SAFE).unwrap();
    }),
    ("renamed over", InForce, |dir| {
        fs::write(dir.join(".new"), NOT_SAFE).unwrap();
        fs::rename(dir.join(".new"), dir.join("test.cedar")).unwrap();
    }),
    ("an editor's way", InForce, |dir| {
        fs::write(dir.join(".test.cedar.swp"), "b0VIM").unwrap();
        fs::rename(dir.join("test.cedar"), dir.join("test.cedar~")).unwrap();
        fs::write(dir.join("test.cedar"), NOT_SAFE).unwrap();
        fs::remove_file(dir.join("test.cedar~")).unwrap();
        fs::remove_file(dir.join(".test.cedar.swp")).unwrap();
    }),
    ("a new file", InForce, |dir| {
        fs::write(
            dir.join("new.cedar"),
            NOT_SAFE.replace("\"all\"", "\"new\""),
        )
        .unwrap();
    }),
    ("a new directory", InForce, |dir| {
        fs::create_dir(dir.join("new")).unwrap();
        let text = NOT_SAFE.replace("\"all\"", "\"new\"");
        fs::write(dir.join("new/a.cedar"), text).unwrap();
    }),
    ("the directory exchanged", InForce, |dir| {
        let (new, old) = (dir.with_extension("new"), dir.with_extension("old"));
        fs::create_dir_all(new.join("more")).unwrap();
        fs::write(new.join("test.cedar"), NOT_SAFE).unwrap();
        fs::write(new.join("more/extra.cedar"), EXTRA).unwrap();
        fs::write(new.join("more/roots.toml"), ROOTS).unwrap();
        fs::rename(dir, old).unwrap();
        fs::rename(new, dir).unwrap();
    }),
    ("renamed", InForce, |dir| {
        fs::rename(dir.join("test.cedar"), dir.join("renamed.cedar")).unwrap();
        let text = NOT_SAFE.replace("\"all\"", "\"new\"");
        fs::write(dir.join("new.cedar"), text).unwrap();
    }),
    ("cut in labels", Refused("policy::removed"), |dir| {
        fs::write(
            dir.join("more/roots.toml"),
            "# new\n[roots.a]\npath = \"/a\"\n",
        )
        .unwrap();
    }),
    ("half written", Refused("policy::syntax"), |dir| {
        fs::write(dir.join("test.cedar"), NOT_SAFE.get(..70).unwrap()).unwrap();
    }),
    ("cut between two rules", Refused("policy::removed"), |dir| {
        fs::write(
            dir.join("more/extra.cedar"),
            EXTRA.split("@id(\"no-evil\")").next().unwrap(),
        )
        .unwrap();
    }),
    ("emptied", Refused("policy::removed"), |dir| {
        fs::write(dir.join("more/extra.cedar"), "").unwrap();
    }),
    ("deleted", Refused("policy::removed"), |dir| {
        fs::remove_file(dir.join("more/extra.cedar")).unwrap();
    }),
    ("everything deleted", Refused("policy::removed"), |dir| {
        fs::remove_file(dir.join("test.cedar")).unwrap();
        fs::remove_dir_all(dir.join("more")).unwrap();
    }),
    ("the directory deleted", Refused("policy::file"), |dir| {
        fs::remove_dir_all(dir).unwrap();
    }),
    (
        "a directory in its place",
        Refused("policy::removed"),
        |dir| {
            fs::remove_file(dir.join("more/extra.cedar")).unwrap();
            fs::create_dir(dir.join("more/extra.cedar")).unwrap();
        },
    ),
    ("unreadable", Refused("policy::file"), |dir| {
        fs::remove_file(dir.join("more/extra.cedar")).unwrap();
        symlink("nowhere", dir.join("more/extra.cedar")).unwrap();
    }),
    ("no text", Refused("policy::file"), |dir| {
        fs::write(dir.join("more/extra.cedar"), [0xff]).unwrap();
    }),
    ("misspelt", Refused("policy::unrecognized_file"), |dir| {
        fs::write(dir.join("deny.ceder"), NOT_SAFE).unwrap();
    }),
];

const EXTRA: &str = r#"@id("extra") permit (principal, action, resource);
@id("no-evil") forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"evil");
"#;

const ROOTS: &str =
    "[roots.a]\npath = \"/a\"\n[roots.b]\npath = \"/a/b\"\nsensitivity = \"secret\"\n";

fn check_change((what, becomes, change): Change) {
    let mut gate = Changing::with("", |dir| {
        fs::create_dir(dir.join("more")).unwrap();
        fs::write(dir.join("more/extra.cedar"), EXTRA).unwrap();
        fs::write(dir.join("more/roots.toml"), ROOTS).unwrap();
    });
    assert!(gate.may_call(), "{what}");
    let start = gate.first_revision();
    change(&gate.directory);
    let reload = gate.settled(becomes);
    let stayed = reload["revision"] == start;
    assert_eq!(stayed, becomes != InForce, "{what}: {reload}");
    assert_eq!(gate.may_call(), becomes != InForce, "{what}");
    let past = gate.talk.end();
    let last = past.of_kind("tool_call").last().unwrap();
    assert_eq!(last["revision"], reload["revision"], "{what}");
    let told = past.ended.stderr.contains("new policies are refused");
    assert!(told || becomes == InForce, "{what}: {}", past.ended.stderr);
}

#[test]
fn a_change_is_in_force_as_a_whole_or_not_at_all() {
    // Each waits rather than works.
    std::thread::scope(|scope| {
        for change in CHANGES {
            scope.spawn(move || check_change(*change));
        }
    });
}

/// As a deployment does it, after everything else.
fn list(dir: &Path) {
    let mut write = Command::new(GATE);
    let write = write.args(["policy", "manifest"]).arg(dir);
    assert!(write.status().unwrap().success());
}

#[test]
fn where_there_is_a_manifest_nothing_counts_that_it_does_not_list() {
    let mut gate = Changing::with("", |dir| {
        fs::write(dir.join("extra.cedar"), EXTRA).unwrap();
        list(dir);
    });
    assert!(gate.may_call());
    gate.write("test.cedar", NOT_SAFE);
    let early = gate.settled(Refused("policy::manifest"));
    let text = early["reason"]["text"].as_str().unwrap();
    assert!(text.contains("`test.cedar` has another digest"), "{early}");
    assert!(gate.may_call());
    list(&gate.directory);
    gate.settled(InForce);
    assert!(!gate.may_call());
    // A rule that is gone is gone because the manifest says so.
    fs::remove_file(gate.directory.join("test.cedar")).unwrap();
    gate.settled(Refused("policy::manifest"));
    list(&gate.directory);
    gate.settled(InForce);
    assert!(gate.may_call());
    // And so is the manifest itself missed.
    fs::remove_file(gate.directory.join("MANIFEST")).unwrap();
    gate.write("test.cedar", NOT_SAFE.replace("\"all\"", "\"a\"").as_str());
    gate.settled(Refused("policy::removed"));
    assert!(gate.may_call());
    gate.hang_up();
    gate.settled(InForce);
    assert!(!gate.may_call());
    let past = gate.talk.end();
    let said = past.ended.stderr;
    assert!(
        said.contains("is in force and is not there, as `MANIFEST` says"),
        "{said}"
    );
}

#[test]
fn an_agent_is_told_when_it_may_see_other_tools() {
    let told = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let mut gate = Changing::with("", |_| {});
    // The same tools are shown: nothing to tell.
    gate.write("test.cedar", &format!("// the same\n{ALLOW_ALL}"));
    gate.reload(1);
    gate.write("test.cedar", NOT_SAFE);
    gate.reload(2);
    assert_eq!(gate.talk.gate.receive(), Some(told));
    let listed = gate.talk.ask("\"again\"", r#""tools/list""#);
    assert!(!listed.contains(r#""name":"safe""#), "{listed}");
    let past = gate.talk.end();
    assert_eq!(past.agent_saw("list_changed").len(), 1);
    let own = past
        .of_kind("notification")
        .filter(|it| it["reason"]["code"] == "gate_initiated");
    assert_eq!(own.count(), 1);
}

#[test]
fn a_list_that_becomes_shorter_holds_for_the_agent_on_standard_streams_and_it_is_told() {
    let setup = Setup::of([&fixture("hostile-server"), "proper"]).allow(&["safe", "evil"]);
    let file = setup.path("gate.toml");
    let mut talk = Talk::through(setup);
    talk.open();
    talk.ask("\"list\"", r#""tools/list""#);
    talk.call("\"1\"", "safe", "x");
    assert!(talk.answer("\"1\"").contains("safe ran"));
    let text = fs::read_to_string(&file).unwrap();
    let listed = r#"allow = ["safe", "evil"]"#;
    assert!(text.contains(listed), "{text}");
    fs::write(&file, text.replace(listed, r#"allow = ["evil"]"#)).unwrap();
    let told = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(talk.gate.receive(), Some(told));
    talk.call("\"2\"", "safe", "x");
    assert!(!talk.answer("\"2\"").contains("safe ran"));
    let listed = talk.ask("\"again\"", r#""tools/list""#);
    assert!(!listed.contains(r#""name":"safe""#), "{listed}");
    let past = talk.end();
    let reloads: Vec<_> = past.of_kind("policy_reload").collect();
    assert_eq!(reloads.len(), 1, "{reloads:?}");
    let calls: Vec<_> = past.of_kind("tool_call").collect();
    assert_eq!(calls[1]["revision"], reloads[0]["revision"]);
    assert_ne!(calls[0]["revision"], calls[1]["revision"]);
}

/// Writes a revision of two files as a mounted `ConfigMap` is: `..data` leads to all of them.
fn project(dir: &Path, revision: &str) {
    let version = dir.join(format!("..{revision}"));
    if !version.exists() {
        fs::create_dir(&version).unwrap();
        for file in ["one", "two"] {
            let text = ALLOW_ALL.replace("\"all\"", &format!("\"{file}-{revision}\""));
            fs::write(version.join(format!("{file}.cedar")), text).unwrap();
        }
    }
    let next = dir.join("..next");
    symlink(format!("..{revision}"), &next).unwrap();
    fs::rename(next, dir.join("..data")).unwrap();
}

#[test]
fn under_load_each_decision_belongs_to_one_whole_revision_and_no_call_fails() {
    const FLIPS: usize = 12;
    let mut gate = Changing::with("on_policy_removal = \"apply\"", |dir| {
        fs::remove_file(dir.join("test.cedar")).unwrap();
        project(dir, "a");
        for file in ["one.cedar", "two.cedar"] {
            symlink(Path::new("..data").join(file), dir.join(file)).unwrap();
        }
    });
    for flip in 1..=FLIPS {
        project(&gate.directory, if flip % 2 == 0 { "a" } else { "b" });
        while gate.reloads().len() < flip {
            assert!(gate.may_call(), "flip {flip}");
        }
    }
    assert!(gate.may_call());
    let past = gate.talk.end();
    let mut published = HashMap::new();
    let reloads: Vec<_> = past.of_kind("policy_reload").collect();
    assert_eq!(reloads.len(), FLIPS);
    for record in past.of_kind("tool_call").chain(past.of_kind("tool_result")) {
        assert_eq!(record["decision"], "ALLOW", "{record}");
        if record["kind"] == "tool_call" {
            let by = published
                .entry(record["revision"].to_string())
                .or_insert(&record["policies"]);
            assert_eq!(**by, record["policies"], "{record}");
        }
    }
    let mut sets: Vec<_> = published.values().map(ToString::to_string).collect();
    sets.sort();
    assert_eq!(sets, [r#"["one-a","two-a"]"#, r#"["one-b","two-b"]"#]);
    for reload in reloads {
        assert_eq!(reload["event"], "published", "{reload}");
        assert!(
            published.contains_key(&reload["revision"].to_string()),
            "{reload}"
        );
    }
}
