//! The routes and their description, and changes without a record.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::routes::ROUTES;
use super::*;
use crate::audit::{self, MemorySink, Redactor};
use crate::clock::FixedClock;
use crate::identity::{Identity, StaticToken};

#[test]
fn the_description_has_every_route_and_no_other() {
    let description: Value = DESCRIPTION.parse().unwrap();
    let servers = &description["servers"][0]["url"];
    assert_eq!(servers, routes::BASE);
    let mut described = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters = parameters.map(|it| {
                let pointer = it["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
                description.pointer(pointer).unwrap()
            });
            let query = parameters.filter(|it| it["in"] == "query");
            let mut query: Vec<_> = query.map(|it| it["name"].as_str().unwrap()).collect();
            query.sort_unstable();
            let body = operation.get("requestBody").is_some();
            described.push((path.as_str(), method.to_uppercase(), query, body));
        }
    }
    let routed = ROUTES.iter().map(|route| {
        let mut query = route.query.to_vec();
        query.sort_unstable();
        let body = route.body == RequestBody::Json;
        (route.path, route.method.to_owned(), query, body)
    });
    let mut routed: Vec<_> = routed.collect();
    described.sort();
    routed.sort();
    assert_eq!(described, routed);
}

/// Counts what it has changed.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Operations for Counter {
    fn perform(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem> {
        assert_ne!(request.operation, Operation::CheckServer, "a panic");
        if request.operation == Operation::DeleteServer {
            record_change()?;
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(ApiAnswer::of(&"done"))
    }
}

fn api(operations: &Arc<Counter>, audit: Audit) -> OperatorsApi {
    let tokens = StaticTokens::new(vec![StaticToken {
        token: "olgas-0123456789abcdef".to_owned().into(),
        identity: Identity::named("olga"),
    }]);
    let operators = Operators {
        tokens: tokens.unwrap(),
        with_commands: BTreeSet::new(),
    };
    let clock = FixedClock("2026-11-25T10:00:00Z".parse().unwrap());
    let operations = Arc::clone(operations) as Arc<dyn Operations>;
    let redact = Box::new(str::to_owned);
    OperatorsApi::new(operators, operations, audit, Arc::new(clock), redact)
}

/// The status of an operation.
async fn status(api: &OperatorsApi, operation: Operation) -> u16 {
    let permit = api.room_for(operation).unwrap();
    let call = Call {
        operator: "olga".to_owned(),
        request: ApiRequest {
            operation,
            subject: Some("mail".to_owned()),
            query: Vec::new(),
            body: None,
            if_match: None,
            commands: CommandRight::Withheld,
        },
    };
    match api.perform(call, permit).await {
        Ok(response) => response.status().as_u16(),
        Err(problem) => problem.status(),
    }
}

#[tokio::test]
async fn nothing_is_changed_or_read_without_a_record() {
    let operations = Arc::new(Counter::default());
    let memory = MemorySink::default();
    let settings = audit::Settings {
        file: None,
        stream: audit::Stream::None,
        durability: audit::Durability::Strict,
        on_fault: audit::OnFault::Deny,
        checkpoints: None,
        rotation: audit::Rotation::default(),
    };
    let sinks: Vec<Box<dyn audit::Sink>> = vec![Box::new(memory.clone())];
    let clock = FixedClock("2026-11-25T10:00:00Z".parse().unwrap());
    let audit = Audit::with_sinks(&settings, sinks, Arc::new(clock), Redactor::default()).unwrap();
    let working = api(&operations, audit.clone());
    assert_eq!(status(&working, Operation::DeleteServer).await, 200);
    assert_eq!(status(&working, Operation::GetServer).await, 200);
    assert_eq!(operations.0.load(Ordering::Relaxed), 1);
    assert_eq!(memory.lines().len(), 2);
    assert_eq!(status(&working, Operation::CheckServer).await, 500);
    assert_eq!(memory.lines().len(), 3);
    assert_eq!(working.room.available_permits(), AT_ONCE);
    assert_eq!(working.room_to_ask.available_permits(), ASKING_AT_ONCE);
    audit.close(Duration::from_secs(5)).await.unwrap();
    assert_eq!(status(&working, Operation::DeleteServer).await, 503);
    assert_eq!(status(&working, Operation::GetServer).await, 503);
    assert_eq!(operations.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn wrong_tokens_are_not_looked_at_for_long() {
    let operations = Arc::new(Counter::default());
    let (audit, records) = Audit::keeping();
    let api = api(&operations, audit);
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut headers = HeaderMap::new();
    headers.insert(
        AUTHORIZATION,
        HeaderValue::from_static("Bearer wrong-0123456789"),
    );
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(api.identify(peer, &headers).await.unwrap_err().status());
    }
    assert_eq!(statuses, [401, 401, 401, 401, 429, 429]);
    assert_eq!(records.take().len(), 4);
}

#[tokio::test]
async fn servers_that_are_slow_to_answer_keep_no_operator_from_disabling_them() {
    let api = api(&Arc::default(), Audit::keeping().0);
    let asking = [
        Operation::PutServer,
        Operation::EnableServer,
        Operation::CheckServer,
    ];
    let mut permits = Vec::new();
    for operation in asking.into_iter().cycle().take(ASKING_AT_ONCE) {
        permits.push(api.room_for(operation).unwrap());
    }
    for operation in asking {
        assert_eq!(api.room_for(operation).unwrap_err().status(), 503);
    }
    for operation in [Operation::DisableServer, Operation::DeleteServer] {
        assert_eq!(status(&api, operation).await, 200);
    }
    permits.clear();
    for _ in 0..AT_ONCE {
        permits.push(api.room_for(Operation::GetServer).unwrap());
    }
    let full = api.room_for(Operation::DisableServer).unwrap_err();
    assert_eq!(full.code(), "busy");
}

#[test]
fn a_try_has_a_word_of_its_own_in_records() {
    let check = |operation, query: &[(&str, &str)], expected: &str| {
        let query = query
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let request = ApiRequest {
            operation,
            subject: None,
            query: query.collect(),
            body: None,
            if_match: None,
            commands: CommandRight::Withheld,
        };
        assert_eq!(request.name(), expected);
    };
    check(Operation::PutServer, &[], "servers/put");
    check(Operation::PutServer, &[("dry_run", "false")], "servers/put");
    let tried = [("handshake", "true"), ("dry_run", "true")];
    check(Operation::PutServer, &tried, "servers/put/try");
    check(Operation::EnableServer, &tried, "servers/enable");
}
