//! `[upstream.sandbox]`: what a server that the gate starts may reach of this machine.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};
use crate::egress::{Destination, DestinationError, Destinations};
use crate::upstream::sandbox::{
    Access, LocalSockets, Network, Place, Sandbox, Strength, SystemFiles,
};

/// The sandbox of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Without the places of roots, which stand with the policies.
    pub sandbox: Sandbox,
    pub files: ConfinedFiles,
    pub roots: SandboxedRoots,
    /// What a server whose network is [`Network::Proxied`] may connect to.
    pub egress: Destinations,
}

/// Which files a confined server may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfinedFiles {
    /// Those that are named.
    Named,
    /// All that the user may: nothing is said of a sandbox, and its level confines its network alone.
    All,
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
    Proxied,
    Full,
}

/// The network of a server of which nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetworkDefault {
    /// None in a sandbox, and all of it without one.
    OfSandbox,
    /// By the level from which on sessions speak to it, in a sandbox and without one.
    OfLevel(i64),
}

impl NetworkDefault {
    fn in_a_sandbox(self) -> Network {
        match self {
            Self::OfSandbox => Sandbox::default().network,
            Self::OfLevel(..CONFIDENTIAL) => Network::Full,
            Self::OfLevel(CONFIDENTIAL) => Network::Proxied,
            Self::OfLevel(_) => Network::Absent,
        }
    }

    /// What confines the network and nothing else, if it is confined.
    fn without_a_sandbox(self) -> Option<Confinement> {
        let network = match self {
            Self::OfSandbox => return None,
            Self::OfLevel(_) => self.in_a_sandbox(),
        };
        (network != Network::Full).then(|| Confinement {
            sandbox: Sandbox {
                network,
                ..Sandbox::default()
            },
            files: ConfinedFiles::All,
            roots: SandboxedRoots::Withheld,
            egress: Destinations::default(),
        })
    }
}

/// The level of sensitivity from which on a server's network is proxied by default.
pub(super) const CONFIDENTIAL: i64 = 2;

const PORTS: RangeInclusive<u64> = 1..=65_535;

/// Destinations of one server.
const MAX_DESTINATIONS: usize = 256;

pub(super) fn sandbox(
    mut section: ConfigSection<'_, '_>,
    base: &Path,
    unsaid: NetworkDefault,
) -> Option<Confinement> {
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
    let is_said = section.has("network");
    let network = network(&mut section).unwrap_or_else(|| unsaid.in_a_sandbox());
    let egress = egress(&mut section, &network);
    if is_said && network == Network::Proxied && !section.has("egress") {
        let reason = ConfigReason::RequiredWhen("network is 'proxied'");
        section.require("egress", reason, DESTINATIONS);
    }
    let confinement = Confinement {
        egress,
        files: ConfinedFiles::Named,
        sandbox: Sandbox {
            places,
            network,
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
    if is_present {
        Some(confinement)
    } else {
        unsaid.without_a_sandbox()
    }
}

const DESTINATIONS: &str = "list exact hosts with their ports, as in `[\"api.example.com:443\"]`";

fn egress(section: &mut ConfigSection<'_, '_>, network: &Network) -> Destinations {
    let listed = section.each("egress", DESTINATIONS, |section, item| {
        let text = section.text(item)?.value;
        // What stands before an `@` may be a password.
        if !text.contains('@') {
            section.show(item);
        }
        let read = Destination::read(&text).map_err(|error| {
            let reason = ConfigReason::Unusable(error.to_string());
            section.tell(item, reason, Some(help_with(error)));
        });
        read.ok()
    });
    section.refuse_empty(
        "egress",
        "names no host",
        "name some, or write `network = \"none\"`",
    );
    if *network != Network::Proxied {
        let help = "write `network = \"proxied\"`, or remove it";
        section.only_when(&["egress"], "only applies when network is 'proxied'", help);
    }
    let listed = listed.unwrap_or_default();
    if listed.len() > MAX_DESTINATIONS {
        let help = "at most 256 destinations can be listed";
        section.refuse("egress", ConfigReason::ExceedsMaximum, Some(help));
    }
    Destinations::new(listed)
}

fn help_with(error: DestinationError) -> &'static str {
    match error {
        DestinationError::Wildcard => "list each host by its exact name",
        DestinationError::NoPort => {
            "add the port, as in `api.example.com:443`: there is no default one"
        }
        DestinationError::Name => {
            "write the name as DNS has it, without a dot at its end: `xn--…` for other scripts"
        }
        DestinationError::Spelling => "write it as `127.0.0.1` or `[::1]`",
        DestinationError::Address => "list the address of the machine itself",
        DestinationError::Odd | DestinationError::Port => DESTINATIONS,
    }
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
        let expected = "`\"none\"`, `\"proxied\"`, `\"full\"` or an array of ports";
        section.wrong_type(&field, expected, None);
        return None;
    }
    let words = [
        ("none", NetworkWord::Absent),
        ("proxied", NetworkWord::Proxied),
        ("full", NetworkWord::Full),
    ];
    Some(match section.one_of_in(&field, &words)? {
        NetworkWord::Absent => Network::Absent,
        NetworkWord::Proxied => Network::Proxied,
        NetworkWord::Full => Network::Full,
    })
}
