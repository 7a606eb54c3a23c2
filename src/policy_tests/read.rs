//! The text of a fixture to what it says, or to everything that is wrong with it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use miette::NamedSource;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::claims::{self, WrittenClaim};
use super::errors::FixtureProblem;
use super::fixture::{DeclaredOffers, Fixture, Sends, Test};
use super::fixture_words::ListKind;
use super::groups::Group;
use super::listing;
use super::printable::with_places_kept;
use super::read_test::{self, FixtureContext};
use super::section::FixtureSection;
use super::table::{FixtureReader, FixtureTable, in_order, plain};
use crate::findings::printable;
use crate::policy::{Agent, Client, ServerKey};
use crate::unseen::misleads;
use crate::wire::{Extensions, Limits, ListedMethod, ListedProblem, Message, Side};

/// When a fixture says nothing of the time: 2026-01-01T00:00:00Z, so that results never depend on
/// the day they are asked for.
const DEFAULT_NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// What could be read of a fixture; fit to run only without problems.
pub(super) struct ParsedFixture {
    pub(super) fixture: Fixture,
    pub(super) problems: Vec<FixtureProblem>,
    /// Every policy that some test names.
    pub(super) named: Vec<Spanned<String>>,
    pub(super) told: ToldOfAgents,
}

/// What a fixture says of its agents, to be looked up once there are policies.
#[derive(Default)]
pub(super) struct ToldOfAgents {
    pub(super) groups: Vec<(Group, Spanned<String>)>,
    pub(super) claims: Vec<WrittenClaim>,
    pub(super) capabilities: Vec<Spanned<String>>,
}

/// Reads a fixture; `name` is what reports call it.
pub(super) fn read(name: &str, text: &str) -> ParsedFixture {
    // Places stay what they are, so that everything can point into what is shown.
    let shown = with_places_kept(text);
    let source = NamedSource::new(printable(name), Arc::from(shown));
    let (table, errors) = DeTable::parse_recoverable(text);
    let reading = FixtureReader::new(source, errors);
    let top = FixtureTable::new(&reading, FixtureSection::File, 0..0, table.get_ref());
    let mut told = ToldOfAgents::default();
    let surroundings = FixtureContext {
        now: top.time("now").unwrap_or(DEFAULT_NOW),
        agents: agents(&top, &mut told),
        server: top.text("server"),
    };
    let tests = tests(&top, &surroundings);
    let stem = Path::new(name).file_stem().unwrap_or_default();
    let fixture = Fixture {
        suite: match top.text("suite").inspect(|suite| is_readable(&top, suite)) {
            Some(suite) => suite.into_inner(),
            None => stem.to_string_lossy().into_owned(),
        },
        gate: top.text("gate"),
        servers: servers(&top),
        allow: allow(&top),
        extensions: extensions(&reading, &top),
        declared: declared(&top),
        server: surroundings.server,
        agents: surroundings.agents,
        tests,
        source: reading.source.clone(),
    };
    let (problems, named) = reading.finish();
    ParsedFixture {
        fixture,
        problems,
        named,
        told,
    }
}

fn agents(top: &FixtureTable<'_>, told: &mut ToldOfAgents) -> BTreeMap<String, Agent> {
    let Some(agents) = top.any_table("agents") else {
        return BTreeMap::new();
    };
    let mut read = BTreeMap::new();
    for (name, value) in in_order(agents) {
        is_readable(
            top,
            &Spanned::new(name.span(), name.get_ref().clone().into_owned()),
        );
        let name = name.get_ref().as_ref();
        // What is wrong with the agent must not make its name unknown.
        let agent = if let DeValue::Table(table) = value.get_ref() {
            let table = FixtureTable::new(top.reading, FixtureSection::Agent, value.span(), table);
            agent(name, &table, told)
        } else {
            let expected = "a table such as `{ roles = [\"reader\"] }`";
            top.reading.wrong_type(value, expected);
            Agent::default()
        };
        read.insert(name.to_owned(), agent);
    }
    read
}

fn agent(name: &str, table: &FixtureTable<'_>, told: &mut ToldOfAgents) -> Agent {
    let capabilities = table.texts("capabilities").unwrap_or_default();
    told.capabilities.extend(capabilities.iter().cloned());
    let mut of = |group, key| {
        let names = table.texts(key).unwrap_or_default();
        let belongs = names.iter().map(|name| (group, name.clone()));
        told.groups.extend(belongs);
        plain(names)
    };
    Agent {
        id: name.to_owned(),
        roles: of(Group::Role, "roles"),
        teams: of(Group::Team, "teams"),
        user: table.text("user").map(Spanned::into_inner),
        client: client(table),
        trust: table.integer("trust").unwrap_or_default(),
        capabilities: plain(capabilities),
        claims: claims::of_agent(table, &mut told.claims),
        ..Agent::default()
    }
}

/// What the agent calls itself at the handshake.
fn client(agent: &FixtureTable<'_>) -> Client {
    let mut client = Client {
        name: "test-policy".to_owned(),
        version: "1".to_owned(),
    };
    let Some(value) = agent.get("client") else {
        return client;
    };
    if let DeValue::String(name) = value.get_ref() {
        name.as_ref().clone_into(&mut client.name);
        return client;
    }
    let Some(table) = agent.table(
        "client",
        FixtureSection::Client,
        "a name, or a table with `name` and `version`",
    ) else {
        return client;
    };
    if let Some(name) = table.text("name") {
        client.name = name.into_inner();
    }
    if let Some(version) = table.text("version") {
        client.version = version.into_inner();
    }
    client
}

/// The keys of several servers, as those of `[servers]` in a configuration.
fn servers(top: &FixtureTable<'_>) -> Option<Vec<Spanned<ServerKey>>> {
    let keys = top.texts("servers")?;
    let keys = keys.iter().filter_map(|name| {
        let key = ServerKey::of(name.get_ref());
        if key.is_none() {
            let message = format!("`{}` is no key of a server", name.get_ref());
            let help = "a lower-case letter and up to 31 more, digits and `-`";
            let reading = top.reading;
            reading.tell(&name.span(), "test::value", message, Some(help.to_owned()));
        }
        Some(Spanned::new(name.span(), key?))
    });
    Some(keys.collect())
}

fn allow(top: &FixtureTable<'_>) -> Option<Spanned<Vec<String>>> {
    let names = plain(top.texts("allow")?);
    Some(Spanned::new(top.get("allow")?.span(), names))
}

/// Methods of extensions, as `[extensions]` of a configuration lists them.
fn extensions(reading: &FixtureReader, top: &FixtureTable<'_>) -> Extensions {
    let names = top.texts("extensions").unwrap_or_default();
    let listed = names.iter().filter_map(|name| {
        let told = |problem: ListedProblem| {
            let message = format!("`{}` {problem}", printable(name.get_ref()));
            reading.tell(&name.span(), "test::value", message, None);
        };
        ListedMethod::named(name.get_ref()).map_err(told).ok()
    });
    listed.collect()
}

fn tests(top: &FixtureTable<'_>, surroundings: &FixtureContext) -> Vec<Test> {
    let help = "begin each test with `[[test]]`";
    let Some(value) = top.get("test") else {
        top.require("a test", help);
        return Vec::new();
    };
    let DeValue::Array(items) = value.get_ref() else {
        top.reading
            .wrong_type(value, "an array of tables: write `[[test]]`");
        return Vec::new();
    };
    let mut tests: Vec<Test> = Vec::new();
    let mut names: BTreeMap<String, Range<usize>> = BTreeMap::new();
    for item in items {
        let DeValue::Table(table) = item.get_ref() else {
            top.reading.wrong_type(item, "a table");
            continue;
        };
        let table = FixtureTable::new(top.reading, FixtureSection::Test, item.span(), table);
        let Some(name) = table
            .text("name")
            .filter(|name| !name.get_ref().trim().is_empty())
            .inspect(|name| is_readable(top, name))
        else {
            table.require("`name`", "say in a sentence what the test shows");
            read_test::tests(&table, surroundings, "");
            continue;
        };
        if names.insert(name.get_ref().clone(), name.span()).is_some() {
            let message = format!("two tests are called `{}`", name.get_ref());
            let help = Some("say what is different about this one".to_owned());
            top.reading
                .tell(&name.span(), "test::duplicate_name", message, help);
        }
        tests.extend(read_test::tests(&table, surroundings, name.get_ref()));
    }
    tests
}

/// Names stand in reports, one on each line.
fn is_readable(top: &FixtureTable<'_>, name: &Spanned<String>) {
    if name.get_ref().contains(|c| misleads(c) && c != '\t') {
        let message = format!("this name cannot be read as it is: `{}`", name.get_ref());
        let help = "a name is one line, without controls, what is not seen, and what turns the direction of text";
        top.reading
            .tell(&name.span(), "test::name", message, Some(help.to_owned()));
    }
}

/// What the fixture says that servers offer.
fn declared(top: &FixtureTable<'_>) -> DeclaredOffers {
    let lists = ListKind::ALL.into_iter();
    let lists = lists.filter_map(|(key, list)| Some((list, top.texts(key)?)));
    let told = top.any_table("descriptions").into_iter().flatten();
    let told = told.filter_map(|(name, description)| {
        let description = top.reading.text(description)?.into_inner();
        Some((
            Spanned::new(name.span(), name.get_ref().to_string()),
            description,
        ))
    });
    DeclaredOffers {
        lists: lists.collect(),
        descriptions: told.collect(),
    }
}

pub(super) fn called_tool(sends: &Sends) -> Option<String> {
    let Sends::Frame {
        from: Side::Agent,
        frame,
    } = sends
    else {
        return None;
    };
    let message = Message::decode(frame.as_bytes(), &Limits::default()).ok()?;
    listing::called_tool(&message)
}
