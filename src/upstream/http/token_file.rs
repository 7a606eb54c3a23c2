//! A bearer token in a file that others may replace while the gate runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::clock::Clock;

use super::bearer::{Shown, bearer};
use super::conceal::Conceal;
use super::secret_file::{SecretFault, read};
use super::settings::{HttpClientError, HttpSettings};

/// How long what was read is taken for what the file holds.
const FRESH: Duration = Duration::from_secs(1);

/// How long a request waits for the file, which may lie where reading takes long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The token that the file held when it was last read and had a token in it.
pub(super) struct TokenFile {
    path: PathBuf,
    conceal: Arc<dyn Conceal>,
    clock: Arc<dyn Clock>,
    present: Mutex<Present>,
    /// Held by the one who reads.
    turn: tokio::sync::Mutex<()>,
}

struct Present {
    shown: Shown,
    looked: Duration,
    /// Why the file gives no token now, as it was told last.
    fault: Option<SecretFault>,
}

impl TokenFile {
    /// Reads it: without a first token there is nothing to start with.
    pub(super) fn open(path: PathBuf, settings: &HttpSettings) -> Result<Self, HttpClientError> {
        let refused = |cause| HttpClientError::SecretFile {
            key: "upstream.auth.token_file",
            path: path.clone(),
            cause,
        };
        let token = read(&path).map_err(refused)?;
        let header = bearer(&token).ok_or_else(|| refused(SecretFault::NoToken))?;
        let concealed = settings.conceal.conceal(&token);
        concealed.map_err(|short| refused(short.into()))?;
        let present = Present {
            shown: Shown { header, number: 0 },
            looked: settings.clock.elapsed(),
            fault: None,
        };
        Ok(Self {
            path,
            conceal: Arc::clone(&settings.conceal),
            clock: Arc::clone(&settings.clock),
            present: Mutex::new(present),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    pub(super) async fn present(self: &Arc<Self>) -> Shown {
        if self.is_due() {
            self.look().await;
        }
        self.lock().shown.clone()
    }

    /// Another token than the one that was refused, if the file has one by now.
    pub(super) async fn instead_of(self: &Arc<Self>, refused: &Shown) -> Option<Shown> {
        let other = |present: &Present| {
            let is_other = present.shown.number != refused.number;
            is_other.then(|| present.shown.clone())
        };
        let known = other(&self.lock());
        if known.is_some() {
            return known;
        }
        self.look().await;
        other(&self.lock())
    }

    /// While somebody reads, others go on with what there is.
    fn is_due(&self) -> bool {
        let age = self.clock.elapsed().saturating_sub(self.lock().looked);
        age >= FRESH && self.turn.try_lock().is_ok()
    }

    async fn look(self: &Arc<Self>) {
        let own = Arc::clone(self);
        // On its own: whoever asked may go away, and what was read is for all.
        let look = tokio::spawn(async move {
            let _turn = own.turn.lock().await;
            let path = own.path.clone();
            let read = spawn_blocking(move || read(&path)).await;
            own.take(read.unwrap_or(Err(SecretFault::Late)));
        });
        if timeout(PATIENCE, look).await.is_err() {
            self.fail(SecretFault::Late);
        }
    }

    fn take(&self, read: Result<SecretString, SecretFault>) {
        let taken = read.and_then(|token| {
            let header = bearer(&token).ok_or(SecretFault::NoToken)?;
            if header != self.lock().shown.header {
                self.conceal.conceal(&token)?;
            }
            Ok(header)
        });
        let header = match taken {
            Ok(header) => header,
            Err(fault) => return self.fail(fault),
        };
        let file = self.path.display();
        let mut present = self.lock();
        present.looked = self.clock.elapsed();
        if present.fault.take().is_some() {
            tracing::info!("`{file}` holds a token for the server again");
        }
        if header != present.shown.header {
            let number = present.shown.number.saturating_add(1);
            present.shown = Shown { header, number };
            tracing::info!(
                "`{file}` holds another token for the server, which is used from now on"
            );
        }
    }

    /// Told when it begins, and when it becomes something else.
    fn fail(&self, fault: SecretFault) {
        let mut present = self.lock();
        present.looked = self.clock.elapsed();
        if present.fault.as_ref() != Some(&fault) {
            let file = self.path.display();
            tracing::error!("`{file}` {fault}: the last token that it held goes on being used");
            present.fault = Some(fault);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
