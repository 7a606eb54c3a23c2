//! Calls with arguments that the tool's definition does not name, even if its schema allows them.

use crate::audit::{Finding, Guard};
use crate::guard::{UnknownArgument, check_unknown_arguments};
use crate::wire::Message;

use super::context::RequestContext;
use super::filter::Filter;
use super::rejection::{Property, Rejection};
use super::settings::Level;
use super::stage::Stage;
use super::stop::Stop;

/// The reason in records.
const REASON: &str = "argument_unknown";

/// Rejects calls with an argument that is not in the tool's `inputSchema`, or reports them.
#[derive(Debug)]
pub(super) struct UnknownArguments;

impl Filter for UnknownArguments {
    fn check(&self, cx: &RequestContext<'_>, sent: Option<&Message>) -> Result<Vec<Finding>, Stop> {
        let level = cx.terms.guards.arguments_unknown;
        let called = cx.understood.called_tool();
        let Some(name) = called.filter(|_| level != Level::Off) else {
            return Ok(Vec::new());
        };
        let message = sent.unwrap_or(cx.understood.identified.message);
        let params = message.params();
        let Some(arguments) = params.and_then(|params| params.get("arguments")) else {
            return Ok(Vec::new());
        };
        let offered = cx.session.state().lists.tools.defined(name);
        let known = offered.and_then(|offered| offered.schemas).ok_or(None);
        let names_all = known.and_then(|schemas| {
            check_unknown_arguments(arguments, schemas.argument_names()).map_err(Some)
        });
        match (names_all, level) {
            (Ok(()), _) | (_, Level::Off) => Ok(Vec::new()),
            (Err(unnamed), Level::Warn) => Ok(vec![Finding {
                guard: Guard::Arguments,
                code: REASON.into(),
                detail: told(unnamed).into(),
            }]),
            (Err(unnamed), Level::Strict) => {
                let rejection = Rejection::invalid_params(Stage::Guard, REASON, told(unnamed));
                Err(rejection.with_properties(&[Property::ReadByModels]).into())
            }
        }
    }
}

/// The text of the finding or error; without an argument, no definition is kept.
fn told(unnamed: Option<UnknownArgument>) -> String {
    match unnamed {
        Some(unnamed) => unnamed.to_string(),
        None => "the gate has no usable `inputSchema` of this tool, and cannot check the names of arguments"
            .to_owned(),
    }
}
