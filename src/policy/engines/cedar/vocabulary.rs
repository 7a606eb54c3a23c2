//! The schema, and the names of its types and actions, parsed once per process.

use std::sync::{Arc, LazyLock};

use cedar_policy::{Schema, Validator};
use cedar_policy_core::ast::{Eid, Entity, EntityType, EntityUID};
use cedar_policy_core::entities::{Dereference, Entities};
use cedar_policy_core::validator::ValidatorSchema;

use crate::policy::ActionName;

/// The text of the schema, for people and editors.
pub const BASE_SCHEMA: &str = include_str!("base.cedarschema");

/// The same in Cedar's JSON format, which is read in a tenth of the time. A test keeps them equal.
const BASE_SCHEMA_JSON: &str = include_str!("base.cedarschema.json");

/// What the bridge and the compiler share.
pub(super) struct Vocabulary {
    pub(super) validator: Validator,
    /// Every action with its groups.
    pub(super) actions: Entities,
    /// By `ActionName as usize`.
    action_entities: Vec<Arc<Entity>>,
    pub(super) agent: EntityType,
    pub(super) capability: EntityType,
    pub(super) client: EntityType,
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
}

static VOCABULARY: LazyLock<Result<Vocabulary, String>> = LazyLock::new(Vocabulary::read);

impl Vocabulary {
    /// Fails only by a mistake in the built-in schema.
    pub(super) fn get() -> Result<&'static Self, String> {
        VOCABULARY.as_ref().map_err(Clone::clone)
    }

    pub(super) fn schema(&self) -> &Schema {
        self.validator.schema()
    }

    pub(super) fn core_schema(&self) -> &ValidatorSchema {
        self.schema().as_ref()
    }

    /// The action with its groups, for the entity store of a request.
    pub(super) fn action(&self, name: ActionName) -> Option<&Arc<Entity>> {
        self.action_entities.get(name as usize)
    }

    fn read() -> Result<Self, String> {
        let schema = Schema::from_json_str(BASE_SCHEMA_JSON).map_err(|error| error.to_string())?;
        let actions = schema
            .action_entities()
            .map_err(|error| error.to_string())?;
        let actions: Entities = AsRef::<Entities>::as_ref(&actions).clone();
        let action_type = entity_type("Action")?;
        let action_entities = ActionName::ALL.into_iter().map(|name| {
            match actions.entity(&uid(&action_type, name.as_str())) {
                Dereference::Data(entity) => Ok(Arc::new(entity.clone())),
                Dereference::NoSuchEntity | Dereference::Residual(_) => {
                    Err(format!("no action `{}`", name.as_str()))
                }
            }
        });
        let action_entities = action_entities.collect::<Result<_, String>>()?;
        Ok(Self {
            validator: Validator::new(schema),
            actions,
            action_entities,
            agent: entity_type("Agent")?,
            arguments: uid(&entity_type("Args")?, "arguments"),
            capability: entity_type("Capability")?,
            client: entity_type("Client")?,
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
