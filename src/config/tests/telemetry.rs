//! `[telemetry]`, as its authors meet it.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::{check_rest, valid_with};
use crate::config::{Parents, TelemetryLogs};

/// What is checked begins on line 3, behind an endpoint if there is none in it.
#[track_caller]
fn check(rest: &str, expected: &[&str]) {
    let endpoint = if rest.contains("otlp_endpoint") {
        ""
    } else {
        "otlp_endpoint = 'https://a'\n"
    };
    check_rest(&format!("[telemetry]\n{endpoint}{rest}"), expected);
}

#[track_caller]
fn warned(rest: &str, expected: &[&str]) {
    let config = valid_with(&format!("[telemetry]\n{rest}"));
    let warnings = config.warnings.iter().map(ToString::to_string);
    let warnings: Vec<_> = warnings.filter(|it| !it.starts_with("policy")).collect();
    assert_eq!(warnings, expected);
}

#[test]
fn traces_go_where_the_file_says_and_nowhere_without_it() {
    let none = valid_with("").telemetry;
    assert_eq!(none.endpoint, None);
    assert_eq!(none.service, "mcp-protector");
    let telemetry = valid_with(
        "[telemetry]\notlp_endpoint = 'https://collector.example.com/otlp'\n\
         headers = { Authorization = 'Bearer ${TOKEN}', x-tenant = '7' }\n\
         service_name = 'tickets'\nsample_ratio = 0.25\nparent_based = true\nlogs = true\ntimeout = '3s'\nca_file = 'ca.pem'",
    )
    .telemetry;
    let endpoint = telemetry.endpoint.unwrap();
    assert_eq!(endpoint.as_str(), "https://collector.example.com/otlp");
    let headers = telemetry.headers.iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(
        headers,
        [
            ("authorization", "Bearer a-token-of-20-bytes!"),
            ("x-tenant", "7")
        ]
    );
    // What is too short to be told from ordinary text is kept out of nothing.
    let secrets = telemetry.secrets.iter().map(ExposeSecret::expose_secret);
    assert_eq!(secrets.collect::<Vec<_>>(), ["a-token-of-20-bytes!"]);
    assert_eq!(telemetry.service, "tickets");
    assert!((telemetry.sample_ratio - 0.25).abs() < f64::EPSILON);
    assert_eq!(
        (none.logs, telemetry.logs),
        (TelemetryLogs::Off, TelemetryLogs::On)
    );
    assert_eq!(none.parents, Parents::Sampled);
    assert_eq!(telemetry.parents, Parents::Believed);
    assert_eq!(telemetry.timeout, Duration::from_secs(3));
    assert_eq!(
        telemetry.ca_file.unwrap(),
        std::path::Path::new("/etc/gate/ca.pem")
    );
}

#[test]
fn what_is_wrong_about_a_collector_is_told_with_its_place() {
    check_rest("telemetry = {}", &["2 telemetry.otlp_endpoint: required"]);
    check_rest(
        "telemetry = 1",
        &["2 telemetry: expected a table, found an integer"],
    );
    let endpoint = |text: &str, problem: &[&str]| {
        check(&format!("otlp_endpoint = '{text}'"), problem);
    };
    endpoint("", &["3 telemetry.otlp_endpoint: expected an `https` URL"]);
    endpoint(
        "127.0.0.1:4318",
        &["3 telemetry.otlp_endpoint: expected an `https` URL"],
    );
    endpoint(
        "grpc://a:4317",
        &["3 telemetry.otlp_endpoint: expected an `https` URL"],
    );
    endpoint(
        "https://user:pass@a",
        &["3 telemetry.otlp_endpoint: holds a user name or a password"],
    );
    endpoint(
        "https://a/?key=b",
        &["3 telemetry.otlp_endpoint: has a query"],
    );
    endpoint(
        "https://a/v1/traces/",
        &["3 telemetry.otlp_endpoint: ends in `/v1/traces`, which the gate adds"],
    );
    endpoint(
        "http://collector:4318",
        &["3 telemetry.otlp_endpoint: is not `https`"],
    );
    for here in [
        "http://localhost:4318",
        "http://127.0.0.1:4318",
        "http://[::1]:4318",
    ] {
        endpoint(here, &[]);
    }
    check(
        "headers = { 'a b' = 'c' }",
        &["4 telemetry.headers: expected names of headers in front of their values"],
    );
    check(
        "headers = { content-type = 'c', A = 'b', a = 'c', d = '', e = \" f\", g = 1 }",
        &[
            "4 telemetry.headers.content-type: is a header that the gate writes itself",
            "4 telemetry.headers.a: is the same header in another spelling",
            "4 telemetry.headers.d: holds what no header holds",
            "4 telemetry.headers.e: holds what no header holds",
            "4 telemetry.headers.g: expected a string, found an integer",
        ],
    );
    for (sample, problem) in [
        ("0", None),
        ("1", None),
        ("0.0", None),
        ("1e-3", None),
        ("1.01", Some("expected a number from 0 to 1")),
        ("-0.1", Some("expected a number from 0 to 1")),
        ("-1", Some("expected a number from 0 to 1")),
        ("2", Some("expected a number from 0 to 1")),
        (
            "99999999999999999999999999",
            Some("expected a number from 0 to 1"),
        ),
        ("nan", Some("expected a number from 0 to 1")),
        ("inf", Some("expected a number from 0 to 1")),
        ("'1'", Some("expected a number from 0 to 1, found a string")),
    ] {
        let problem = problem.map(|problem| format!("4 telemetry.sample_ratio: {problem}"));
        let expected: Vec<_> = problem.iter().map(String::as_str).collect();
        check(&format!("sample_ratio = {sample}"), &expected);
    }
    check("timeout = '10ms'", &["4 telemetry.timeout: below minimum"]);
    check("timeout = '2m'", &["4 telemetry.timeout: exceeds maximum"]);
    check(
        "service_name = ' '",
        &["4 telemetry.service_name: expected a name of 1 to 128 bytes"],
    );
    check_rest(
        "[telemetry]\notlp_endpoit = 'https://a'",
        &[
            "2 telemetry.otlp_endpoint: required",
            "3 telemetry.otlp_endpoit: unknown key",
        ],
    );
}

#[test]
fn what_is_valid_about_a_collector_but_odd_is_a_warning() {
    warned("otlp_endpoint = 'https://a'", &[]);
    warned(
        "otlp_endpoint = 'http://localhost:4317'",
        &["telemetry.otlp_endpoint: names the port at which collectors take gRPC"],
    );
    warned("otlp_endpoint = 'http://a'\nallow_http = true", &[]);
    warned(
        "otlp_endpoint = 'http://a'\nallow_http = true\nheaders = { a = 'b' }",
        &["telemetry.otlp_endpoint: there is no TLS, and the headers cross the network"],
    );
    for beside in ["https://a", "http://localhost"] {
        warned(
            &format!("otlp_endpoint = '{beside}'\nallow_http = true"),
            &["telemetry.allow_http: has no effect beside an `https` URL, or one of this machine"],
        );
    }
    warned(
        "otlp_endpoint = 'http://localhost'\nca_file = 'a'",
        &["telemetry.ca_file: has no effect without TLS"],
    );
}
