//! Pure checks on what messages hold. A guard finds or refuses; only `gate/oblige.rs` edits.

mod argument_names;
mod dlp;
mod elicitation;
mod excerpt;
mod keywords;
mod names;
mod schema;
pub mod secrets;
mod strings;
pub mod text;

pub use argument_names::{
    AmbiguousName, ArgumentNames, UnknownArgument, check_argument_names, check_unknown_arguments,
};
pub use dlp::{DlpFinding, DlpFindings, MemberNames, dlp_findings};
pub use elicitation::{asks_for_secret, describes_secret};
pub use excerpt::{Excerpt, Preset, excerpt, piece};
pub use names::{NameSkeleton, NameSkeletons};
pub use schema::{Schema, SchemaProblem, ToolSchemas, Violation};
pub use strings::{MessagePart, MessageString, StringRole, TextPurpose, message_strings};
