//! Which checks a configuration leaves off, for the line that says that the gate is up.

use crate::config::{Config, Pinning, Redaction, RequiredLabels, Sanitizing, Strictness};

/// The keys of the checks that are off, in the order of the documentation.
pub(super) fn keys(config: &Config) -> Vec<&'static str> {
    let (guards, policy) = (&config.guards, &config.policy);
    let is_off = |level: Strictness| level == Strictness::Off;
    let checks = [
        ("policy.pinning", policy.pinning == Pinning::Off),
        (
            "policy.require_labels",
            policy.labels == RequiredLabels::None,
        ),
        ("guards.arguments", is_off(guards.arguments)),
        ("guards.arguments_unknown", is_off(guards.arguments_unknown)),
        ("guards.results", is_off(guards.results)),
        ("guards.secrets", guards.secrets == Redaction::Off),
        ("guards.secrets_outbound", is_off(guards.secrets_outbound)),
        (
            "guards.tool_metadata",
            guards.tool_metadata == Sanitizing::Off,
        ),
        ("guards.content", guards.content == Sanitizing::Off),
        ("guards.uris", is_off(guards.uris)),
        ("truncation", config.truncation.is_none()),
        ("audit.file", config.audit.file.is_none()),
    ];
    let off = checks.into_iter().filter(|(_, is_off)| *is_off);
    off.map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let path = std::path::Path::new("/gate.toml");
        let text = format!("upstream.command = ['server']\n{text}");
        let config = Config::parse(&text, path, path, &|_| None).unwrap();
        assert_eq!(keys(&config), expected, "{text}");
    }

    #[test]
    fn checks_that_are_off_are_named_and_those_that_are_on_are_not() {
        check(
            "policy.allow = ['a']",
            &[
                "policy.require_labels",
                "guards.arguments_unknown",
                "guards.results",
                "guards.secrets",
                "guards.secrets_outbound",
                "guards.tool_metadata",
                "guards.content",
                "truncation",
                "audit.file",
            ],
        );
        check(
            "audit.file = 'a'\ntruncation.max_bytes = '1MiB'\n\
             policy = { dir = 'p', require_labels = true, pinning = 'off' }\n\
             guards = { arguments = 'off', arguments_unknown = 'report', results = 'block', secrets = 'report', \
             secrets_outbound = 'block', tool_metadata = 'sanitize', content = 'report', uris = 'off' }",
            &["policy.pinning", "guards.arguments", "guards.uris"],
        );
    }
}
