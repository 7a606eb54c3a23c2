//! One `[[test]]`: who begins a session, and what happens in it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use toml::Spanned;
use toml::de::DeValue;

use super::changed_definitions::changed;
use super::fixture::{Address, OnUnknown, Plan, Replay, Test};
use super::read_start::start;
use super::read_step::{self, MessageTemplate};
use super::section::FixtureSection;
use super::suggest;
use super::table::FixtureTable;
use crate::policy::{Agent, Client};

/// What a test may consist of instead of one message.
const PLANS: [&str; 2] = ["steps", "replay"];

/// The words of one message, which belong in a step where there are steps.
const OF_MESSAGES: [&str; 11] = [
    "from", "send", "call", "args", "list", "listed", "hidden", "raw", "result", "received",
    "expect",
];

/// More cells than a matrix of people and tools has.
const MOST_CELLS: usize = 10_000;

/// What a test may refer to.
pub(super) struct FixtureContext {
    pub(super) now: Timestamp,
    /// By the names that tests use for them.
    pub(super) agents: BTreeMap<String, Agent>,
    /// The server that tests are about where they name no other.
    pub(super) server: Option<Spanned<String>>,
}

/// The course of a test, for any agent.
enum TestCourse {
    Message(Box<MessageTemplate>),
    Conversation(Vec<MessageTemplate>),
    Replay(Replay),
}

/// The test, or one for each cell of its matrix.
pub(super) fn tests(
    table: &FixtureTable<'_>,
    surroundings: &FixtureContext,
    name: &str,
) -> Vec<Test> {
    let matrix = matrix(table);
    let agents = agents(table, surroundings, matrix.as_deref());
    // A fixture for a later version also has the keys that this version needs.
    if FixtureSection::Test
        .later()
        .iter()
        .any(|key| table.get(key).is_some())
    {
        return Vec::new();
    }
    let of_file = surroundings.server.clone();
    let of_file = of_file.map(|name| Address::of(Some(name), table));
    let address = read_step::address(table, of_file.as_ref());
    let planned = planned(table, matrix.as_deref().unwrap_or_default(), &address);
    let now = table.time("now").unwrap_or(surroundings.now);
    let start = start(table);
    let changed = changed(table);
    let line = table.line();
    let (Some(agents), Some(planned)) = (agents, planned) else {
        return Vec::new();
    };
    let mut tests = Vec::new();
    for agent in &agents {
        for (tool, plan) in planned.cells(&agent.id) {
            let of_agent = matrix.as_ref().map(|_| agent.id.as_str());
            let cell: Vec<&str> = of_agent.into_iter().chain(tool).collect();
            tests.push(Test {
                name: name.to_owned(),
                cell: (!cell.is_empty()).then(|| cell.join(", ")),
                line,
                agent: agent.clone(),
                server: address.server.clone(),
                now,
                start: start.clone(),
                changed: changed.clone(),
                plan,
            });
            if tests.len() > MOST_CELLS {
                let message = format!("this matrix has more than {MOST_CELLS} cells");
                table.tell("test::value", message, "make several tests of it");
                return Vec::new();
            }
        }
    }
    tests
}

impl TestCourse {
    fn cells(&self, agent: &str) -> Vec<(Option<&str>, Plan)> {
        match self {
            Self::Message(written) => {
                let cells = written.sends.iter().map(|sending| {
                    let step = written.by(agent, sending);
                    (sending.tool.as_deref(), Plan::Message(Box::new(step)))
                });
                cells.collect()
            }
            Self::Conversation(steps) => {
                let steps = steps.iter();
                let steps = steps.flat_map(|step| {
                    let sends = step.sends.iter();
                    sends.map(|sending| step.by(agent, sending))
                });
                vec![(None, Plan::Conversation(steps.collect()))]
            }
            Self::Replay(replay) => vec![(None, Plan::Replay(replay.clone()))],
        }
    }
}

/// The agents of a matrix.
fn matrix(table: &FixtureTable<'_>) -> Option<Vec<Spanned<String>>> {
    let agents = table.texts("agents")?;
    let place = table.get("agents")?.span();
    if let Some(value) = table.get("agent") {
        let message = "`agent` and `agents` both say who it is";
        let help = Some("keep one of them".to_owned());
        table
            .reading
            .tell(&value.span(), "test::conflict", message, help);
    }
    if agents.is_empty() {
        let message = "a matrix of no agents tests nothing";
        table.reading.tell(
            &place,
            "test::value",
            message,
            Some("name some of `[agents]`".to_owned()),
        );
        return None;
    }
    for agent in agents
        .iter()
        .filter(|agent| FixtureSection::Expect.has(agent.get_ref()))
    {
        let message = format!(
            "an agent of a matrix cannot be called `{}`",
            agent.get_ref()
        );
        let help = "that is a word of `expect`, which could mean either; call it otherwise";
        table.reading.tell(
            &agent.span(),
            "test::conflict",
            message,
            Some(help.to_owned()),
        );
    }
    Some(agents)
}

/// Who begins a session. Without a name it is the agent that a gate on stdio sees.
fn agents(
    table: &FixtureTable<'_>,
    surroundings: &FixtureContext,
    matrix: Option<&[Spanned<String>]>,
) -> Option<Vec<Agent>> {
    if let Some(names) = matrix {
        // Every name, so that all problems are told.
        let agents: Vec<_> = names
            .iter()
            .map(|name| known(table, surroundings, name))
            .collect();
        return agents.into_iter().collect();
    }
    if table.get("agents").is_some() {
        return None;
    }
    let Some(name) = table.get("agent") else {
        return Some(vec![stdio()]);
    };
    Some(vec![known(
        table,
        surroundings,
        &table.reading.text(name)?,
    )?])
}

fn known(
    table: &FixtureTable<'_>,
    surroundings: &FixtureContext,
    name: &Spanned<String>,
) -> Option<Agent> {
    let agent = surroundings.agents.get(name.get_ref());
    if agent.is_none() {
        let known: Vec<&str> = surroundings.agents.keys().map(String::as_str).collect();
        let fallback = "declare it in `[agents]`, as in `guest = { roles = [\"reader\"] }`";
        let help = suggest::help(name.get_ref(), &known, fallback);
        let message = format!("no agent is called `{}`", name.get_ref());
        table
            .reading
            .tell(&name.span(), "test::unknown_agent", message, Some(help));
    }
    agent.cloned()
}

/// The agent of a gate on stdio, of which nothing is known.
pub(super) fn stdio() -> Agent {
    Agent {
        id: "stdio".to_owned(),
        client: Client {
            name: "test-policy".to_owned(),
            version: "1".to_owned(),
        },
        ..Agent::default()
    }
}

fn planned(
    table: &FixtureTable<'_>,
    agents: &[Spanned<String>],
    address: &Address,
) -> Option<TestCourse> {
    if let (Some(value), None) = (table.get("unknown"), table.get("replay")) {
        let message = "`unknown` goes with `replay`";
        table
            .reading
            .tell(&value.span(), "test::conflict", message, None);
    }
    let present = PLANS.iter().filter(|plan| table.get(plan).is_some());
    let plans: Vec<&str> = present.copied().collect();
    let [plan] = plans.as_slice() else {
        if plans.is_empty() {
            let message = read_step::message(table, agents, address.clone());
            return message.map(|it| TestCourse::Message(Box::new(it)));
        }
        let message = "a test has `steps` or a `replay`, not both";
        table.tell("test::conflict", message, "make a test of each");
        return None;
    };
    for key in OF_MESSAGES {
        let Some(value) = table.get(key) else {
            continue;
        };
        let message = format!("`{key}` does not go with `{plan}`");
        let help = match *plan {
            "steps" => "it belongs in one of the steps",
            _ => "what is expected of a replay is what was recorded",
        };
        table.reading.tell(
            &value.span(),
            "test::conflict",
            message,
            Some(help.to_owned()),
        );
    }
    match *plan {
        "steps" => steps(table, agents, address).map(TestCourse::Conversation),
        _ => replay(table).map(TestCourse::Replay),
    }
}

fn steps(
    table: &FixtureTable<'_>,
    agents: &[Spanned<String>],
    address: &Address,
) -> Option<Vec<MessageTemplate>> {
    let value = table.get("steps")?;
    let DeValue::Array(items) = value.get_ref() else {
        table.reading.wrong_type(value, "an array of tables");
        return None;
    };
    if items.is_empty() {
        let message = "a conversation of no steps tests nothing";
        let help = "as in `steps = [{ call = \"tool\", expect = \"allow\" }]`";
        table
            .reading
            .tell(&value.span(), "test::value", message, Some(help.to_owned()));
        return None;
    }
    // Every step, so that all problems are told.
    let mut steps = Vec::with_capacity(items.len());
    for item in items {
        let DeValue::Table(step) = item.get_ref() else {
            table.reading.wrong_type(item, "a table");
            steps.push(None);
            continue;
        };
        let step = FixtureTable::new(table.reading, FixtureSection::Step, item.span(), step);
        if let Some(value) = step.get("call").filter(|value| value.get_ref().is_array()) {
            let message = "a step calls one tool";
            let help = Some("make a step of each".to_owned());
            table
                .reading
                .tell(&value.span(), "test::conflict", message, help);
        }
        let address = match (address.server.get_ref(), &address.endpoint) {
            (None, None) => read_step::address(&step, None),
            _ => read_step::address(&step, Some(address)),
        };
        steps.push(read_step::message(&step, agents, address));
    }
    steps.into_iter().collect()
}

fn replay(table: &FixtureTable<'_>) -> Option<Replay> {
    let file = table.text("replay")?;
    let unknown = match table.text("unknown") {
        Some(word) => {
            let words = [("count", OnUnknown::Count), ("fail", OnUnknown::Fail)];
            table.reading.word(&word, &words)?
        }
        None => OnUnknown::default(),
    };
    if let Some(value) = table.get("agents") {
        let message = "a replay has the agents that were recorded";
        table
            .reading
            .tell(&value.span(), "test::conflict", message, None);
    }
    Some(Replay {
        file,
        unknown,
        recording: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_in_steps_is_known_there() {
        for key in OF_MESSAGES.iter().chain(&read_step::WAYS) {
            assert!(FixtureSection::Step.has(key), "{key}");
        }
    }
}
