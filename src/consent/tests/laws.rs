//! What holds whatever is done in whatever order.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Ask(u8),
    /// Answers a ticket: 0 is the last that was asked for, 1 the one before it.
    Answer(usize, Answer),
    Advance(u64),
    /// Takes the outcome of a ticket, and spends what came of it for the request with this number.
    Take(usize, u8),
    Withdraw(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..2u8).prop_map(Step::Ask),
        (
            0..3usize,
            prop_oneof![Just(Answer::Approve), Just(Answer::Deny)]
        )
            .prop_map(|(ticket, answer)| Step::Answer(ticket, answer)),
        (0..20_000u64).prop_map(Step::Advance),
        (0..3usize, 0..2u8).prop_map(|(ticket, request)| Step::Take(ticket, request)),
        (0..3usize).prop_map(Step::Withdraw),
    ]
}

/// What a ticket can still come to, told by hand.
#[derive(Debug, Clone, Copy)]
struct Known {
    request: u8,
    until: u64,
    answered: Option<(Answer, u64)>,
    gone: bool,
}

fn request(number: u8) -> Binding {
    Binding {
        arguments: [number; 32],
        ..binding("ann")
    }
}

/// Takes these steps, and tells how many receipts were spent.
fn takes(steps: Vec<Step>) -> Result<usize, TestCaseError> {
    let (desk, clock) = desk_with(Settings {
        per_principal: 100,
        in_all: 100,
        ..settings()
    });
    let timeout = u64::try_from(TIMEOUT.as_millis()).unwrap();
    let mut tickets: Vec<(TicketId, Known)> = Vec::new();
    let mut spent: BTreeMap<usize, u32> = BTreeMap::new();
    let mut now = 0;
    for step in steps {
        match step {
            Step::Ask(number) => {
                let asked = Request {
                    binding: request(number),
                    question: question(),
                    bell: Arc::new(Notify::new()),
                    judged: Judged::ByThoseInForce,
                };
                let id = desk.ask(asked).unwrap();
                // To ask drops what nobody can come for any more.
                for (_, known) in &mut tickets {
                    known.gone |= now >= known.answered.map_or(known.until, |(_, until)| until);
                }
                prop_assert!(tickets.iter().all(|(other, _)| *other != id));
                let until = now + timeout;
                let known = Known {
                    request: number,
                    until,
                    answered: None,
                    gone: false,
                };
                tickets.push((id, known));
            }
            Step::Answer(back, answer) => {
                let Some((id, known)) = tickets.iter_mut().rev().nth(back) else {
                    continue;
                };
                let counts = !known.gone && known.answered.is_none() && now < known.until;
                let answered = desk.answer(id, answer, By::page("olga"));
                prop_assert_eq!(answered.is_ok(), counts);
                if counts {
                    known.answered = Some((answer, now + timeout));
                }
            }
            Step::Advance(by) => {
                clock.advance(Duration::from_millis(by));
                now += by;
            }
            Step::Take(back, number) => {
                let Some(at) = tickets.len().checked_sub(back + 1) else {
                    continue;
                };
                let (id, known) = &mut tickets[at];
                let outcome = desk.take(id);
                let waits = !known.gone && known.answered.is_none() && now < known.until;
                prop_assert_eq!(outcome.is_none(), waits);
                let Some(Outcome::Granted(receipt)) = outcome else {
                    let granted = matches!(known.answered, Some((Answer::Approve, _)));
                    prop_assert!(known.gone || !granted);
                    known.gone |= !waits;
                    continue;
                };
                prop_assert!(!known.gone);
                known.gone = true;
                let (answer, until) = known.answered.unwrap();
                prop_assert_eq!(answer, Answer::Approve);
                let consent = receipt.fits(&request(number), clock.elapsed());
                prop_assert_eq!(consent.is_ok(), number == known.request && now < until);
                if consent.is_ok() {
                    *spent.entry(at).or_default() += 1;
                }
            }
            Step::Withdraw(back) => {
                let Some((id, known)) = tickets.iter_mut().rev().nth(back) else {
                    continue;
                };
                desk.withdraw(id);
                known.gone = true;
            }
        }
    }
    prop_assert!(spent.values().all(|times| *times == 1));
    Ok(spent.len())
}

#[test]
fn a_receipt_is_spent_once_and_for_its_own_request_under_any_interleaving() {
    let spent = Cell::new(0);
    let mut runner = TestRunner::default();
    let steps = proptest::collection::vec(any_step(), 1..120);
    let ran = runner.run(&steps, |steps| {
        spent.set(spent.get() + takes(steps)?);
        Ok(())
    });
    ran.unwrap();
    // Else it would say nothing. Of 300 runs, each had between 63 and 113.
    assert!(spent.get() > 20, "{} were spent", spent.get());
}

proptest! {
    #[test]
    fn what_is_shown_hides_nothing_and_reads_as_the_same(text in any::<String>()) {
        let json = crate::wire::Fragment::string(&text).into_string();
        let decode = |json: &str| {
            let limits = crate::wire::Limits::default();
            crate::wire::Document::decode(json.as_bytes(), &limits).unwrap()
        };
        let pretty = pretty(decode(&json).root());
        prop_assert!(pretty.chars().all(|c| matches!(c, '"' | '\\' | '\'') || c.escape_debug().len() == 1));
        let read = decode(&pretty);
        prop_assert_eq!(read.root().as_str().unwrap(), text);
    }
}

#[test]
fn of_many_who_answer_at_once_one_counts() {
    let (desk, _) = desk();
    let id = ask(&desk, "ann").unwrap();
    let counted: usize = std::thread::scope(|scope| {
        let answers = [Answer::Approve, Answer::Deny].repeat(4);
        let threads: Vec<_> = answers
            .into_iter()
            .map(|answer| {
                let (desk, id) = (&desk, &id);
                scope.spawn(move || desk.answer(id, answer, By::page("olga")).is_ok())
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| usize::from(thread.join().unwrap()))
            .sum()
    });
    assert_eq!(counted, 1);
}

#[test]
fn of_many_who_take_an_outcome_at_once_one_gets_the_receipt() {
    let (desk, _) = desk();
    let id = ask(&desk, "ann").unwrap();
    desk.answer(&id, Answer::Approve, By::page("olga")).unwrap();
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| matches!(desk.take(&id), Some(Outcome::Granted(_)))))
            .collect();
        threads
            .into_iter()
            .map(|thread| usize::from(thread.join().unwrap()))
            .sum()
    });
    assert_eq!(granted, 1);
}
