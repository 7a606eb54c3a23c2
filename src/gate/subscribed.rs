//! What a stream of news was opened to hear of.

use crate::wire::{KnownMethod, Value};

/// The news that a `subscriptions/listen` can ask for, and by which member.
pub(super) const NEWS: [(&str, KnownMethod); 4] = [
    ("toolsListChanged", KnownMethod::ToolsListChanged),
    ("promptsListChanged", KnownMethod::PromptsListChanged),
    ("resourcesListChanged", KnownMethod::ResourcesListChanged),
    ("resourceSubscriptions", KnownMethod::ResourceUpdated),
];

/// Of which of them a request asks to hear.
pub(super) fn asked_for(method: KnownMethod, params: Option<Value<'_>>) -> Vec<KnownMethod> {
    if method != KnownMethod::SubscriptionsListen {
        return Vec::new();
    }
    let asked = params.and_then(|params| params.get("notifications"));
    let is_asked =
        |asked: Value<'_>| asked.as_bool() == Some(true) || asked.items().next().is_some();
    NEWS.into_iter()
        .filter(|(member, _)| {
            asked
                .and_then(|asked| asked.get(member))
                .is_some_and(is_asked)
        })
        .map(|(_, news)| news)
        .collect()
}

/// Whether a stream that asked for this is to have that: what no request can ask for goes with it.
pub(super) fn is_for(asked: &[KnownMethod], news: KnownMethod) -> bool {
    asked.contains(&news) || NEWS.iter().all(|(_, known)| *known != news)
}
