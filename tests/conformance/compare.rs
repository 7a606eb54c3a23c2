//! The same judgement twice, and what is different.

use std::collections::BTreeSet;

use crate::conformance::checks::{Checks, Status};

/// How often a scenario is judged again before a difference counts: the suite waits less than a second
/// for some answers, and other programs may be using the machine.
const RETRIES: usize = 2;

/// How many scenarios may need that. More of them are no accidents.
const MOST_REPEATED: usize = 3;

/// Lets the suite judge some scenarios, or all of them.
pub(crate) type Judge<'a> = &'a dyn Fn(Option<&[String]>) -> Checks;

pub(crate) struct Comparison<'a> {
    pub(crate) version: &'a str,
    pub(crate) direct: Judge<'a>,
    pub(crate) through: Judge<'a>,
}

/// Fails if a check came out differently, or failed without a gate: then it could not tell what a gate
/// breaks, or if more than [`MOST_REPEATED`] scenarios had to be judged again. Prints what was, and what
/// did not succeed, such as what does not apply.
#[track_caller]
pub(crate) fn compare(comparison: &Comparison<'_>) {
    let version = comparison.version;
    let judges = [comparison.direct, comparison.through];
    let mut found = judges.map(|judge| judge(None));
    let mut repeated = BTreeSet::new();
    for time in 1..=RETRIES {
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
        for difference in direct.differences(through) {
            println!("{version}, judged again ({time} of {RETRIES}): {difference}");
        }
        repeated.extend(again.iter().cloned());
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
    assert!(
        repeated.len() <= MOST_REPEATED,
        "{version}: {} scenarios came out the same only when they were judged again: {repeated:?}",
        repeated.len()
    );
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::conformance::checks::Checks;

    /// Scenarios whose first judgement through the gate is another one.
    fn compared(unsteady: usize) {
        let times = Cell::new(0);
        let all = |again: Option<&[String]>, worst: bool| {
            let names: Vec<String> = (0..5).map(|it| format!("s{it}")).collect();
            let names = again.unwrap_or(&names).iter();
            names.fold(Checks::default(), |mut all, name| {
                let is_unsteady = name.trim_start_matches('s').parse::<usize>().unwrap() < unsteady;
                all.extend(Checks::one(name, worst && is_unsteady));
                all
            })
        };
        compare(&Comparison {
            version: "test",
            direct: &|again| all(again, false),
            through: &|again| {
                times.set(times.get() + 1);
                all(again, times.get() == 1)
            },
        });
    }

    #[test]
    fn a_few_scenarios_may_be_judged_again() {
        compared(MOST_REPEATED);
    }

    #[test]
    #[should_panic(expected = "4 scenarios came out the same only when they were judged again")]
    fn more_scenarios_than_a_few_are_no_accident() {
        compared(MOST_REPEATED + 1);
    }
}
