//! The paths of a listener, which change while the gate runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::caller::Endpoint;

/// The paths that messages are sent to, each of another server.
#[derive(Debug, Clone)]
pub struct Endpoints(Arc<RwLock<EndpointPaths>>);

/// These paths at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointPaths {
    pub open: Vec<(String, Endpoint)>,
    /// Those of servers that are disabled. For operators alone: requests for them are answered as for any
    /// other path.
    pub disabled: Vec<String>,
}

impl Endpoints {
    pub fn new(paths: EndpointPaths) -> Self {
        Self(Arc::new(RwLock::new(paths)))
    }

    /// From now on these. An endpoint that is not among them takes no further request.
    pub fn replace(&self, paths: EndpointPaths) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = paths;
    }

    /// Those that take requests now.
    pub fn paths(&self) -> Vec<String> {
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        paths.open.iter().map(|(path, _)| path.clone()).collect()
    }

    /// The endpoint with this path.
    pub(super) fn at(&self, path: &str) -> Option<Endpoint> {
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut open = paths.open.iter();
        let (_, endpoint) = open.find(|(ours, _)| is_same(path, ours))?;
        Some(*endpoint)
    }

    /// The paths that there are, for operators.
    pub(super) fn told(&self) -> String {
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let open: Vec<&str> = paths.open.iter().map(|(path, _)| &**path).collect();
        let (open, disabled) = (open.join(", "), paths.disabled.join(", "));
        if disabled.is_empty() {
            format!("agents use {open}")
        } else {
            format!("agents use {open}; disabled: {disabled}")
        }
    }
}

/// A slash at the end makes no other path.
fn is_same(path: &str, ours: &str) -> bool {
    path.strip_suffix('/').unwrap_or(path) == ours.strip_suffix('/').unwrap_or(ours)
}
