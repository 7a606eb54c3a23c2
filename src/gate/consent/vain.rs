//! Nobody is asked in vain: before a person is, it is judged what their yes would come to.

use crate::consent::{Binding, By, Desk, Way};
use crate::policy::Consent;

use crate::gate::context::RequestContext;
use crate::gate::filter::Chain;
use crate::gate::permit;
use crate::gate::stop::{Form, Stop};

use super::in_result;

/// Whether the message would pass if a person agreed.
///
/// # Errors
/// Why it would stop even then.
pub(super) fn could_be_agreed_to(
    cx: &mut RequestContext<'_>,
    chain: &Chain,
    binding: &Binding,
    answering: Vec<By>,
) -> Result<(), Stop> {
    if answering.is_empty() {
        return chain.check_as_it_came(cx).map(|_| ());
    }
    let scene = cx.understood.identified.scene.clone();
    let mut outcome = Ok(());
    for by in answering {
        let consent = Consent {
            granted: true,
            scope: binding.name.as_ref().to_owned(),
            by: Some(by.to_string()),
            at_ms: Some(cx.now.now_ms),
        };
        in_result::agree(&mut cx.understood, &consent);
        let decided = permit::decide(&cx.understood, cx.snapshot, cx.pins, cx.now);
        let passes = decided.and_then(|allowed| chain.check(cx, &allowed).map(|_| ()));
        cx.understood.identified.scene.clone_from(&scene);
        match passes {
            Ok(()) => return Ok(()),
            // The agent learns what stops the message after the first person's approval.
            Err(stop) => outcome = outcome.and(Err(stop)),
        }
    }
    outcome
}

/// Everybody who could answer; policies may ask who it was.
pub(super) fn answering(desk: &Desk, binding: &Binding, form: Form) -> Vec<By> {
    let settings = desk.settings();
    let before_client = form != Form::None && settings.has(Way::Elicitation);
    let client = before_client.then(|| By::agent_ui(&*binding.principal));
    let operators = settings
        .approvers
        .iter()
        .filter(|_| settings.has(Way::Page));
    let operators = operators.flat_map(|who| [By::page(who), By::command_line(who)]);
    client.into_iter().chain(operators).collect()
}
