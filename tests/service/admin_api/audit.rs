//! Queries of the audit log.

use serde_json::Value;

use super::{OMAR, Operator, gate};
use crate::service::server_changes::call_anew;
use crate::support::processes::eventually;

#[test]
fn a_query_of_the_audit_has_as_many_records_as_are_wanted() {
    let gate = gate();
    let omar = Operator::of(&gate, OMAR);
    for _ in 0..3 {
        call_anew(&gate, "crm", "read");
    }
    let calls = |query: &str| {
        let found = omar.well(
            "GET",
            &format!("/audit?kind=tool_call{query}"),
            &Value::Null,
        );
        let records = found["records"].as_array().unwrap().clone();
        assert!(
            records.iter().all(|it| it["kind"] == "tool_call"),
            "{found}"
        );
        (records.len(), found["cut"].as_bool().unwrap())
    };
    eventually(|| match calls("") {
        (3, false) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(calls("&limit=2"), (2, true));
    assert_eq!(calls("&limit=3"), (3, false));
    assert_eq!(calls("&agent=bob&server=crm"), (3, false));
    assert_eq!(calls("&agent=ann"), (0, false));
    assert_eq!(calls("&until=2020-01-01"), (0, false));
}
