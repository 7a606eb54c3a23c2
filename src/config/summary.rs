//! What a valid configuration opens, in words.

use std::fmt::Write;

use super::settings::{OtherMethods, Policy};

impl Policy {
    /// Which of the agent's methods can pass, for the start line and for `validate-config`.
    ///
    /// With a policy directory, policies alone decide; without one, a list that is not empty
    /// brings the built-in base pack along unless `other_methods = "deny"`.
    pub fn surfaces(&self) -> String {
        let mut text = String::new();
        let names = self.allow.as_deref().unwrap_or_default();
        if !names.is_empty() {
            let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            _ = write!(text, "tools allowed by name: {}; ", quoted.join(", "));
        }
        text.push_str(match (&self.dir, names.is_empty(), self.other_methods) {
            (Some(_), ..) => "all else as the policies say",
            (None, true, _) => "nothing is allowed: every call is denied",
            (None, false, OtherMethods::Base) => {
                "prompts, resources, completion and logging pass (base pack)"
            }
            (None, false, OtherMethods::Deny) => "all else but lifecycle and ping is denied",
        });
        text
    }
}
