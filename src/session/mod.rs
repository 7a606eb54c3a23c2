//! What is remembered between the messages of one agent's session.
//!
//! A session holds no socket and decides nothing: it knows the era, who asked what under which id,
//! and what the upstream offers. Its parts are guarded by one lock that is never held across an
//! `await`.

mod announced;
mod asked;
mod call_facts;
mod catalogue;
mod company;
mod cursors;
mod departure;
mod drifts;
mod evidence;
mod followed;
mod forsaken;
mod kept;
mod ledger;
mod lending;
mod lifecycle;
mod offered_names;
mod own_policies;
mod pages;
mod parked;
mod pending;
mod place;
mod remembered;
mod request;
mod state;
mod task;
mod tokens;
mod trial;
mod visibility;

pub use announced::Announced;
pub use asked::{Asked, Asking, Progress, Replied, Stage as AskedStage};
pub use call_facts::CallFacts;
pub use catalogue::{Catalogue, Offer, Traversal};
pub use company::Company;
pub use cursors::Cursors;
pub use departure::LeftBehind;
pub use drifts::Drifts;
pub use evidence::{Copies, EvidenceStore};
pub use followed::Followed;
pub use forsaken::Forsaken;
pub use kept::{
    Answer, Budget, Calls, Counted, InMemory, JournalError, Kept, OnDisk, Places, Raised, Rest,
    Room, SessionKey, SessionStore, StoreFault, Whose,
};
pub use ledger::{Keep, Ledger, TooLarge};
pub use lending::{Lending, Lent};
pub use lifecycle::{
    Era, Extension, Handshake, Lifecycle, OutOfOrder, Probe, Spoken, Unanswered, Within,
};
pub use own_policies::OwnPolicies;
pub use pages::{Offered, Page, PageDigest, PageItem, Pages};
pub use parked::{Attempt, Awaits, Parked};
pub use pending::{
    Admission, Admitted, Asks, Exchange, News, Origin, PendingTable, Reused, Taken, Waits,
};
pub use place::{Instance, OverHttp, PerInstance, Place, Run, Thresholds, Travelling};
pub use remembered::{Established, Greeted, Readiness, Waiting};
pub use request::{About, Agreed, Asker, AuditIds, CarriedFacts, Reception, Target, Turn};
pub use state::{Ids, InHand, Session, SessionId, State};
pub use task::Task;
pub use tokens::{Buckets, Empty, Limit, Rate, TokenStore, Tokens};
pub use trial::{Opening, Trial};
pub use visibility::Visibilities;
