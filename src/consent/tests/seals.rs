//! What agents bring back.

use proptest::prelude::*;

use super::*;

#[test]
fn a_state_opens_for_the_request_that_it_was_sealed_for() {
    let (desk, _) = desk();
    let id = ask(&desk, "ann").unwrap();
    let state = desk.seal(&id, &binding("ann"));
    assert!(Desk::is_ours(&state));
    assert_eq!(desk.open(&state, &binding("ann")), Some(id));
    let others: [fn(&mut Binding); 7] = [
        |it| it.principal = "bob".into(),
        |it| it.server = "other".into(),
        |it| it.method = KnownMethod::PromptsGet,
        |it| it.name = "delete".into(),
        |it| it.arguments = [0; 32],
        |it| it.definition = None,
        |it| it.round = Some([0; 32]),
    ];
    for change in others {
        let mut other = binding("ann");
        change(&mut other);
        assert_eq!(desk.open(&state, &other), None, "{other:?}");
    }
}

#[test]
fn a_state_that_was_changed_or_made_up_opens_nothing() {
    let (desk, _) = desk();
    let [id, other] = [(); 2].map(|()| ask(&desk, "ann").unwrap());
    let state = desk.seal(&id, &binding("ann"));
    let tag = state.rsplit_once('.').unwrap().1;
    let mut flipped = state.clone();
    let last = flipped.pop().unwrap();
    flipped.push(if last == '0' { '1' } else { '0' });
    let forged = [
        flipped,
        state.replace(id.as_str(), other.as_str()),
        state.replace(tag, ""),
        state.replace(tag, &tag.to_uppercase()),
        format!("{state}0"),
        format!("{state}00"),
        format!("{state}é"),
        tag.to_owned(),
        String::new(),
        "mcp-protector.consent.1.".to_owned(),
        format!("mcp-protector.consent.1.{id}"),
        format!("mcp-protector.consent.1.{id}."),
    ];
    for state in forged {
        assert_eq!(desk.open(&state, &binding("ann")), None, "{state}");
    }
}

proptest! {
    #[test]
    fn no_state_opens_but_the_one_that_was_sealed(
        at in any::<prop::sample::Index>(),
        other in "[0-9a-fA-F.é]|\\PC",
        twice in any::<bool>(),
    ) {
        let (desk, _) = desk();
        let id = ask(&desk, "ann").unwrap();
        let state = desk.seal(&id, &binding("ann"));
        let mut changed: Vec<String> = state.chars().map(String::from).collect();
        let at = at.index(changed.len());
        changed[at] = if twice { changed[at].repeat(2) } else { other };
        let changed = changed.concat();
        let opened = desk.open(&changed, &binding("ann"));
        prop_assert_eq!(opened.is_some(), changed == state, "{}", changed);
        prop_assert_eq!(desk.open(&state.to_uppercase(), &binding("ann")), None);
    }
}

#[test]
fn a_state_of_another_run_opens_nothing() {
    let (desk, clock) = desk();
    let id = ask(&desk, "ann").unwrap();
    let state = desk.seal(&id, &binding("ann"));
    let restarted = Desk::new(settings(), clock, [8; 32]);
    assert_eq!(restarted.open(&state, &binding("ann")), None);
}

#[test]
fn the_key_is_never_shown() {
    let (desk, _) = desk();
    ask(&desk, "ann").unwrap();
    let shown = format!("{desk:?}");
    // All else is shown, and a key in whatever form is a run of equal bytes.
    assert!(shown.contains("ann"), "{shown}");
    for key in ["7, 7, 7", "070707", "BwcH", "\u{7}\u{7}"] {
        assert!(!shown.contains(key), "{shown}");
    }
}

#[test]
fn the_laws_hold_for_every_seed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/seal");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        oracle::laws(&String::from_utf8_lossy(&bytes));
        seeds += 1;
    }
    assert!(seeds >= 6, "seeds in {}", folder.display());
}
