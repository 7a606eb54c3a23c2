//! Permits of samples that no agent's terms complete.

use cedar_policy::Effect;
use cedar_policy_core::ast::{ActionConstraint, EntityUID, PrincipalOrResourceConstraint};
use toml::de::DeTable;

use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use crate::policy::engines::cedar::PolicyTree;
use crate::policy::{PolicyProblem, SamplingTerms};

pub(super) const SAMPLE_WITHOUT_TERMS: Lint = Lint {
    code: "lint::sample_without_terms",
    about: "a `permit` for samples, without an agentic agent or a way to approve, and standing approvals that \
            have ended",
    look,
};

const FILE: &str = "agents.toml";

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    ended(world, found);
    let Some(lack) = lack(world) else {
        return;
    };
    let permits = world
        .policies
        .iter()
        .filter(|it| it.effect == Effect::Permit);
    for policy in permits.filter(|policy| permits_samples(policy)) {
        found.at(&SAMPLE_WITHOUT_TERMS, policy, None, lack.say());
    }
}

/// What every sample lacks.
#[derive(Debug, Clone, Copy)]
enum Lack {
    Agentic,
    Approval,
}

impl Lack {
    fn say(self) -> LintMessage {
        let (message, help) = match self {
            Self::Agentic => (
                "no sample passes: `agents.toml` makes no agent agentic",
                "set `agentic = true` of the agents or roles whose model servers may use",
            ),
            Self::Approval => (
                "no sample passes: no person can be asked, and no agentic agent has a standing approval that \
                 holds",
                "configure `[consent] channels`, or set `consent = { standing = true, by = \"…\", until = \"…\" }` \
                 of the agent in `agents.toml`",
            ),
        };
        LintMessage {
            message: message.to_owned(),
            help: help.to_owned(),
            label: "this permits samples",
        }
    }
}

/// Without a configuration it is not known whether people can be asked.
fn lack(world: &LintContext<'_>) -> Option<Lack> {
    let said = &world.given.said;
    let mut agents = said.agents.values().map(|agent| &agent.sampling);
    if said.agentic_roles.is_empty() && !agents.any(|terms| terms.agentic) {
        return Some(Lack::Agentic);
    }
    let now = world.given.now_ms;
    let holds = |terms: &SamplingTerms| terms.standing.as_ref().is_some_and(|it| it.holds_at(now));
    let configuration = world.given.configuration.as_ref()?;
    let asks = DeTable::parse(&configuration.text)
        .ok()?
        .get_ref()
        .contains_key("consent");
    // An agent may have a role by its token.
    let mut agents = said.agents.values().map(|agent| &agent.sampling);
    let stands =
        agents.any(|terms| holds(terms) && (terms.agentic || !said.agentic_roles.is_empty()));
    (!asks && !stands).then_some(Lack::Approval)
}

/// Whether the scope names samples, or all that servers ask.
fn permits_samples(policy: &PolicyTree<'_>) -> bool {
    let names = |uid: &EntityUID| {
        let name: &str = uid.eid().as_ref();
        matches!(name, "sample" | "server_request")
    };
    match policy.template.action_constraint() {
        ActionConstraint::Eq(uid) => names(uid),
        ActionConstraint::In(uids) => uids.iter().any(|uid| names(uid)),
        ActionConstraint::Any => {
            let principal = policy.template.principal_constraint().as_inner();
            matches!(principal, PrincipalOrResourceConstraint::Is(kind) if kind.to_string() == "Mcp::Server")
        }
    }
}

/// Approvals that approve nothing any more.
fn ended(world: &LintContext<'_>, found: &mut LintFindings) {
    let (said, now) = (&world.given.said, world.given.now_ms);
    for (name, agent) in &said.agents {
        let standing = agent.sampling.standing.as_ref();
        let Some(ended) = standing.filter(|it| !it.holds_at(now)) else {
            continue;
        };
        let message = format!(
            "the standing approval of `{}` by `{}` has ended: a person is asked about each sample",
            name.escape_debug(),
            ended.by.escape_debug()
        );
        let help = "have it approved again with a later `until`, or remove `consent`";
        let problem = PolicyProblem::warning(SAMPLE_WITHOUT_TERMS.code, message).with_help(help);
        let mut files = world.label_files(FILE);
        let place = files.find_map(|file| {
            let parsed = DeTable::parse(&file.text).ok()?;
            let agents = parsed.get_ref().get("agents")?.get_ref().as_table()?;
            let agent = agents.get(name.as_str())?.get_ref().as_table()?;
            Some((file, agent.get("consent")?.span()))
        });
        let problem = match place {
            Some((file, place)) => problem.in_source(file).at(place, "here"),
            None => problem,
        };
        found.add(&SAMPLE_WITHOUT_TERMS, problem);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::fixture::{check_in, source};
    use super::super::material::Material;
    use crate::policy::{AgentLabels, Labels, SamplingTerms, StandingConsent};

    const NOW: i64 = 1_000;

    fn labels(agentic: bool, until_ms: Option<i64>) -> Labels {
        let by = "olga".to_owned();
        let sampling = SamplingTerms {
            agentic,
            standing: until_ms.map(|until_ms| StandingConsent { by, until_ms }),
        };
        let agent = AgentLabels {
            sampling,
            ..AgentLabels::default()
        };
        Labels {
            agents: HashMap::from([("a".to_owned(), agent)]),
            ..Labels::default()
        }
    }

    #[track_caller]
    fn check(effect: &str, scope: &str, said: Labels, config: Option<&str>, findings: usize) {
        let policy =
            format!("@id(\"x\")\n{effect} (principal is Mcp::Server, {scope}, resource);\n");
        let material = Material {
            policies: vec![source("p/x.cedar", &policy)],
            labels: vec![source("p/agents.toml", "[agents.a]\nconsent = {}\n")],
            said,
            configuration: config.map(|text| source("gate.toml", text)),
            now_ms: NOW,
            ..Material::default()
        };
        check_in("sample_without_terms", &material, findings);
    }

    #[test]
    fn a_permit_of_samples_that_no_terms_complete_is_found() {
        let sample = "action == Mcp::Action::\"sample\"";
        for scope in [
            sample,
            "action in Mcp::Action::\"server_request\"",
            "action",
        ] {
            check("permit", scope, Labels::default(), None, 1);
            check("permit", scope, labels(true, None), None, 0);
            check("forbid", scope, Labels::default(), None, 0);
        }
        let other = "action == Mcp::Action::\"list_roots\"";
        check("permit", other, Labels::default(), None, 0);
        check("permit", sample, labels(false, Some(NOW + 1)), None, 1);
    }

    #[test]
    fn a_permit_of_samples_that_no_person_can_approve_is_found() {
        let sample = "action == Mcp::Action::\"sample\"";
        let (mute, asks) = (
            Some("[policy]\n"),
            Some("[consent]\nchannels = [\"web\"]\n"),
        );
        check("permit", sample, labels(true, None), mute, 1);
        check("permit", sample, labels(true, None), asks, 0);
        check("permit", sample, labels(true, Some(NOW + 1)), mute, 0);
        // The lint also names one that has ended.
        check("permit", sample, labels(true, Some(NOW)), mute, 2);
        check("permit", sample, labels(true, Some(NOW)), asks, 1);
    }
}
