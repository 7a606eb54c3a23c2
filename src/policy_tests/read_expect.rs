//! What must become of a message.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fixture::Expect;
use super::fixture_words::{ServerInstance, TestDecision};
use super::section::FixtureSection;
use super::suggest;
use super::table::plain;
use super::table::{FixtureReader, FixtureTable, FixtureValue, in_order};

/// What is expected of one message in each cell of a matrix.
pub(super) enum Expectations {
    /// The same for all agents.
    Alike(Box<Expect>),
    /// By agent; an unlisted agent is denied.
    Each(BTreeMap<String, Expect>),
}

/// What is expected of a message that several agents send; of one that an agent alone sends, where
/// `agents` is empty.
pub(super) fn expectations(
    table: &FixtureTable<'_>,
    agents: &[Spanned<String>],
) -> Option<Expectations> {
    let each = |key: &str| {
        let value = table.get(key).filter(|_| !agents.is_empty())?;
        let entries = value.get_ref().as_table()?;
        let of_agents = key != "expect"
            || entries.is_empty()
            || !entries
                .keys()
                .any(|key| FixtureSection::Expect.has(key.get_ref()));
        of_agents.then_some((value, entries))
    };
    match (each("expect"), each("listed")) {
        (None, None) => Some(Expectations::Alike(Box::new(expect(table)?))),
        (Some(_), Some((value, _))) => {
            let message = "`expect` and `listed` both say it for each agent";
            let help =
                Some("say of each agent either what it sees or that it is denied".to_owned());
            table
                .reading
                .tell(&value.span(), "test::conflict", message, help);
            None
        }
        (Some((value, entries)), None) => {
            let one = |expected: &FixtureValue<'_>| told(table.reading, expected);
            let mut read = by_agent(table.reading, value, entries, agents, one)?;
            let listed = table.texts("listed");
            let hidden = table.texts("hidden").unwrap_or_default();
            let allowed = read
                .values_mut()
                .filter(|expect| expect.decision == TestDecision::Allow);
            for expect in allowed {
                expect.listed.clone_from(&listed);
                expect.hidden.clone_from(&hidden);
            }
            Some(Expectations::Each(read))
        }
        (None, Some((value, entries))) => {
            let seen = |names: &FixtureValue<'_>| {
                let mut expect = Expect::of(TestDecision::Allow);
                expect.listed = Some(table.reading.texts(names)?);
                Some(expect)
            };
            let mut read = by_agent(table.reading, value, entries, agents, seen)?;
            let hidden = table.texts("hidden").unwrap_or_default();
            for agent in agents {
                let sees_nothing = || {
                    let mut expect = Expect::of(TestDecision::Allow);
                    expect.listed = Some(Vec::new());
                    expect
                };
                let expect = read.entry(agent.get_ref().clone());
                expect
                    .or_insert_with(sees_nothing)
                    .hidden
                    .clone_from(&hidden);
            }
            Some(Expectations::Each(read))
        }
    }
}

/// What stands there for each agent.
fn by_agent(
    reading: &FixtureReader,
    value: &FixtureValue<'_>,
    entries: &DeTable<'_>,
    agents: &[Spanned<String>],
    one: impl Fn(&FixtureValue<'_>) -> Option<Expect>,
) -> Option<BTreeMap<String, Expect>> {
    if entries.is_empty() {
        let help = Some("write `expect = \"deny\"` if that is what is meant".to_owned());
        let message = "it says nothing of any agent";
        reading.tell(&value.span(), "test::value", message, help);
        return None;
    }
    let known: Vec<&str> = agents
        .iter()
        .map(|agent| agent.get_ref().as_str())
        .collect();
    let mut read = BTreeMap::new();
    let mut sound = true;
    for (agent, expected) in in_order(entries) {
        let name = agent.get_ref().as_ref();
        if !known.contains(&name) {
            let message = format!("`{name}` is not among the `agents` of this test");
            let help = suggest::help(name, &known, "add it there");
            reading.tell(&agent.span(), "test::unknown_agent", message, Some(help));
            sound = false;
        }
        match one(expected) {
            Some(expect) => {
                read.insert(name.to_owned(), expect);
            }
            None => sound = false,
        }
    }
    sound.then_some(read)
}

impl Expectations {
    pub(super) fn of(&self, agent: &str) -> Expect {
        match self {
            Self::Alike(expect) => Expect::clone(expect),
            Self::Each(each) => each
                .get(agent)
                .cloned()
                .unwrap_or_else(|| Expect::of(TestDecision::Deny)),
        }
    }
}

/// What must become of the answer to a message.
pub(super) fn received(table: &FixtureTable<'_>) -> Option<Expect> {
    told(table.reading, table.get("received")?)
}

/// What a test expects of its message.
fn expect(table: &FixtureTable<'_>) -> Option<Expect> {
    let listing = table.get("list").is_some();
    let listed = table.texts("listed");
    let hidden = table.texts("hidden");
    let mut expect = match table.get("expect") {
        Some(value) => told(table.reading, value)?,
        None if listed.is_some() || hidden.is_some() => Expect::of(TestDecision::Allow),
        None => {
            let help = if listing {
                "say what the list shows, as in `listed = [\"read_file\"]`"
            } else {
                "write `expect = \"allow\"`, `expect = \"deny\"`, or \
                 `expect = { decision = \"deny\", policies = [\"policy-id\"] }`"
            };
            table.require("`expect`", help);
            return None;
        }
    };
    if let (Some(value), Some(_), TestDecision::Allow, false) = (
        table.get("expect"),
        &expect.errors,
        expect.decision,
        listing,
    ) {
        only_denials_have(table.reading, "errors", value);
    }
    expect.listed = listed;
    expect.hidden = hidden.unwrap_or_default();
    if expect.decision == TestDecision::Deny
        && (expect.listed.is_some() || !expect.hidden.is_empty())
    {
        let message = "a list that is denied shows nothing";
        table.tell(
            "test::conflict",
            message,
            "expect it to be allowed, or say nothing of what it shows",
        );
    }
    Some(expect)
}

const DECISIONS: [(&str, TestDecision); 2] =
    [("allow", TestDecision::Allow), ("deny", TestDecision::Deny)];

fn told(reading: &FixtureReader, value: &FixtureValue<'_>) -> Option<Expect> {
    if value.get_ref().is_str() {
        let decision = reading.word(&reading.text(value)?, &DECISIONS);
        return decision.map(Expect::of);
    }
    let DeValue::Table(table) = value.get_ref() else {
        reading.wrong_type(value, "`\"allow\"`, `\"deny\"` or a table");
        return None;
    };
    let table = FixtureTable::new(reading, FixtureSection::Expect, value.span(), table);
    let policies = table.texts("policies");
    let policies_exact = table.texts("policies_exact");
    let obligations = table.texts("obligations");
    let edits = table.texts("edits");
    let upstream_receives = table.text("upstream_receives");
    let upstream_receives =
        upstream_receives.and_then(|word| reading.word(&word, &ServerInstance::ALL));
    for named in [&policies, &policies_exact] {
        reading.name(named.as_deref().unwrap_or_default());
    }
    if let (Some(_), Some(value)) = (&policies, table.get("policies_exact")) {
        let message = "`policies` and `policies_exact` both say who decides";
        let help = Some("`policies` names some of them, `policies_exact` all".to_owned());
        reading.tell(&value.span(), "test::conflict", message, help);
    }
    let errors = table.texts("errors");
    let [code, advice, reason] = ["code", "advice", "reason"].map(|key| table.text(key));
    let Some(decision) = table.get("decision") else {
        table.require(
            "`decision`",
            "write `decision = \"allow\"` or `decision = \"deny\"`",
        );
        return None;
    };
    let decision = reading.word(&reading.text(decision)?, &DECISIONS)?;
    for (key, list) in [("policies", &policies), ("errors", &errors)] {
        if let (Some([]), Some(value)) = (list.as_deref(), table.get(key)) {
            let message = format!("an empty `{key}` says nothing");
            let help = Some("name something, or leave it out".to_owned());
            reading.tell(&value.span(), "test::value", message, help);
        }
    }
    match decision {
        TestDecision::Allow => only_denials(reading, &table),
        TestDecision::Deny => {
            for key in ["obligations", "edits", "upstream_receives"] {
                if let Some(value) = table.get(key) {
                    let message = format!("only what is allowed has `{key}`");
                    reading.tell(&value.span(), "test::conflict", message, None);
                }
            }
        }
    }
    Some(Expect {
        policies: policies.unwrap_or_default(),
        policies_exact,
        obligations: obligations.map(plain),
        edits: edits.map(plain),
        upstream_receives,
        code: code.map(Spanned::into_inner),
        advice: advice.map(Spanned::into_inner),
        reason: reason.map(Spanned::into_inner),
        errors: errors.map(plain),
        ..Expect::of(decision)
    })
}

/// A list can be allowed and yet be too short, because a policy could not be evaluated; so `errors`
/// is not among these.
fn only_denials(reading: &FixtureReader, table: &FixtureTable<'_>) {
    for key in ["code", "advice", "reason"] {
        if let Some(value) = table.get(key) {
            only_denials_have(reading, key, value);
        }
    }
}

fn only_denials_have(reading: &FixtureReader, key: &str, value: &FixtureValue<'_>) {
    let message = format!("only a denial has `{key}`");
    reading.tell(&value.span(), "test::conflict", message, None);
}
