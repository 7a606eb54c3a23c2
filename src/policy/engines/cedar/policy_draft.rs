//! One policy between its text and its rule.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use cedar_policy::{ActionConstraint, EntityUid, Policy, PrincipalConstraint, ResourceConstraint};
use cedar_policy_core::ast::{self, EntityUID};
use cedar_policy_core::parser::Loc;

use super::action_set::ActionSet;
use super::annotations::Annotations;
use super::fast_path::FastPath;
use super::hints;
use super::inspect::{self, ClaimUse, ConditionFaultKind, FactNeeds, Inspection};
use super::own_policies;
use super::rebalance::{balanced, without_places};
use super::rules::{CompiledRule, ScopeKey};
use super::schema_action::SchemaAction;
use super::vocabulary::{Vocabulary, uid};
use crate::policy::{
    ClaimMismatch, ConfiguredClaims, PolicyEntry, PolicyId, PolicyOrigin, PolicyProblem,
    PolicySource, Reason,
};

/// A policy on its way to become a rule.
pub(super) struct PolicyDraft<'s> {
    pub(super) policy: Policy,
    pub(super) source: &'s PolicySource,
    pub(super) entry: PolicyEntry,
    annotations: Annotations,
    condition: ast::Expr,
    findings: Inspection,
}

impl<'s> PolicyDraft<'s> {
    /// `lines` are the offsets at which the lines of the source begin.
    pub(super) fn new(
        words: &Vocabulary,
        policy: &Policy,
        source: &'s PolicySource,
        lines: &[usize],
    ) -> Self {
        let server = source.server.as_ref();
        let policy =
            server.map_or_else(|| policy.clone(), |key| own_policies::with_key(policy, key));
        let tree: &ast::Policy = policy.as_ref();
        let range = tree.loc().map_or(0..0, |loc| loc.start()..loc.end());
        let line = lines.partition_point(|start| *start <= range.start);
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let origin = PolicyOrigin {
            file: Arc::clone(&source.name),
            line,
        };
        let annotations = Annotations::read(policy.annotations(), policy.effect());
        let id = match &annotations.id {
            Some(id) => id.clone(),
            None => origin.to_string(),
        };
        // Servers may have the same policies of their own.
        let id = server.map_or_else(|| id.clone(), |key| key.id_of(&id));
        let id = PolicyId::new(&id);
        let condition = match server {
            Some(key) => ast::Expr::and(own_policies::is_of(words, key), tree.condition()),
            None => tree.condition(),
        };
        let condition = balanced(&condition);
        let text = source.text.get(range).unwrap_or_default().into();
        Self {
            policy: policy.new_id(cedar_policy::PolicyId::new(id.as_str())),
            source,
            entry: PolicyEntry {
                id,
                origin,
                text,
                server: source.server.clone(),
            },
            annotations,
            findings: inspect::inspect(&condition),
            condition,
        }
    }

    pub(super) fn start(&self) -> usize {
        AsRef::<ast::Policy>::as_ref(&self.policy)
            .loc()
            .map_or(0, Loc::start)
    }

    /// Its tree is fit to be checked; what it promises may still be wrong.
    pub(super) fn is_sound(&self) -> bool {
        self.findings.faults.is_empty()
    }

    pub(super) fn report(&self, problems: &mut Vec<PolicyProblem>) {
        for problem in &self.annotations.problems {
            let mut found = PolicyProblem::error("policy::annotation", problem.message.clone());
            found.severity = problem.severity;
            found.help.clone_from(&problem.help);
            problems.push(
                match problem.key.as_deref().and_then(|key| self.annotation(key)) {
                    Some(span) => found.in_source(self.source).at(span, "here"),
                    None => self.locate(found, "on this policy"),
                },
            );
        }
        for finding in &self.findings.faults {
            let problem = match finding.kind {
                ConditionFaultKind::TooDeep => PolicyProblem::error(
                    "policy::too_deep",
                    format!(
                        "a condition is more than {} levels deep",
                        inspect::MAX_DEPTH
                    ),
                )
                .with_help("split it into several policies, or use a set"),
                ConditionFaultKind::NoPointer => PolicyProblem::error(
                    "policy::invalid_json_pointer",
                    "no argument is called by a name without a slash before it",
                )
                .with_help(
                    "arguments are called by JSON pointers: `/path` is the argument `path`, \
                     `/opts/depth` is `depth` inside `opts`",
                ),
                ConditionFaultKind::RootLookup => PolicyProblem::error(
                    "policy::literal_lookup",
                    "what a root that a policy names lies in is not known",
                )
                .with_help(hints::CONTAINS),
                ConditionFaultKind::LiteralLookup => PolicyProblem::error(
                    "policy::literal_lookup",
                    "the attributes and groups of an entity that a policy names are not known",
                )
                .with_help(
                    "only the principal, the resource and what they refer to can be looked into; \
                     compare with `==` or `in` instead",
                ),
            };
            problems.push(match finding.span.clone() {
                Some(span) => problem.in_source(self.source).at(span, "here"),
                None => self.locate(problem, "in this policy"),
            });
        }
    }

    fn annotation(&self, key: &str) -> Option<Range<usize>> {
        let tree: &ast::Policy = self.policy.as_ref();
        let mut all = tree.annotations();
        let (_, annotation) = all.find(|(name, _)| name.as_ref() == key)?;
        let loc = annotation.loc.as_ref()?;
        Some(loc.start()..loc.end())
    }

    pub(super) fn locate(&self, problem: PolicyProblem, label: &str) -> PolicyProblem {
        let start = self.start();
        let end = start + self.entry.text.lines().next().map_or(0, str::len);
        problem.in_source(self.source).at(start..end, label)
    }

    /// It has to be checked with the types of arguments.
    pub(super) fn is_typed(&self) -> bool {
        self.findings.needs.has(FactNeeds::ARGUMENTS) || self.findings.needs.has(FactNeeds::CALL)
    }

    /// What is wrong as soon as some tool has an action of its own.
    pub(super) fn report_exact_calls(&self, problems: &mut Vec<PolicyProblem>) {
        for span in &self.findings.exact_calls {
            let message =
                "`call_tool` itself is no call of a tool that `tools.lock` gives types to";
            let help = "write `action in Mcp::Action::\"call_tool\"`, which is every call, or \
                        `action == Mcp::Action::\"call_tool/NAME\"` for one tool";
            let problem = PolicyProblem::error("policy::exact_call", message).with_help(help);
            // Scopes have no places in the tree.
            let written = self.entry.text.match_indices("\"call_tool\"").next();
            let written =
                written.map(|(at, text)| self.start() + at..self.start() + at + text.len());
            problems.push(match span.clone().or(written) {
                Some(span) => problem.in_source(self.source).at(span, "here"),
                None => self.locate(problem, "in this policy"),
            });
        }
    }

    /// Claims that the configuration does not name, or names with another type.
    pub(super) fn report_claims(
        &self,
        configured: &ConfiguredClaims,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let mut told = HashSet::new();
        for ClaimUse { name, used, span } in &self.findings.claims {
            let Some(ClaimMismatch { message, help }) = configured.mismatch(name, *used) else {
                continue;
            };
            // A policy that looks for a claim names it several times.
            if !told.insert(message.clone()) {
                continue;
            }
            let problem = PolicyProblem::error("policy::claim", message).with_help(help);
            problems.push(match span.clone() {
                Some(span) => problem.in_source(self.source).at(span, "here"),
                None => self.locate(problem, "in this policy"),
            });
        }
    }

    pub(super) fn rule(
        &self,
        words: &Vocabulary,
    ) -> (Arc<CompiledRule>, Vec<(SchemaAction, ScopeKey)>) {
        let tree: &ast::Policy = self.policy.as_ref();
        let principal = self.policy.principal_constraint();
        let resource = self.policy.resource_constraint();
        let server = self.source.server.as_ref();
        let unconditional = server.is_none()
            && !self.policy.has_non_scope_constraint()
            && principal == PrincipalConstraint::Any
            && resource == ResourceConstraint::Any;
        let keys = match (key(&principal, &resource), server) {
            (ScopeKey::Any, Some(server)) => {
                let server = uid(&words.server, server.as_str());
                vec![
                    ScopeKey::Resource(server.clone()),
                    ScopeKey::Principal(server),
                ]
            }
            (key, _) => vec![key],
        };
        let rule = CompiledRule {
            effect: tree.effect(),
            condition: without_places(&self.condition),
            glance: FastPath::of(words, &self.condition),
            slots: tree.env().clone(),
            needs: self.findings.needs,
            names: self.findings.names.clone(),
            wholes: self.findings.wholes.clone(),
            reason: Reason {
                policy: self.entry.id.clone(),
                origin: self.entry.origin.clone(),
                code: self.annotations.code.clone(),
                advice: self.annotations.advice.clone(),
                on_deny: self.annotations.on_deny,
            },
            obligations: self.annotations.obligations.clone(),
            unconditional,
        };
        let verbs = self.verbs(words);
        let places = verbs
            .each()
            .flat_map(|verb| keys.iter().map(move |key| (verb, key.clone())));
        (Arc::new(rule), places.collect())
    }

    /// What checking knows it by. With the key of a server the same text names other things.
    pub(super) fn checked_as(&self) -> Arc<str> {
        let text = &self.entry.text;
        match &self.source.server {
            Some(key) => format!("{key}/{text}").into(),
            None => Arc::clone(text),
        }
    }

    /// The actions that the policy is about.
    pub(super) fn verbs(&self, words: &Vocabulary) -> ActionSet {
        verbs(words, &self.policy.action_constraint())
    }

    /// Its scope asks for a root, where calls of tools have none.
    pub(super) fn is_scoped_to_root(&self) -> bool {
        let root = match self.policy.resource_constraint() {
            ResourceConstraint::In(uid)
            | ResourceConstraint::Eq(uid)
            | ResourceConstraint::IsIn(_, uid) => uid,
            ResourceConstraint::Any | ResourceConstraint::Is(_) => return false,
        };
        root.type_name().to_string() == "Mcp::Root"
    }

    /// The whole, its scope included.
    pub(super) fn condition(&self) -> &ast::Expr {
        &self.condition
    }

    pub(super) fn needs(&self) -> inspect::FactNeeds {
        self.findings.needs
    }
}

fn key(principal: &PrincipalConstraint, resource: &ResourceConstraint) -> ScopeKey {
    match (resource, principal) {
        (
            ResourceConstraint::Eq(uid)
            | ResourceConstraint::In(uid)
            | ResourceConstraint::IsIn(_, uid),
            _,
        ) => ScopeKey::Resource(core(uid)),
        (
            ResourceConstraint::Any | ResourceConstraint::Is(_),
            PrincipalConstraint::Eq(uid)
            | PrincipalConstraint::In(uid)
            | PrincipalConstraint::IsIn(_, uid),
        ) => ScopeKey::Principal(core(uid)),
        (
            ResourceConstraint::Any | ResourceConstraint::Is(_),
            PrincipalConstraint::Any | PrincipalConstraint::Is(_),
        ) => ScopeKey::Any,
    }
}

pub(super) fn verbs(words: &Vocabulary, constraint: &ActionConstraint) -> ActionSet {
    match constraint {
        ActionConstraint::Any => ActionSet::everything(),
        ActionConstraint::Eq(uid) => ActionSet::same(words, &[core(uid)]),
        ActionConstraint::In(uids) => {
            let uids: Vec<EntityUID> = uids.iter().map(core).collect();
            ActionSet::within(words, &uids)
        }
    }
}

fn core(uid: &EntityUid) -> EntityUID {
    AsRef::<EntityUID>::as_ref(uid).clone()
}
