//! Modules that import each other in a circle. `docs/architecture.md` links here.

use std::collections::{BTreeMap, BTreeSet};

use crate::{tokens, tree};

/// A path of names from the crate's root.
type Path = Vec<String>;

/// What one module says of others.
#[derive(Default)]
struct Module {
    /// Each path that it names, and whether it only hands the name on to others.
    names: Vec<(Path, Use)>,
    /// The names that others find in it although they are another's: the path of each.
    handed_on: BTreeMap<String, Path>,
    /// The modules whose names it hands on as a whole.
    handed_on_whole: Vec<Path>,
    /// The items that it defines itself.
    items: BTreeSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Own,
    HandedOn,
}

struct Modules(BTreeMap<Path, Module>);

/// The path of the module that a file below `src` is.
fn module_path(file: &str) -> Path {
    let file = file.strip_prefix("src/").unwrap();
    let file = file.strip_suffix(".rs").unwrap();
    let mut path: Path = file.split('/').map(str::to_owned).collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib")) {
        path.pop();
    }
    path
}

/// The words and the marks between them.
fn words(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// What begins an item with a name.
const ITEMS: [&str; 7] = ["struct", "enum", "fn", "trait", "type", "const", "static"];

/// Whether words begin with a visibility, and what follows it.
fn visibility<'a, 'w>(words: &'a [&'w str]) -> (Use, &'a [&'w str]) {
    match words {
        ["pub", "(", rest @ ..] => {
            let end = rest.iter().position(|word| *word == ")");
            (Use::HandedOn, end.map_or(rest, |end| &rest[end + 1..]))
        }
        ["pub", rest @ ..] => (Use::HandedOn, rest),
        _ => (Use::Own, words),
    }
}

/// The paths of a `use` after those names, each with the name that it has here. Takes the words up to its end.
fn tree_of_use(words: &mut &[&str], before: &[String]) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    let mut path = before.to_vec();
    let mut alias = None;
    while let Some((word, after)) = words.split_first() {
        *words = after;
        match *word {
            "::" => {}
            "{" => {
                found.extend(tree_of_use(words, &path));
                path.truncate(before.len());
            }
            "," | "}" | ";" => {
                let is_named = path.len() > before.len();
                // `a::{self}` names `a`.
                let _ = path.pop_if(|last| last == "self" && is_named);
                if is_named {
                    let name = alias.take().or(path.last().cloned()).unwrap();
                    found.push((path.clone(), name));
                }
                path.truncate(before.len());
                if *word != "," {
                    break;
                }
            }
            "as" => {
                alias = words.first().map(|&name| name.to_owned());
                *words = words.split_first().map_or(&[], |(_, after)| after);
            }
            name => path.push(name.to_owned()),
        }
    }
    found
}

impl Modules {
    fn of(files: &[(String, String)]) -> Self {
        let mut modules = Self(BTreeMap::new());
        for (file, _) in files {
            modules.0.insert(module_path(file), Module::default());
        }
        for (file, text) in files {
            let path = module_path(file);
            let code = tokens::code(text);
            let module = modules.read(&path, tokens::without_tests(&code));
            modules.0.insert(path, module);
        }
        modules
    }

    fn read(&self, own: &Path, code: &str) -> Module {
        let mut module = Module::default();
        let mut short = BTreeMap::new();
        let mut others = Vec::new();
        let all = words(code);
        let mut rest = all.as_slice();
        while let Some((&word, after)) = rest.split_first() {
            let (how, after_visibility) = visibility(rest);
            if let Some((&"use", mut tree)) = after_visibility.split_first() {
                for (path, name) in tree_of_use(&mut tree, &[]) {
                    let Some(path) = self.path_from_root(own, &path) else {
                        continue;
                    };
                    match (how, path.split_last()) {
                        (Use::HandedOn, Some((last, whole))) if last == "*" => {
                            module.handed_on_whole.push(whole.to_vec());
                        }
                        (Use::HandedOn, _) => {
                            module.handed_on.insert(name.clone(), path.clone());
                        }
                        (Use::Own, _) => {}
                    }
                    short.insert(name, path.clone());
                    module.names.push((path, how));
                }
                rest = tree;
                continue;
            }
            // Who may see an item is no import.
            if how == Use::HandedOn {
                rest = after_visibility;
                continue;
            }
            if ITEMS.contains(&word) {
                module
                    .items
                    .extend(after.first().map(|name| (*name).to_owned()));
            }
            others.push(word);
            rest = after;
        }
        for path in paths(&others) {
            let (first, after) = path.split_first().unwrap();
            if after.is_empty() {
                continue;
            }
            let path = match short.get(first) {
                Some(start) => Some([start, after].concat()),
                None => self.path_from_root(own, &path),
            };
            module.names.extend(path.map(|path| (path, Use::Own)));
        }
        module
    }

    /// The path from the root, of a path as `own` writes it; nothing for another crate's.
    fn path_from_root(&self, own: &Path, path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" | "super" => {
                let mut base = own.clone();
                let mut rest = path;
                while let Some((step @ ("self" | "super"), after)) = rest
                    .split_first()
                    .map(|(step, after)| (step.as_str(), after))
                {
                    if step == "super" {
                        base.pop();
                    }
                    rest = after;
                }
                base.extend_from_slice(rest);
                Some(base)
            }
            _ => {
                let child: Path = own.iter().chain([first]).cloned().collect();
                let is_child = self.0.contains_key(&child);
                is_child.then(|| own.iter().chain(path).cloned().collect())
            }
        }
    }

    /// The module that has what a path names.
    fn target(&self, path: &[String]) -> Option<&Path> {
        let mut lengths = (0..=path.len()).rev();
        let (module_path, module, rest) = lengths.find_map(|length| {
            let (start, rest) = path.split_at(length);
            let (path, module) = self.0.get_key_value(start)?;
            Some((path, module, rest))
        })?;
        let Some((name, rest)) = rest.split_first() else {
            return Some(module_path);
        };
        if let Some(other) = module.handed_on.get(name) {
            let other: Path = other.iter().chain(rest).cloned().collect();
            return self.target(&other);
        }
        let mut whole = module.handed_on_whole.iter();
        let of_other = whole.find(|other| {
            let other = self.0.get(*other);
            other.is_some_and(|other| other.items.contains(name))
        });
        match of_other {
            Some(other) => self.target(other),
            None => Some(module_path),
        }
    }

    /// What each module imports.
    fn imports(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let of = |(own, module): (&'_ Path, &'_ Module)| {
            let targets = module.names.iter().filter_map(|(path, how)| {
                let target = self.target(path)?;
                // To hand on a child's name is to have it.
                let is_own_child = target.starts_with(own) && *how == Use::HandedOn;
                let is_edge = target != own && !target.is_empty() && !is_own_child;
                is_edge.then_some(target)
            });
            targets.collect::<BTreeSet<_>>()
        };
        self.0
            .iter()
            .map(|(own, module)| (own, of((own, module))))
            .collect()
    }
}

/// The paths in code that is no `use`.
fn paths(words: &[&str]) -> Vec<Path> {
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !is_name(words[at]) || at > 0 && words[at - 1] == "::" {
            at += 1;
            continue;
        }
        let mut path = vec![words[at].to_owned()];
        at += 1;
        while words.get(at) == Some(&"::") && words.get(at + 1).is_some_and(|word| is_name(word)) {
            path.push(words[at + 1].to_owned());
            at += 2;
        }
        found.push(path);
    }
    found
}

/// The circles, each in the order of names: modules that reach each other.
fn circles<'m>(imports: &BTreeMap<&'m Path, BTreeSet<&'m Path>>) -> Vec<BTreeSet<&'m Path>> {
    let reached = |from: &'m Path| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for import in imports.get(next).into_iter().flatten() {
                if reached.insert(*import) {
                    open.push(import);
                }
            }
        }
        reached
    };
    let all: BTreeMap<&Path, BTreeSet<&Path>> = imports
        .keys()
        .map(|&module| (module, reached(module)))
        .collect();
    let mut circles: Vec<BTreeSet<&Path>> = Vec::new();
    for (module, reached) in &all {
        if reached.contains(module) && !circles.iter().any(|circle| circle.contains(module)) {
            let mut circle = reached.clone();
            circle.retain(|other| all.get(other).is_some_and(|back| back.contains(module)));
            circles.push(circle);
        }
    }
    circles
}

/// The imports between the modules of a circle.
fn told(circle: &BTreeSet<&Path>, imports: &BTreeMap<&Path, BTreeSet<&Path>>) -> String {
    let edges = circle.iter().flat_map(|from| {
        let to = imports[from].iter().filter(|to| circle.contains(*to));
        to.map(|to| format!("{} -> {}", from.join("::"), to.join("::")))
    });
    edges.collect::<Vec<_>>().join("\n")
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let mut files = tree::rust();
    files.retain(|(path, _)| path.starts_with("src/") && !tokens::is_test_file(path));
    let modules = Modules::of(&files);
    let imports = modules.imports();
    let circles = circles(&imports);
    let told: Vec<String> = circles
        .iter()
        .map(|circle| told(circle, &imports))
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
}

#[test]
fn circles_are_found_however_an_import_is_written() {
    let check = |files: &[(&str, &str)], expected: &[&[&str]]| {
        let files: Vec<(String, String)> = files
            .iter()
            .map(|(path, text)| (format!("src/{path}"), (*text).to_owned()))
            .collect();
        let modules = Modules::of(&files);
        let imports = modules.imports();
        let found: Vec<Vec<String>> = circles(&imports)
            .iter()
            .map(|circle| circle.iter().map(|module| module.join("::")).collect())
            .collect();
        assert_eq!(found, expected, "{files:?}");
    };
    let a = ("a.rs", "use crate::b::B;\nstruct A;");
    let b = |text| ("b.rs", text);
    check(&[a, b("struct B;")], &[]);
    for text in [
        "use crate::a::A;",
        "pub(crate) use crate::{a::{A as C}};",
        "fn f(a: crate::a::A) {}",
        "use super::a; fn f() { a::g() }",
        "use crate::a::{self}; fn f() { a::g() }",
        "use crate::c::A;",
        "use crate::d::A;",
    ] {
        let others = [
            ("c.rs", "pub use crate::a::A;"),
            ("d.rs", "pub(crate) use crate::a::*;"),
        ];
        check(&[a, b(text), others[0], others[1]], &[&["a", "b"]]);
    }
    check(
        &[
            a,
            b("// crate::a::A\n#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}"),
        ],
        &[],
    );
    // A parent that hands on its child's name imports nothing; one that uses it does.
    let child = ("p/c.rs", "use super::P; pub struct C;");
    check(
        &[("p/mod.rs", "mod c; pub use c::C; pub struct P;"), child],
        &[],
    );
    check(
        &[("p/mod.rs", "mod c; use c::C; pub struct P;"), child],
        &[&["p", "p::c"]],
    );
    check(
        &[("p/mod.rs", "mod c; pub struct P(c::C);"), child],
        &[&["p", "p::c"]],
    );
}
