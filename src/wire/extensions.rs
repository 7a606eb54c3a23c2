//! Methods of extensions, by the names that an operator lists.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::json::Value;
use super::method::{KnownMethod, MAX_METHOD_BYTES};

/// How the names of notifications begin; every other method wants a reply (MCP, all revisions).
const NOTIFICATIONS: &str = "notifications/";

/// Names that one process can list in all, whatever configurations they stand in.
pub const MOST_METHODS: usize = 256;

/// Each name once, for as long as the process lives: a method is copied with every message, and so it
/// is a place in here.
static NAMES: [OnceLock<Box<str>>; MOST_METHODS] = [const { OnceLock::new() }; MOST_METHODS];

/// A method of an extension that is listed somewhere in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListedMethod(u8);

/// The methods of extensions that one gate knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions(Arc<[ListedMethod]>);

/// Why a name cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListedProblem {
    #[error("is empty")]
    Empty,
    #[error("is longer than {MAX_METHOD_BYTES} bytes")]
    TooLong,
    #[error("has something in it besides ASCII letters, digits and `/_-.:$@`")]
    Character,
    #[error("has a `/` at an end, or two of them together")]
    Slash,
    #[error("is a method of the protocol itself")]
    Own,
    #[error("can be taken for `{0}`, a method of the protocol itself")]
    LikeOwn(&'static str),
    #[error("lies below `{0}`, a method of the protocol itself")]
    BelowOwn(&'static str),
    #[error("is about tasks, which are judged as what they began with")]
    Tasks,
    #[error("is reserved by JSON-RPC (2.0, section 4.1)")]
    Reserved,
    #[error("is one more than the {MOST_METHODS} names that there can be")]
    TooMany,
}

impl ListedMethod {
    /// The method of this name, which no peer may take for one of the protocol's own.
    ///
    /// # Errors
    /// [`ListedProblem`] for a name that cannot be listed.
    pub fn named(name: &str) -> Result<Self, ListedProblem> {
        check(name)?;
        for (place, known) in NAMES.iter().enumerate() {
            if &**known.get_or_init(|| name.into()) == name {
                return u8::try_from(place)
                    .map(Self)
                    .map_err(|_| ListedProblem::TooMany);
            }
        }
        Err(ListedProblem::TooMany)
    }

    pub fn name(self) -> &'static str {
        let name = NAMES.get(usize::from(self.0)).and_then(OnceLock::get);
        name.map_or("", |name| name)
    }

    pub(super) fn is_request(self) -> bool {
        !self.name().starts_with(NOTIFICATIONS)
    }
}

impl Extensions {
    pub fn find(&self, name: &str) -> Option<KnownMethod> {
        let found = self.0.iter().find(|listed| listed.name() == name);
        found.copied().map(KnownMethod::Extension)
    }

    /// Those of both.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let more = others.0.iter().filter(|it| !self.0.contains(it));
        self.0.iter().chain(more).copied().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = ListedMethod> {
        self.0.iter().copied()
    }
}

impl FromIterator<ListedMethod> for Extensions {
    fn from_iter<T: IntoIterator<Item = ListedMethod>>(methods: T) -> Self {
        Self(methods.into_iter().collect())
    }
}

/// What the header `Mcp-Name` says of a method of an extension: by the protocol's own methods, which URI it
/// is about, or else which name.
pub fn name_of_extension(params: Option<Value<'_>>) -> Option<Cow<'_, str>> {
    let text = |key| params?.get(key)?.as_str();
    text("uri").or_else(|| text("name"))
}

/// A name as somebody may read it who looks neither at case nor at what separates words.
pub fn blurred(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn check(name: &str) -> Result<(), ListedProblem> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.:$@".contains(&byte);
    let likes = |known: &&KnownMethod| blurred(known.name()) == blurred(name);
    let lower = name.to_ascii_lowercase();
    let holds = |known: &&KnownMethod| {
        let below = lower.strip_prefix(&known.name().to_ascii_lowercase());
        below.is_some_and(|rest| rest.starts_with('/'))
    };
    let slashes = name.starts_with('/') || name.ends_with('/') || name.contains("//");
    let of_tasks = |lower: &str| lower.starts_with("tasks/");
    let told = lower.strip_prefix(NOTIFICATIONS).unwrap_or_default();
    Err(if name.is_empty() {
        ListedProblem::Empty
    } else if name.len() > MAX_METHOD_BYTES {
        ListedProblem::TooLong
    } else if !name.bytes().all(allowed) {
        ListedProblem::Character
    } else if KnownMethod::from_name(name).is_some() {
        ListedProblem::Own
    } else if let Some(known) = KnownMethod::ALL.iter().find(likes) {
        ListedProblem::LikeOwn(known.name())
    } else if slashes {
        ListedProblem::Slash
    } else if of_tasks(&lower) || of_tasks(told) {
        ListedProblem::Tasks
    } else if let Some(known) = KnownMethod::ALL.iter().find(holds) {
        ListedProblem::BelowOwn(known.name())
    } else if lower.starts_with("rpc.") {
        ListedProblem::Reserved
    } else {
        return Ok(());
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Era, Side};

    #[test]
    fn a_name_that_peers_could_take_for_a_method_of_the_protocol_cannot_be_listed() {
        use ListedProblem as P;
        let check = |name: &str, problem: P| {
            assert_eq!(ListedMethod::named(name), Err(problem), "{name}");
        };
        check("", P::Empty);
        check(&"x".repeat(MAX_METHOD_BYTES + 1), P::TooLong);
        for name in [
            "a b",
            "a\n",
            "a\0b",
            "caf\u{e9}/x",
            "a\u{200b}",
            "a\\b",
            "a\"b",
            "a?b",
        ] {
            check(name, P::Character);
        }
        for name in [
            "tools/call",
            "notifications/tasks",
            "initialize",
            "tasks/get",
        ] {
            check(name, P::Own);
        }
        for name in [
            "Tools/Call",
            "tools/call/",
            "/tools/call",
            "tools_call",
            "tools//call",
        ] {
            check(name, P::LikeOwn("tools/call"));
        }
        check("resources/Read", P::LikeOwn("resources/read"));
        for name in ["skills/", "/skills", "a//b", "/"] {
            check(name, P::Slash);
        }
        check("tools/call/again", P::BelowOwn("tools/call"));
        check("Ping/x", P::BelowOwn("ping"));
        check("tasks/steal", P::Tasks);
        check("notifications/tasks/mine", P::Tasks);
        check("rpc.discover", P::Reserved);
    }

    #[test]
    fn a_listed_name_is_a_request_unless_it_begins_as_notifications_do() {
        let check = |name: &str, is_request: bool| {
            let listed = ListedMethod::named(name).unwrap();
            let method = KnownMethod::Extension(listed);
            assert_eq!(ListedMethod::named(name), Ok(listed));
            assert_eq!((method.name(), method.is_request()), (name, is_request));
            assert_eq!(KnownMethod::from_name(name), None);
            for era in [Era::Legacy, Era::Stateless] {
                assert!(method.sent_by_in(Side::Agent, era));
                // What a server asks of an agent is a closed set.
                assert_eq!(
                    method.sent_by_in(Side::Upstream, era),
                    !is_request,
                    "{name}"
                );
            }
        };
        check("resources/directory/read", true);
        check("vendor.example/do", true);
        check("notifications/vendor/x", false);
    }

    #[test]
    fn a_gate_finds_the_methods_that_it_lists_and_no_others() {
        let [one, other] =
            ["skills/one", "skills/other"].map(|it| ListedMethod::named(it).unwrap());
        let extensions: Extensions = [one].into_iter().collect();
        assert_eq!(
            extensions.find("skills/one"),
            Some(KnownMethod::Extension(one))
        );
        assert_eq!(extensions.find(other.name()), None);
        assert_eq!(extensions.find("skills/One"), None);
        assert!(Extensions::default().is_empty() && !extensions.is_empty());
    }

    #[test]
    fn a_method_is_small_enough_to_be_copied_with_every_message() {
        assert!(size_of::<KnownMethod>() <= 2);
    }
}
