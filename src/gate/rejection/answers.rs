//! The JSON-RPC errors that answer a rejection.

use crate::wire::{Fragment, Side};

use crate::gate::faults::UpstreamFault;

use super::{
    ErrorAnswer, ForRequester, INTERNAL, METHOD_NOT_FOUND, NO_METHOD, Property, Reference,
    Rejection,
};

impl Rejection {
    /// The answer to the sender. It has no rule text: the audit has the reasons, and `reference` leads
    /// an operator to them.
    pub fn answer(&self, to: Side, reference: &str) -> ErrorAnswer {
        match to {
            Side::Agent => ErrorAnswer {
                code: self.0.code,
                message: self.text_for_agents().to_owned(),
                data: self.data(reference),
            },
            Side::Upstream if self.has(Property::HiddenFromServers) => ErrorAnswer {
                code: METHOD_NOT_FOUND,
                message: NO_METHOD.to_owned(),
                data: None,
            },
            Side::Upstream => ErrorAnswer {
                code: self.0.code,
                message: self.text_for_agents().to_owned(),
                data: None,
            },
        }
    }

    /// The answer to a requester whose reply is rejected. The request is not at fault, and the withheld
    /// text of the reply must not reach the requester this way.
    pub fn answer_waiting(&self, to: Side, reference: &str) -> ErrorAnswer {
        let problem = match &self.0.for_requester {
            ForRequester::Same => return self.answer(to, reference),
            ForRequester::Problem(problem) => problem,
        };
        let (message, data) = match to {
            Side::Agent => (
                UpstreamFault::BadReply(problem.clone().into_owned()).to_string(),
                Some(Fragment::object([("audit", Fragment::string(reference))])),
            ),
            Side::Upstream => (format!("the agent's answer was refused: {problem}"), None),
        };
        ErrorAnswer {
            code: INTERNAL,
            message,
            data,
        }
    }

    pub(super) fn text_for_agents(&self) -> &str {
        self.0.for_agents.as_deref().unwrap_or(&self.0.text)
    }

    fn data(&self, reference: &str) -> Option<Fragment> {
        let audit = match self.0.reference {
            Reference::Named => Some(("audit", Fragment::string(reference))),
            Reference::Omitted => None,
        };
        let members: Vec<_> = audit
            .into_iter()
            .chain(self.0.data.iter().cloned())
            .collect();
        (!members.is_empty()).then(|| Fragment::object(members))
    }
}
