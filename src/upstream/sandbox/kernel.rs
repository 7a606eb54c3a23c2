//! What the kernel is asked for.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, PathFdError, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use super::{Access, Network, Place, Sandbox, SandboxError, Strength, SystemFiles, calls, system};

/// The version of Landlock that has all that is asked for: files since 1, renames between directories
/// since 2, truncation since 3, ports since 4, devices since 5, signals and abstract sockets since 6.
const NEEDED: ABI = ABI::V6;

/// Everything that would keep a server from being confined as it has to be, as far as that is seen
/// without doing it. Where less is enough ([`Strength::BestEffort`]), what is short is in the answer.
///
/// # Errors
/// All problems at once; never empty.
pub fn check(sandbox: &Sandbox) -> Result<Option<String>, Vec<SandboxError>> {
    let opened = sandbox.places.iter().map(open);
    let mut problems: Vec<SandboxError> = opened.filter_map(Result::err).collect();
    let of_calls = calls::try_out(sandbox).err();
    if let (Network::Proxied, Some(lacks)) = (&sandbox.network, &of_calls) {
        problems.push(unproxied(lacks));
    }
    let lacks = together(lacks_of_landlock(), of_calls);
    if let Some(lacks) = &lacks
        && sandbox.strength == Strength::Required
    {
        problems.push(SandboxError::Kernel(format!(
            "{lacks}; `required = false` confines as far as it can"
        )));
    }
    if problems.is_empty() {
        Ok(lacks)
    } else {
        Err(problems)
    }
}

/// Confines the calling process, which must have one thread, and whatever it becomes. Where less is enough
/// ([`Strength::BestEffort`]), what is short is in the answer.
///
/// # Errors
/// The process is then confined in parts, and must not become a server.
pub fn confine(sandbox: &Sandbox) -> Result<Option<String>, SandboxError> {
    let ruleset = ruleset(sandbox)?;
    // Sets `no_new_privs` as well.
    let status = ruleset.restrict_self().map_err(|error| kernel(&error))?;
    let of_landlock = match status.ruleset {
        RulesetStatus::FullyEnforced => None,
        RulesetStatus::PartiallyEnforced => Some("Landlock enforces only a part of it".to_owned()),
        RulesetStatus::NotEnforced => Some("Landlock enforces nothing of it".to_owned()),
    };
    // After it: the filter would keep nobody from confining, but nothing needs to be thought through.
    let of_calls = calls::filter(sandbox).err();
    if let (Network::Proxied, Some(lacks)) = (&sandbox.network, &of_calls) {
        return Err(unproxied(lacks));
    }
    match (together(of_landlock, of_calls), sandbox.strength) {
        (Some(lacks), Strength::Required) => Err(SandboxError::Kernel(lacks)),
        (lacks, _) => Ok(lacks),
    }
}

fn ruleset(sandbox: &Sandbox) -> Result<RulesetCreated, SandboxError> {
    let mut ruleset = handled(NEEDED, level(sandbox.strength), &sandbox.network)
        .and_then(Ruleset::create)
        .map_err(|error| kernel(&error))?;
    for place in &sandbox.places {
        let rule = PathBeneath::new(open(place)?, granted(place.access, &place.path));
        ruleset = ruleset.add_rule(rule).map_err(|error| kernel(&error))?;
    }
    if sandbox.system == SystemFiles::Granted {
        let reads = AccessFs::ReadFile | AccessFs::ReadDir;
        let writes = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        ruleset = ruleset
            .add_rules(path_beneath_rules(
                system::PROGRAMS,
                reads | AccessFs::Execute,
            ))
            .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(system::FILES, reads)))
            .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(system::SINKS, writes)))
            .map_err(|error| kernel(&error))?;
    }
    if let Network::Ports(ports) = &sandbox.network {
        for port in ports {
            let rule = NetPort::new(*port, AccessNet::ConnectTcp);
            ruleset = ruleset.add_rule(rule).map_err(|error| kernel(&error))?;
        }
    }
    Ok(ruleset)
}

/// What is forbidden unless a rule grants it.
fn handled(abi: ABI, level: CompatLevel, network: &Network) -> Result<Ruleset, RulesetError> {
    let scopes = Scope::from_all(abi);
    let ports = AccessNet::from_all(abi) & AccessNet::from_all(ABI::V4);
    let mut ruleset = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(abi))?;
    let by_port = match network {
        Network::Absent | Network::Ports(_) => true,
        // The namespace has nothing to reach.
        Network::Proxied | Network::Full => false,
    };
    if by_port && !ports.is_empty() {
        ruleset = ruleset.handle_access(ports)?;
    }
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    Ok(ruleset)
}

/// Whatever is required: without the filter there are sockets that know no namespaces.
fn unproxied(lacks: &str) -> SandboxError {
    SandboxError::Network(format!("the network cannot be proxied: {lacks}"))
}

fn together(of_landlock: Option<String>, of_calls: Option<String>) -> Option<String> {
    let lacks: Vec<String> = of_landlock.into_iter().chain(of_calls).collect();
    (!lacks.is_empty()).then(|| lacks.join("; "))
}

fn lacks_of_landlock() -> Option<String> {
    let all = [NEEDED, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1];
    let has = all.into_iter().find(|abi| {
        let ruleset = handled(*abi, CompatLevel::HardRequirement, &Network::Absent);
        ruleset.and_then(Ruleset::create).is_ok()
    });
    match has {
        Some(abi) if abi == NEEDED => None,
        Some(abi) => Some(format!(
            "it takes version 6 of Landlock (Linux 6.12), and this kernel has version {abi}"
        )),
        None => Some(
            "this kernel has no Landlock, or was started without it (`lsm=landlock,…`)".to_owned(),
        ),
    }
}

fn level(strength: Strength) -> CompatLevel {
    match strength {
        Strength::Required => CompatLevel::HardRequirement,
        Strength::BestEffort => CompatLevel::BestEffort,
    }
}

fn granted(access: Access, path: &Path) -> BitFlags<AccessFs> {
    let all = AccessFs::from_all(ABI::V5);
    let granted = match access {
        Access::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        Access::Execute => AccessFs::from_read(ABI::V5),
        // Device files are not made, and none is spoken to beyond its bytes.
        Access::Write => {
            let devices = AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev;
            all & !AccessFs::Execute & !devices
        }
    };
    if path.is_dir() {
        granted
    } else {
        granted & AccessFs::from_file(ABI::V5)
    }
}

fn open(place: &Place) -> Result<PathFd, SandboxError> {
    PathFd::new(&place.path).map_err(|error| {
        let cause = match error {
            PathFdError::OpenCall { source, .. } => source.to_string(),
            error => error.to_string(),
        };
        SandboxError::Place {
            setting: place.setting.clone(),
            path: place.path.display().to_string().escape_debug().to_string(),
            cause: format!("cannot be opened: {cause}"),
        }
    })
}

fn kernel(error: &RulesetError) -> SandboxError {
    SandboxError::Kernel(error.to_string())
}
