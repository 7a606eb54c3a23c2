//! Names in the configuration.

use std::ops::Range;

use toml::de::DeTable;

use crate::policy::PolicySource;

/// Where an allowed name stands in the configuration.
pub fn place(configuration: &PolicySource, name: &str) -> Option<Range<usize>> {
    let file = DeTable::parse(&configuration.text).ok()?;
    let policy = file.get_ref().get("policy")?.get_ref().as_table()?;
    let names = policy.get("allow")?.get_ref().as_array()?;
    let is_it = |item: &&toml::Spanned<_>| {
        let item: &toml::de::DeValue<'_> = item.get_ref();
        item.as_str() == Some(name)
    };
    names.iter().find(is_it).map(toml::Spanned::span)
}
