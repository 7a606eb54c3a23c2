//! Which answers count.

use super::*;

/// What comes of a yes.
fn granted(desk: &Desk, id: &TicketId) -> Receipt {
    match desk.take(id) {
        Some(Outcome::Granted(receipt)) => receipt,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_yes_is_a_receipt_that_says_who_agreed_to_what_and_when() {
    let (desk, clock) = desk();
    let id = ask(&desk, "ann").unwrap();
    assert_eq!(desk.take(&id), None);
    clock.advance(Duration::from_secs(5));
    desk.answer(&id, Answer::Approve, By::page("olga")).unwrap();
    let receipt = granted(&desk, &id);
    let consent = receipt.fits(&binding("ann"), clock.elapsed()).unwrap();
    assert!(consent.granted);
    assert_eq!(consent.scope, "write");
    assert_eq!(consent.by.as_deref(), Some("web:olga"));
    assert_eq!(consent.at_ms, Some(1_005_000));
    // The question is gone with its outcome.
    assert_eq!(desk.take(&id), Some(Outcome::TimedOut));
}

#[test]
fn a_yes_stays_for_whoever_can_use_it() {
    let (desk, clock) = desk();
    let [yes, no] = ["ann", "bob"].map(|who| ask(&desk, who).unwrap());
    let silent = ask(&desk, "ann").unwrap();
    for (id, answer) in [(&yes, Answer::Approve), (&no, Answer::Deny)] {
        desk.answer(id, answer, By::page("olga")).unwrap();
    }
    assert_eq!(desk.take_what_is_no_yes(&yes), None);
    let denied = desk.take_what_is_no_yes(&no);
    assert!(matches!(denied, Some(Outcome::Denied(_))), "{denied:?}");
    assert_eq!(desk.take_what_is_no_yes(&silent), None);
    let receipt = granted(&desk, &yes);
    receipt.fits(&binding("ann"), clock.elapsed()).unwrap();
    clock.advance(settings().timeout);
    let over = desk.take_what_is_no_yes(&silent);
    assert_eq!(over, Some(Outcome::TimedOut));
}

#[test]
fn only_the_first_answer_counts() {
    let (desk, _) = desk();
    let id = ask(&desk, "ann").unwrap();
    desk.answer(&id, Answer::Deny, By::agent_ui("ann")).unwrap();
    let again = desk.answer(&id, Answer::Approve, By::page("olga"));
    assert_eq!(again, Err(AnswerError::AlreadyAnswered));
    assert_eq!(desk.take(&id), Some(Outcome::Denied(By::agent_ui("ann"))));
    let late = desk.answer(&id, Answer::Approve, By::page("olga"));
    assert_eq!(late, Err(AnswerError::AlreadyAnswered));
}

#[test]
fn silence_is_a_no_and_what_comes_later_changes_nothing() {
    let (desk, clock) = desk();
    let id = ask(&desk, "ann").unwrap();
    clock.advance(TIMEOUT.saturating_sub(Duration::from_millis(1)));
    assert_eq!(desk.take(&id), None);
    assert_eq!(desk.pending().len(), 1);
    clock.advance(Duration::from_millis(1));
    assert_eq!(desk.pending(), []);
    let late = desk.answer(&id, Answer::Approve, By::page("olga"));
    assert_eq!(late, Err(AnswerError::Expired));
    assert_eq!(desk.take(&id), Some(Outcome::TimedOut));
    let later = desk.answer(&id, Answer::Approve, By::page("olga"));
    assert_eq!(later, Err(AnswerError::Unknown));
}

#[test]
fn a_receipt_is_good_for_what_was_asked_and_for_nothing_else() {
    fn check(change: impl Fn(&mut Binding), misfit: Misfit) {
        let (desk, clock) = desk();
        let id = ask(&desk, "ann").unwrap();
        desk.answer(&id, Answer::Approve, By::page("olga")).unwrap();
        let mut other = binding("ann");
        change(&mut other);
        let spent = granted(&desk, &id).fits(&other, clock.elapsed());
        assert_eq!(spent, Err(misfit));
    }
    check(|it| it.principal = "bob".into(), Misfit::Principal);
    check(|it| it.rights = [1; 32], Misfit::Principal);
    check(|it| it.session = Some("other".into()), Misfit::Session);
    check(|it| it.session = None, Misfit::Session);
    check(|it| it.server = "other".into(), Misfit::Request);
    check(|it| it.method = KnownMethod::PromptsGet, Misfit::Request);
    check(|it| it.name = "delete".into(), Misfit::Request);
    check(
        |it| it.arguments = Binding::digest(r#"{"a":1}"#),
        Misfit::Request,
    );
    check(|it| it.definition = Some([2; 32]), Misfit::Definition);
    check(|it| it.definition = None, Misfit::Definition);
    check(|it| it.revision = "two".into(), Misfit::Revision);
}

#[test]
fn a_yes_that_was_put_by_is_had_once_for_the_same_request_and_is_no_younger() {
    let (desk, clock) = desk();
    let id = ask(&desk, "ann").unwrap();
    desk.answer(&id, Answer::Approve, By::page("olga")).unwrap();
    desk.keep(granted(&desk, &id));
    assert_eq!(desk.kept_for(&binding("bob")), None);
    let receipt = desk.kept_for(&binding("ann")).unwrap();
    assert_eq!(desk.kept_for(&binding("ann")), None);
    assert_eq!(desk.kept(&id), None);
    desk.keep(receipt);
    let receipt = desk.kept(&id).unwrap();
    assert!(receipt.fits(&binding("ann"), clock.elapsed()).is_ok());
    desk.keep(receipt);
    clock.advance(TIMEOUT);
    assert_eq!(desk.kept(&id), None);
}

#[test]
fn no_more_answers_are_put_by_than_questions_may_wait() {
    let (desk, _) = desk();
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = ask(&desk, "ann").unwrap();
        desk.answer(&id, Answer::Approve, By::page("olga")).unwrap();
        desk.keep(granted(&desk, &id));
        ids.push(id);
    }
    let kept: Vec<bool> = ids.iter().map(|id| desk.kept(id).is_some()).collect();
    assert_eq!(kept, [false, true, true, true]);
}

#[test]
fn a_receipt_that_nobody_spends_is_void_when_an_answer_would_have_been() {
    let (desk, clock) = desk();
    let id = ask(&desk, "ann").unwrap();
    desk.answer(&id, Answer::Approve, By::page("olga")).unwrap();
    clock.advance(TIMEOUT);
    let spent = granted(&desk, &id).fits(&binding("ann"), clock.elapsed());
    assert_eq!(spent, Err(Misfit::Expired));
}

#[test]
fn answers_count_only_in_ways_that_are_configured() {
    fn check(way: Way, by: By, other: By) {
        let (desk, _) = desk_with(Settings {
            channels: vec![way],
            ..settings()
        });
        let id = ask(&desk, "ann").unwrap();
        let refused = desk.answer(&id, Answer::Approve, other);
        assert_eq!(refused, Err(AnswerError::NotThisWay));
        assert_eq!(desk.answer(&id, Answer::Approve, by), Ok(()));
    }
    check(Way::Page, By::page("olga"), By::agent_ui("ann"));
    check(Way::Page, By::command_line("olga"), By::agent_ui("ann"));
    check(Way::Elicitation, By::agent_ui("ann"), By::page("olga"));
    check(
        Way::Elicitation,
        By::agent_ui("ann"),
        By::command_line("olga"),
    );
}

#[test]
fn where_only_agents_answer_nobody_is_shown_what_waits() {
    let (desk, _) = desk_with(Settings {
        channels: vec![Way::Elicitation],
        ..settings()
    });
    ask(&desk, "ann").unwrap();
    assert_eq!(desk.pending(), []);
}

#[test]
fn a_question_that_is_withdrawn_cannot_be_answered() {
    let (desk, _) = desk();
    let id = ask(&desk, "ann").unwrap();
    desk.withdraw(&id);
    let late = desk.answer(&id, Answer::Approve, By::page("olga"));
    assert_eq!(late, Err(AnswerError::Withdrawn));
    assert_eq!(desk.pending(), []);
}

#[tokio::test]
async fn a_desk_that_stops_withdraws_what_nobody_has_answered_and_asks_nobody() {
    let (desk, _) = desk();
    let (open, answered) = (ask(&desk, "ann").unwrap(), ask(&desk, "bob").unwrap());
    desk.answer(&answered, Answer::Deny, By::page("olga"))
        .unwrap();
    desk.stop();
    assert_eq!(desk.pending(), []);
    let late = desk.answer(&open, Answer::Approve, By::page("olga"));
    assert_eq!(late, Err(AnswerError::Withdrawn));
    assert_eq!(ask(&desk, "ann"), Err(NotAsked::Stopping));
    let outcome = desk.take(&open);
    assert_eq!(outcome, Some(Outcome::Withdrawn(Void::Stopping)));
    let outcome = desk.take(&answered);
    assert_eq!(outcome, Some(Outcome::Denied(By::page("olga"))));
    let late = desk.answer(&open, Answer::Approve, By::page("olga"));
    assert_eq!(late, Err(AnswerError::Withdrawn));
}

#[tokio::test]
async fn policies_that_are_replaced_take_their_questions_with_them_and_no_others() {
    let (desk, _) = desk();
    let bell = Arc::new(Notify::new());
    let ask = |revision: &str, judged: Judged| {
        let binding = Binding {
            revision: revision.into(),
            ..binding(&format!("{revision} {judged:?}"))
        };
        let (question, bell) = (question(), Arc::clone(&bell));
        let asked = desk.ask(Request {
            binding,
            question,
            bell,
            judged,
        });
        asked.unwrap()
    };
    let old = ask("one", Judged::ByThoseInForce);
    let new = ask("two", Judged::ByThoseInForce);
    let of_a_reply = ask("one", Judged::ByThoseThatAdmittedIt);
    desk.retire("one");
    bell.notified().await;
    let outcome = desk.take(&old);
    assert_eq!(outcome, Some(Outcome::Withdrawn(Void::Policies)));
    assert_eq!(desk.take(&new), None);
    let waiting: Vec<_> = desk.pending().into_iter().map(|it| it.id).collect();
    assert_eq!(waiting, [new, of_a_reply]);
}

#[test]
fn what_is_void_takes_no_place_from_what_is_asked() {
    let (desk, _) = desk();
    // As many as one principal may have; nobody comes for them.
    let two = [ask(&desk, "ann").unwrap(), ask(&desk, "ann").unwrap()];
    desk.retire(&binding("ann").revision);
    ask(&desk, "ann").unwrap();
    assert_eq!(desk.pending().len(), 1);
    for void in two {
        assert_eq!(desk.take(&void), Some(Outcome::Withdrawn(Void::Policies)));
    }
}

#[test]
fn one_principal_cannot_fill_the_desk_and_all_of_them_cannot_overfill_it() {
    let (desk, clock) = desk();
    let first = ask(&desk, "ann").unwrap();
    ask(&desk, "ann").unwrap();
    assert_eq!(ask(&desk, "ann"), Err(NotAsked::OfPrincipal(2)));
    ask(&desk, "bob").unwrap();
    assert_eq!(ask(&desk, "cid"), Err(NotAsked::InAll(3)));
    desk.withdraw(&first);
    ask(&desk, "cid").unwrap();
    // Whatever nobody came for makes room when its time is over.
    clock.advance(TIMEOUT);
    ask(&desk, "ann").unwrap();
}

#[test]
fn what_waits_is_bounded_in_bytes() {
    let (desk, _) = desk();
    let huge = || Question {
        arguments: "x".repeat(9 << 20),
        ..question()
    };
    let ask = |principal: &str| {
        desk.ask(Request {
            binding: binding(principal),
            question: huge(),
            bell: Arc::new(Notify::new()),
            judged: Judged::ByThoseInForce,
        })
    };
    ask("ann").unwrap();
    assert_eq!(ask("bob"), Err(NotAsked::Memory));
}

#[tokio::test]
async fn an_answer_rings_the_bell_of_whoever_asked() {
    let (desk, _) = desk();
    let bell = Arc::new(Notify::new());
    let id = desk
        .ask(Request {
            binding: binding("ann"),
            question: question(),
            bell: Arc::clone(&bell),
            judged: Judged::ByThoseInForce,
        })
        .unwrap();
    desk.answer(&id, Answer::Deny, By::page("olga")).unwrap();
    bell.notified().await;
}

#[test]
fn equal_requests_have_questions_of_their_own() {
    let (desk, clock) = desk();
    let [first, second] = [(); 2].map(|()| ask(&desk, "ann").unwrap());
    assert_ne!(first, second);
    desk.answer(&first, Answer::Approve, By::page("olga"))
        .unwrap();
    assert_eq!(desk.take(&second), None);
    let pending = desk.pending();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].id, second);
    assert_eq!(pending[0].expires_at_ms, 1_060_000);
    let spent = granted(&desk, &first).fits(&binding("ann"), clock.elapsed());
    assert!(spent.is_ok());
}

#[test]
fn what_holds_for_a_session_is_bound_to_everything_but_the_arguments() {
    let of_tool = |change: fn(&mut Binding)| {
        let mut other = binding("ann");
        change(&mut other);
        other.whatever_the_arguments().of_all()
    };
    let known = of_tool(|_| {});
    assert_eq!(of_tool(|it| it.arguments = [9; 32]), known);
    assert_ne!(of_tool(|it| it.name = "delete".into()), known);
    assert_ne!(of_tool(|it| it.server = "other".into()), known);
    assert_ne!(of_tool(|it| it.method = KnownMethod::PromptsGet), known);
    assert_ne!(of_tool(|it| it.principal = "bob".into()), known);
    assert_ne!(of_tool(|it| it.definition = Some([2; 32])), known);
    assert_ne!(of_tool(|it| it.revision = "two".into()), known);
}
