//! Many verdicts, one decision.

use super::decision::{
    AllowDecision, Decision, Denial, DenialCause, EngineFault, Obligation, Reason, Verdict,
};

/// Fault beats deny, deny beats allow, allow beats abstain; where nothing allows, it is denied.
///
/// The order of the verdicts does not matter. Of several faults the smallest is named.
pub fn combine(verdicts: impl IntoIterator<Item = Result<Verdict, EngineFault>>) -> Decision {
    let mut fault: Option<EngineFault> = None;
    let mut forbids: Vec<Reason> = Vec::new();
    let mut permits: Vec<Reason> = Vec::new();
    let mut obligations: Vec<Obligation> = Vec::new();
    let mut denied = false;
    let mut allowed = false;
    for verdict in verdicts {
        match verdict {
            Err(new) => fault = Some(fault.map_or(new.clone(), |old| old.min(new))),
            Ok(Verdict::Deny { reasons }) => {
                denied = true;
                forbids.extend(reasons);
            }
            Ok(Verdict::Allow {
                reasons,
                obligations: due,
            }) => {
                allowed = true;
                permits.extend(reasons);
                obligations.extend(due);
            }
            Ok(Verdict::Abstain) => {}
        }
    }
    let cause = match (fault, denied, allowed) {
        (Some(fault), _, _) => DenialCause::Fault(fault),
        (None, true, _) => DenialCause::Forbidden,
        (None, false, false) => DenialCause::NotPermitted,
        (None, false, true) => {
            sort(&mut permits);
            sort(&mut obligations);
            return Decision::Allow(AllowDecision {
                reasons: permits,
                obligations,
            });
        }
    };
    sort(&mut forbids);
    Decision::Deny(Denial {
        cause,
        reasons: forbids,
    })
}

fn sort<T: Ord>(items: &mut Vec<T>) {
    items.sort();
    items.dedup();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decision::EngineName;
    use super::super::decision::{FaultKind, PolicyId, PolicyOrigin};
    use super::*;

    #[test]
    fn nothing_said_denies() {
        check(vec![], &not_permitted());
        check(
            vec![Ok(Verdict::Abstain), Ok(Verdict::Abstain)],
            &not_permitted(),
        );
    }

    #[test]
    fn an_allow_is_enough_when_nobody_objects() {
        let allowed = Decision::Allow(AllowDecision {
            reasons: vec![reason("a")],
            obligations: vec![],
        });
        check(vec![Ok(Verdict::Abstain), Ok(allow("a"))], &allowed);
    }

    #[test]
    fn a_deny_beats_every_allow() {
        let denied = Decision::Deny(Denial {
            cause: DenialCause::Forbidden,
            reasons: vec![reason("d")],
        });
        check(vec![Ok(allow("a")), Ok(deny("d")), Ok(allow("b"))], &denied);
    }

    #[test]
    fn a_deny_without_reasons_still_denies() {
        let denied = Decision::Deny(Denial {
            cause: DenialCause::Forbidden,
            reasons: vec![],
        });
        check(
            vec![Ok(allow("a")), Ok(Verdict::Deny { reasons: vec![] })],
            &denied,
        );
    }

    #[test]
    fn a_fault_beats_everything_and_the_smallest_is_named() {
        let denied = Decision::Deny(Denial {
            cause: DenialCause::Fault(fault("1")),
            reasons: vec![reason("d")],
        });
        check(
            vec![
                Ok(deny("d")),
                Err(fault("2")),
                Ok(allow("a")),
                Err(fault("1")),
            ],
            &denied,
        );
    }

    proptest! {
        #[test]
        fn order_does_not_matter((verdicts, shuffled) in
            prop::collection::vec(any_verdict(), 0..7)
                .prop_flat_map(|v| (Just(v.clone()), Just(v).prop_shuffle())))
        {
            prop_assert_eq!(combine(verdicts), combine(shuffled));
        }

        #[test]
        fn an_added_verdict_that_is_not_an_allow_never_allows(
            verdicts in prop::collection::vec(any_verdict(), 0..7),
            added in any_verdict(),
        ) {
            let before = combine(verdicts.clone()).is_allow();
            let opens = matches!(added, Ok(Verdict::Allow { .. }));
            let blocks = matches!(added, Ok(Verdict::Deny { .. }) | Err(_));
            let after = combine(verdicts.into_iter().chain([added])).is_allow();
            prop_assert!(!after || before || opens);
            prop_assert!(!(after && blocks));
        }
    }

    fn check(verdicts: Vec<Result<Verdict, EngineFault>>, expected: &Decision) {
        assert_eq!(&combine(verdicts), expected);
    }

    fn not_permitted() -> Decision {
        Decision::Deny(Denial {
            cause: DenialCause::NotPermitted,
            reasons: vec![],
        })
    }

    fn any_verdict() -> impl Strategy<Value = Result<Verdict, EngineFault>> {
        prop_oneof![
            Just(Ok(Verdict::Abstain)),
            "[ab]".prop_map(|id| Ok(allow(&id))),
            "[cd]".prop_map(|id| Ok(deny(&id))),
            "[ef]".prop_map(|id| Err(fault(&id))),
        ]
    }

    fn allow(id: &str) -> Verdict {
        let obligations = if id == "b" {
            vec![Obligation::Annotate("b".into())]
        } else {
            vec![]
        };
        Verdict::Allow {
            reasons: vec![reason(id)],
            obligations,
        }
    }

    fn deny(id: &str) -> Verdict {
        Verdict::Deny {
            reasons: vec![reason(id)],
        }
    }

    fn fault(problem: &str) -> EngineFault {
        EngineFault {
            engine: EngineName("test"),
            kind: FaultKind::Evaluation,
            policy: None,
            problem: problem.to_owned(),
        }
    }

    fn reason(id: &str) -> Reason {
        let origin = PolicyOrigin {
            file: "t.cedar".into(),
            line: 1,
        };
        Reason {
            policy: PolicyId::new(id),
            origin,
            code: None,
            advice: None,
            on_deny: None,
        }
    }
}
