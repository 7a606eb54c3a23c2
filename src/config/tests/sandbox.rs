//! `[upstream.sandbox]`.

use std::path::Path;

use super::{check, check_rest, valid_with};
use crate::config::{ConfinedFiles, Confinement, SandboxedRoots};
use crate::egress::Destinations;
use crate::upstream::sandbox::{
    Access, LocalSockets, Network, Place, Sandbox, Strength, SystemFiles,
};

#[track_caller]
fn sandbox(text: &str) -> Confinement {
    valid_with(text).upstream.sandbox.expect("a sandbox")
}

#[test]
fn a_sandbox_without_a_word_grants_the_system_and_nothing_else() {
    assert_eq!(valid_with("").upstream.sandbox, None);
    let nothing = Confinement {
        sandbox: Sandbox::default(),
        roots: SandboxedRoots::Withheld,
        egress: Destinations::default(),
        files: ConfinedFiles::Named,
    };
    assert_eq!(sandbox("[upstream.sandbox]"), nothing);
    assert_eq!(nothing.sandbox.network, Network::Absent);
    assert_eq!(nothing.sandbox.strength, Strength::Required);
}

#[test]
fn what_a_sandbox_grants_is_taken_as_it_is_written() {
    let confinement = sandbox(
        "[upstream.sandbox]
         read = ['docs', '/srv/docs']
         write = ['${HOME}/work']
         execute = ['/opt/node']
         roots = true
         system = false
         network = [443, 5432]
         local_sockets = true
         required = false",
    );
    let place = |setting: &str, access, path: &str| Place {
        setting: format!("upstream.sandbox.{setting}"),
        access,
        path: Path::new(path).to_owned(),
    };
    let expected = Sandbox {
        places: vec![
            place("read[0]", Access::Read, "/etc/gate/docs"),
            place("read[1]", Access::Read, "/srv/docs"),
            place("write[0]", Access::Write, "/home/ada/work"),
            place("execute[0]", Access::Execute, "/opt/node"),
        ],
        system: SystemFiles::Withheld,
        network: Network::Ports(vec![443, 5432]),
        local_sockets: LocalSockets::Granted,
        strength: Strength::BestEffort,
    };
    assert_eq!(confinement.sandbox, expected);
    assert_eq!(confinement.roots, SandboxedRoots::Granted);
    let full = sandbox("upstream.sandbox.network = 'full'");
    assert_eq!(full.sandbox.network, Network::Full);
    let proxied = sandbox(
        "upstream.sandbox = { network = 'proxied', egress = ['API.example.com:443', '10.0.0.7:5432'] }",
    );
    assert_eq!(proxied.sandbox.network, Network::Proxied);
    let listed: Vec<String> = proxied.egress.iter().map(ToString::to_string).collect();
    assert_eq!(listed, ["api.example.com:443", "10.0.0.7:5432"]);
}

#[test]
fn mistakes_in_what_a_proxied_server_may_connect_to_are_told_with_their_place() {
    check_rest(
        "[upstream.sandbox]
network = 'proxied'
egress = ['*.example.com:443', 'a.example:0', 'a.example', 'https://a.example', '0x7f.1:80',
  '169.254.169.254:80', 'bücher.example:1', 7, 'a.example:70000']
[upstream.env]
HTTPS_PROXY = 'http://proxy.example:3128'
no_proxy = '*'",
        &[
            "4 upstream.sandbox.egress[0]: holds a wildcard",
            "4 upstream.sandbox.egress[1]: the port is not one of 1 to 65535",
            "4 upstream.sandbox.egress[2]: names no port",
            "4 upstream.sandbox.egress[3]: expected `host:port`, without a scheme, a path or a user name",
            "4 upstream.sandbox.egress[4]: is another spelling of an address",
            "5 upstream.sandbox.egress[5]: is not the address of one machine, or is where clouds answer their own machines",
            "5 upstream.sandbox.egress[6]: is no name of a host in ASCII",
            "5 upstream.sandbox.egress[7]: expected a string, found an integer",
            "5 upstream.sandbox.egress[8]: the port is not one of 1 to 65535",
            "7 upstream.env.HTTPS_PROXY: is set by the gate where the server's network is proxied",
            "8 upstream.env.no_proxy: is set by the gate where the server's network is proxied",
        ],
    );
    check_rest(
        "upstream.sandbox.network = 'proxied'",
        &["2 upstream.sandbox.egress: required when network is 'proxied'"],
    );
    check_rest(
        "upstream.sandbox = { network = 'proxied', egress = [] }",
        &["2 upstream.sandbox.egress: names no host"],
    );
    check_rest(
        "upstream.sandbox = { network = 'none', egress = ['a.example:1'] }",
        &["2 upstream.sandbox.egress: only applies when network is 'proxied'"],
    );
    let many: Vec<String> = (1..=257)
        .map(|port| format!("'a.example:{port}'"))
        .collect();
    check_rest(
        &format!(
            "upstream.sandbox = {{ network = 'proxied', egress = [{}] }}",
            many.join(", ")
        ),
        &["2 upstream.sandbox.egress: exceeds maximum"],
    );
    // Elsewhere they are the operator's.
    sandbox("upstream.sandbox.network = 'full'\nupstream.env.HTTPS_PROXY = 'http://a.example'");
}

#[test]
fn mistakes_in_a_sandbox_are_told_all_at_once_and_by_their_place() {
    check_rest(
        "[upstream.sandbox]
raed = []
read = ['/a', '', 1]
write = '/b'
network = ['443', 0, 65536]
required = 'yes'",
        &[
            "3 upstream.sandbox.raed: unknown key",
            "4 upstream.sandbox.read[1]: expected a path",
            "4 upstream.sandbox.read[2]: expected a string, found an integer",
            "5 upstream.sandbox.write: expected an array of strings, found a string",
            "6 upstream.sandbox.network[0]: expected a whole number, found a string",
            "6 upstream.sandbox.network[1]: below minimum",
            "6 upstream.sandbox.network[2]: exceeds maximum",
            "7 upstream.sandbox.required: expected `true` or `false`, found a string",
        ],
    );
    check_rest(
        "upstream.sandbox.network = 'off'",
        &["2 upstream.sandbox.network: unknown value 'off'"],
    );
    check_rest(
        "upstream.sandbox.network = []",
        &["2 upstream.sandbox.network: names no port"],
    );
    check(
        "upstream.url = 'https://mcp.example.com'\nupstream.sandbox.read = ['/a']",
        &["2 upstream.sandbox: only applies when url is 'stdio'"],
    );
}

#[test]
fn a_sandbox_that_keeps_nothing_out_is_doubted() {
    let check = |text: &str, expected: &[&str]| {
        let config = valid_with(text);
        let warnings = config.warnings.iter().map(ToString::to_string);
        let warnings: Vec<_> = warnings.filter(|it| it.contains("sandbox")).collect();
        assert_eq!(warnings, expected, "{text}");
    };
    let all = "`/` is every file of the machine";
    check(
        "upstream.sandbox = { read = ['/'], write = ['/srv', '/'] }",
        &[
            &format!("upstream.sandbox.read: {all}"),
            &format!("upstream.sandbox.write: {all}"),
        ],
    );
    check(
        "upstream.sandbox.read = ['~/docs']",
        &["upstream.sandbox.read[0]: no shell reads it: it is a name that begins with `~`"],
    );
    check("upstream.sandbox.read = ['/srv']", &[]);
}
