//! Names of tools in the configuration.

use super::errors::ConfigReason;

/// Why a text cannot be the name of a tool: the gate refuses calls with such names.
pub(super) fn tool_name(name: &str) -> Option<ConfigReason> {
    if name.is_empty() {
        Some(ConfigReason::Invalid("expected the name of a tool"))
    } else if name.chars().any(char::is_control) {
        Some(ConfigReason::Invalid("contains a control character"))
    } else {
        None
    }
}
