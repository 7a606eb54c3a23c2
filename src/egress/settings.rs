//! What one server may connect to.

use std::sync::Arc;

use super::destination::Destinations;
use crate::outward::{AddressSource, System};

/// What one server may connect to, and who knows the addresses of names.
#[derive(Debug, Clone)]
pub struct Settings {
    pub listed: Arc<Destinations>,
    pub lookup: Arc<dyn AddressSource>,
}

impl Settings {
    /// By the system's resolver.
    pub fn listing(listed: Destinations) -> Self {
        Self {
            listed: Arc::new(listed),
            lookup: Arc::new(System),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::listing(Destinations::default())
    }
}
