//! A gate that gates nothing: bytes go from one connection to another. If the comparison finds a
//! difference here, it is the comparison that is wrong.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Listens on a free port for as long as the test runs; returns its URL.
pub(crate) fn relay(url: &str) -> String {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let server: SocketAddr = host.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap();
    thread::spawn(move || {
        for agent in listener.incoming() {
            let (agent, server) = (agent.unwrap(), TcpStream::connect(server).unwrap());
            copy(agent.try_clone().unwrap(), server.try_clone().unwrap());
            copy(server, agent);
        }
    });
    format!("http://{own}/{path}")
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        drop(io::copy(&mut from, &mut to));
        // Whichever side ends, ends both: who hangs up has hung up on the other side as well.
        drop(from.shutdown(std::net::Shutdown::Both));
        drop(to.shutdown(std::net::Shutdown::Both));
    });
}
