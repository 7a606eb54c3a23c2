//! The paths of the admin API, and what each does.

use super::operation::Operation;

/// Before every path of [`ROUTES`].
pub(super) const BASE: &str = "/api/v1";

/// What the body of a request has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestBody {
    Empty,
    Json,
}

/// One method at one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) method: &'static str,
    /// Below [`BASE`], with at most one segment in braces.
    pub(super) path: &'static str,
    pub(super) operation: Operation,
    pub(super) body: RequestBody,
    /// The parameters of its query.
    pub(super) query: &'static [&'static str],
}

const fn route(method: &'static str, path: &'static str, operation: Operation) -> Route {
    Route {
        method,
        path,
        operation,
        body: RequestBody::Empty,
        query: &[],
    }
}

const fn with_query(route: Route, query: &'static [&'static str]) -> Route {
    Route { query, ..route }
}

const fn with_body(route: Route) -> Route {
    Route {
        body: RequestBody::Json,
        ..route
    }
}

const AUDIT_QUERY: [&str; 14] = [
    "server",
    "agent",
    "session",
    "direction",
    "kind",
    "decision",
    "tool",
    "policy",
    "reason",
    "reference",
    "trace",
    "since",
    "until",
    "limit",
];

pub(super) const ROUTES: [Route; 15] = [
    route("GET", "/servers", Operation::ListServers),
    route("GET", "/servers/{key}", Operation::GetServer),
    with_query(
        with_body(route("PUT", "/servers/{key}", Operation::PutServer)),
        &["dry_run", "handshake"],
    ),
    route("DELETE", "/servers/{key}", Operation::DeleteServer),
    route("GET", "/servers/{key}/health", Operation::GetServerHealth),
    with_query(
        route("POST", "/servers/{key}/enable", Operation::EnableServer),
        &["handshake"],
    ),
    route("POST", "/servers/{key}/disable", Operation::DisableServer),
    route("POST", "/servers/{key}/check", Operation::CheckServer),
    route("GET", "/agents", Operation::ListAgents),
    route("GET", "/agents/{name}", Operation::GetAgent),
    with_query(
        route("GET", "/agents/{name}/tools", Operation::ListAgentTools),
        &["server", "role"],
    ),
    route(
        "GET",
        "/agents/{name}/overrides",
        Operation::GetAgentOverrides,
    ),
    with_body(route(
        "PUT",
        "/agents/{name}/overrides",
        Operation::PutAgentOverrides,
    )),
    with_query(route("GET", "/audit", Operation::QueryAudit), &AUDIT_QUERY),
    route("GET", "/openapi.json", Operation::GetDescription),
];

/// Why a path and a method lead nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    Path,
    /// With the methods that the path has.
    Method(String),
}

/// Whether a path belongs to the admin API.
pub(in crate::admin) fn is_ours(path: &str) -> bool {
    path.strip_prefix(BASE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The route of a request, with the segment that stands for the braces.
pub(super) fn find(method: &str, path: &str) -> Result<(Route, Option<String>), NoRoute> {
    let below = path.strip_prefix(BASE).unwrap_or_default();
    let mut methods = Vec::new();
    for route in ROUTES {
        let Ok(subject) = matched(route.path, below) else {
            continue;
        };
        if route.method == method {
            return Ok((route, subject));
        }
        methods.push(route.method);
    }
    Err(if methods.is_empty() {
        NoRoute::Path
    } else {
        NoRoute::Method(methods.join(", "))
    })
}

/// A path is not of a form.
#[derive(Debug)]
struct NoMatch;

/// The decoded segment for the braces, if the form has any.
fn matched(form: &str, path: &str) -> Result<Option<String>, NoMatch> {
    let mut subject = None;
    let (mut form, mut path) = (form.split('/'), path.split('/'));
    loop {
        match (form.next(), path.next()) {
            (None, None) => return Ok(subject),
            (Some(form), Some(segment)) if form.starts_with('{') => {
                subject = Some(decoded(segment).ok_or(NoMatch)?);
            }
            (Some(form), Some(segment)) if form == segment => {}
            (Some(_), _) | (None, Some(_)) => return Err(NoMatch),
        }
    }
}

/// A segment without its percent-encoding (RFC 3986, section 2.1). `None`: it is empty, not UTF-8 or has control
/// characters.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = segment.bytes();
    let mut text = Vec::with_capacity(segment.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?].map(|digit| char::from(digit).to_digit(16));
            let [Some(high), Some(low)] = digits else {
                return None;
            };
            text.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            text.push(byte);
        }
    }
    let text = String::from_utf8(text).ok()?;
    (!text.is_empty() && !text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_one_operation_or_to_a_reason() {
        let check = |method: &str, path: &str, expected: Result<(Operation, &str), NoRoute>| {
            let found = find(method, path);
            let found = found.map(|(it, subject)| (it.operation, subject.unwrap_or_default()));
            let expected = expected.map(|(operation, subject)| (operation, subject.to_owned()));
            assert_eq!(found, expected, "{method} {path}");
        };
        let none = |methods: &str| Err(NoRoute::Method(methods.to_owned()));
        check("GET", "/api/v1/servers", Ok((Operation::ListServers, "")));
        check(
            "GET",
            "/api/v1/servers/crm",
            Ok((Operation::GetServer, "crm")),
        );
        check(
            "GET",
            "/api/v1/agents/a%2Fb%20c",
            Ok((Operation::GetAgent, "a/b c")),
        );
        check(
            "GET",
            "/api/v1/agents/%c3%a9",
            Ok((Operation::GetAgent, "é")),
        );
        check("POST", "/api/v1/servers", none("GET"));
        check("POST", "/api/v1/servers/crm", none("GET, PUT, DELETE"));
        check("HEAD", "/api/v1/agents/a/overrides", none("GET, PUT"));
        for path in [
            "/api/v1",
            "/api/v1/",
            "/api/v1/servers/",
            "/api/v1/servers/crm/",
            "/api/v1/servers//health",
            "/api/v1/servers/crm/health/x",
            "/api/v1/agents/%",
            "/api/v1/agents/%4",
            "/api/v1/agents/%ff",
            "/api/v1/agents/%0a",
            "/api/v1/agents/%+1",
            "/api/v1/none",
        ] {
            check("GET", path, Err(NoRoute::Path));
        }
    }

    #[test]
    fn no_other_path_belongs_to_the_api() {
        for (path, expected) in [
            ("/api/v1", true),
            ("/api/v1/x", true),
            ("/api/v12", false),
            ("/api/approvals", false),
            ("/API/v1/servers", false),
        ] {
            assert_eq!(is_ours(path), expected, "{path}");
        }
    }
}
