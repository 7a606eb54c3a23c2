//! How a sandbox reaches the launcher: as arguments of its hidden subcommand. Paths and ports are no
//! secrets; the command line that follows them is visible in the same way.

use std::ffi::OsString;

use clap::ValueEnum as _;

use super::{Access, LocalSockets, Network, Place, Sandbox, Strength, SystemFiles};

/// The part of the launcher's arguments that says how to confine.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command line, as clap reads them"
)]
pub struct Arguments {
    /// Confine at all.
    #[arg(long)]
    sandbox: bool,
    /// Access, setting and path; may be repeated.
    #[arg(long, num_args = 3, requires = "sandbox", allow_hyphen_values = true)]
    place: Vec<OsString>,
    /// Without the files that programs need.
    #[arg(long, requires = "sandbox")]
    bare: bool,
    /// `full`, `proxied`, or ports with commas between them; none by default.
    #[arg(long, requires = "sandbox", value_parser = network)]
    network: Option<Network>,
    #[arg(long, requires = "sandbox")]
    local_sockets: bool,
    #[arg(long, requires = "sandbox")]
    best_effort: bool,
}

/// What the executor was told, and cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a place of the sandbox cannot be read")]
pub struct Unreadable;

impl Arguments {
    pub fn of(sandbox: Option<&Sandbox>) -> Self {
        let Some(sandbox) = sandbox else {
            return Self::default();
        };
        Self {
            sandbox: true,
            place: sandbox.places.iter().flat_map(words).collect(),
            bare: sandbox.system == SystemFiles::Withheld,
            network: (sandbox.network != Network::Absent).then(|| sandbox.network.clone()),
            local_sockets: sandbox.local_sockets == LocalSockets::Granted,
            best_effort: sandbox.strength == Strength::BestEffort,
        }
    }

    /// The same again, as text for a command line.
    pub fn to_command_line(&self) -> Vec<OsString> {
        let mut line: Vec<OsString> = Vec::new();
        let flags = [
            (self.sandbox, "--sandbox"),
            (self.bare, "--bare"),
            (self.local_sockets, "--local-sockets"),
            (self.best_effort, "--best-effort"),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set);
        line.extend(set.map(|(_, flag)| OsString::from(flag)));
        for place in self.place.chunks(3) {
            line.push("--place".into());
            line.extend_from_slice(place);
        }
        if let Some(network) = &self.network {
            let text = match network {
                Network::Full => "full".to_owned(),
                Network::Absent => "none".to_owned(),
                Network::Proxied => "proxied".to_owned(),
                Network::Ports(ports) => {
                    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                    ports.join(",")
                }
            };
            line.push("--network".into());
            line.push(text.into());
        }
        line
    }

    /// `None` where nothing is to be confined.
    ///
    /// # Errors
    /// Nobody but the gate writes these, so that what cannot be read is the gate's mistake.
    pub fn sandbox(&self) -> Result<Option<Sandbox>, Unreadable> {
        if !self.sandbox {
            return Ok(None);
        }
        let places = self.place.chunks(3).map(place);
        Ok(Some(Sandbox {
            places: places.collect::<Result<_, _>>()?,
            system: if self.bare {
                SystemFiles::Withheld
            } else {
                SystemFiles::Granted
            },
            network: self.network.clone().unwrap_or(Network::Absent),
            local_sockets: if self.local_sockets {
                LocalSockets::Granted
            } else {
                LocalSockets::Withheld
            },
            strength: if self.best_effort {
                Strength::BestEffort
            } else {
                Strength::Required
            },
        }))
    }
}

fn words(place: &Place) -> [OsString; 3] {
    let access = match place.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Execute => "execute",
    };
    [access.into(), (&place.setting).into(), (&place.path).into()]
}

fn place(words: &[OsString]) -> Result<Place, Unreadable> {
    let [access, setting, path] = words else {
        return Err(Unreadable);
    };
    let access = access.to_str().ok_or(Unreadable)?;
    Ok(Place {
        setting: setting.to_string_lossy().into_owned(),
        access: Access::from_str(access, false).map_err(|_| Unreadable)?,
        path: path.into(),
    })
}

fn network(text: &str) -> Result<Network, std::num::ParseIntError> {
    match text {
        "none" => Ok(Network::Absent),
        "full" => Ok(Network::Full),
        "proxied" => Ok(Network::Proxied),
        ports => {
            let ports = ports.split(',').map(str::parse);
            Ok(Network::Ports(ports.collect::<Result<_, _>>()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        arguments: Arguments,
        #[arg(last = true)]
        command: Vec<OsString>,
    }

    fn sandboxes() -> impl Strategy<Value = Sandbox> {
        let access = prop::sample::select(vec![Access::Read, Access::Write, Access::Execute]);
        let place = (access, "[a-z.]{1,9}(\\[[0-9]\\])?", "/\\PC{0,9}");
        let place = place.prop_map(|(access, setting, path)| Place {
            setting,
            access,
            path: path.into(),
        });
        let network = prop_oneof![
            Just(Network::Absent),
            Just(Network::Full),
            Just(Network::Proxied),
            prop::collection::vec(any::<u16>(), 1..4).prop_map(Network::Ports),
        ];
        let rest = (any::<bool>(), any::<bool>(), any::<bool>());
        let parts = (prop::collection::vec(place, 0..4), network, rest);
        parts.prop_map(|(places, network, (bare, local, best))| Sandbox {
            places,
            network,
            system: [SystemFiles::Granted, SystemFiles::Withheld][usize::from(bare)],
            local_sockets: [LocalSockets::Withheld, LocalSockets::Granted][usize::from(local)],
            strength: [Strength::Required, Strength::BestEffort][usize::from(best)],
        })
    }

    fn read_back(sandbox: Option<&Sandbox>) -> Option<Sandbox> {
        let mut line = vec![OsString::from("launch")];
        line.extend(Arguments::of(sandbox).to_command_line());
        line.extend(["--", "--place", "server"].map(OsString::from));
        let program = Program::try_parse_from(line).unwrap();
        assert_eq!(program.command, ["--place", "server"]);
        program.arguments.sandbox().unwrap()
    }

    proptest! {
        #[test]
        fn what_the_launcher_is_told_is_what_was_meant(sandbox in sandboxes()) {
            prop_assert_eq!(read_back(Some(&sandbox)), Some(sandbox));
        }
    }

    #[test]
    fn without_a_sandbox_nothing_is_said_of_one() {
        assert_eq!(Arguments::of(None).to_command_line(), [""; 0]);
        assert_eq!(read_back(None), None);
    }

    #[test]
    fn what_is_said_of_a_sandbox_without_one_is_refused() {
        for line in [
            &["launch", "--bare"] as &[&str],
            &["launch", "--network", "full"],
            &["launch", "--place", "read", "x", "/"],
            &["launch", "--sandbox", "--place", "read", "/"],
            &["launch", "--sandbox", "--network", "65536"],
            &["launch", "--sandbox", "--network", ""],
        ] {
            let refused = Program::try_parse_from(line).is_err();
            assert!(refused, "{line:?}");
        }
        let line = ["launch", "--sandbox", "--place", "all", "x", "/"];
        let program = Program::try_parse_from(line).unwrap();
        assert_eq!(program.arguments.sandbox(), Err(Unreadable));
    }
}
