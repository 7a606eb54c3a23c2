//! Tools that the configuration names and the server does not list. A misspelt one permits, shortens
//! or limits nothing, and nobody would hear of it: it is logged once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use strsim::osa_distance;
use tracing::warn;

use crate::policy::PolicySnapshot;
use crate::session::Catalogue;

use super::Gate;
use super::settings::Settings;

/// Names that are told of in one line; of more it is said how many there are.
const FEW: usize = 8;

/// So few letters may differ from the name that was perhaps meant.
const NEAR: usize = 2;

/// Whether a list has been looked at.
#[derive(Debug, Default)]
pub(super) struct Unlisted(AtomicBool);

impl Gate {
    /// Called when a page of the tool list has come: the first list that is whole tells.
    pub(super) fn tell_of_unlisted(&self, snapshot: &PolicySnapshot, tools: &Catalogue) {
        let Unlisted(looked) = &self.unlisted;
        if looked.load(Ordering::Relaxed) || !tools.is_whole() {
            return;
        }
        if !looked.swap(true, Ordering::Relaxed)
            && let Some(unlisted) = unlisted(named(snapshot, &self.settings), tools)
        {
            warn!("the server does not list {unlisted}");
        }
    }
}

/// Each name, with the first key that has it.
fn named<'n>(
    snapshot: &'n PolicySnapshot,
    settings: &'n Settings,
) -> BTreeMap<&'n str, &'static str> {
    let excerpts = settings.guards.excerpts.as_ref();
    let excerpts = excerpts.into_iter().flat_map(|it| it.tools.keys());
    let keys = |names: &mut dyn Iterator<Item = &'n String>, key| -> Vec<_> {
        names.map(|name| (name.as_str(), key)).collect()
    };
    let all = [
        keys(&mut snapshot.labels().allowed.iter(), "policy.allow"),
        keys(&mut settings.tool_timeouts.keys(), "limits.tool_timeouts"),
        keys(&mut settings.rates.tools.keys(), "limits.rates.tools"),
        keys(&mut { excerpts }, "guards.excerpts.tools"),
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
    let told = lacking.iter().take(FEW).map(|(name, key)| {
        let meant = tools
            .names()
            .map(|known| (osa_distance(known, name), known));
        let meant = meant.min().filter(|(letters, _)| *letters <= NEAR);
        let meant = meant.map(|(_, known)| format!("; did you mean `{}`?", shown(known)));
        format!("`{}` (`{key}`{})", shown(name), meant.unwrap_or_default())
    });
    let told: Vec<String> = told.collect();
    match lacking.len() {
        0 => None,
        few @ ..=FEW if few == told.len() => Some(told.join(", ")),
        many => Some(format!(
            "{many} tools that the configuration names, among them {}",
            told.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::gate::tests::{Bench, open};

    /// What is said of these names where the server lists `read_file` and `write_file`.
    async fn check(named: &[&str], expected: Option<&str>) {
        let bench = Bench::ready(open, &["read_file", "write_file"]).await;
        let named = named.iter().map(|name| (*name, "policy.allow"));
        let told = unlisted(named.collect(), &bench.talk.session.state().tools);
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

    #[tokio::test]
    async fn each_table_that_names_tools_is_looked_at_when_the_first_list_is_whole() {
        let bench = Bench::with(open, |settings| {
            let minute = Duration::from_mins(1);
            settings.tool_timeouts.insert("slow".to_owned(), minute);
        });
        let is_told = || bench.gate.unlisted.0.load(Ordering::Relaxed);
        let snapshot = bench.gate.policy.current();
        let named = named(&snapshot, &bench.gate.settings);
        assert_eq!(
            named.into_iter().collect::<Vec<_>>(),
            [("slow", "limits.tool_timeouts")]
        );
        bench.shake_hands().await;
        assert!(!is_told());
        bench.list(&["read_file"]).await;
        assert!(is_told());
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
        let expected = format!(
            "20 tools that the configuration names, among them {}",
            told.join(", ")
        );
        check(&names, Some(&expected)).await;
    }
}
