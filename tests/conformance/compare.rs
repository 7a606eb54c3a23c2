//! The same judgement twice, and what is different.

use crate::checks::{Checks, Status};

/// How often a scenario is judged again before a difference counts: the suite waits less than a second
/// for some answers, and other programs may be using the machine.
const RETRIES: usize = 2;

/// Lets the suite judge some scenarios, or all of them.
pub(crate) type Judge<'a> = &'a dyn Fn(Option<&[String]>) -> Checks;

pub(crate) struct Comparison<'a> {
    pub(crate) version: &'a str,
    pub(crate) direct: Judge<'a>,
    pub(crate) through: Judge<'a>,
}

/// Fails if a check came out differently, or failed without a gate: then it could not tell what a gate
/// breaks. Prints what did not succeed, such as what does not apply.
#[track_caller]
pub(crate) fn compare(comparison: &Comparison<'_>) {
    let version = comparison.version;
    let judges = [comparison.direct, comparison.through];
    let mut found = judges.map(|judge| judge(None));
    for _ in 0..RETRIES {
        let [direct, through] = &found;
        let mut again: Vec<String> = direct
            .differences(through)
            .iter()
            .map(|it| it.key.0.clone())
            .collect();
        again.dedup();
        if again.is_empty() {
            break;
        }
        for (judge, found) in judges.into_iter().zip(&mut found) {
            found.replace(&again, judge(Some(&again)));
        }
    }
    let [direct, through] = found;
    println!("{version}, direct:  {direct}");
    println!("{version}, through: {through}");
    for ((scenario, check), (status, said)) in direct.blemishes() {
        println!("  {scenario} {check}: {status:?} {said}");
        assert!(
            *status < Status::Warning,
            "without a gate: {scenario} {check}: {said}"
        );
    }
    let differences = direct.differences(&through);
    let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
