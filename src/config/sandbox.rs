//! `[upstream.sandbox]`: what a server that the gate starts may reach of this machine.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};
use crate::upstream::sandbox::{
    Access, LocalSockets, Network, Place, Sandbox, Strength, SystemFiles,
};

/// The sandbox of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Without the places of roots, which stand with the policies.
    pub sandbox: Sandbox,
    pub roots: SandboxedRoots,
}

/// Whether the server may reach the host's roots of files (`roots.toml`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxedRoots {
    /// To read, and to write those that are `writable`.
    Granted,
    Withheld,
}

/// [`Network`] as far as it is a word.
#[derive(Debug, Clone, Copy)]
enum NetworkWord {
    Absent,
    Full,
}

const PORTS: RangeInclusive<u64> = 1..=65_535;

pub(super) fn sandbox(mut section: ConfigSection<'_, '_>, base: &Path) -> Option<Confinement> {
    let is_present = section.is_present();
    let default = Sandbox::default();
    let mut places = Vec::new();
    for (key, access) in [
        ("read", Access::Read),
        ("write", Access::Write),
        ("execute", Access::Execute),
    ] {
        places.extend(self::places(&mut section, key, access, base));
    }
    let confinement = Confinement {
        sandbox: Sandbox {
            places,
            network: network(&mut section).unwrap_or(default.network),
            system: section
                .switch("system", SystemFiles::Granted, SystemFiles::Withheld)
                .unwrap_or(default.system),
            local_sockets: section
                .switch(
                    "local_sockets",
                    LocalSockets::Granted,
                    LocalSockets::Withheld,
                )
                .unwrap_or(default.local_sockets),
            strength: section
                .switch("required", Strength::Required, Strength::BestEffort)
                .unwrap_or(default.strength),
        },
        roots: section
            .switch("roots", SandboxedRoots::Granted, SandboxedRoots::Withheld)
            .unwrap_or(SandboxedRoots::Withheld),
    };
    tell_of_everything(&mut section, &confinement.sandbox);
    section.finish();
    is_present.then_some(confinement)
}

/// Places that leave nothing of a sandbox.
fn tell_of_everything(section: &mut ConfigSection<'_, '_>, sandbox: &Sandbox) {
    for (key, access) in [("write", Access::Write), ("read", Access::Read)] {
        let is_all = |place: &Place| place.access == access && place.path == Path::new("/");
        if sandbox.places.iter().any(is_all) {
            let reason = ConfigReason::Suspicious("`/` is every file of the machine");
            section.refuse(key, reason, Some("name the directories that are needed"));
        }
    }
}

fn places<'t>(
    section: &mut ConfigSection<'_, 't>,
    key: &'static str,
    access: Access,
    base: &Path,
) -> Vec<Place> {
    let help = "list files and directories, as in `[\"/srv/data\"]`";
    let items = section.items(key, help).unwrap_or_default();
    let place = |item: &ConfigField<'t>| {
        let path = path(section, item, base)?;
        Some(Place {
            setting: item.path.clone(),
            access,
            path,
        })
    };
    items.iter().filter_map(place).collect()
}

fn path<'t>(
    section: &mut ConfigSection<'_, 't>,
    item: &ConfigField<'t>,
    base: &Path,
) -> Option<PathBuf> {
    section.show(item);
    let text = section.text(item)?.value;
    if text.is_empty() || text.contains('\0') {
        section.tell(item, ConfigReason::Invalid("expected a path"), None);
        return None;
    }
    if text.starts_with('~') {
        let reason =
            ConfigReason::Suspicious("no shell reads it: it is a name that begins with `~`");
        section.tell(item, reason, Some("write `${HOME}/…`"));
    }
    Some(base.join(text))
}

fn network(section: &mut ConfigSection<'_, '_>) -> Option<Network> {
    let field = section.take("network")?;
    if let DeValue::Array(items) = field.value {
        let mut ports = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let item = ConfigField {
                path: format!("{}[{index}]", field.path),
                key: field.key,
                place: item.span(),
                value: item.get_ref(),
            };
            let port = section.count_in(&item, &PORTS);
            ports.extend(port.and_then(|port| u16::try_from(port).ok()));
        }
        let help =
            "`\"none\"` grants no network at all; ports are those that the server connects to";
        section.refuse_empty("network", "names no port", help);
        return Some(Network::Ports(ports));
    }
    if !matches!(field.value, DeValue::String(_)) {
        section.wrong_type(&field, "`\"none\"`, `\"full\"` or an array of ports", None);
        return None;
    }
    let words = [("none", NetworkWord::Absent), ("full", NetworkWord::Full)];
    Some(match section.one_of_in(&field, &words)? {
        NetworkWord::Absent => Network::Absent,
        NetworkWord::Full => Network::Full,
    })
}
