//! The certificate that agents see, read again while the gate runs.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use tokio::time::sleep;
use tracing::{info, warn};

use crate::audit::Reason;
use crate::clock::{Clock as _, SystemClock};
use crate::config::{self, Config, HttpListen, Listen};
use crate::inward::{Certificates, Tls, TlsFault, TlsFile, TlsFiles, TlsTexts};
use crate::loading::ReloadCause;

use super::renew::Signal;
use super::server_set::ServerSet;

/// The TLS of the agents' listener, and where its certificate comes from.
pub(super) struct ListenerCertificates {
    files: TlsFiles,
    tls: Tls,
    reload: config::Reload,
    /// What was read last and led to something.
    known: Result<TlsTexts, TlsFault>,
    valid_until: i64,
    /// For how many days it was valid when that was told last.
    told_days: Option<i64>,
}

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Time without a change after which the gate reads the files.
const QUIET: Duration = Duration::from_millis(100);

/// How many readings it may take until two in a row agree.
const READINGS: u32 = 20;

const DAY: i64 = 24 * 60 * 60;

/// With fewer days left the gate warns of the end of a certificate.
const SOON: i64 = 7;

/// The reason of records of files that are refused.
const REFUSED: &str = "config::file";

impl ListenerCertificates {
    /// `None` where the listener has no TLS.
    pub(super) fn of(config: &Config) -> Option<Result<Self, TlsFault>> {
        let Listen::Http(HttpListen {
            tls: Some(files), ..
        }) = &config.listen
        else {
            return None;
        };
        Some(Self::from(files, config.policy.reload))
    }

    fn from(files: &TlsFiles, reload: config::Reload) -> Result<Self, TlsFault> {
        let texts = files.read()?;
        let certificates = texts.certificates(now())?;
        Ok(Self {
            files: files.clone(),
            tls: Tls::new(&certificates),
            reload,
            known: Ok(texts),
            valid_until: certificates.valid_until,
            told_days: None,
        })
    }

    pub(super) fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Whether the certificate soon expires, or has.
    pub(super) fn expires_soon(&self) -> bool {
        self.days() < SOON
    }

    /// For how many days it is valid.
    fn days(&self) -> i64 {
        self.valid_until.saturating_sub(now()).div_euclid(DAY)
    }

    /// Warns once a day.
    fn warn_of_expiry(&mut self) {
        let days = self.days();
        if self.told_days == Some(days) || !self.expires_soon() {
            return;
        }
        self.told_days = Some(days);
        let key = TlsFile::Certificate.key();
        if days < 0 {
            warn!("`{key}`: the certificate has expired, and agents refuse it; renew it");
        } else {
            warn!("`{key}`: the certificate expires in {days} days; renew it");
        }
    }

    /// What two readings in a row agree on.
    async fn at_rest(&self) -> Option<Result<TlsTexts, TlsFault>> {
        let mut before = self.read().await?;
        for _ in 0..READINGS {
            sleep(QUIET).await;
            let now = self.read().await?;
            if now == before {
                return Some(now);
            }
            before = now;
        }
        None
    }

    async fn read(&self) -> Option<Result<TlsTexts, TlsFault>> {
        let files = self.files.clone();
        tokio::task::spawn_blocking(move || files.read()).await.ok()
    }

    /// Puts other files in force.
    ///
    /// # Errors
    /// Their fault: what was in force stays.
    fn take(&mut self, found: Result<TlsTexts, TlsFault>) -> Result<(), TlsFault> {
        let certificates = match &found {
            Ok(texts) => texts.certificates(now()),
            Err(fault) => Err(fault.clone()),
        };
        self.known = found;
        let Certificates { valid_until, .. } = *certificates.as_ref().map_err(Clone::clone)?;
        self.tls.replace(&certificates?);
        self.valid_until = valid_until;
        self.told_days = None;
        Ok(())
    }

    async fn look(&mut self, cause: ReloadCause, servers: &ServerSet) {
        let found = self.read().await;
        let is_known = found.is_none_or(|found| found == self.known);
        if is_known && cause == ReloadCause::Changed {
            return;
        }
        let Some(found) = self.at_rest().await else {
            return;
        };
        match self.take(found) {
            Ok(()) => info!(
                "the certificate of `{}` is in force for agents that connect from now on",
                TlsFile::Certificate.key()
            ),
            Err(fault) => refuse(&fault, servers).await,
        }
    }
}

/// Watches the files for as long as the gate runs.
pub(super) async fn renew(
    certificates: Option<ListenerCertificates>,
    servers: &ServerSet,
) -> Infallible {
    let Some(mut certificates) = certificates else {
        return pending().await;
    };
    let mut signal = Signal::new().ok();
    loop {
        certificates.warn_of_expiry();
        let asked = async {
            match &mut signal {
                Some(signal) => signal.next().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = asked => certificates.look(ReloadCause::Asked, servers).await,
            () = sleep(LOOK) => match certificates.reload {
                config::Reload::Watch => certificates.look(ReloadCause::Changed, servers).await,
                config::Reload::Off => {}
            },
        }
    }
}

async fn refuse(fault: &TlsFault, servers: &ServerSet) {
    warn!("a new certificate is refused, the one before stays in force: {fault}");
    for parts in &servers.current().servers {
        let reason = Reason::code(REFUSED).with_text(fault.to_string());
        if let Err(fault) = parts.gate.keep(&parts.server.name, reason).await {
            warn!("that a certificate is refused could not be recorded: {fault}");
        }
    }
}

/// In seconds since 1970.
fn now() -> i64 {
    SystemClock::new().now().as_second()
}
