//! Which checks a configuration leaves off, for the line that says that the gate is up.

use crate::config::{Config, Redaction, RequiredLabels, Sanitizing, Strictness};
use crate::gate::OnFatal;
use crate::policy::Lock;

/// The keys of the checks that are off, in the order of the documentation. Pinning
/// counts as off if no definition is compared.
pub(super) fn keys(config: &Config, lock: &Lock) -> Vec<&'static str> {
    let (guards, policy) = (&config.guards, &config.policy);
    let is_off = |level: Strictness| level == Strictness::Off;
    let checks = [
        ("policy.pinning", !lock.pins()),
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
        (
            "guards.on_fatal_tool_error",
            guards.on_fatal_tool_error == OnFatal::Report,
        ),
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
    use crate::cli::proxy;
    use crate::loading;

    /// What a configuration leaves off, with a lock of its policy directory or without.
    #[track_caller]
    fn check(text: &str, lock: Option<&str>, expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("p")).unwrap();
        if let Some(lock) = lock {
            std::fs::write(dir.path().join("p/tools.lock"), lock).unwrap();
        }
        let file = dir.path().join("gate.toml");
        let text = format!("upstream.command = ['server']\n{text}");
        let config = Config::parse(&text, &file, dir.path(), &|_| None).unwrap();
        let loaded = loading::load(&proxy::policy_settings(&config)).unwrap();
        assert_eq!(keys(&config, loaded.snapshot.lock()), expected, "{text}");
    }

    const LOCK: &str = include_str!("../../../policies/locked-tools/tools.lock");

    #[test]
    fn checks_that_are_off_are_named_and_those_that_are_on_are_not() {
        check(
            "policy.allow = ['a']",
            None,
            &[
                "policy.pinning",
                "policy.require_labels",
                "guards.arguments_unknown",
                "guards.results",
                "guards.secrets",
                "guards.secrets_outbound",
                "guards.tool_metadata",
                "guards.content",
                "guards.on_fatal_tool_error",
                "truncation",
                "audit.file",
            ],
        );
        let rest = "audit.file = 'a'\ntruncation.max_bytes = '1MiB'\n\
             guards = { arguments = 'off', arguments_unknown = 'report', results = 'block', secrets = 'report', \
             secrets_outbound = 'block', tool_metadata = 'sanitize', content = 'report', uris = 'off', \
             on_fatal_tool_error = 'close_session' }\n";
        let off = ["guards.arguments", "guards.uris"];
        let unpinned = ["policy.pinning", "guards.arguments", "guards.uris"];
        for (pinning, lock, expected) in [
            ("off", None, &unpinned[..]),
            ("off", Some(LOCK), &unpinned),
            ("locked", None, &unpinned),
            ("locked", Some(LOCK), &off),
            ("trust_on_first_use", None, &off),
            ("enforce", None, &off),
        ] {
            let policy =
                format!("policy = {{ dir = 'p', require_labels = true, pinning = '{pinning}' }}");
            check(&format!("{rest}{policy}"), lock, expected);
        }
    }
}
