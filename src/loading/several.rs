//! Names of tools and prompts where there are several servers: each begins with the key of one.

use crate::policy::{Labels, PolicyProblem, ServerKey};

/// The code of every such name.
pub(super) const CODE: &str = "policy::no_server";

/// What is wrong with it.
pub(super) const NO_SERVER: &str = "does not begin with the key of a server and a slash";

/// Each name of a tool or prompt in labels and the allowlist that begins with the key of no server: it would never apply.
pub(super) fn of_no_server(servers: &[ServerKey], labels: &Labels) -> Vec<PolicyProblem> {
    let labelled = labels
        .tools
        .keys()
        .map(|name| ("tools.toml", name.as_str()));
    let prompts = labels
        .prompts
        .keys()
        .map(|name| ("prompts.toml", name.as_str()));
    let allowed = labels
        .allowed
        .iter()
        .map(|name| ("policy.allow", name.as_str()));
    let all = labelled.chain(prompts).chain(allowed);
    let mut problems: Vec<_> = all
        .filter_map(|(place, name)| Some(problem(place, name, ServerKey::help_for(servers, name)?)))
        .collect();
    problems.sort_by(|one, other| one.message.cmp(&other.message));
    problems
}

fn problem(place: &str, name: &str, help: String) -> PolicyProblem {
    let name = name.escape_debug();
    PolicyProblem::error(CODE, format!("`{name}` in `{place}` {NO_SERVER}")).with_help(help)
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
            let found = of_no_server(&keys, &labels);
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
