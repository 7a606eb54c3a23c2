//! Where paths lead on the server's disk. Policies look at no disk, so the gate follows links before it
//! asks them, and asks about what it found as well: `docs/decisions/0020-paths-and-uris.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::audit::{Finding, Guard};
use crate::policy::{
    CanonicalPathError, CanonicalPaths, PolicySnapshot, Root, Roots, Targets, opened_as,
};
use crate::session::Session;
use crate::wire::Side;

use super::Gate;
use super::canonical::{ARGUMENTS, Respelled};
use super::decide::called_tool;
use super::record::Trail;
use super::refuse::Refusal;
use super::resources;
use super::settings::{AcrossLinks, Links};
use super::understand::{About, Doing, Question, Understood};

use places::{Found, Places, all_places, on_disk, said};

mod places;

/// How long the disk may take: one behind a network that is gone may take for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most places of one message that are told.
const MOST_TOLD: usize = 16;

/// What was found of the paths that a message names.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// What stands for them in one spelling, by pointer; only of those that lead elsewhere than they say.
    pub(super) elsewhere: Respelled,
    /// Every other place to which one may lead, with its pointer.
    told: Vec<(String, String)>,
    /// The pointer of one that nobody can follow.
    pub(super) astray: Option<String>,
}

impl Gate {
    /// Adds to the questions of a message what it asks for behind links.
    ///
    /// # Errors
    /// [`Refusal::Uncanonical`] for the URI of a file that leads over links which nobody can follow, and for
    /// any path that leads elsewhere where that is refused.
    pub(super) async fn follow(
        &self,
        understood: &mut Understood<'_>,
        session: &Session,
        snapshot: &PolicySnapshot,
        trail: &mut Trail,
    ) -> Result<(), Refusal> {
        let links = &self.terms(snapshot).guards.symlinks;
        if *links == Links::AsWritten {
            return Ok(());
        }
        let texts = texts(understood, snapshot);
        if texts.is_empty() {
            return Ok(());
        }
        let roots = paths_of(&snapshot.labels().roots);
        let counted = session.state().calls;
        let found = match links {
            Links::AsWritten => return Ok(()),
            Links::Said(links) => all_places(texts, &roots, &|path| said(links, path)),
            Links::OnDisk => {
                let looking = spawn_blocking(move || all_places(texts, &roots, &on_disk));
                // What was not looked at leads anywhere.
                let found = timeout(PATIENCE, looking).await;
                found.ok().and_then(Result::ok).unwrap_or_default()
            }
        };
        // Others may go on while the disk is looked at. Of a task it is the count of the call that began it.
        let scene = &mut understood.identified.scene;
        if scene.calls == counted {
            scene.calls = session.state().calls;
        }
        note(understood, snapshot, &found);
        name_as_roots_do(understood, snapshot, &found);
        trail.found(told(&understood.followed));
        if self.terms(snapshot).guards.across_symlinks == AcrossLinks::Refused {
            stays_where_it_says(understood, &found)?;
        }
        let behind = behind(understood, snapshot, &found)?;
        understood.questions.extend(behind);
        Ok(())
    }
}

/// # Errors
/// [`CanonicalPathError`] for what an agent sends if a path of it leads elsewhere, or nobody can tell where.
fn stays_where_it_says(
    understood: &Understood<'_>,
    found: &Found,
) -> Result<(), CanonicalPathError> {
    let stays = |places: &Places| places.all.is_empty();
    let mut all = found.values();
    if understood.identified.from == Side::Upstream
        || all.all(|places| places.as_ref().is_some_and(stays))
    {
        return Ok(());
    }
    let followed = &understood.followed;
    let elsewhere = followed.told.first().map(|(pointer, _)| pointer);
    // What stands in another message, as the call of a task, has no pointer in this one.
    let pointer = elsewhere.or(followed.astray.as_ref()).cloned();
    Err(CanonicalPathError::Link(pointer.unwrap_or_default()))
}

/// Every text of a message that names a file.
fn texts(understood: &Understood<'_>, snapshot: &PolicySnapshot) -> BTreeSet<String> {
    let questions = understood.questions.iter();
    let named = questions.flat_map(|it| named(it, snapshot));
    named.map(|(_, text)| text).collect()
}

/// What a question names, with its pointer among the arguments if it stands there.
fn named(question: &Question<'_>, snapshot: &PolicySnapshot) -> Vec<(String, String)> {
    let labels = snapshot.labels();
    let all = match (&question.about, &question.doing) {
        (About::Tool(tool), Doing::CallTool(arguments, _)) => {
            labels.paths_among(&tool.name, arguments)
        }
        (About::Resource(it), _) if it.scheme == "file" && !labels.roots.is_empty() => {
            vec![(String::new(), it.uri.clone())]
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
    };
    let is_followed = |(_, text): &(String, String)| !opened_as(text).is_empty();
    all.into_iter().filter(is_followed).collect()
}

/// What stands in a message itself and leads elsewhere. Questions may be about another message, as those of
/// tasks.
fn note(understood: &mut Understood<'_>, snapshot: &PolicySnapshot, found: &Found) {
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
    if called_tool(understood).is_some() {
        let questions = understood.questions.iter();
        for (pointer, text) in questions.flat_map(|it| named(it, snapshot)) {
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
fn name_as_roots_do(understood: &mut Understood<'_>, snapshot: &PolicySnapshot, found: &Found) {
    for question in &mut understood.questions {
        let names = named(question, snapshot).into_iter();
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
    found: &Found,
) -> Result<Vec<Question<'m>>, Refusal> {
    let mut all = Vec::new();
    for question in &understood.questions {
        let named = named(question, snapshot);
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
                            about: About::Resource(resources::facts(place)),
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
