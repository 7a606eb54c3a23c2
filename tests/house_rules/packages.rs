//! The targets of a release are listed once, in `packaging/targets.toml`.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::read;

type Targets = BTreeMap<String, Vec<String>>;

/// Triples, each with the packages that hold its program.
fn targets() -> Targets {
    let list: toml::Table = read("packaging/targets.toml").parse().unwrap();
    let list = list["targets"].as_array().unwrap().iter();
    list.map(|target| {
        let packages = target["packages"].as_array().unwrap().iter();
        let packages = packages.map(|package| text(package).to_owned());
        (text(&target["triple"]).to_owned(), packages.collect())
    })
    .collect()
}

fn text(value: &toml::Value) -> &str {
    value.as_str().unwrap()
}

/// The rows of a table whose first cell is a triple.
fn documented(page: &str) -> Targets {
    let rows = page.lines().filter_map(|line| {
        let (triple, packages) = line.strip_prefix("| `")?.split_once("` | ")?;
        let packages = packages.strip_suffix(" |")?.split(", ");
        let is_triple = triple.split('-').count() >= 3 && !triple.contains(' ');
        is_triple.then(|| (triple.to_owned(), packages.map(str::to_owned).collect()))
    });
    rows.collect()
}

fn manifest() -> toml::Table {
    read("Cargo.toml").parse().unwrap()
}

/// A template of `cargo binstall`, filled in as it does.
fn expanded(template: &str, package: &toml::Value, triple: &str) -> String {
    let ending = if triple.contains("windows") {
        ".exe"
    } else {
        ""
    };
    [
        ("repo", text(&package["repository"])),
        ("name", text(&package["name"])),
        ("version", text(&package["version"])),
        ("target", triple),
        ("binary-ext", ending),
    ]
    .iter()
    .fold(template.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{ {name} }}"), value)
    })
}

#[test]
fn the_page_about_installing_names_every_target_with_its_packages() {
    let targets = targets();
    assert_eq!(documented(&read("docs/install.md")), targets);
    let built = read("packaging/build");
    for package in targets.values().flatten() {
        let entry = format!("    \"{package}\": ");
        assert!(built.contains(&entry), "nothing builds `{package}`");
    }
}

#[test]
fn every_target_is_built_by_a_release_and_its_dependencies_are_checked() {
    let targets: BTreeSet<String> = targets().into_keys().collect();
    let deny: toml::Table = read(".deny.toml").parse().unwrap();
    let checked = deny["graph"]["targets"].as_array().unwrap().iter();
    let checked: BTreeSet<String> = checked.map(|it| text(it).to_owned()).collect();
    assert_eq!(checked, targets, ".deny.toml");
    let workflow = read(".github/workflows/release.yml");
    let built = workflow.lines().filter_map(|line| {
        let (_, rest) = line.split_once("{ target: ")?;
        rest.split_once(',').map(|(triple, _)| triple.to_owned())
    });
    assert_eq!(built.collect::<BTreeSet<String>>(), targets, "release.yml");
}

#[test]
fn cargo_binstall_finds_the_program_of_every_target() {
    let manifest = manifest();
    let package = &manifest["package"];
    let binstall = &package["metadata"]["binstall"];
    assert_eq!(text(&binstall["pkg-fmt"]), "bin");
    let releases = "https://github.com/mcp-protector/mcp-protector/releases/download";
    let version = env!("CARGO_PKG_VERSION");
    for triple in targets().keys() {
        let ending = if triple == "x86_64-pc-windows-msvc" {
            ".exe"
        } else {
            ""
        };
        assert_eq!(
            expanded(text(&binstall["pkg-url"]), package, triple),
            format!("{releases}/v{version}/mcp-protector-{triple}{ending}")
        );
    }
}

#[test]
fn python_packages_are_named_and_licensed_as_the_crate_and_have_its_version() {
    let manifest = manifest();
    let project: toml::Table = read("pyproject.toml").parse().unwrap();
    let project = &project["project"];
    for key in ["name", "license"] {
        assert_eq!(project[key], manifest["package"][key], "{key}");
    }
    let from_cargo = project["dynamic"].as_array().unwrap();
    assert!(from_cargo.iter().any(|key| text(key) == "version"));
}

#[test]
fn a_target_that_a_page_leaves_out_is_missed() {
    let page = "| target | packages |\n|---|---|\n| `a-b-c` | npm, pypi |\n| npm | `npx x` |\n";
    let packages = vec!["npm".to_owned(), "pypi".to_owned()];
    assert_eq!(
        documented(page),
        Targets::from([("a-b-c".to_owned(), packages)])
    );
}
