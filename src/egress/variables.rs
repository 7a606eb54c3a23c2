//! The variables by which a server finds the proxy.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Where the proxy listens in the server's network namespace, in which no other process can have taken it.
pub const PORT: u16 = 3128;

/// In both spellings: curl reads `http_proxy` alone, and programs on other systems `HTTP_PROXY`.
const PROXY: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// Without exceptions: nothing is reached past the proxy.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Without it Node's own clients read none of these.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// What a server finds in its environment.
pub fn variables() -> impl Iterator<Item = (&'static str, String)> {
    let proxy = format!("http://{}", SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT));
    let proxies = PROXY.map(|name| (name, proxy.clone()));
    let rest = NO_PROXY.map(|name| (name, String::new()));
    let node = [(NODE, "1".to_owned())];
    proxies.into_iter().chain(rest).chain(node)
}

/// Whether a variable is one of these, in any spelling.
pub fn sets(name: &str) -> bool {
    let mut all = PROXY.into_iter().chain(NO_PROXY).chain([NODE]);
    all.any(|own| own.eq_ignore_ascii_case(name))
}
