//! The names of methods of extensions, each kept once in the process.

use std::sync::OnceLock;

/// How the names of notifications begin; every other method wants a reply (MCP, all revisions).
pub(super) const NOTIFICATIONS: &str = "notifications/";

/// Names that one process can list in all, whatever configurations they stand in.
pub const MOST_METHODS: usize = 256;

/// Each name once, for as long as the process lives: a method is copied with every message, and so it
/// is a place in here.
static NAMES: [OnceLock<Box<str>>; MOST_METHODS] = [const { OnceLock::new() }; MOST_METHODS];

/// A method of an extension that is listed somewhere in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListedMethod(u8);

impl ListedMethod {
    /// Keeps a name for as long as the process lives, and yields its method; `None` if there is no room for
    /// one more. The caller has checked the name.
    pub(super) fn intern(name: &str) -> Option<Self> {
        let mut places = NAMES.iter();
        let place = places.position(|known| &**known.get_or_init(|| name.into()) == name)?;
        u8::try_from(place).ok().map(Self)
    }

    pub fn name(self) -> &'static str {
        let name = NAMES.get(usize::from(self.0)).and_then(OnceLock::get);
        name.map_or("", |name| name)
    }

    pub(super) fn is_request(self) -> bool {
        !self.name().starts_with(NOTIFICATIONS)
    }
}
