//! Where paths lead on the server's disk. Policies look at no disk, so the gate follows links before it
//! asks them, and asks about what it found as well: `docs/decisions/0020-paths-and-uris.md`.

mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use places::{Found, all_places, on_disk, said};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::audit::{Finding, Guard};
use crate::policy::{
    CanonicalPathError, CanonicalPaths, PolicySnapshot, Root, Roots, Targets, opened_as,
};
use crate::session::Session;
use crate::wire::Side;

use super::canonical::ARGUMENTS;
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::query::{About, Doing, Followed, Question, Understood, resource_facts};
use super::record::Trail;
use super::rejection::Rejection;
use super::resources;
use super::settings::{Disk, Symlinks};

/// How long the disk may take: one behind a network that is gone may take for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most places of one message that are told.
const MOST_TOLD: usize = 16;

/// Follows the links in the paths that a message names.
#[derive(Debug)]
pub(super) struct RealPaths;

impl Filter for RealPaths {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let symlinks = &cx.terms.guards.symlinks;
        if matches!(symlinks, Symlinks::AsWritten) {
            return Flow::DONE;
        }
        Flow::wait(async move {
            let (session, snapshot) = (cx.session, cx.snapshot);
            follow(&mut cx.understood, session, snapshot, symlinks, cx.trail).await?;
            Ok(())
        })
    }
}

/// Adds to the questions of a message what it asks for behind links.
///
/// # Errors
/// [`Rejection`] for the URI of a file whose links cannot be followed; with [`Symlinks::Block`]
/// for every path that leads elsewhere or cannot be followed.
pub(super) async fn follow(
    understood: &mut Understood<'_>,
    session: &Session,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
    trail: &mut Trail,
) -> Result<(), Rejection> {
    let (Symlinks::Resolve(disk) | Symlinks::Block(disk)) = symlinks else {
        return Ok(());
    };
    let texts = texts(understood, snapshot, symlinks);
    if texts.is_empty() {
        return Ok(check_no_links(
            understood,
            snapshot,
            symlinks,
            &Found::new(),
        )?);
    }
    let roots = paths_of(&snapshot.labels().roots);
    let counted = session.state().security.calls;
    let found = match disk {
        Disk::Stated(links) => all_places(texts, &roots, &|path| said(links, path)),
        Disk::Local => {
            let looking = spawn_blocking(move || all_places(texts, &roots, &on_disk));
            // What was not looked at leads anywhere.
            let found = timeout(PATIENCE, looking).await;
            found.ok().and_then(Result::ok).unwrap_or_default()
        }
    };
    // Others may go on while the disk is looked at. Of a task it is the count of the call that began it.
    let scene = &mut understood.identified.scene;
    if scene.calls == counted {
        scene.calls = session.state().security.calls;
    }
    note(understood, snapshot, symlinks, &found);
    name_as_roots_do(understood, snapshot, symlinks, &found);
    trail.found(told(&understood.followed));
    check_no_links(understood, snapshot, symlinks, &found)?;
    let behind = behind(understood, snapshot, symlinks, &found)?;
    understood.questions.extend(behind);
    Ok(())
}

/// Whether each path of a request leads where it says.
///
/// # Errors
/// [`CanonicalPathError::Link`] for a path that a link leads elsewhere, or that the gate did not follow.
fn check_no_links(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
    found: &Found,
) -> Result<(), CanonicalPathError> {
    if understood.identified.from == Side::Upstream || !matches!(symlinks, Symlinks::Block(_)) {
        return Ok(());
    }
    let stays = |text: &Option<String>| {
        let places = text.as_deref().and_then(|text| places(found, text));
        places.is_some_and(<[_]>::is_empty)
    };
    for question in &understood.questions {
        let paths = file_names(question, snapshot, symlinks);
        if let Some((pointer, _)) = paths.into_iter().find(|(_, text)| !stays(text)) {
            return Err(CanonicalPathError::Link(match question.about {
                About::Tool(_) => format!("{ARGUMENTS}{pointer}"),
                // Messages have URIs in members of different names.
                About::Resource(_)
                | About::Prompt(_)
                | About::Method(_)
                | About::Server
                | About::Client => "/params".to_owned(),
            }));
        }
    }
    Ok(())
}

/// Every text of a message that names a file.
fn texts(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
) -> BTreeSet<String> {
    let questions = understood.questions.iter();
    let named = questions.flat_map(|it| named(it, snapshot, symlinks));
    named.map(|(_, text)| text).collect()
}

/// The paths of a question that the gate can follow, with their pointers among the arguments.
fn named(
    question: &Question<'_>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
) -> Vec<(String, String)> {
    let all = file_names(question, snapshot, symlinks).into_iter();
    let all = all.filter_map(|(pointer, text)| Some((pointer, text?)));
    all.filter(|(_, text)| !opened_as(text).is_empty())
        .collect()
}

/// The labelled paths and the `file:` URI of a question, with their pointers among the arguments. `None`
/// stands for a labelled path that is no text.
fn file_names(
    question: &Question<'_>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
) -> Vec<(String, Option<String>)> {
    let labels = snapshot.labels();
    // Without roots, a URI's place decides nothing, unless links are blocked.
    let follows_uris = !labels.roots.is_empty() || matches!(symlinks, Symlinks::Block(_));
    match (&question.about, &question.doing) {
        (About::Tool(tool), Doing::CallTool(arguments, _)) => {
            labels.paths_among(&tool.name, arguments)
        }
        (About::Resource(it), _) if it.scheme == "file" && follows_uris => {
            vec![(String::new(), Some(it.uri.clone()))]
        }
        (
            About::Tool(_)
            | About::Resource(_)
            | About::Prompt(_)
            | About::Method(_)
            | About::Server
            | About::Client,
            _,
        ) => Vec::new(),
    }
}

/// What stands in a message itself and leads elsewhere. Questions may be about another message, as those of
/// tasks.
fn note(
    understood: &mut Understood<'_>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
    found: &Found,
) {
    if understood.identified.from == Side::Upstream {
        return;
    }
    let mut followed = Followed::default();
    let mut note = |pointer: String, text: &str| {
        let Some(Some(places)) = found.get(text) else {
            followed.astray = Some(pointer);
            return;
        };
        let told = places.all.iter();
        let told = told.map(|place| (pointer.clone(), place.clone()));
        followed.told.extend(told);
        if let Some(place) = &places.in_one_spelling {
            followed.elsewhere.insert(pointer, place.clone());
        }
    };
    if understood.called_tool().is_some() {
        let questions = understood.questions.iter();
        for (pointer, text) in questions.flat_map(|it| named(it, snapshot, symlinks)) {
            note(format!("{ARGUMENTS}{pointer}"), &text);
        }
    } else {
        for (pointer, named) in resources::named(understood) {
            let text = named.value.as_str().unwrap_or_default();
            if found.contains_key(&*text) {
                note(pointer, &text);
            }
        }
    }
    understood.followed = followed;
}

/// Has labels know what lies in the real directory of a root that is a link, as it is written, by the root's
/// own path.
fn name_as_roots_do(
    understood: &mut Understood<'_>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
    found: &Found,
) {
    for question in &mut understood.questions {
        let names = named(question, snapshot, symlinks).into_iter();
        let known = names.filter_map(|(_, text)| {
            let places = found.get(&text)?.as_ref()?;
            Some((text, places.known_as.clone()?))
        });
        let known: BTreeMap<String, String> = known.collect();
        if let Doing::CallTool(_, targets) = &mut question.doing {
            targets.known_as = known;
        } else if let About::Resource(resource) = &mut question.about {
            resource.known_as = known.into_values().next();
        }
    }
}

/// What was found of a text; `None` for what nobody can follow, or nobody has looked at.
fn places<'f>(found: &'f Found, text: &str) -> Option<&'f [String]> {
    let places = found.get(text).and_then(Option::as_ref);
    places.map(|places| places.all.as_slice())
}

/// The questions of a message as it reads where links lead.
fn behind<'m>(
    understood: &Understood<'m>,
    snapshot: &PolicySnapshot,
    symlinks: &Symlinks,
    found: &Found,
) -> Result<Vec<Question<'m>>, Rejection> {
    let mut all = Vec::new();
    for question in &understood.questions {
        let named = named(question, snapshot, symlinks);
        match (&question.about, &question.doing) {
            (About::Tool(tool), Doing::CallTool(said, targets)) => {
                let ways = named
                    .iter()
                    .map(|(pointer, text)| (pointer, places(found, text)));
                let ways: Vec<_> = ways.collect();
                let astray = ways.iter().any(|(_, places)| places.is_none());
                let most = ways.iter().filter_map(|(_, places)| places.map(<[_]>::len));
                let most = most.max().unwrap_or_default().max(usize::from(astray));
                for way in 0..most {
                    let mut paths = CanonicalPaths::new();
                    for (pointer, places) in &ways {
                        let places = places.unwrap_or_default();
                        let place = places.get(way).or_else(|| places.last());
                        paths.extend(place.map(|place| ((*pointer).clone(), place.clone())));
                    }
                    let targets = Targets {
                        astray,
                        ..targets.clone()
                    };
                    all.push(Question {
                        asks: question.asks,
                        about: About::Tool(tool.clone()),
                        doing: Doing::CallTool(said.with(&paths), targets),
                    });
                }
            }
            (About::Resource(_), doing) => {
                for (_, uri) in named {
                    let astray = || understood.followed.astray.clone().unwrap_or(uri.clone());
                    let places = places(found, &uri);
                    let places = places.ok_or_else(|| CanonicalPathError::Astray(astray()))?;
                    all.extend(places.iter().filter_map(|place| {
                        Some(Question {
                            asks: question.asks,
                            about: About::Resource(resource_facts(place)),
                            doing: again(doing)?,
                        })
                    }));
                }
            }
            (
                About::Tool(_)
                | About::Prompt(_)
                | About::Method(_)
                | About::Server
                | About::Client,
                _,
            ) => {}
        }
    }
    Ok(all)
}

/// The same done to another resource.
fn again<'m>(doing: &Doing<'m>) -> Option<Doing<'m>> {
    match doing {
        Doing::ReadResource => Some(Doing::ReadResource),
        Doing::Subscribe => Some(Doing::Subscribe),
        Doing::Complete(argument) => Some(Doing::Complete(argument.clone())),
        Doing::ReceiveResult(received) => Some(Doing::ReceiveResult(received.clone())),
        Doing::Initialize
        | Doing::Ping
        | Doing::SetLevel
        | Doing::Cancel
        | Doing::Notify(_)
        | Doing::List(_)
        | Doing::Listen
        | Doing::CallTool(..)
        | Doing::GetPrompt(_)
        | Doing::Extend(..)
        | Doing::Sample { .. }
        | Doing::Elicit { .. }
        | Doing::ListRoots => None,
    }
}

/// What the record says of it.
fn told(followed: &Followed) -> Vec<Finding> {
    let finding = |code: &str, detail: String| Finding {
        guard: Guard::Symlinks,
        code: code.into(),
        detail: detail.into(),
    };
    let elsewhere = followed.told.iter().map(|(pointer, place)| {
        let (pointer, place) = (pointer.escape_debug(), place.escape_debug());
        finding("symlink_followed", format!("{pointer} leads to {place}"))
    });
    let astray = followed.astray.iter().map(|pointer| {
        let pointer = pointer.escape_debug();
        finding(
            "symlink_unresolved",
            format!("{pointer} cannot be followed"),
        )
    });
    elsewhere.chain(astray).take(MOST_TOLD).collect()
}

/// Where the host's roots of files lie.
fn paths_of(roots: &Roots) -> Vec<String> {
    let paths = roots.iter().filter_map(Root::path);
    paths.filter(|path| path.starts_with('/')).collect()
}
