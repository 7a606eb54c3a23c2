use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::policy::Holder;

use super::super::engines::cedar::Cedar;
use super::super::fixture::{World, told, tool};
use super::super::labels::{Root, Roots};
use super::super::location::MAX_PATH_BYTES;
use super::super::partial::Tristate;
use super::super::{
    AgentLabels, CheckBasis, EngineKind as _, EngineName, Evaluation, ListEvaluation, PartValue,
    ToolLabels, Verdict,
};
use super::*;

#[test]
fn an_empty_snapshot_has_the_digest_of_nothing() {
    let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Revision::of(&[], &[]).as_str(), expected);
}

#[test]
fn bytes_that_move_between_files_change_the_revision() {
    let split = |a: &str, b: &str| Revision::of(&[source("a", a), source("b", b)], &[]);
    assert_ne!(split("permit", "forbid"), split("permitf", "orbid"));
    assert_ne!(
        Revision::of(&[source("ab", "c")], &[]),
        Revision::of(&[source("a", "bc")], &[])
    );
    assert_eq!(split("x", "y"), split("x", "y"));
}

#[test]
fn equal_policies_have_one_revision_wherever_they_lie() {
    let of = |directory: &str, name: &str| {
        Revision::of(&[source(name, "x")], &[(None, Path::new(directory))])
    };
    let one = of("policies", "policies/a.cedar");
    assert_eq!(one, of("./policies/", "./policies/a.cedar"));
    assert_eq!(one, of("/etc/gate", "/etc/gate/a.cedar"));
    assert_ne!(one, of("policies", "policies/b.cedar"));
    // The same policies of a server of its own are others.
    let own = |key: &str, directory: &str, name: &str| {
        let key = ServerKey::of(key);
        let source = PolicySource {
            server: key.clone(),
            ..source(name, "x")
        };
        Revision::of(&[source], &[(key.as_ref(), Path::new(directory))])
    };
    let crm = own("crm", "policies", "policies/a.cedar");
    assert_ne!(one, crm);
    assert_eq!(crm, own("crm", "/etc/crm", "/etc/crm/a.cedar"));
    assert_ne!(crm, own("mail", "policies", "policies/a.cedar"));
    // The name of a directory cannot stand for the key of a server.
    assert_ne!(crm, of("policies", "policies/\\crm/a.cedar"));
}

#[test]
fn an_engine_that_panics_denies_and_hides() {
    let snapshot = PolicySnapshot::new(
        vec![Box::new(Scripted("yes")), Box::new(Scripted("panic"))],
        vec![],
        vec![],
    );
    let (world, tool) = (World::new(), tool("t"));
    let decision = snapshot.judge(&world.call(&tool));
    assert_eq!(told(&decision), "fault");
    let listing = list(&snapshot, &world, &tool);
    assert_eq!(listing.shown, [false]);
    assert_eq!(listing.faults.len(), 1);
}

#[test]
fn an_item_is_shown_when_one_engine_wants_it_and_none_hides_it() {
    check_shown(&["yes"], true);
    check_shown(&["yes", "silent"], true);
    check_shown(&["silent"], false);
    check_shown(&[], false);
    check_shown(&["yes", "no"], false);
    check_shown(&["fault", "yes"], false);
    check_shown(&["yes", "short"], false);
}

fn check_shown(engines: &[&'static str], expected: bool) {
    let engines = engines
        .iter()
        .map(|script| Box::new(Scripted(script)) as Box<_>);
    let snapshot = PolicySnapshot::new(engines.collect(), vec![], vec![]);
    assert_eq!(list(&snapshot, &World::new(), &tool("t")).shown, [expected]);
}

fn list(snapshot: &PolicySnapshot, world: &World, tool: &crate::policy::Tool) -> Listing {
    let facts = ListFacts {
        principal: Principal::Agent(&world.agent),
        env: world.env(),
        uses: crate::policy::UseTime::Now,
    };
    snapshot.listing(&facts, &[Resource::Tool(tool)])
}

#[derive(Debug)]
struct Scripted(&'static str);

impl RuleEngine for Scripted {
    fn name(&self) -> EngineName {
        EngineName("scripted")
    }

    fn judge(&self, _: &Facts<'_>) -> Result<Verdict, EngineFault> {
        assert_ne!(self.0, "panic");
        Ok(Verdict::Allow {
            reasons: vec![],
            obligations: vec![],
        })
    }

    fn visible(
        &self,
        _: &ListFacts<'_>,
        _: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        match self.0 {
            "yes" => vec![Ok(Visibility::Shown)],
            "no" => vec![Ok(Visibility::Hidden)],
            "silent" => vec![Ok(Visibility::Abstain)],
            "short" => vec![],
            "fault" => vec![Err(EngineFault {
                engine: self.name(),
                kind: FaultKind::Evaluation,
                policy: None,
                problem: String::new(),
            })],
            script => panic!("{script}"),
        }
    }
}

fn source(name: &str, text: &str) -> PolicySource {
    PolicySource::new(name, text)
}

const CEDAR: &str = r#"@id("p") permit(principal in Mcp::Role::"r", action == Mcp::Action::"call_tool", resource in Mcp::Capability::"net") when { resource.level < 2 };"#;

/// Rules in Cedar on what the host says of an agent and a tool.
fn labelled() -> PolicySnapshot {
    let compiled = Cedar::default().compile(&[source("t.cedar", CEDAR)]);
    let compiled = compiled.unwrap();
    let sources = vec![source("t.cedar", CEDAR)];
    PolicySnapshot::new(vec![compiled.engine], sources, compiled.policies)
}

fn labels() -> Labels {
    let agent = AgentLabels {
        roles: vec!["r".to_owned()],
        ..AgentLabels::default()
    };
    let tool = ToolLabels {
        capabilities: vec!["net".to_owned()],
        level: 1,
        ..ToolLabels::default()
    };
    Labels {
        agents: HashMap::from([("a1".to_owned(), agent)]),
        tools: HashMap::from([("t".to_owned(), tool)]),
        ..Labels::default()
    }
}

#[test]
fn labels_count_in_verdicts_traces_lists_and_outlooks() {
    for (labels, expected) in [(Labels::default(), false), (labels(), true)] {
        let snapshot = labelled().with_labels(labels);
        let (world, tool) = (World::new(), tool("t"));
        let facts = world.call(&tool);
        assert_eq!(snapshot.judge(&facts).is_allow(), expected);
        let traces = snapshot.trace(&facts);
        let value = PartValue::of(expected);
        assert_eq!(traces[0].policies[0].value, value);
        assert_eq!(list(&snapshot, &world, &tool).shown, [expected]);
        let question = world.question(ActionName::CallTool, Resource::Tool(&tool));
        assert_eq!(snapshot.outlook(&question).settled(), Some(expected));
        let outlook = snapshot.outlook_of(&facts, &question);
        assert_eq!(outlook.settled(), Some(expected));
    }
}

#[test]
fn a_snapshot_tells_of_its_rules_and_sources() {
    let snapshot = labelled();
    assert!(!snapshot.has_manifest());
    assert!(snapshot.with_manifest().has_manifest());
    let snapshot = labelled();
    assert_eq!(snapshot.sources(), [source("t.cedar", CEDAR)]);
    let ids = snapshot.outlines().into_iter().map(|it| it.id.clone());
    assert_eq!(ids.collect::<Vec<_>>(), [PolicyId::new("p")]);
    assert!(!snapshot.mutants().is_empty());
    let [checked] = &snapshot.checked()[..] else {
        panic!("one engine")
    };
    assert!(checked.under(&Lock::default())(CEDAR, CheckBasis::Base));
    let (origin, text) = snapshot.policy_source(&PolicyId::new("p")).unwrap();
    assert_eq!((origin.line, text), (1, CEDAR));
    assert_eq!(snapshot.policy_source(&PolicyId::new("q")), None);
}

#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl Observer for Counting {
    fn judged(&self, judged: Evaluation<'_>) {
        assert_eq!(judged.verdict, &Ok(Verdict::Abstain));
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn listed(&self, _: ListEvaluation<'_>) {
        self.0.fetch_add(10, Ordering::Relaxed);
    }
}

#[test]
fn an_observer_hears_of_each_evaluation_and_changes_none() {
    let counting = Arc::new(Counting::default());
    let observer: Arc<dyn Observer> = counting.clone();
    let snapshot = labelled().observed_by(&observer);
    let (world, tool) = (World::new(), tool("t"));
    let facts = world.call(&tool);
    assert_eq!(snapshot.judge(&facts), labelled().judge(&facts));
    let listed = list(&snapshot, &world, &tool);
    assert_eq!(listed, list(&labelled(), &world, &tool));
    assert_eq!(counting.0.load(Ordering::Relaxed), 11);
}

#[test]
fn the_snapshot_of_a_holder_differs_in_its_roots_alone() {
    let rooted = |path: &str| {
        let root = Root::at("own", path).unwrap();
        let labels = Labels {
            roots: Roots::new(vec![root]),
            ..Labels::default()
        };
        let engines: Vec<Box<dyn RuleEngine>> = vec![Box::new(Scripted("yes"))];
        let snapshot = PolicySnapshot::new(engines, vec![source("a", "permit")], vec![]);
        snapshot.with_labels(labels)
    };
    let each = rooted("/srv/users/${principal}").with_shadow(rooted("/shadow/${session}"));
    assert!(each.has_roots_of_each());
    let own = each.of_holder(&Holder::of("Al", "s1")).unwrap();
    let path = |of: &PolicySnapshot| of.labels().roots.iter().next().unwrap().path();
    assert_eq!(path(&own).as_deref(), Some("/srv/users/=41l"));
    assert_eq!(path(own.shadow().unwrap()).as_deref(), Some("/shadow/s1"));
    assert!(!own.has_roots_of_each());
    assert_eq!(own.revision(), each.revision());
    assert_eq!(own.sources().len(), each.sources().len());
    assert_eq!(own.policies(), each.policies());
    let (world, tool) = (World::new(), tool("t"));
    let decisions = [&own, &each].map(|it| told(&it.judge(&world.call(&tool))));
    assert_eq!(decisions[0], decisions[1]);
    // A path that another principal would have can be too long for this one.
    let deep = format!("/{}${{principal}}", "d/".repeat((MAX_PATH_BYTES - 60) / 2));
    let long = Holder::of(&"a".repeat(100), "s1");
    assert!(rooted(&deep).of_holder(&long).is_err());
    let shadowed = rooted("/srv/${session}").with_shadow(rooted(&deep));
    assert!(shadowed.of_holder(&long).is_err());
}

#[test]
fn of_a_sample_whose_agent_is_not_known_nothing_is_certain() {
    let world = World::new();
    let client = Resource::Client(&world.agent.client);
    let question = world.question(ActionName::Sample, client);
    let empty = PolicySnapshot::new(vec![], vec![], vec![]);
    assert_eq!(empty.outlook(&question).forbidden, Tristate::Sometimes);
}
