//! Methods of extensions and types of their results, by the names that an operator lists.

use std::borrow::Cow;
use std::sync::Arc;

use super::json::Value;
use super::listed_method::{ListedMethod, MOST_METHODS, NOTIFICATIONS};
use super::method::{KnownMethod, MAX_METHOD_BYTES};

/// The types of results (`resultType`) that the gate knows without a list.
const RESULT_TYPES: [&str; 3] = ["complete", "input_required", "task"];

/// A type of results that an extension defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedType(Arc<str>);

/// What one gate knows of extensions: their methods, and the types of results that they define.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions {
    methods: Arc<[ListedMethod]>,
    result_types: Arc<[ListedType]>,
}

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
    #[error("is a type of results that the gate knows itself")]
    OwnType,
    #[error("can be taken for `{0}`, a type of results that the gate knows itself")]
    LikeOwnType(&'static str),
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
        Self::intern(name).ok_or(ListedProblem::TooMany)
    }
}

impl ListedType {
    /// The type of this name, which no peer may take for one that means something else.
    ///
    /// # Errors
    /// [`ListedProblem`] for a name that cannot be listed.
    pub fn named(name: &str) -> Result<Self, ListedProblem> {
        check_form(name)?;
        let like = RESULT_TYPES
            .into_iter()
            .find(|known| blurred(known) == blurred(name));
        match like {
            None => Ok(Self(name.into())),
            Some(known) if known == name => Err(ListedProblem::OwnType),
            Some(known) => Err(ListedProblem::LikeOwnType(known)),
        }
    }
}

impl Extensions {
    /// The same with these types of results.
    #[must_use]
    pub fn with_result_types(mut self, types: impl IntoIterator<Item = ListedType>) -> Self {
        self.result_types = types.into_iter().collect();
        self
    }

    /// Whether an extension defines this type of results.
    pub fn has_result_type(&self, name: &str) -> bool {
        self.result_types.iter().any(|listed| *listed.0 == *name)
    }

    pub fn find(&self, name: &str) -> Option<KnownMethod> {
        let found = self.methods.iter().find(|listed| listed.name() == name);
        found.copied().map(KnownMethod::Extension)
    }

    /// Those of both.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let more = others.methods.iter();
        let more = more.filter(|it| !self.methods.contains(it));
        let methods: Self = self.methods.iter().chain(more).copied().collect();
        let more = others.result_types.iter();
        let more = more.filter(|it| !self.result_types.contains(it));
        methods.with_result_types(self.result_types.iter().chain(more).cloned())
    }

    pub fn is_empty(&self) -> bool {
        self.methods.is_empty() && self.result_types.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = ListedMethod> {
        self.methods.iter().copied()
    }
}

impl FromIterator<ListedMethod> for Extensions {
    fn from_iter<T: IntoIterator<Item = ListedMethod>>(methods: T) -> Self {
        Self {
            methods: methods.into_iter().collect(),
            result_types: Arc::default(),
        }
    }
}

/// What the header `Mcp-Name` says of a method of an extension: by the protocol's own methods, which URI it
/// is about, or else which name.
pub fn name_of_extension(params: Option<Value<'_>>) -> Option<Cow<'_, str>> {
    let text = |key| params?.get(key)?.as_str();
    text("uri").or_else(|| text("name"))
}

/// A name as a reader sees it that ignores case and word separators.
pub fn blurred(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether a name is one that every reader takes for the same.
fn check_form(name: &str) -> Result<(), ListedProblem> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.:$@".contains(&byte);
    if name.is_empty() {
        Err(ListedProblem::Empty)
    } else if name.len() > MAX_METHOD_BYTES {
        Err(ListedProblem::TooLong)
    } else if !name.bytes().all(allowed) {
        Err(ListedProblem::Character)
    } else {
        Ok(())
    }
}

fn check(name: &str) -> Result<(), ListedProblem> {
    check_form(name)?;
    let likes = |known: &&KnownMethod| blurred(known.name()) == blurred(name);
    let lower = name.to_ascii_lowercase();
    let holds = |known: &&KnownMethod| {
        let below = lower.strip_prefix(&known.name().to_ascii_lowercase());
        below.is_some_and(|rest| rest.starts_with('/'))
    };
    let slashes = name.starts_with('/') || name.ends_with('/') || name.contains("//");
    let of_tasks = |lower: &str| lower.starts_with("tasks/");
    let told = lower.strip_prefix(NOTIFICATIONS).unwrap_or_default();
    Err(if KnownMethod::from_name(name).is_some() {
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
    fn a_type_of_results_that_could_be_taken_for_another_cannot_be_listed() {
        use ListedProblem as P;
        let check = |name: &str, problem: P| {
            assert_eq!(ListedType::named(name), Err(problem), "{name}");
        };
        check("", P::Empty);
        check(&"x".repeat(MAX_METHOD_BYTES + 1), P::TooLong);
        check("a b", P::Character);
        check("complete", P::OwnType);
        check("Complete", P::LikeOwnType("complete"));
        check("input-required", P::LikeOwnType("input_required"));
        check("tAsk", P::LikeOwnType("task"));
        let types = ["vendor/deferred", "partial"].map(|it| ListedType::named(it).unwrap());
        let [one, other] = types.map(|it| Extensions::default().with_result_types([it]));
        let both = one.with(&other);
        assert!(both.has_result_type("partial") && both.has_result_type("vendor/deferred"));
        assert!(!both.has_result_type("Partial") && !one.has_result_type("partial"));
        assert!(!one.is_empty());
    }

    #[test]
    fn a_method_is_small_enough_to_be_copied_with_every_message() {
        assert!(size_of::<KnownMethod>() <= 2);
    }
}
