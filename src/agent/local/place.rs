//! Where the one gate of a user and a configuration is found.
//!
//! The place depends on the user and the configuration alone, never on the environment: agents give the
//! processes that they start little of it (no `XDG_RUNTIME_DIR`, no `TMPDIR`), and two agents must not
//! start two gates.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::{sleep, timeout};

/// How often is looked whether a lock is free.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of the digest that names a configuration.
const DIGEST_BYTES: usize = 16;

/// Where the gate of one configuration listens, in a directory that no other user can enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
    name: String,
}

/// There is no place.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("cannot read `{}`: {cause}", file.display())]
    Configuration { file: PathBuf, cause: io::Error },
    #[error("cannot make the directory `{}`: {cause}", directory.display())]
    Directory {
        directory: PathBuf,
        cause: io::Error,
    },
    #[error(
        "`{}` must be a directory of this user (uid {uid}) that no other user can enter (mode 0700), and no \
         link: remove it, or have its owner do so", directory.display()
    )]
    NotPrivate { directory: PathBuf, uid: u32 },
}

/// A lock that one process has; it ends with the process.
#[derive(Debug)]
pub struct PlaceLock(#[expect(dead_code, reason = "what is held is the lock")] File);

impl Place {
    /// The one of this configuration, whatever links lead to it. Makes the directory.
    ///
    /// # Errors
    /// [`PlaceError`] where the configuration cannot be found, or the directory is not private.
    pub fn of(config: &Path) -> Result<Self, PlaceError> {
        Self::below(&base(), config)
    }

    fn below(directory: &Path, config: &Path) -> Result<Self, PlaceError> {
        let config = fs::canonicalize(config).map_err(|cause| PlaceError::Configuration {
            file: config.to_owned(),
            cause,
        })?;
        private(directory)?;
        let digest = Sha256::digest(config.as_os_str().as_bytes());
        let mut name = String::new();
        for byte in digest.iter().take(DIGEST_BYTES) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        Ok(Self {
            directory: directory.to_owned(),
            name,
        })
    }

    /// The socket of the gate.
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// What a gate writes to standard error that an agent has started.
    pub fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// The lock of the gate itself, for as long as it lives. `None` if another has it still after
    /// `patience`.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub async fn gate_lock(&self, patience: Duration) -> io::Result<Option<PlaceLock>> {
        let taken = async {
            loop {
                if let Some(lock) = self.try_lock("gate.lock")? {
                    return Ok(Some(lock));
                }
                sleep(LOOK).await;
            }
        };
        timeout(patience, taken).await.unwrap_or(Ok(None))
    }

    /// The lock for starting the gate; `None` while another process has it.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub fn start_lock(&self) -> io::Result<Option<PlaceLock>> {
        self.try_lock("start.lock")
    }

    fn try_lock(&self, ending: &str) -> io::Result<Option<PlaceLock>> {
        // Never removed: who removes a lock file lets two have the lock.
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.file(ending))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(PlaceLock(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(cause)) => Err(cause),
        }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.directory.join(format!("{}.{ending}", self.name))
    }
}

/// The runtime directory that the system makes for each user who is logged in, or one in `/tmp`.
fn base() -> PathBuf {
    let uid = own_uid();
    let of_user = PathBuf::from(format!("/run/user/{uid}"));
    if is_private(&of_user) {
        of_user.join("mcp-protector")
    } else {
        PathBuf::from(format!("/tmp/mcp-protector-{uid}"))
    }
}

/// Makes the directory, and holds one that is there to what the gate would have made.
fn private(directory: &Path) -> Result<(), PlaceError> {
    let made = DirBuilder::new().mode(0o700).create(directory);
    match made {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
            let directory = directory.to_owned();
            Err(PlaceError::Directory { directory, cause })
        }
        Ok(()) | Err(_) if is_private(directory) => Ok(()),
        Ok(()) | Err(_) => Err(PlaceError::NotPrivate {
            directory: directory.to_owned(),
            uid: own_uid(),
        }),
    }
}

fn is_private(directory: &Path) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|found| {
        let others = found.mode() & 0o077;
        found.is_dir() && found.uid() == own_uid() && others == 0
    })
}

/// The user of this process.
pub(super) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_can_enter_or_that_is_a_link_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let config = parent.path().join("gate.toml");
        fs::write(&config, "").unwrap();
        let check = |name: &str, accepted: bool| {
            let found = Place::below(&parent.path().join(name), &config);
            assert_eq!(found.is_ok(), accepted, "{name}: {found:?}");
            if let Err(problem) = found {
                assert!(problem.to_string().contains(name), "{problem}");
            }
        };
        check("made", true);
        check("made", true);
        for mode in [0o755, 0o710, 0o701] {
            let open = parent.path().join("open");
            let _ = fs::create_dir(&open);
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            check("open", false);
        }
        symlink(parent.path().join("made"), parent.path().join("link")).unwrap();
        check("link", false);
        fs::write(parent.path().join("file"), "").unwrap();
        check("file", false);
    }

    #[test]
    fn a_configuration_has_one_place_by_whatever_link() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("run");
        let [file, other, link] = ["gate.toml", "other.toml", "link.toml"];
        for name in [file, other] {
            fs::write(parent.path().join(name), "").unwrap();
        }
        symlink(parent.path().join(file), parent.path().join(link)).unwrap();
        let place = |name| Place::below(&directory, &parent.path().join(name)).unwrap();
        assert_eq!(place(file), place(link));
        assert_ne!(place(file), place(other));
        assert!(matches!(
            Place::below(&directory, Path::new("/no/such/gate.toml")),
            Err(PlaceError::Configuration { .. })
        ));
    }

    #[tokio::test]
    async fn one_process_has_a_lock_until_it_is_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let config = parent.path().join("gate.toml");
        fs::write(&config, "").unwrap();
        let place = Place::below(&parent.path().join("run"), &config).unwrap();
        let lock = place.gate_lock(Duration::ZERO).await.unwrap();
        assert!(lock.is_some() && place.start_lock().unwrap().is_some());
        assert!(place.gate_lock(Duration::ZERO).await.unwrap().is_none());
        drop(lock);
        assert!(place.gate_lock(Duration::ZERO).await.unwrap().is_some());
    }
}
