//! What servers offer: what the fixture says, or else whatever some test names.

use std::collections::HashSet;

use toml::Spanned;

use super::errors::FixtureProblem;
use super::fixture::{Fixture, ServerLists, TestStep};
use super::fixture_words::ListKind;
use super::read::called_tool;
use super::suggest;
use crate::policy::Server;

use super::fixture::{Sends, Test};

/// What one of the servers of a suite offers, and expectations of lists that it cannot meet.
pub(super) fn of_server(fixture: &Fixture, server: &Server) -> (ServerLists, Vec<FixtureProblem>) {
    let mut offers = ServerLists::default();
    let mut problems = Vec::new();
    for (key, list) in ListKind::ALL {
        let mentioned = mentioned(fixture, server, list);
        *offers.of_mut(list) = match declared(fixture, server, list) {
            Some(declared) => {
                problems.extend(not_offered(fixture, server, &declared, list, key));
                declared
            }
            None => mentioned,
        };
    }
    let told = fixture.declared.descriptions.iter();
    let told = told.filter_map(|(name, description)| {
        let name = own(fixture, server, name.get_ref())?;
        Some((name.to_owned(), description.clone()))
    });
    offers.descriptions = told.collect();
    (offers, problems)
}

/// What this server calls that which stands so in the fixture, if it is this server's: behind its key, or
/// without any where the fixture is about this server.
fn own<'n>(fixture: &Fixture, server: &Server, name: &'n str) -> Option<&'n str> {
    match (server.key.clone(), &fixture.server) {
        (None, _) => Some(name),
        (Some(_), Some(about)) => (*about.get_ref() == server.name).then_some(name),
        (Some(key), None) => key.name_in(name),
    }
}

fn declared(fixture: &Fixture, server: &Server, list: ListKind) -> Option<Vec<String>> {
    let about = fixture.server.as_ref().map(Spanned::get_ref);
    if server.key.is_some() && about.is_some_and(|about| *about != server.name) {
        return None;
    }
    let mut lists = fixture.declared.lists.iter();
    let (_, names) = lists.find(|(of, _)| *of == list)?;
    let names = names.iter().map(Spanned::get_ref);
    let names = names.filter_map(|name| own(fixture, server, name));
    Some(names.map(str::to_owned).collect())
}

/// A list cannot show what is not offered, so such an expectation means another name.
fn not_offered(
    fixture: &Fixture,
    server: &Server,
    declared: &[String],
    list: ListKind,
    key: &str,
) -> Vec<FixtureProblem> {
    let known: Vec<&str> = declared.iter().map(String::as_str).collect();
    let strange = in_lists(fixture, server, list);
    let strange = strange.into_iter();
    let strange = strange.filter(|name| !known.contains(&name.get_ref().as_str()));
    let problem = |name: Spanned<String>| {
        let message = format!(
            "`{}` is not among the `{key}` that are offered",
            name.get_ref()
        );
        FixtureProblem::new("test::not_offered", message)
            .at(&fixture.source, name.span())
            .with_help(suggest::help(name.get_ref(), &known, "add it there"))
    };
    strange.map(problem).collect()
}

/// Each once, in the order of the file.
fn mentioned(fixture: &Fixture, server: &Server, list: ListKind) -> Vec<String> {
    let called = steps(fixture, server).filter_map(|step| called_tool(&step.sends));
    let called = called.filter(|_| list == ListKind::Tools);
    let listed = in_lists(fixture, server, list).into_iter();
    let listed = listed.map(Spanned::into_inner);
    let mut seen = HashSet::new();
    let names = called.chain(listed);
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// What expectations of this list name of the server's, by its own names.
fn in_lists(fixture: &Fixture, server: &Server, list: ListKind) -> Vec<Spanned<String>> {
    let steps = steps(fixture, server);
    let steps = steps.filter(|step| matches!(step.sends, Sends::List(of) if of == list));
    let named = steps.flat_map(|step| {
        let visible = step.expect.listed.iter().flatten();
        let named = visible.chain(&step.expect.hidden);
        named.filter_map(|name| match &step.names {
            None => Some(name.clone()),
            Some(endpoint) => {
                let (key, own) = endpoint.own(list.listed(), name.get_ref())?;
                let is_here = server.key.as_ref() == Some(&key);
                is_here.then(|| Spanned::new(name.span(), own))
            }
        })
    });
    named.collect()
}

/// What goes to this server.
fn steps<'f>(fixture: &'f Fixture, server: &'f Server) -> impl Iterator<Item = &'f TestStep> {
    let steps = fixture.tests.iter().flat_map(Test::steps);
    steps.filter(|step| {
        let name = step.server.get_ref().as_deref();
        name.is_none_or(|name| name == server.name)
    })
}
