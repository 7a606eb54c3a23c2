//! Pages that the agent's user was sent to, by the ids under which their server tells that they are
//! done with.

use std::collections::VecDeque;

use sha2::{Digest as _, Sha256};

/// How many are known; of a page before these nothing is told.
const MOST: usize = 256;

/// What the server that is spoken to has announced.
#[derive(Debug, Default)]
pub struct Announced(VecDeque<[u8; 32]>);

impl Announced {
    pub fn note(&mut self, id: &str) {
        let id = Sha256::digest(id.as_bytes()).into();
        if self.0.contains(&id) {
            return;
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(id);
    }

    pub fn has(&self, id: &str) -> bool {
        let id: [u8; 32] = Sha256::digest(id.as_bytes()).into();
        self.0.contains(&id)
    }
}
