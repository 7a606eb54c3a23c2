//! The action's first step: the program of a release, and none that is not verified.

use crate::user_ci::release::{ASSET, Release, VERSION, checksum, program};
use crate::user_ci::runner::{Job, Runner};

/// Runs the action on a repository without policies: its first step is the one that matters.
fn run(runner: &Runner, release: &Release, inputs: &[(&str, &str)]) -> Job {
    let mut all = vec![
        ("releases", release.address.as_str()),
        ("paths", "policies"),
    ];
    all.extend(inputs);
    runner.run(&all)
}

fn installs(runner: &Runner, release: &Release, inputs: &[(&str, &str)]) {
    let job = run(runner, release, inputs);
    assert_eq!(job.output("version"), VERSION, "{inputs:?}: {}", job.log);
    let directory = job.path.trim_end();
    let done = std::process::Command::new(format!("{directory}/mcp-protector"))
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(done.stdout, format!("mcp-protector {VERSION}\n").as_bytes());
    let left = runner.left();
    let [left] = &left[..] else {
        panic!("{left:?}");
    };
    // A new directory, in which nothing else can be.
    assert!(
        left.starts_with(&format!("mcp-protector-{VERSION}.")),
        "{left}"
    );
}

fn refuses(runner: &Runner, release: &Release, inputs: &[(&str, &str)], says: &str) {
    let job = run(runner, release, inputs);
    assert!(!job.succeeded, "{inputs:?}: {}", job.log);
    let annotation = job.log.lines().find(|line| line.starts_with("::error "));
    let annotation = annotation.unwrap_or_else(|| panic!("{inputs:?}: {}", job.log));
    assert!(annotation.contains(says), "{inputs:?}: {}", job.log);
    // Nothing that was not verified is left, or found by a later step.
    assert_eq!((job.path.as_str(), job.output("version")), ("", ""));
    assert!(runner.left().is_empty(), "{:?}", runner.left());
}

#[test]
fn a_program_with_the_right_checksum_is_installed() {
    let release = Release::real();
    let sum = checksum(&program());
    for inputs in [
        &[("sha256", sum.as_str())][..],
        &[("sha256", &sum.to_uppercase())],
        &[("sha256", &sum), ("version", VERSION)],
        &[("sha256", &sum), ("version", &format!("v{VERSION}"))],
        &[],
    ] {
        installs(&Runner::new(), &release, inputs);
    }
    // In the form of binary files, among those of other assets.
    let others = format!("{}  {ASSET}.sig\n{sum} *{ASSET}\n", "0".repeat(64));
    release.write("SHA256SUMS", &others);
    installs(&Runner::new(), &release, &[]);
}

#[test]
fn without_a_pinned_checksum_the_log_has_the_line_that_pins_it() {
    let release = Release::real();
    let pin = format!("`sha256: {}`", checksum(&program()));
    let log = run(&Runner::new(), &release, &[]).log;
    assert!(log.contains(&pin), "{log}");
    let sum = checksum(&program());
    let log = run(&Runner::new(), &release, &[("sha256", &sum)]).log;
    assert!(!log.contains(&pin), "{log}");
}

#[test]
fn the_checksum_is_computed_where_only_shasum_is() {
    let release = Release::real();
    let runner = Runner::new();
    // As on some macOS: `command` finds one of the two.
    let real = "exec env -i PATH=\"${PATH#*:}\" sha256sum";
    runner.program("shasum", &format!("[ \"$*\" = '-a 256' ] && {real}\n"));
    runner.program(
        "hidden",
        "command() { [ \"$*\" != '-v sha256sum' ] && builtin command \"$@\"; }\n",
    );
    runner.program(
        "bash",
        "BASH_ENV=$(dirname \"$0\")/hidden exec /bin/bash \"$@\"\n",
    );
    installs(&runner, &release, &[]);
}

#[test]
fn a_program_that_cannot_be_verified_is_refused() {
    let zeros = "0".repeat(64);
    let check = |release: &Release, inputs: &[(&str, &str)], says: &str| {
        refuses(&Runner::new(), release, inputs, says);
    };
    let release = Release::real();
    check(&release, &[("sha256", &zeros)], &format!("not {zeros}"));
    check(&release, &[("sha256", "abc")], "no SHA-256 checksum");
    check(&release, &[("version", "latest")], "which is no version");
    check(&release, &[("version", "../1.2.3")], "which is no version");
    check(&release, &[("version", "9.9.9")], "is not there");

    release.write("SHA256SUMS", &format!("{zeros}  {ASSET}\n"));
    check(&release, &[], "do not use it");
    release.write("SHA256SUMS", &format!("{zeros}  other\n"));
    check(&release, &[], "has no checksum of");
    release.write(
        "SHA256SUMS",
        &format!("{zeros}  {ASSET}\n{zeros}  {ASSET}\n"),
    );
    check(&release, &[], "has no checksum of");

    let without_sums = Release::of(ASSET, &program());
    check(&without_sums, &[], "SHA256SUMS` is not there");
    without_sums.break_off(ASSET);
    let sum = checksum(&program());
    check(&without_sums, &[("sha256", &sum)], "ended early");

    let other = "#!/bin/sh\necho mcp-protector 0.0.1\n";
    let sum = checksum(other);
    let other = Release::of(ASSET, other);
    check(&other, &[("sha256", &sum)], "is not version");
}

#[test]
fn a_release_is_downloaded_by_https_or_from_this_machine() {
    for (address, says) in [
        ("http://example.com/releases", "is no address of releases"),
        ("file:///tmp", "is no address of releases"),
        ("", "is no address of releases"),
        ("http://localhost.example.com", "is no address of releases"),
        ("http://127.0.0.1:1", "cannot be downloaded"),
    ] {
        let mut release = Release::real();
        address.clone_into(&mut release.address);
        refuses(&Runner::new(), &release, &[], says);
    }
}

#[test]
fn each_system_gets_its_own_program() {
    for (name, machine, target) in [
        ("Linux", "x86_64", "x86_64-unknown-linux-musl"),
        ("Linux", "aarch64", "aarch64-unknown-linux-musl"),
        ("Darwin", "x86_64", "x86_64-apple-darwin"),
        ("Darwin", "arm64", "aarch64-apple-darwin"),
        (
            "MINGW64_NT-10.0-20348",
            "x86_64",
            "x86_64-pc-windows-msvc.exe",
        ),
    ] {
        let asset = format!("mcp-protector-{target}");
        let release = Release::of(&asset, &program());
        let runner = Runner::new();
        runner.system(name, machine);
        let job = run(&runner, &release, &[("sha256", &checksum(&program()))]);
        assert_eq!(job.output("version"), VERSION, "{}", job.log);
        assert!(job.log.contains(&asset), "{}", job.log);
    }
    for (name, machine) in [("Linux", "riscv64"), ("FreeBSD", "x86_64")] {
        let runner = Runner::new();
        runner.system(name, machine);
        let says = format!("there is no program for `{name} {machine}`");
        refuses(&runner, &Release::real(), &[], &says);
    }
}
