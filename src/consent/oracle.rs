//! What holds for every state that an agent brings. Also what the fuzz target `seal` asks for.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use crate::clock::FixedClock;
use crate::consent::{Binding, Desk, Settings, TicketId};
use crate::wire::KnownMethod;

/// No state opens but the very one that was sealed, and that for its own request alone.
#[track_caller]
pub(super) fn laws(text: &str) {
    static DESK: LazyLock<Desk> = LazyLock::new(|| {
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        Desk::new(Settings::default(), Arc::new(clock), [7; 32])
    });
    let ticket = TicketId::parse("0123456789").expect("ten digits are the number of a ticket");
    let state = DESK.seal(&ticket, &binding("read"));
    assert!(Desk::is_ours(&state));
    assert_eq!(DESK.open(&state, &binding("read")), Some(ticket));
    assert_eq!(DESK.open(&state, &binding("write")), None);
    if let Some(read) = TicketId::parse(text) {
        assert_eq!(read.as_str(), text);
    }
    let opened = |text: &str| {
        let opened = DESK.open(text, &binding("read"));
        assert_eq!(opened.is_some(), text == state, "{text:?}");
        assert!(opened.is_none() || Desk::is_ours(text));
    };
    opened(text);
    // A text alone will hardly ever be one: so it also stands in the place of each part, and in between.
    let ends: Vec<usize> = state.match_indices('.').map(|(at, _)| at + 1).collect();
    for at in ends {
        let (head, tail) = state.split_at(at);
        opened(&[head, text].concat());
        opened(&[head, text, tail].concat());
        opened(&[text, tail].concat());
    }
}

fn binding(name: &str) -> Binding {
    Binding {
        principal: "ann".into(),
        rights: [0; 32],
        session: None,
        server: "files".into(),
        method: KnownMethod::ToolsCall,
        name: name.into(),
        definition: None,
        arguments: [1; 32],
        round: None,
        revision: "revision".into(),
    }
}
