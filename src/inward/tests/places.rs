//! Who makes room for whom.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::inward::places::{Displaced, Place, Places};

/// A listener, and the names of the connections that had to make room.
struct Rig {
    places: Places,
    left: mpsc::Receiver<usize>,
    leaving: mpsc::Sender<usize>,
}

impl Rig {
    fn new(most: usize) -> Self {
        let (leaving, left) = mpsc::channel(16);
        Self {
            places: Places::new(most),
            left,
            leaving,
        }
    }

    /// One that makes room as soon as it is told to.
    async fn connect(&self, name: usize, from: &str) -> Option<Arc<Place>> {
        let from: IpAddr = from.parse().unwrap();
        let place = Arc::new(self.places.take(from).await?);
        let (held, leaving) = (Arc::downgrade(&place), self.leaving.clone());
        let own = Arc::clone(&place);
        tokio::spawn(async move {
            own.displaced().await;
            drop(own);
            leaving.send(name).await.unwrap();
        });
        held.upgrade()
    }
}

/// Connections that come one after the other, each from an address, some of whose peers wait for an
/// answer; who has left when one more has come, if it got a place.
async fn check(there: &[(&str, bool)], newcomer: &str, expected: Option<usize>) {
    let mut rig = Rig::new(there.len());
    for (name, (from, works)) in there.iter().enumerate() {
        let place = rig.connect(name, from).await.unwrap();
        if *works {
            place.works().unwrap();
        }
    }
    assert_eq!(rig.places.taken(), there.len());
    let came = rig.connect(there.len(), newcomer).await;
    assert_eq!(came.is_some(), expected.is_some(), "{there:?}");
    drop(came);
    match expected {
        Some(name) => assert_eq!(rig.left.recv().await, Some(name), "{there:?}"),
        None => assert!(rig.left.is_empty(), "{there:?}"),
    }
}

#[tokio::test]
async fn the_longest_waiting_connection_of_the_address_with_most_makes_room() {
    let (a, b) = ("192.0.2.1", "192.0.2.2");
    check(&[(a, false)], b, Some(0)).await;
    check(&[(a, false), (b, false), (b, false)], a, Some(1)).await;
    check(&[(b, false), (a, false), (b, false)], b, Some(0)).await;
    // Those whose peers wait for an answer neither leave nor count.
    check(&[(a, true), (a, true), (b, false)], a, Some(2)).await;
    check(&[(a, true), (a, false), (a, false)], b, Some(1)).await;
    check(&[(a, true), (b, true)], b, None).await;
}

#[tokio::test]
async fn a_network_of_ipv6_counts_as_one_address_and_a_mapped_address_as_what_it_is() {
    let network = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2"];
    let other = "2001:db8:0:2::1";
    check(
        &[(other, false), (network[0], false), (network[1], false)],
        other,
        Some(1),
    )
    .await;
    let (v4, mapped) = ("192.0.2.1", "::ffff:192.0.2.1");
    check(
        &[("192.0.2.9", false), (v4, false), (mapped, false)],
        "192.0.2.9",
        Some(1),
    )
    .await;
}

#[tokio::test]
async fn who_was_answered_last_has_waited_least() {
    let mut rig = Rig::new(2);
    let first = rig.connect(0, "192.0.2.1").await.unwrap();
    drop(rig.connect(1, "192.0.2.1").await);
    first.works().unwrap();
    first.waits();
    drop(first);
    drop(rig.connect(2, "192.0.2.1").await);
    assert_eq!(rig.left.recv().await, Some(1));
    drop(rig.connect(3, "192.0.2.1").await);
    assert_eq!(rig.left.recv().await, Some(0));
}

#[tokio::test]
async fn who_has_to_make_room_brings_nothing_any_more() {
    let places = Places::new(1);
    let place = places.take("192.0.2.1".parse().unwrap()).await.unwrap();
    let taking = places.clone();
    let newcomer = tokio::spawn(async move { taking.take("192.0.2.2".parse().unwrap()).await });
    place.displaced().await;
    place.waits();
    assert_eq!(place.works(), Err(Displaced));
    assert_eq!(place.works(), Err(Displaced), "nor later");
    drop(place);
    assert!(newcomer.await.unwrap().is_some());
}

#[tokio::test]
async fn what_has_ended_leaves_nothing_behind() {
    let rig = Rig::new(2);
    for _ in 0..100 {
        let places = [rig.places.take("192.0.2.1".parse().unwrap()).await];
        assert_eq!(rig.places.taken(), 1);
        drop(places);
    }
    assert_eq!(rig.places.taken(), 0);
    assert_eq!(rig.places.addresses(), 0);
}
