//! From a destination to a connection: its name is looked up once, and only what was found then is
//! connected to.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::destination::{Destination, Destinations};
use super::idle_limited::IdleLimited;
use super::refusal::EgressRefusal;
use crate::outward::AddressSource;

/// For a name, and then for each address.
const PATIENCE: Duration = Duration::from_secs(10);

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 4;

/// Lookups of one server at once. The system's resolver has no deadline, and all servers share its threads.
const MAX_LOOKUPS: usize = 4;

/// Looks names up for one server.
#[derive(Debug, Clone)]
pub(super) struct Lookups {
    source: Arc<dyn AddressSource>,
    places: Arc<Semaphore>,
}

impl Lookups {
    pub(super) fn new(source: Arc<dyn AddressSource>) -> Self {
        Self {
            source,
            places: Arc::new(Semaphore::new(MAX_LOOKUPS)),
        }
    }

    /// A lookup keeps its place until it ends, also after its server has stopped waiting.
    async fn look_up(&self, host: String) -> io::Result<Vec<SocketAddr>> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        let source = Arc::clone(&self.source);
        let lookup = tokio::spawn(async move {
            let found = source.look_up(host).await;
            drop(place);
            found
        });
        lookup.await.map_err(io::Error::other)?
    }
}

pub(super) async fn connect(
    listed: &Destinations,
    lookups: &Lookups,
    to: &Destination,
) -> Result<IdleLimited, EgressRefusal> {
    let addresses = addresses(listed, lookups, to).await?;
    let mut refusal = EgressRefusal::Address;
    for address in addresses.into_iter().take(MAX_ADDRESSES) {
        match in_time(TcpStream::connect(address)).await {
            Ok(stream) => {
                // Small writes of TLS must not wait for each other; without it they only do.
                let _ = stream.set_nodelay(true);
                return Ok(IdleLimited::new(stream));
            }
            Err(cause) => refusal = EgressRefusal::Unreachable(cause.to_string()),
        }
    }
    Err(refusal)
}

/// An address that is listed itself is meant.
async fn addresses(
    listed: &Destinations,
    lookups: &Lookups,
    to: &Destination,
) -> Result<Vec<SocketAddr>, EgressRefusal> {
    if let Some(address) = to.address() {
        return Ok(vec![SocketAddr::new(address, to.port())]);
    }
    let found = in_time(lookups.look_up(to.host().to_owned())).await;
    let mut found = found.map_err(|cause| EgressRefusal::Lookup(cause.to_string()))?;
    found.retain(|address| listed.may_lead_to(address.ip(), to.port()));
    for address in &mut found {
        address.set_port(to.port());
    }
    if found.is_empty() {
        return Err(EgressRefusal::Address);
    }
    Ok(found)
}

async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let timed_out = || io::Error::new(io::ErrorKind::TimedOut, "it took too long");
    timeout(PATIENCE, work)
        .await
        .unwrap_or_else(|_| Err(timed_out()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::outward::AddressLookup;

    /// A resolver that never answers.
    #[derive(Debug, Default)]
    struct Silent(Arc<AtomicUsize>);

    impl AddressSource for Silent {
        fn look_up(&self, _: String) -> AddressLookup {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lookups_that_no_request_waits_for_any_more_still_count() {
        let begun = Arc::<AtomicUsize>::default();
        let lookups = Lookups::new(Arc::new(Silent(Arc::clone(&begun))));
        for _ in 0..3 * MAX_LOOKUPS {
            let found = in_time(lookups.look_up("slow.example".to_owned())).await;
            assert_eq!(found.unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(begun.load(Ordering::SeqCst), MAX_LOOKUPS);
    }
}
