//! Heads and chunks as two readers see them, who makes room for whom, and what hyper gets to see.

mod certificates;
mod chunks;
mod heads;
mod hyper_sees;
mod places;
