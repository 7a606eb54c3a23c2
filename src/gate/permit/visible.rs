//! Which tools, prompts and resources an agent may see.

use crate::policy::{
    Action, Decision, DenialCause, Facts, ListFacts, PolicySnapshot, Principal, Resource, Tool,
    UseTime,
};
use crate::session::Session;

use crate::gate::classified::Scene;
use crate::gate::query::Circumstances;

/// Which tools, prompts or resources the agent could use.
pub(super) fn visible(
    snapshot: &PolicySnapshot,
    scene: &Scene,
    now: Circumstances,
    uses: UseTime,
    items: &[Resource<'_>],
) -> Vec<bool> {
    let principal = Principal::Agent(&scene.agent);
    snapshot.visible(
        &ListFacts {
            principal,
            env: now.environment(scene),
            uses,
        },
        items,
    )
}

/// The same, asking policies only what is not known already.
pub(in crate::gate) fn visible_in(
    session: &Session,
    snapshot: &PolicySnapshot,
    scene: &Scene,
    now: Circumstances,
    items: &[Resource<'_>],
) -> Vec<bool> {
    let env = now.environment(scene);
    let (generation, known) =
        session
            .state()
            .lists
            .visibilities
            .known(snapshot, &scene.agent, &env, items);
    let unknown = items
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none());
    let unknown: Vec<Resource<'_>> = unknown.map(|(item, _)| *item).collect();
    let mut shown = Vec::new();
    if !unknown.is_empty() {
        shown = visible(snapshot, scene, now, UseTime::Now, &unknown);
        session
            .state()
            .lists
            .visibilities
            .keep(generation, &unknown, &shown);
    }
    let mut shown = shown.into_iter();
    // An answer too few hides what it does not speak of.
    known
        .into_iter()
        .map(|known| known.or_else(|| shown.next()).unwrap_or(false))
        .collect()
}

/// Whether a list would show a tool that some call is permitted of: unless a policy forbids to list
/// it. This very call proves the rest, at a fraction of the cost of [`sees`].
pub(in crate::gate) fn listed(
    tool: &Tool,
    scene: &Scene,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> bool {
    let decision = snapshot.judge(&Facts {
        principal: Principal::Agent(&scene.agent),
        action: Action::ListTool,
        resource: Resource::Tool(tool),
        env: now.environment(scene),
    });
    match decision {
        Decision::Allow(_) => true,
        Decision::Deny(denial) => denial.cause == DenialCause::NotPermitted,
    }
}

/// Whether the agent is shown the tool, if there is one of its name.
pub(in crate::gate) fn sees(
    tool: &Tool,
    scene: &Scene,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> bool {
    visible(snapshot, scene, now, UseTime::Now, &[Resource::Tool(tool)]) == [true]
}
