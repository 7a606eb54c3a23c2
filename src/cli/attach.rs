//! `attach`: a pipe between an agent's standard streams and the one gate of its user.

#[cfg(unix)]
mod found;
#[cfg(unix)]
mod pipe;

use std::path::PathBuf;

use tracing::error;

use super::args::AttachArgs;
use super::exit::Exit;

/// Below the home directory, which clients leave in the environment of what they start; of
/// `XDG_CONFIG_HOME` they do not.
const USUAL: &str = ".config/mcp-protector/gate.toml";

/// Passes bytes on until one side has gone.
pub fn run(args: AttachArgs) -> Exit {
    let usual = || std::env::home_dir().map(|home| home.join(USUAL));
    let Some(config) = args.config.or_else(usual) else {
        error!("this user has no home directory: name the configuration with `--config`");
        return Exit::Invalid;
    };
    attach(&args.server, config)
}

#[cfg(unix)]
fn attach(server: &str, config: PathBuf) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(cause) => {
            error!("cannot start the event loop: {cause}");
            return Exit::Unrecoverable;
        }
    };
    let exit = runtime.block_on(async {
        let (gate, log) = match found::gate(server, config).await {
            Ok(found) => found,
            Err(failure) => {
                error!("{failure}");
                return failure.exit();
            }
        };
        pipe::run(gate, &log).await
    });
    // A thread may wait for standard input.
    runtime.shutdown_background();
    exit
}

#[cfg(not(unix))]
fn attach(_: &str, _: PathBuf) -> Exit {
    error!(
        "`attach` needs Unix sockets, which this system does not have: use one gate for each server, or \
         `listen.transport = \"http\"`"
    );
    Exit::Unrecoverable
}
