//! Tools that the configuration names and the server does not list, or not so that they can be used. A
//! misspelt one permits, shortens
//! or limits nothing, and nobody would hear of it: it is logged once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use crate::policy::PolicySnapshot;
use crate::policy::suggest::nearest;
use crate::session::{Catalogue, State};

use super::context::RequestContext;
use super::filter::{Filter, Placement};
use super::settings::Terms;

/// Names that are told of in one line; of more it is said how many there are.
const FEW: usize = 8;

/// Names of the server's that are compared with each of these: it is done while the session is locked.
const COMPARED: usize = 1_000;

/// Whether a list has been looked at.
#[derive(Debug, Default)]
pub(super) struct Unlisted(AtomicBool);

impl Unlisted {
    /// Others may be named now.
    pub(super) fn look_again(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// A page of the list of tools has come: warns of names that it lacks, once it is whole.
    pub(super) fn look(&self, snapshot: &PolicySnapshot, terms: &Terms, session: &State) {
        let tools = &session.lists.tools;
        if self.0.load(Ordering::Relaxed) || !tools.is_whole() {
            return;
        }
        if !self.0.swap(true, Ordering::Relaxed)
            && let Some(unlisted) = unlisted(named(snapshot, terms), tools)
        {
            let upstream = &session.parties.server.name;
            warn!(
                upstream,
                "the server lists no usable tool called {unlisted}"
            );
        }
    }
}

/// Warns of configured names that the first whole list of tools lacks.
#[derive(Debug)]
pub(super) struct UnlistedFilter(pub(super) Arc<Unlisted>);

impl Filter for UnlistedFilter {
    fn on_sent(&self, cx: &mut RequestContext<'_>, _: Placement) {
        if cx.page.is_some() {
            self.0.look(cx.snapshot, cx.terms, &cx.session.state());
        }
    }
}

/// Each name, with the first key that has it.
fn named<'n>(snapshot: &'n PolicySnapshot, terms: &'n Terms) -> BTreeMap<&'n str, &'static str> {
    let excerpts = terms.guards.excerpts.as_ref();
    let excerpts = excerpts.into_iter().flat_map(|it| it.tools.keys());
    let keys = |names: &mut dyn Iterator<Item = &'n String>, key| -> Vec<_> {
        names.map(|name| (name.as_str(), key)).collect()
    };
    let all = [
        keys(&mut snapshot.labels().allowed.iter(), "policy.allow"),
        keys(&mut terms.tool_timeouts.keys(), "limits.tool_timeouts"),
        keys(&mut terms.rates.tools.keys(), "limits.rates.tools"),
        keys(&mut { excerpts }, "truncation.tools"),
    ];
    let mut named = BTreeMap::new();
    for (name, key) in all.into_iter().flatten() {
        named.entry(name).or_insert(key);
    }
    named
}

fn unlisted(named: BTreeMap<&str, &'static str>, tools: &Catalogue) -> Option<String> {
    let shown = |name: &str| name.escape_debug().to_string();
    let lacking: Vec<_> = named
        .into_iter()
        .filter(|(name, _)| !tools.is_listed(name))
        .collect();
    let known: Vec<&str> = tools.names().take(COMPARED).collect();
    let told = lacking.iter().take(FEW).map(|(name, key)| {
        let meant = nearest(name, known.iter().copied());
        let meant = meant.map(|known| format!("; did you mean `{}`?", shown(known)));
        format!("`{}` (`{key}`{})", shown(name), meant.unwrap_or_default())
    });
    let told: Vec<String> = told.collect();
    match lacking.len().checked_sub(told.len()) {
        Some(more @ 1..) => Some(format!("{} and {more} more", told.join(", "))),
        Some(0) | None => (!told.is_empty()).then(|| told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;
    use crate::gate::rates::Rate;
    use crate::gate::settings::Excerpts;
    use crate::gate::tests::{Bench, id_of, open};
    use crate::guard::Preset;
    use crate::loading;

    /// What is said of these names where the server lists `read_file` and `write_file`.
    async fn check(named: &[&str], expected: Option<&str>) {
        let bench = Bench::ready(open, &["read_file", "write_file"]).await;
        let named = named.iter().map(|name| (*name, "policy.allow"));
        let told = unlisted(named.collect(), &bench.talk.session.state().lists.tools);
        assert_eq!(told.as_deref(), expected);
    }

    #[tokio::test]
    async fn tools_that_are_named_and_not_listed_are_told_with_what_was_perhaps_meant() {
        check(&["read_file", "write_file"], None).await;
        check(&[], None).await;
        check(
            &["raed_file", "other"],
            Some(
                "`other` (`policy.allow`), `raed_file` (`policy.allow`; did you mean `read_file`?)",
            ),
        )
        .await;
        check(&["a\u{202e}\n"], Some("`a\\u{202e}\\n` (`policy.allow`)")).await;
    }

    #[test]
    fn each_table_that_names_tools_is_looked_at() {
        let minute = Duration::from_mins(1);
        let once = NonZeroU32::MIN;
        let rate = Rate::new(once, minute, once);
        let excerpts = Excerpts {
            save: None,
            over: 1,
            tools: [("excerpt".to_owned(), Preset::Default)].into(),
            resources: BTreeMap::new(),
            prompts: HashMap::new(),
            keep: 1,
        };
        let bench = Bench::with(open, |settings| {
            settings
                .terms
                .tool_timeouts
                .insert("slow".to_owned(), minute);
            settings.terms.rates.tools.insert("rated".to_owned(), rate);
            settings.terms.rates.tools.insert("slow".to_owned(), rate);
            settings.terms.guards.excerpts = Some(excerpts);
        });
        let policies = loading::Settings {
            allow: Some(["allowed".to_owned()].into()),
            ..loading::Settings::default()
        };
        let snapshot = loading::load(&policies).unwrap().snapshot;
        let named = named(&snapshot, &bench.gate.settings.terms);
        assert_eq!(
            named.into_iter().collect::<Vec<_>>(),
            [
                ("allowed", "policy.allow"),
                ("excerpt", "truncation.tools"),
                ("rated", "limits.rates.tools"),
                ("slow", "limits.tool_timeouts"),
            ]
        );
    }

    fn is_told(bench: &Bench) -> bool {
        bench.gate.stores.unlisted.0.load(Ordering::Relaxed)
    }

    /// A page of the list that somebody waits for.
    async fn page(bench: &Bench, next: &str) {
        let asked = bench.to_upstream();
        let id = id_of(asked.last().unwrap());
        let tool = r#"{"name":"read_file","inputSchema":{"type":"object"}}"#;
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]{next}}}}}"#
            ))
            .await;
    }

    #[tokio::test]
    async fn the_first_list_tells_when_its_last_page_has_come() {
        let bench = Bench::new(open);
        bench.shake_hands().await;
        bench
            .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
            .await;
        page(&bench, r#","nextCursor":"2""#).await;
        assert!(!is_told(&bench));
        bench
            .agent(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}"#)
            .await;
        page(&bench, "").await;
        assert!(is_told(&bench));
    }

    #[tokio::test]
    async fn a_list_that_the_gate_asks_for_itself_tells_as_well() {
        let bench = Bench::new(open);
        bench.shake_hands().await;
        bench
            .agent(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file"}}"#,
            )
            .await;
        assert!(!is_told(&bench));
        page(&bench, "").await;
        assert!(is_told(&bench));
    }

    #[tokio::test]
    async fn of_many_the_first_are_told_and_how_many_there_are() {
        let names: Vec<String> = (10..30)
            .map(|number| format!("tool-number-{number}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let told: Vec<String> = names[..FEW]
            .iter()
            .map(|name| format!("`{name}` (`policy.allow`)"))
            .collect();
        let expected = format!("{} and 12 more", told.join(", "));
        check(&names, Some(&expected)).await;
    }
}
