//! `[upstream]`: the one protected server, and the environment it is started in or the way to it.

mod isolated;
mod server;

use std::iter;
use std::path::Path;

use super::errors::ConfigReason;
use super::sandbox::NetworkDefault;
use super::section::ConfigSection;
use super::settings::{StartupProbe, Upstream, UserIdentity};

pub use server::INHERITED;
pub(super) use server::inherited;
use server::{UpstreamFields, server};

pub(super) fn upstream(mut section: ConfigSection<'_, '_>, base: &Path) -> Upstream {
    let name = section
        .string("name")
        .unwrap_or_else(|| "upstream".to_owned());
    let label = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(label) {
        let reason = ConfigReason::Invalid("expected 1 to 64 letters, digits, `-`, `_` or `.`");
        section.refuse("name", reason, None);
    }
    open(section, base, name)
}

/// A server with its isolated instances.
pub(super) fn open(mut section: ConfigSection<'_, '_>, base: &Path, name: String) -> Upstream {
    let isolated = isolated::servers(&mut section, base, &name);
    let probe = section.switch("startup_probe", StartupProbe::On, StartupProbe::Off);
    let read = UpstreamFields::of(&mut section, base, NetworkDefault::OfSandbox);
    let mut upstream = server(&mut section, read, name);
    section.name().clone_into(&mut upstream.section);
    upstream.isolated = isolated;
    upstream.startup_probe = if exchanges_tokens(&upstream) {
        let reason = "does not apply when auth.type is 'token_exchange'";
        let help = "remove it: without an agent, the gate has no token to shake hands with";
        if probe == Some(StartupProbe::On) {
            section.only_when(&["startup_probe"], reason, help);
        }
        StartupProbe::Off
    } else {
        probe.unwrap_or_default()
    };
    isolated::tell_of_the_same(&mut section, &upstream);
    section.finish();
    upstream
}

/// Whether the server, or an isolated instance of it, only knows agents by their own tokens.
fn exchanges_tokens(upstream: &Upstream) -> bool {
    let isolated = upstream.isolated.iter().map(|it| &it.server);
    let mut servers = iter::once(upstream).chain(isolated);
    servers.any(|server| server.identity == UserIdentity::Exchange)
}
