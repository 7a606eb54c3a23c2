//! From a destination to a connection: its name is looked up once, and only what was found then is
//! connected to.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::{Destination, Destinations};
use super::idle_limited::IdleLimited;
use super::refusal::EgressRefusal;
use crate::outward::AddressSource;

/// For a name, and then for each address.
const PATIENCE: Duration = Duration::from_secs(10);

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 4;

pub(super) async fn connect(
    listed: &Destinations,
    lookup: &dyn AddressSource,
    to: &Destination,
) -> Result<IdleLimited, EgressRefusal> {
    let addresses = addresses(listed, lookup, to).await?;
    let mut refusal = EgressRefusal::Address;
    for address in addresses.into_iter().take(MAX_ADDRESSES) {
        match in_time(TcpStream::connect((address, to.port()))).await {
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
    lookup: &dyn AddressSource,
    to: &Destination,
) -> Result<Vec<IpAddr>, EgressRefusal> {
    if let Some(address) = to.address() {
        return Ok(vec![address]);
    }
    let found = in_time(lookup.look_up(to.host().to_owned())).await;
    let mut found = found.map_err(|cause| EgressRefusal::Lookup(cause.to_string()))?;
    found.retain(|address| listed.may_lead_to(*address, to.port()));
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
