//! Ids that would never apply: those of no server, and in a server's own policies those of another.

use std::collections::HashSet;

use cedar_policy_core::ast::{self, EntityUID, Expr, ExprKind, Literal};

use super::policy_draft::PolicyDraft;
use super::schema_action::CALL;
use crate::policy::{PolicyProblem, ServerKey, UNKNOWN_SERVER};

/// What to do with what one of a server's own policies says of another.
const ELSEWHERE: &str = "write it into a policy of `policy.dir`, which is of all servers";

impl PolicyDraft<'_> {
    /// What one of a server's own policies says of another server: it would never apply.
    pub(super) fn report_foreign(&self, servers: &[ServerKey], problems: &mut Vec<PolicyProblem>) {
        let Some(own) = &self.source.server else {
            return;
        };
        let tree: &ast::Policy = self.policy.as_ref();
        let mut told = HashSet::new();
        let mut tell = |uid: &EntityUID, message: String, help: String| {
            let problem = PolicyProblem::error("policy::foreign", message.clone()).with_help(help);
            if told.insert(message) {
                problems.push(match uid.loc() {
                    Some(loc) => problem
                        .in_source(self.source)
                        .at(loc.start()..loc.end(), "here"),
                    None => self.locate(problem, "in this policy"),
                });
            }
        };
        let condition = tree.condition();
        for uid in literals(&condition) {
            let id: &str = uid.eid().as_ref();
            if !["Tool", "Prompt", "Resource", "Action"].contains(&kind(uid).as_str()) {
                continue;
            }
            let Some(name) = own.name_in(id.strip_prefix(CALL).unwrap_or(id)) else {
                continue;
            };
            let mut keys = servers.iter();
            let begins = keys.find_map(|key| Some((key, key.name_in(name)?)));
            let Some((key, rest)) = begins else { continue };
            let message = format!(
                "`{}` begins with the key of a server: the policies of `{own}` have the names that it \
                 has itself",
                name.escape_debug()
            );
            let help = if key == own {
                format!("write `{}`", rest.escape_debug())
            } else {
                ELSEWHERE.to_owned()
            };
            tell(uid, message, help);
        }
        let scope = [
            tree.principal_constraint().as_expr(),
            tree.resource_constraint().as_expr(),
        ];
        for uid in scope.iter().flat_map(literals) {
            let id: &str = uid.eid().as_ref();
            if kind(uid) == "Server" && id != own.as_str() && id != UNKNOWN_SERVER {
                let id = id.escape_debug();
                let message = format!("a policy of `{own}` says nothing of the server `{id}`");
                tell(uid, message, ELSEWHERE.to_owned());
            }
        }
    }

    /// Ids that name something of no server: the policy would never apply.
    pub(super) fn report_ids_of_no_server(
        &self,
        servers: &[ServerKey],
        problems: &mut Vec<PolicyProblem>,
    ) {
        let tree: &ast::Policy = self.policy.as_ref();
        let mut told = HashSet::new();
        for expr in tree.condition().subexpressions() {
            let ExprKind::Lit(Literal::EntityUID(uid)) = expr.expr_kind() else {
                continue;
            };
            let kind = kind(uid);
            let id: &str = uid.eid().as_ref();
            let (named, help) = match kind.as_str() {
                "Tool" | "Prompt" | "Resource" | "Method" => {
                    (Some(id), ServerKey::help_for(servers, id))
                }
                "Action" => {
                    let tool = id.strip_prefix(CALL);
                    (
                        tool,
                        tool.and_then(|tool| ServerKey::help_for(servers, tool)),
                    )
                }
                "Server" if id != UNKNOWN_SERVER => {
                    (Some(id), ServerKey::help_for_key(servers, id))
                }
                _ => continue,
            };
            let (Some(named), Some(help)) = (named, help) else {
                continue;
            };
            if !told.insert((kind.clone(), named.to_owned())) {
                continue;
            }
            let named = named.escape_debug();
            let message = match kind.as_str() {
                "Server" => format!("`{named}` is no server of the configuration"),
                _ => format!("`{named}` does not begin with the key of a server and a slash"),
            };
            let place = uid.loc().or_else(|| expr.source_loc()).or(tree.loc());
            let span = place.map_or(0..0, |loc| loc.start()..loc.end());
            let problem = PolicyProblem::error("policy::no_server", message).with_help(help);
            problems.push(problem.in_source(self.source).at(span, "here"));
        }
    }
}

/// The entities that an expression names.
fn literals(expr: &Expr) -> impl Iterator<Item = &EntityUID> {
    expr.subexpressions().filter_map(|expr| {
        let ExprKind::Lit(Literal::EntityUID(uid)) = expr.expr_kind() else {
            return None;
        };
        Some(&**uid)
    })
}

fn kind(uid: &EntityUID) -> String {
    uid.entity_type().name().basename().to_string()
}
