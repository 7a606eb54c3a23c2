//! Hosts that are not spelled as the gate spells them.

use std::net::IpAddr;

use cedar_policy_core::ast::{Expr, Var};

use super::expressions::{comparison, path, text};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use crate::policy::{UNREADABLE_HOST, host_in, host_named};

pub(super) const HOST_SPELLING: Lint = Lint {
    code: "lint::host_spelling",
    about: "a host that is not in the canonical form of `context.targets.hosts`",
    look,
};

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let Some(condition) = policy.condition() else {
            continue;
        };
        for expr in condition.subexpressions() {
            for literal in compared(expr) {
                let Some(help) = text(literal).and_then(doubt) else {
                    continue;
                };
                let written = text(literal).unwrap_or_default();
                let say = LintMessage {
                    message: format!("`{written}` is never among `context.targets.hosts`"),
                    help,
                    label: "no host is spelled so",
                };
                let at = literal.source_loc().or_else(|| expr.source_loc());
                found.at(&HOST_SPELLING, policy, at, say);
            }
        }
    }
}

/// What an expression compares with the hosts of a call.
fn compared(expr: &Expr) -> Vec<&Expr> {
    let of_hosts = comparison(expr).filter(|(subject, _)| is_hosts(subject));
    of_hosts.map(|(_, items)| items).unwrap_or_default()
}

fn is_hosts(expr: &Expr) -> bool {
    matches!(path(expr), Some((Var::Context, path)) if path == ["targets", "hosts"])
}

/// What to write in place of what is no host in the gate's spelling.
fn doubt(written: &str) -> Option<String> {
    if written == UNREADABLE_HOST {
        return None;
    }
    if written.contains('*') {
        return Some(
            "hosts are whole names, without wildcards: name each that is meant".to_owned(),
        );
    }
    // In a URL it stands in brackets, and among the hosts it does not.
    let address = written.parse::<IpAddr>().ok();
    let named = address
        .map(|address| address.to_canonical().to_string())
        .or_else(|| host_named(written));
    if named.as_deref() == Some(written) {
        return None;
    }
    let meant = named
        .or_else(|| host_in(written))
        .or_else(|| host_in(&format!("http://{written}")))
        .filter(|meant| !meant.is_empty());
    Some(match meant {
        Some(meant) => format!("did you mean `{meant}`? hosts are compared as clients read them"),
        None => {
            "hosts are names or addresses in lower case, without scheme, port or path, such as \
                 `docs.example.com`"
                .to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check, found, source};
    use super::super::material::Material;

    #[test]
    fn a_host_that_no_call_ever_has_is_found() {
        let lint = "host_spelling";
        let when = |condition: &str| call("permit", "", &format!("when {{ {condition} }}"));
        let hosts = "context.targets.hosts";
        for (host, findings) in [
            ("api.example.com", 0),
            ("127.0.0.1", 0),
            ("::1", 0),
            ("2001:DB8::1", 1),
            ("::ffff:10.0.0.1", 1),
            ("localhost", 0),
            ("?", 0),
            ("xn--bcher-kva.example", 0),
            ("API.example.com", 1),
            ("api.example.com.", 1),
            ("api.example.com:443", 1),
            ("https://api.example.com/v1", 1),
            ("*.example.com", 1),
            ("127.1", 1),
            ("[::1]", 1),
            ("b\u{fc}cher.example", 1),
            ("api example", 1),
            ("", 1),
        ] {
            for condition in [
                format!("{hosts}.contains(\"{host}\")"),
                format!("[\"{host}\"].containsAll({hosts})"),
                format!("{hosts}.containsAny([\"{host}\"])"),
                format!("{hosts} == [\"a.example\", \"{host}\"]"),
                format!("principal.trust > 1 && !({hosts}.contains(\"{host}\"))"),
            ] {
                check(lint, &when(&condition), findings);
            }
        }
        check(
            lint,
            &when("context.env.session.labels.contains(\"PII\")"),
            0,
        );
    }

    #[test]
    fn the_spelling_that_was_meant_is_told() {
        let help = |host: &str| {
            let condition = format!("when {{ context.targets.hosts.contains(\"{host}\") }}");
            let material = Material {
                policies: vec![source("p/x.cedar", &call("permit", "", &condition))],
                ..Material::default()
            };
            found("host_spelling", &material)[0].help.clone().unwrap()
        };
        for (host, meant) in [
            ("API.example.com", "`api.example.com`"),
            ("https://Api.Example.com:8080/v1", "`api.example.com`"),
            ("api.example.com:443", "`api.example.com`"),
            ("b\u{fc}cher.example", "`xn--bcher-kva.example`"),
            ("0x7f000001", "`127.0.0.1`"),
            ("*.example.com", "without wildcards"),
            ("a b", "in lower case"),
        ] {
            assert!(help(host).contains(meant), "{host}: {}", help(host));
        }
    }
}
