//! Drafts of policies from servers that others wrote.

use std::process::Command;

use crate::real_servers::real::{ALL, each};
use crate::support::setup::GATE;

#[test]
#[ignore = "needs real servers: see fixtures/real/README.md"]
fn the_draft_of_a_real_server_passes_check_and_its_tests() {
    each(ALL, |real| {
        let setup = real.behind();
        let (pack, arguments) = (setup.path("pack"), setup.arguments());
        let pack = pack.to_str().unwrap();
        let config = arguments.last().unwrap();
        for words in [
            &["policy", "suggest", "--live", config, "--output", pack][..],
            &["check", pack],
            &["test-policy", pack],
        ] {
            let done = Command::new(GATE).args(words).output().unwrap();
            assert!(done.status.success(), "{words:?} {done:?}");
        }
    });
}
