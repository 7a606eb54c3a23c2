//! Which items of lists the agent may see, as far as that was asked already.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::pages::PageDigest;
use crate::policy::{
    Agent, ChangeKinds, Consent, Environment, ListDependency, Pin, Pinning, PolicySnapshot,
    Resource, SessionState,
};

/// Answers that stand as long as nothing changes that policies can look at.
#[derive(Debug, Default)]
pub struct Visibilities {
    asked: Option<Box<Asked>>,
    shown: HashMap<Item, bool>,
    /// Of whole pages, all items in order. What an item is shown by is in the text of its page.
    pages: Vec<(PageDigest, Arc<[bool]>)>,
    generation: Generation,
}

/// Whether an answer is good for more than the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Yes,
    No,
}

/// Which state of things an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generation(u64);

/// What was so when policies were asked.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    revision: String,
    /// What definitions are held to: settings that are in no source of policies.
    pinning: (Pinning, ChangeKinds),
    agent: Arc<Agent>,
    /// Absent where no policy looks at it.
    session: Option<(String, Option<IpAddr>, SessionState, Consent)>,
    /// The same of its level, its labels and whether content of strangers came in.
    held: Option<SessionState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Item {
    /// What a tool or prompt is shown as depends on whether its definition is the approved one, and on
    /// what is flagged in it.
    Tool(String, Pin, Vec<String>),
    Resource(String),
    Prompt(String, Pin, Vec<String>),
}

/// The most items that are kept. A server can name any number.
const MOST: usize = 16_384;

/// The longest name that is kept, in bytes.
const MAX_NAME: usize = 1024;

/// The most pages: they are looked for one by one.
const MOST_PAGES: usize = 64;

impl Visibilities {
    /// What is known of the items, in order; `None` for what is to be asked.
    ///
    /// Everything is forgotten that was asked of other policies, for another agent, or in a state of
    /// the session that policies can tell from this one.
    pub fn known(
        &mut self,
        snapshot: &PolicySnapshot,
        agent: &Arc<Agent>,
        env: &Environment<'_>,
        items: &[Resource<'_>],
    ) -> (Generation, Vec<Option<bool>>) {
        if self.asks(snapshot, agent, env) == Stands::No {
            return (self.generation, vec![None; items.len()]);
        }
        let known = |item: &Resource<'_>| self.shown.get(&Item::of(*item)?).copied();
        (self.generation, items.iter().map(known).collect())
    }

    /// The same for all items of a page.
    pub fn of_page(
        &mut self,
        snapshot: &PolicySnapshot,
        agent: &Arc<Agent>,
        env: &Environment<'_>,
        page: PageDigest,
    ) -> (Generation, Option<Arc<[bool]>>) {
        if self.asks(snapshot, agent, env) == Stands::No {
            return (self.generation, None);
        }
        let known = self.pages.iter().find(|(known, _)| *known == page);
        (self.generation, known.map(|(_, shown)| Arc::clone(shown)))
    }

    /// Keeps the answers for a page, unless things have changed since they were asked for.
    pub fn keep_page(&mut self, generation: Generation, page: PageDigest, shown: &[bool]) {
        if self.asked.is_none() || self.generation != generation || shown.len() > MOST {
            return;
        }
        if self.pages.len() >= MOST_PAGES {
            self.pages.clear();
        }
        self.pages.push((page, shown.into()));
    }

    /// Forgets what no longer stands; says whether an answer can stand at all.
    fn asks(
        &mut self,
        snapshot: &PolicySnapshot,
        agent: &Arc<Agent>,
        env: &Environment<'_>,
    ) -> Stands {
        let (session, held) = match snapshot.lists_by() {
            ListDependency::Names => (None, None),
            ListDependency::Held => {
                let read = SessionState {
                    calls: 0,
                    started_ms: 0,
                    ..env.session.clone()
                };
                (None, Some(read))
            }
            ListDependency::Session => {
                let protocol = env.protocol.to_owned();
                let all = (protocol, env.peer, env.session.clone(), env.consent.clone());
                (Some(all), None)
            }
            ListDependency::Moment => {
                self.begin(None);
                return Stands::No;
            }
        };
        let asked = Asked {
            revision: snapshot.revision().as_str().to_owned(),
            pinning: (snapshot.lock().mode(), snapshot.lock().passing()),
            agent: Arc::clone(agent),
            session,
            held,
        };
        if self.asked.as_deref() != Some(&asked) || self.shown.len() > MOST {
            self.begin(Some(Box::new(asked)));
        }
        Stands::Yes
    }

    fn begin(&mut self, asked: Option<Box<Asked>>) {
        self.asked = asked;
        self.shown.clear();
        self.pages.clear();
        self.generation.0 = self.generation.0.wrapping_add(1);
    }

    /// Keeps answers, unless things have changed since [`known`](Self::known) was asked.
    pub fn keep(&mut self, generation: Generation, items: &[Resource<'_>], shown: &[bool]) {
        if self.asked.is_none() || self.generation != generation {
            return;
        }
        let items = items.iter().zip(shown);
        for (item, shown) in items.filter(|(item, _)| name(item).len() <= MAX_NAME) {
            self.shown
                .extend(Item::of(*item).map(|item| (item, *shown)));
        }
    }
}

fn name<'r>(item: &'r Resource<'_>) -> &'r str {
    match item {
        Resource::Tool(tool) => &tool.name,
        Resource::Resource(facts) => &facts.uri,
        Resource::Prompt(prompt) => &prompt.name,
        Resource::Method(_) | Resource::Server(_) | Resource::Client(_) | Resource::Host(_) => "",
    }
}

impl Item {
    fn of(item: Resource<'_>) -> Option<Self> {
        match item {
            Resource::Tool(tool) => {
                Some(Self::Tool(tool.name.clone(), tool.pin, tool.flags.clone()))
            }
            Resource::Resource(facts) => Some(Self::Resource(facts.uri.clone())),
            Resource::Prompt(prompt) => {
                let (name, flags) = (prompt.name.clone(), prompt.flags.clone());
                Some(Self::Prompt(name, prompt.pin, flags))
            }
            Resource::Method(_) | Resource::Server(_) | Resource::Client(_) | Resource::Host(_) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixture::{World, tool};
    use crate::policy::{
        ActionName, EngineFault, EngineName, ExtensionMethod, Facts, ListFacts, PolicySource,
        Prompt, ResourceFacts, RuleEngine, Verdict, Visibility,
    };

    #[test]
    fn an_answer_stands_until_something_changes_that_policies_look_at() {
        let change = |name: &'static str| match name {
            "policies" => (snapshot("b", ListDependency::Names), World::new()),
            "agent" => {
                let mut world = World::new();
                world.agent.roles = vec!["x".to_owned()];
                (snapshot("a", ListDependency::Names), world)
            }
            "level" => {
                let mut world = World::new();
                world.session.level = 1;
                (snapshot("a", ListDependency::Names), world)
            }
            "calls" => {
                let mut world = World::new();
                world.session.calls = 1;
                (snapshot("a", ListDependency::Held), world)
            }
            _ => (snapshot("a", ListDependency::Names), World::new()),
        };
        check(ListDependency::Names, change("nothing"), true);
        check(ListDependency::Names, change("level"), true);
        check(ListDependency::Names, change("policies"), false);
        check(ListDependency::Names, change("agent"), false);
        let (_, world) = change("level");
        check(
            ListDependency::Session,
            (snapshot("a", ListDependency::Session), world),
            false,
        );
        let (_, world) = change("level");
        check(
            ListDependency::Held,
            (snapshot("a", ListDependency::Held), world),
            false,
        );
        check(ListDependency::Held, change("calls"), true);
        let same = (snapshot("a", ListDependency::Session), World::new());
        check(ListDependency::Session, same, true);
        let moment = (snapshot("a", ListDependency::Moment), World::new());
        check(ListDependency::Moment, moment, false);
    }

    #[test]
    fn a_definition_that_has_changed_is_asked_about_anew() {
        let mut visibilities = Visibilities::default();
        let (snapshot, world) = (snapshot("a", ListDependency::Names), World::new());
        let agent = Arc::new(world.agent.clone());
        let approved = crate::policy::Tool {
            pin: Pin {
                known: true,
                schema_ok: true,
                description_ok: true,
            },
            ..tool("one")
        };
        let mut changed = approved.clone();
        changed.pin.description_ok = false;
        let items = [Resource::Tool(&approved)];
        let (generation, _) = visibilities.known(&snapshot, &agent, &world.env(), &items);
        visibilities.keep(generation, &items, &[true]);
        let items = [Resource::Tool(&approved), Resource::Tool(&changed)];
        let (_, known) = visibilities.known(&snapshot, &agent, &world.env(), &items);
        assert_eq!(known, [Some(true), None]);
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut visibilities = Visibilities::default();
        let (snapshot, world) = (snapshot("a", ListDependency::Names), World::new());
        let agent = Arc::new(world.agent.clone());
        for number in 0..3 * MOST {
            let tool = tool(&number.to_string());
            let items = [Resource::Tool(&tool)];
            let (generation, _) = visibilities.known(&snapshot, &agent, &world.env(), &items);
            visibilities.keep(generation, &items, &[true]);
        }
        assert!(visibilities.shown.len() <= MOST + 1);
    }

    fn check(by: ListDependency, (later, world): (PolicySnapshot, World), stands: bool) {
        let mut visibilities = Visibilities::default();
        let (first, before) = (snapshot("a", by), World::new());
        let agent = Arc::new(before.agent.clone());
        let (one, other) = (tool("one"), tool("other"));
        let items = [Resource::Tool(&one), Resource::Tool(&other)];
        let (generation, known) = visibilities.known(&first, &agent, &before.env(), &items);
        assert_eq!(known, [None, None]);
        visibilities.keep(generation, &items[..1], &[true]);
        let agent = Arc::new(world.agent.clone());
        let (_, known) = visibilities.known(&later, &agent, &world.env(), &items);
        assert_eq!(known, [stands.then_some(true), None]);
        check_page(&first, (&later, &world), stands);
        // What was asked before a change says nothing after it.
        if !stands {
            visibilities.keep(generation, &items, &[true, true]);
            let (_, known) = visibilities.known(&later, &agent, &world.env(), &items);
            assert_eq!(known, [None, None]);
        }
    }

    fn check_page(first: &PolicySnapshot, (later, world): (&PolicySnapshot, &World), stands: bool) {
        let mut visibilities = Visibilities::default();
        let before = World::new();
        let (page, other) = (
            PageDigest::of("tools", "[]"),
            PageDigest::of("tools", "[0]"),
        );
        let agent = Arc::new(before.agent.clone());
        let (generation, known) = visibilities.of_page(first, &agent, &before.env(), page);
        assert_eq!(known, None);
        visibilities.keep_page(generation, page, &[true, false]);
        let agent = Arc::new(world.agent.clone());
        let (_, known) = visibilities.of_page(later, &agent, &world.env(), page);
        assert_eq!(known, stands.then(|| [true, false].into()));
        let (_, known) = visibilities.of_page(later, &agent, &world.env(), other);
        assert_eq!(known, None);
        if !stands {
            visibilities.keep_page(generation, page, &[true, true]);
            let (_, known) = visibilities.of_page(later, &agent, &world.env(), page);
            assert_eq!(known, None);
        }
    }

    #[test]
    fn there_is_an_end_to_the_pages_whose_answers_are_kept() {
        let mut visibilities = Visibilities::default();
        let (snapshot, world) = (snapshot("a", ListDependency::Names), World::new());
        let agent = Arc::new(world.agent.clone());
        for number in 0..3 * MOST_PAGES {
            let page = PageDigest::of("tools", &number.to_string());
            let (generation, _) = visibilities.of_page(&snapshot, &agent, &world.env(), page);
            visibilities.keep_page(generation, page, &[true]);
        }
        assert!(visibilities.pages.len() <= MOST_PAGES);
    }

    fn snapshot(text: &str, by: ListDependency) -> PolicySnapshot {
        let source = PolicySource::new("t", text);
        PolicySnapshot::new(vec![Box::new(Looking(by))], vec![source], vec![])
    }

    #[derive(Debug)]
    struct Looking(ListDependency);

    impl RuleEngine for Looking {
        fn name(&self) -> EngineName {
            EngineName("looking")
        }

        fn judge(&self, _: &Facts<'_>) -> Result<Verdict, EngineFault> {
            Ok(Verdict::Abstain)
        }

        fn visible(
            &self,
            _: &ListFacts<'_>,
            _: &[Resource<'_>],
        ) -> Vec<Result<Visibility, EngineFault>> {
            vec![]
        }

        fn lists_by(&self, _: ActionName) -> ListDependency {
            self.0
        }
    }

    /// Only lists are remembered, and they show tools, resources and prompts.
    #[test]
    fn each_kind_of_item_is_known_by_its_own_name() {
        let mut visibilities = Visibilities::default();
        let (snapshot, world) = (snapshot("a", ListDependency::Names), World::new());
        let agent = Arc::new(world.agent.clone());
        let tool = tool("x");
        let uri = ResourceFacts {
            uri: "x".to_owned(),
            ..ResourceFacts::default()
        };
        let prompt = Prompt::named("x");
        let method = ExtensionMethod::named("x");
        let items = [
            Resource::Tool(&tool),
            Resource::Resource(&uri),
            Resource::Prompt(&prompt),
            Resource::Method(&method),
            Resource::Server(&world.server),
            Resource::Client(&world.agent.client),
        ];
        let (generation, _) = visibilities.known(&snapshot, &agent, &world.env(), &items);
        visibilities.keep(generation, &items, &[true, false, true, true, true, true]);
        let (_, known) = visibilities.known(&snapshot, &agent, &world.env(), &items);
        let expected = [Some(true), Some(false), Some(true), None, None, None];
        assert_eq!(known, expected);
    }
}
