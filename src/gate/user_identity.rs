//! How servers know the user: by an assertion of the gate's, or by the user's own token.
//!
//! Whatever a server is shown, it is no word of the agent's: a member of `_meta` that only the gate may
//! write does not pass, in either direction.

use std::sync::Arc;

use crate::assertion::{Issuer, User, Voucher};
use crate::audit;
use crate::session::{PerInstance, Session};
use crate::wire::{AgentToken, Edits, Fragment, IDENTITY_MEMBER, Message, Value};

/// How each instance of the server knows the user.
pub type UserIdentities = PerInstance<UserIdentity>;

/// How a server knows the user.
#[derive(Debug, Clone, Default)]
pub enum UserIdentity {
    /// It does not.
    #[default]
    None,
    /// By an assertion in each request and notification.
    Meta(Audience),
    /// By an assertion in a header of each HTTP request.
    Header(Audience),
    /// By the agent's token, if it was issued for this audience.
    Forward(Arc<str>),
    /// By a token that the gate gets in exchange for the agent's (RFC 8693).
    Exchange,
}

/// For whom assertions are, and who signs them.
#[derive(Debug, Clone)]
pub struct Audience {
    pub name: Arc<str>,
    pub issuer: Arc<Issuer>,
}

/// What shows a server over HTTP the user, beside the text of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserProof {
    Assertion(Arc<Voucher>),
    Token(AgentToken),
    /// The agent's token, which the server never gets: the gate exchanges it for the server's.
    Subject(AgentToken),
}

/// What shows a server the user of one message, in its text or beside it.
#[derive(Debug, Default)]
pub(super) struct ShownIdentity {
    pub(super) assertion: Option<Arc<str>>,
    pub(super) proof: Option<UserProof>,
}

impl Audience {
    /// The voucher of a session's agent, as it is now.
    pub(super) fn voucher(&self, session: &Session) -> Arc<Voucher> {
        let mut state = session.state();
        let (principal, roles) = (&state.parties.agent.id, &state.parties.roles);
        let known = state.agent_side.vouched.voucher.as_ref();
        if let Some(voucher) = known.filter(|it| it.is_for(&self.name, principal, roles)) {
            return Arc::clone(voucher);
        }
        let user = User {
            principal: principal.clone(),
            roles: roles.clone(),
            session: session.id.as_str().into(),
        };
        let (issuer, name) = (Arc::clone(&self.issuer), Arc::clone(&self.name));
        let voucher = Arc::new(Voucher::new(issuer, name, user));
        state.agent_side.vouched.voucher = Some(Arc::clone(&voucher));
        voucher
    }
}

/// Writes an assertion into a message that asks or tells something, and removes what its sender has
/// written in that place. `meta` is its `_meta`, with the place of the object around it (RFC 6901).
pub(super) fn write<'m>(
    message: &'m Message,
    (place, meta): (&str, Option<Value<'m>>),
    assertion: Option<&str>,
    edits: &mut Edits<'m>,
    notes: &mut Vec<audit::Edit>,
) {
    if let Some(theirs) = meta.and_then(|meta| meta.get(IDENTITY_MEMBER)) {
        edits.remove(theirs);
        notes.push(audit::Edit {
            pointer: format!("{place}/_meta/mcp-protector~1identity").into(),
            op: audit::EditOp::Remove,
            reason: Some("reserved for the gate".into()),
        });
    }
    let Some(assertion) = assertion.filter(|_| message.method().is_some()) else {
        return;
    };
    let assertion = Fragment::string(assertion);
    let root = message.document().root();
    match (message.params(), meta) {
        (_, Some(meta)) if meta.is_object() => edits.insert(meta, IDENTITY_MEMBER, assertion),
        (Some(params), _) => edits.insert(params, "_meta", with(IDENTITY_MEMBER, assertion)),
        (None, _) => {
            let meta = with(IDENTITY_MEMBER, assertion);
            edits.insert(root, "params", with("_meta", meta));
        }
    }
}

fn with(key: &str, value: Fragment) -> Fragment {
    Fragment::object([(key, value)])
}
