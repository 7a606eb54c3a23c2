//! What a condition can see of the facts without Cedar, under the names of the schema.
//!
//! INVARIANT: arguments fit the record of their tool, or the snapshot has refused the call.
//!
//! INVARIANT: each name gives what the bridge (`context.rs`, `entities.rs`, `arguments.rs`) puts
//! into Cedar's value of that name, or nothing. What is optional in the schema is not here, but for
//! members of arguments where they are there: to look up what is missing must fail, and only Cedar
//! fails.

use std::borrow::Cow;

use cedar_policy_core::ast::Var;

use super::entity_kind::EntityKind;
use super::schema_action::SchemaAction;
use super::subjects::Subject;
use crate::policy::leaves::Leaves;
use crate::policy::numbers::{Exact, Ordered};
use crate::policy::{
    Action, Environment, Leaf, Pin, Principal, Received, RecordShape, Resource, ResourceFacts,
    Scalar, SessionState, Targets, Tool, ValueShape,
};

/// One question, as conditions look at it.
pub(super) struct FactView<'a> {
    pub(super) verb: SchemaAction,
    /// What the arguments are, where that is known.
    pub(super) record: Option<&'a RecordShape>,
    pub(super) principal: &'a Subject,
    pub(super) resource: &'a Subject,
    pub(super) who: Principal<'a>,
    pub(super) what: Resource<'a>,
    /// `None` where the context is open.
    pub(super) context: Option<ContextFacts<'a>>,
    /// What the session has read, if that is known of a context that is open otherwise.
    pub(super) held: Option<&'a SessionState>,
}

/// A context.
pub(super) struct ContextFacts<'a> {
    pub(super) action: &'a Action<'a>,
    pub(super) env: &'a Environment<'a>,
    pub(super) arguments: Leaves<'a>,
}

/// An attribute of a leaf's tag; see `arguments.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    String,
    NumberText,
    Integer,
    Boolean,
    IsNull,
    Many,
}

/// One value.
#[derive(Debug)]
pub(super) enum FactValue<'v> {
    Text(&'v str),
    Long(i64),
    Bool(bool),
    Texts(StringSet<'v>),
    Entity(EntityKind, &'v str),
    Entities(EntityKind, StringSet<'v>),
}

/// A set of strings.
#[derive(Debug)]
pub(super) enum StringSet<'v> {
    Owned(&'v [String]),
    Borrowed(&'v [Cow<'v, str>]),
    /// What the author wrote.
    Written(&'v [Box<str>]),
}

/// How a value is found.
pub(super) type Accessor = for<'v> fn(&'v FactView<'_>) -> Option<FactValue<'v>>;

impl<'a> FactView<'a> {
    pub(super) fn arguments(&self) -> Option<&Leaves<'a>> {
        let known = self.context.as_ref()?;
        known.action.arguments().map(|_| &known.arguments)
    }

    /// Whether a member of the typed arguments is there.
    pub(super) fn has_member(&self, names: &[Box<str>]) -> Option<bool> {
        let (_, above) = names.split_last()?;
        let is_there = |names: &[Box<str>]| {
            let member = self.record?.at(names)?;
            Some(member.is_in(self.arguments()?))
        };
        // To look into what is not there must fail, and only Cedar fails.
        for end in 1..=above.len() {
            is_there(names.get(..end)?)?.then_some(())?;
        }
        is_there(names)
    }

    /// A member of the typed arguments, which must be there.
    pub(super) fn member(&self, names: &[Box<str>]) -> Option<FactValue<'a>> {
        let member = self.record?.at(names)?;
        let leaf = self.arguments()?.get(&member.pointer)?;
        match (&member.shape, leaf) {
            (ValueShape::One(Scalar::String), Leaf::String(text)) => Some(FactValue::Text(text)),
            (ValueShape::One(Scalar::Boolean), Leaf::Bool(value)) => Some(FactValue::Bool(*value)),
            (ValueShape::One(Scalar::Integer), Leaf::Number(text)) => {
                Exact::of(text).integer.map(FactValue::Long)
            }
            (ValueShape::Many(Scalar::String), Leaf::Strings(items)) => {
                Some(FactValue::Texts(StringSet::Borrowed(items)))
            }
            (ValueShape::Many(Scalar::String), Leaf::EmptyArray) => {
                Some(FactValue::Texts(StringSet::Borrowed(&[])))
            }
            // Decimals, and sets of others than strings, are Cedar's.
            _ => None,
        }
    }

    fn env(&self) -> Option<&'a Environment<'a>> {
        self.context.as_ref().map(|known| known.env)
    }

    fn session(&self) -> Option<&'a SessionState> {
        self.env().map(|env| &env.session)
    }

    /// The session as far as it has read something.
    pub(super) fn held(&self) -> Option<&'a SessionState> {
        self.session().or(self.held)
    }

    fn targets(&self) -> Option<&'a Targets> {
        self.context.as_ref()?.action.targets()
    }

    fn result(&self) -> Option<&'a Received> {
        if let Action::ReceiveResult { received } = self.context.as_ref()?.action {
            Some(received)
        } else {
            None
        }
    }

    fn method(&self) -> Option<&'a str> {
        if let Action::Notify { method } = self.context.as_ref()?.action {
            Some(method)
        } else {
            None
        }
    }

    fn isolated(&self) -> Option<FactValue<'a>> {
        if let Action::ConnectHost { isolated } = self.context.as_ref()?.action {
            Some(FactValue::Bool(*isolated))
        } else {
            None
        }
    }

    fn pin(&self) -> Option<Pin> {
        match self.what {
            Resource::Tool(tool) => Some(tool.pin),
            Resource::Prompt(prompt) => Some(prompt.pin),
            Resource::Resource(_)
            | Resource::Method(_)
            | Resource::Server(_)
            | Resource::Client(_)
            | Resource::Host(_) => None,
        }
    }

    /// The names of its capabilities, where it has some.
    fn capabilities(&self) -> Option<&'a [String]> {
        match self.what {
            Resource::Tool(tool) => Some(&tool.capabilities),
            Resource::Method(method) => Some(&method.capabilities),
            Resource::Resource(_)
            | Resource::Prompt(_)
            | Resource::Server(_)
            | Resource::Client(_)
            | Resource::Host(_) => None,
        }
    }

    fn tool(&self) -> Option<&'a Tool> {
        if let Resource::Tool(tool) = self.what {
            Some(tool)
        } else {
            None
        }
    }

    fn of_uri(&self) -> Option<&'a ResourceFacts> {
        if let Resource::Resource(resource) = self.what {
            Some(resource)
        } else {
            None
        }
    }
}

impl Attribute {
    /// `None` for `decimal`, which only Cedar can make.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "text" => Self::NumberText,
            "long" => Self::Integer,
            "bool" => Self::Boolean,
            "isNull" => Self::IsNull,
            "strings" => Self::Many,
            _ => return None,
        })
    }
}

impl StringSet<'_> {
    fn is_empty(&self) -> bool {
        match self {
            StringSet::Owned(set) => set.is_empty(),
            StringSet::Borrowed(set) => set.is_empty(),
            StringSet::Written(set) => set.is_empty(),
        }
    }

    fn has(&self, item: &str) -> bool {
        match self {
            StringSet::Owned(set) => set.iter().any(|text| text == item),
            StringSet::Borrowed(set) => set.iter().any(|text| text == item),
            StringSet::Written(set) => set.iter().any(|text| **text == *item),
        }
    }

    fn has_all(&self, others: &StringSet<'_>) -> bool {
        match others {
            StringSet::Owned(others) => others.iter().all(|item| self.has(item)),
            StringSet::Borrowed(others) => others.iter().all(|item| self.has(item)),
            StringSet::Written(others) => others.iter().all(|item| self.has(item)),
        }
    }
}

impl<'v> FactValue<'v> {
    /// Whether a leaf's tag has an attribute.
    pub(super) fn is_in(leaf: &Leaf<'_>, attribute: Attribute) -> bool {
        match leaf {
            Leaf::Number(text) if attribute == Attribute::Integer => {
                Ordered::of(text).is_some_and(|it| it.integer.is_some())
            }
            Leaf::Number(_) => attribute == Attribute::NumberText,
            Leaf::String(_) => attribute == Attribute::String,
            Leaf::Bool(_) => attribute == Attribute::Boolean,
            Leaf::Null => attribute == Attribute::IsNull,
            Leaf::Strings(_) | Leaf::EmptyArray => attribute == Attribute::Many,
            Leaf::EmptyObject | Leaf::Array => false,
        }
    }

    pub(super) fn of_leaf(leaf: &'v Leaf<'v>, attribute: Attribute) -> Option<Self> {
        match (leaf, attribute) {
            (Leaf::String(text), Attribute::String) => Some(Self::Text(text)),
            (Leaf::Number(text), Attribute::NumberText) => Some(Self::Text(text)),
            (Leaf::Number(text), Attribute::Integer) => Ordered::of(text)?.integer.map(Self::Long),
            (Leaf::Bool(value), Attribute::Boolean) => Some(Self::Bool(*value)),
            (Leaf::Null, Attribute::IsNull) => Some(Self::Bool(true)),
            (Leaf::Strings(items), Attribute::Many) => {
                Some(Self::Texts(StringSet::Borrowed(items)))
            }
            (Leaf::EmptyArray, Attribute::Many) => Some(Self::Texts(StringSet::Borrowed(&[]))),
            _ => None,
        }
    }

    pub(super) fn bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    pub(super) fn long(&self) -> Option<i64> {
        if let Self::Long(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    pub(super) fn text(&self) -> Option<&'v str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    pub(super) fn is_empty(&self) -> Option<bool> {
        if let Self::Texts(set) | Self::Entities(_, set) = self {
            Some(set.is_empty())
        } else {
            None
        }
    }

    fn servers(keys: &'v [String]) -> Self {
        Self::Entities(EntityKind::Server, StringSet::Owned(keys))
    }

    fn capabilities(names: &'v [String]) -> Self {
        Self::Entities(EntityKind::Capability, StringSet::Owned(names))
    }

    /// `None` for what is not compared here.
    pub(super) fn equals(&self, other: &FactValue<'_>) -> Option<bool> {
        match (self, other) {
            (Self::Text(one), FactValue::Text(other)) => Some(one == other),
            (Self::Long(one), FactValue::Long(other)) => Some(one == other),
            (Self::Bool(one), FactValue::Bool(other)) => Some(one == other),
            _ => None,
        }
    }

    pub(super) fn contains(&self, item: &FactValue<'_>) -> Option<bool> {
        match (self, item) {
            (Self::Texts(set), FactValue::Text(item)) => Some(set.has(item)),
            (Self::Entities(kind, set), FactValue::Entity(of, item)) if kind == of => {
                Some(set.has(item))
            }
            _ => None,
        }
    }

    pub(super) fn contains_all(&self, items: &FactValue<'_>) -> Option<bool> {
        match (self, items) {
            (Self::Texts(set), FactValue::Texts(items)) => Some(set.has_all(items)),
            (Self::Entities(kind, set), FactValue::Entities(of, items)) if kind == of => {
                Some(set.has_all(items))
            }
            _ => None,
        }
    }
}

/// How the value of a path of the schema is found.
pub(super) fn look(root: Var, path: &[&str]) -> Option<Accessor> {
    match root {
        Var::Context => match path {
            ["env", rest @ ..] => in_env(rest),
            rest => in_context(rest),
        },
        Var::Resource => in_resource(path),
        Var::Principal => match path {
            ["trust"] => Some(|view| match view.who {
                Principal::Agent(agent) => Some(FactValue::Long(agent.trust)),
                Principal::Server(server) => Some(FactValue::Long(server.trust)),
            }),
            ["capabilities"] => Some(|view| match view.who {
                Principal::Agent(agent) => Some(FactValue::capabilities(&agent.capabilities)),
                Principal::Server(_) => None,
            }),
            _ => None,
        },
        Var::Action => None,
    }
}

fn in_env(path: &[&str]) -> Option<Accessor> {
    let look: Accessor = match path {
        ["transport"] => |view| Some(FactValue::Text(view.env()?.transport)),
        ["protocol"] => |view| Some(FactValue::Text(view.env()?.protocol)),
        ["session", "level"] => |view| Some(FactValue::Long(view.held()?.level)),
        ["session", "calls"] => |view| Some(FactValue::Long(view.session()?.calls)),
        ["session", "untrusted"] => |view| Some(FactValue::Bool(view.held()?.untrusted)),
        ["session", "labels"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.held()?.labels)))
        }
        ["session", "datasets"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.held()?.datasets)))
        }
        ["session", "sources"] => |view| Some(FactValue::servers(&view.held()?.sources)),
        ["session", "untrustedFrom"] => {
            |view| Some(FactValue::servers(&view.held()?.untrusted_from))
        }
        ["consent", "granted"] => |view| Some(FactValue::Bool(view.env()?.consent.granted)),
        ["consent", "scope"] => |view| Some(FactValue::Text(&view.env()?.consent.scope)),
        _ => return None,
    };
    Some(look)
}

fn in_context(path: &[&str]) -> Option<Accessor> {
    let look: Accessor = match path {
        ["targets", "roots"] => |view| {
            let roots = StringSet::Owned(&view.targets()?.roots);
            Some(FactValue::Entities(EntityKind::Root, roots))
        },
        ["targets", "outside"] => |view| Some(FactValue::Bool(view.targets()?.outside)),
        ["targets", "level"] => |view| Some(FactValue::Long(view.targets()?.level)),
        ["targets", "writable"] => |view| Some(FactValue::Bool(view.targets()?.writable)),
        ["targets", "bytes"] => |view| Some(FactValue::Long(view.targets()?.bytes)),
        ["targets", "hosts"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.targets()?.hosts)))
        }
        ["targets", "approved"] => |view| Some(FactValue::Bool(view.targets()?.approved)),
        ["targets", "copiedFrom"] => |view| Some(FactValue::servers(&view.targets()?.copied_from)),
        ["targets", "destinations"] => |view| {
            let destinations = StringSet::Owned(&view.targets()?.destinations);
            Some(FactValue::Texts(destinations))
        },
        ["targets", "options"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.targets()?.options)))
        }
        ["targets", "secrets"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.targets()?.secrets)))
        }
        ["result", "secrets"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.result()?.secrets)))
        }
        ["result", "flags"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.result()?.flags)))
        }
        ["isolated"] => |view| view.isolated(),
        ["method"] => |view| view.method().map(FactValue::Text),
        ["result", "level"] => |view| Some(FactValue::Long(view.result()?.level)),
        ["result", "labels"] => {
            |view| Some(FactValue::Texts(StringSet::Owned(&view.result()?.labels)))
        }
        ["result", "bytes"] => |view| Some(FactValue::Long(view.result()?.bytes)),
        ["result", "isError"] => |view| Some(FactValue::Bool(view.result()?.is_error)),
        ["result", "fatal"] => |view| Some(FactValue::Bool(view.result()?.fatal)),
        _ => return None,
    };
    Some(look)
}

fn in_resource(path: &[&str]) -> Option<Accessor> {
    let look: Accessor = match path {
        ["name"] => |view| match view.what {
            Resource::Tool(tool) => Some(FactValue::Text(&tool.name)),
            Resource::Prompt(prompt) => Some(FactValue::Text(&prompt.name)),
            Resource::Method(method) => Some(FactValue::Text(&method.name)),
            Resource::Host(host) => Some(FactValue::Text(&host.name)),
            Resource::Resource(_) | Resource::Server(_) | Resource::Client(_) => None,
        },
        ["port"] => |view| match view.what {
            Resource::Host(host) => Some(FactValue::Long(host.port.into())),
            Resource::Tool(_)
            | Resource::Resource(_)
            | Resource::Prompt(_)
            | Resource::Method(_)
            | Resource::Server(_)
            | Resource::Client(_) => None,
        },
        ["level"] => |view| match view.what {
            Resource::Tool(tool) => Some(FactValue::Long(tool.level)),
            Resource::Resource(resource) => Some(FactValue::Long(resource.level)),
            Resource::Method(method) => Some(FactValue::Long(method.level)),
            Resource::Prompt(_) | Resource::Server(_) | Resource::Client(_) | Resource::Host(_) => {
                None
            }
        },
        ["capabilities"] => |view| Some(FactValue::capabilities(view.capabilities()?)),
        ["consent"] => |view| Some(FactValue::Text(view.tool()?.consent.as_str())),
        ["uri"] => |view| Some(FactValue::Text(&view.of_uri()?.uri)),
        ["scheme"] => |view| Some(FactValue::Text(&view.of_uri()?.scheme)),
        ["labels"] => |view| Some(FactValue::Texts(StringSet::Owned(&view.of_uri()?.labels))),
        ["hints", "readOnly"] => |view| Some(FactValue::Bool(view.tool()?.hints.read_only)),
        ["hints", "destructive"] => |view| Some(FactValue::Bool(view.tool()?.hints.destructive)),
        ["hints", "idempotent"] => |view| Some(FactValue::Bool(view.tool()?.hints.idempotent)),
        ["hints", "openWorld"] => |view| Some(FactValue::Bool(view.tool()?.hints.open_world)),
        ["pin", "known"] => |view| Some(FactValue::Bool(view.pin()?.known)),
        ["pin", "schemaOk"] => |view| Some(FactValue::Bool(view.pin()?.schema_ok)),
        ["pin", "descriptionOk"] => |view| Some(FactValue::Bool(view.pin()?.description_ok)),
        ["flags"] => |view| match view.what {
            Resource::Tool(tool) => Some(FactValue::Texts(StringSet::Owned(&tool.flags))),
            Resource::Prompt(prompt) => Some(FactValue::Texts(StringSet::Owned(&prompt.flags))),
            Resource::Resource(_)
            | Resource::Method(_)
            | Resource::Server(_)
            | Resource::Client(_)
            | Resource::Host(_) => None,
        },
        _ => return None,
    };
    Some(look)
}
