//! Names of tools and prompts where there are several servers: each begins with the key of one.

use crate::policy::suggest::did_you_mean;
use crate::policy::{Labels, Lock, PolicyProblem, ServerKey};

/// What names the tool or prompt of no server. It would be of none, whatever its author meant.
pub(super) fn of_no_server(
    servers: &[ServerKey],
    labels: &Labels,
    lock: &Lock,
) -> Vec<PolicyProblem> {
    if servers.is_empty() {
        return Vec::new();
    }
    let labelled = labels
        .tools
        .keys()
        .map(|name| ("tools.toml", name.as_str()));
    let prompts = labels
        .prompts
        .keys()
        .map(|name| ("resources.toml", name.as_str()));
    let allowed = labels
        .allowed
        .iter()
        .map(|name| ("policy.allow", name.as_str()));
    let locked = lock.tools().map(|(name, _)| ("tools.lock", name));
    let all = labelled.chain(prompts).chain(allowed).chain(locked);
    let mut problems: Vec<_> = all
        .filter(|(_, name)| !servers.iter().any(|key| key.name_in(name).is_some()))
        .map(|(place, name)| problem(servers, place, name))
        .collect();
    problems.sort_by(|one, other| one.message.cmp(&other.message));
    problems
}

fn problem(servers: &[ServerKey], place: &str, name: &str) -> PolicyProblem {
    let keys = servers.iter().map(ServerKey::as_str);
    let (key, rest) = name.split_once('/').unwrap_or(("", name));
    let known = keys.clone().map(|key| format!("`{key}`"));
    let known = known.collect::<Vec<_>>().join(", ");
    let question = did_you_mean(key, keys).map(|question| format!("{question} "));
    let name = name.escape_debug();
    PolicyProblem::error(
        "policy::no_server",
        format!("`{place}` names `{name}`, which begins with the key of no server and a slash"),
    )
    .with_help(format!(
        "{}write the key of its server before it, as in `KEY/{}`; the servers are {known}",
        question.unwrap_or_default(),
        rest.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ToolLabels;

    #[test]
    fn each_name_begins_with_the_key_of_a_server() {
        let check = |name: &str, keys: &[&str], expected: Option<&str>| {
            let mut labels = Labels::default();
            labels.tools.insert(name.to_owned(), ToolLabels::default());
            let keys: Vec<_> = keys.iter().filter_map(|key| ServerKey::of(key)).collect();
            let found = of_no_server(&keys, &labels, &Lock::default());
            let help = found.into_iter().next().and_then(|it| it.help);
            assert_eq!(help.as_deref(), expected, "{name}");
        };
        check("read", &[], None);
        check("crm/read", &["crm", "mail"], None);
        check("mail/a/b", &["crm", "mail"], None);
        check(
            "read",
            &["crm", "mail"],
            Some(
                "write the key of its server before it, as in `KEY/read`; the servers are `crm`, `mail`",
            ),
        );
        check(
            "crmm/read",
            &["crm", "mail"],
            Some(
                "did you mean `crm`? write the key of its server before it, as in `KEY/read`; the servers \
                 are `crm`, `mail`",
            ),
        );
    }
}
