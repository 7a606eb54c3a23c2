//! What a candidate for the next policies would have decided. Nothing here changes a decision.

use crate::audit::{self, Shadow};
use crate::policy::{Decision, DenialCause, PolicySnapshot, Prompt, Resource, Tool};

use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::permit::listed;
use super::pin::Pins;
use super::query::{Circumstances, Understood};
use super::record::named_once;

/// Records what the candidate policies decide, if there are any.
#[derive(Debug)]
pub(super) struct Shadowing;

impl Filter for Shadowing {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let decided = shadow(&cx.understood, cx.snapshot, cx.pins, cx.now);
        cx.trail.shadowed(decided);
        Flow::DONE
    }
}

/// Asks the candidate of a snapshot, if it has one, what the snapshot itself is asked: the first
/// denial counts, and without one all that permits.
pub(super) fn shadow(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    now: Circumstances,
) -> Option<Shadow> {
    let candidate = snapshot.shadow()?;
    let scene = &understood.identified.scene;
    let mut shadow = Shadow {
        revision: candidate.revision().as_str().into(),
        decision: audit::Decision::Allow,
        policies: Vec::new(),
    };
    for question in &understood.questions {
        let mut facts = question.facts(scene, now);
        // It may have approved other definitions.
        let (tool, prompt);
        match facts.resource {
            Resource::Tool(known) => {
                tool = Tool {
                    pin: pins.of(&known.name, candidate),
                    flags: pins.flags(&known.name, candidate),
                    ..known.clone()
                };
                facts.resource = Resource::Tool(&tool);
            }
            Resource::Prompt(known) => {
                prompt = Prompt {
                    pin: pins.of_prompt(&known.name, candidate),
                    flags: pins.prompt_flags(&known.name, candidate),
                    ..known.clone()
                };
                facts.resource = Resource::Prompt(&prompt);
            }
            Resource::Resource(_)
            | Resource::Method(_)
            | Resource::Server(_)
            | Resource::Client(_)
            | Resource::Host(_) => {}
        }
        let decision = candidate.judge(&facts);
        match &decision {
            Decision::Allow(_) => {
                for policy in named_once(decision.reasons()) {
                    if !shadow.policies.contains(&policy) {
                        shadow.policies.push(policy);
                    }
                }
            }
            Decision::Deny(denial) => {
                shadow.policies = named_once(decision.reasons());
                shadow.decision = match denial.cause {
                    DenialCause::Fault(_) => audit::Decision::Error,
                    DenialCause::Forbidden | DenialCause::NotPermitted => audit::Decision::Block,
                };
                break;
            }
        }
    }
    if shadow.decision == audit::Decision::Allow
        && let Some(name) = understood.called_tool()
        && !listed(&pins.tool(name, candidate), scene, candidate, now)
    {
        // As for the gate itself: what must not be listed is not there.
        shadow.decision = audit::Decision::Block;
        shadow.policies.clear();
    }
    Some(shadow)
}
