//! Where the server of one of several configurations stands in the file.

use super::section::ConfigSection;
use super::settings::Config;

/// Tells something in the section of the server of one of [`Config::each`].
pub(super) fn at_server(
    root: &mut ConfigSection<'_, '_>,
    config: &Config,
    tell: impl FnOnce(&mut ConfigSection<'_, '_>),
) {
    let Some(key) = &config.key else {
        tell(&mut root.section("upstream"));
        return;
    };
    let mut servers = root.section("servers");
    let mut fields = servers.entries().into_iter();
    let field = fields.find(|field| field.key == key.as_str());
    if let Some(mut table) = field.and_then(|field| servers.table_in(&field)) {
        tell(&mut table);
    }
}
