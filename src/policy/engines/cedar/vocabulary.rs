//! The schema, and the names of its types and actions, parsed once per process.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cedar_policy::{Schema, SchemaFragment, Validator};
use cedar_policy_core::ast::{Eid, Entity, EntityType, EntityUID};
use cedar_policy_core::entities::{Dereference, Entities};
use cedar_policy_core::validator::ValidatorSchema;

use super::argument_schema;
use super::schema_action::{CALL, CallIndex, SchemaAction};
use crate::policy::{ActionName, Lock, RecordShape, ServerKey};

/// The text of the schema, for people and editors.
pub const BASE_SCHEMA: &str = include_str!("base.cedarschema");

/// The same in Cedar's JSON format, which is read in a tenth of the time. A test keeps them equal.
pub(super) const BASE_SCHEMA_JSON: &str = include_str!("base.cedarschema.json");

/// What the bridge and the compiler share.
pub(super) struct Vocabulary {
    pub(super) validator: Validator,
    /// Every action with its groups.
    pub(super) actions: Entities,
    /// By `ActionName as usize`.
    action_entities: Vec<Arc<Entity>>,
    /// By `CallIndex`.
    calls: Vec<TypedCall>,
    /// By the name of the tool.
    call_places: HashMap<String, CallIndex>,
    pub(super) agent: EntityType,
    pub(super) capability: EntityType,
    pub(super) client: EntityType,
    pub(super) host: EntityType,
    pub(super) method: EntityType,
    pub(super) permission: EntityType,
    pub(super) prompt: EntityType,
    pub(super) prompt_group: EntityType,
    pub(super) resource: EntityType,
    pub(super) resource_group: EntityType,
    pub(super) role: EntityType,
    pub(super) root: EntityType,
    pub(super) server: EntityType,
    pub(super) server_group: EntityType,
    pub(super) team: EntityType,
    pub(super) tool: EntityType,
    pub(super) tool_group: EntityType,
    pub(super) user: EntityType,
    /// The one `Args` entity of a request.
    pub(super) arguments: EntityUID,
    /// The one `Claims` entity of a request.
    pub(super) claims: EntityUID,
}

/// The call of a tool whose arguments have types.
struct TypedCall {
    action: Arc<Entity>,
    arguments: RecordShape,
}

static VOCABULARY: LazyLock<Result<Arc<Vocabulary>, String>> =
    LazyLock::new(|| Vocabulary::read(&Lock::default()).map(Arc::new));

static LATEST: Mutex<Option<Arc<Vocabulary>>> = Mutex::new(None);

impl Vocabulary {
    /// What every gate has. Fails only by a mistake in the built-in schema.
    pub(super) fn get() -> Result<Arc<Self>, String> {
        VOCABULARY.clone()
    }

    /// The same with an action for each tool whose arguments have types.
    ///
    /// The latest is kept: what compiles mostly does so again, with other policies or for the lints,
    /// and of few policies on many tools this is most of the work.
    pub(super) fn with(lock: &Lock) -> Result<Arc<Self>, String> {
        if lock.typed().next().is_none() {
            return Self::get();
        }
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = latest.as_ref().filter(|words| words.is_of(lock)) {
            return Ok(Arc::clone(words));
        }
        let words = Self::read(lock).map(Arc::new)?;
        *latest = Some(Arc::clone(&words));
        Ok(words)
    }

    /// Whether it has the same calls as a lock, with the same types.
    pub(super) fn is_of(&self, lock: &Lock) -> bool {
        let mut own = self.calls.iter().enumerate();
        let same = lock.typed().all(|(name, arguments)| {
            own.next().is_some_and(|(place, call)| {
                self.call(name) == Some(CallIndex(place)) && call.arguments == *arguments
            })
        });
        same && own.next().is_none()
    }

    /// Whether any tool has an action of its own, of one server where the policies are its own.
    pub(super) fn has_calls_of(&self, server: Option<&ServerKey>) -> bool {
        self.calls()
            .any(|(id, _)| server.is_none_or(|server| server.name_in(id).is_some()))
    }

    pub(super) fn call(&self, tool: &str) -> Option<CallIndex> {
        self.call_places.get(tool).copied()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, CallIndex)> {
        let places = self.call_places.iter();
        places.map(|(name, call)| (name.as_str(), *call))
    }

    /// The call that an action of this name is.
    pub(super) fn call_of(&self, uid: &EntityUID) -> Option<CallIndex> {
        let name: &str = uid.eid().as_ref();
        let call = self.call(name.strip_prefix(CALL)?)?;
        (self.action(SchemaAction::Call(call))?.uid() == uid).then_some(call)
    }

    /// What the arguments of a call are, where that is known.
    pub(super) fn arguments_of(&self, verb: SchemaAction) -> Option<&RecordShape> {
        self.calls.get(verb.call()?.0).map(|call| &call.arguments)
    }

    pub(super) fn schema(&self) -> &Schema {
        self.validator.schema()
    }

    pub(super) fn core_schema(&self) -> &ValidatorSchema {
        self.schema().as_ref()
    }

    /// The action with its groups, for the entity store of a request.
    pub(super) fn action(&self, verb: SchemaAction) -> Option<&Arc<Entity>> {
        match verb {
            SchemaAction::Named(name) => self.action_entities.get(name as usize),
            SchemaAction::Call(call) => self.calls.get(call.0).map(|call| &call.action),
        }
    }

    fn read(lock: &Lock) -> Result<Self, String> {
        let schema = schema_with(lock)?;
        let actions = schema
            .action_entities()
            .map_err(|error| error.to_string())?;
        let actions: Entities = AsRef::<Entities>::as_ref(&actions).clone();
        let action_type = entity_type("Action")?;
        let action = |name: &str| match actions.entity(&uid(&action_type, name)) {
            Dereference::Data(entity) => Ok(Arc::new(entity.clone())),
            Dereference::NoSuchEntity | Dereference::Residual(_) => {
                Err(format!("no action `{name}`"))
            }
        };
        let action_entities = ActionName::ALL.iter().map(|name| action(name.as_str()));
        let action_entities = action_entities.collect::<Result<_, String>>()?;
        let call = |(name, arguments): (&str, &RecordShape)| {
            Ok(TypedCall {
                action: action(&format!("{CALL}{name}"))?,
                arguments: arguments.clone(),
            })
        };
        let calls = lock.typed().map(call).collect::<Result<_, String>>()?;
        let places = lock.typed().enumerate();
        let places = places.map(|(place, (name, _))| (name.to_owned(), CallIndex(place)));
        Ok(Self {
            validator: Validator::new(schema),
            call_places: places.collect(),
            calls,
            actions,
            action_entities,
            agent: entity_type("Agent")?,
            arguments: uid(&entity_type("Args")?, "arguments"),
            capability: entity_type("Capability")?,
            claims: uid(&entity_type("Claims")?, "claims"),
            client: entity_type("Client")?,
            host: entity_type("Host")?,
            method: entity_type("Method")?,
            permission: entity_type("Permission")?,
            prompt: entity_type("Prompt")?,
            prompt_group: entity_type("PromptGroup")?,
            resource: entity_type("Resource")?,
            resource_group: entity_type("ResourceGroup")?,
            role: entity_type("Role")?,
            root: entity_type("Root")?,
            server: entity_type("Server")?,
            server_group: entity_type("ServerGroup")?,
            team: entity_type("Team")?,
            tool: entity_type("Tool")?,
            tool_group: entity_type("ToolGroup")?,
            user: entity_type("User")?,
        })
    }
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocabulary").finish_non_exhaustive()
    }
}

/// An entity of a type of ours. The id may hold anything.
pub(super) fn uid(kind: &EntityType, id: &str) -> EntityUID {
    EntityUID::from_components(kind.clone(), Eid::new(id), None)
}

fn schema_with(lock: &Lock) -> Result<Schema, String> {
    let base = SchemaFragment::from_json_str(BASE_SCHEMA_JSON);
    let base = base.map_err(|error| error.to_string())?;
    let calls = lock
        .typed()
        .next()
        .map(|_| argument_schema::calls(lock))
        .transpose()?;
    let schema = Schema::from_schema_fragments([base].into_iter().chain(calls));
    schema.map_err(|error| error.to_string())
}

fn entity_type(name: &str) -> Result<EntityType, String> {
    format!("Mcp::{name}")
        .parse()
        .map_err(|error| format!("entity type `{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use cedar_policy::SchemaFragment;

    use super::*;

    /// `UPDATE=1 cargo test the_json_form_is_the_schema` writes it anew.
    #[test]
    fn the_json_form_is_the_schema() {
        let (text, warnings) = SchemaFragment::from_cedarschema_str(BASE_SCHEMA).unwrap();
        assert_eq!(warnings.count(), 0);
        let text = serde_json::to_string_pretty(&text.to_json_value().unwrap()).unwrap() + "\n";
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write("src/policy/engines/cedar/base.cedarschema.json", text).unwrap();
        } else {
            assert_eq!(text, BASE_SCHEMA_JSON);
        }
    }
}
