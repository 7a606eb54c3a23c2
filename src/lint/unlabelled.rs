//! Arguments that are called like paths, and that `paths` of their tool leaves out.

use serde_json::Value;
use toml::de::DeTable;

use super::findings::{Lint, LintFindings};
use super::material::LintContext;
use crate::policy::{PolicyProblem, PolicySource};

pub(super) const UNLABELLED_PATH: Lint = Lint {
    code: "lint::unlabelled_path",
    about: "an argument with the name of a path that `paths` of its tool in `tools.toml` omits, \
            beside roots",
    look,
};

/// What servers call an argument that is a path.
const NAMES: [&str; 9] = [
    "destination",
    "dir",
    "directory",
    "file",
    "filename",
    "filepath",
    "path",
    "paths",
    "source",
];

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    if !world.has("roots.toml") {
        return;
    }
    for (name, locked) in world.given.lock.tools() {
        // Without the key a call may reach any path, which counts as outside.
        let labels = world.given.said.tools.get(name);
        let Some(paths) = labels.and_then(|labels| labels.paths.as_ref()) else {
            continue;
        };
        for argument in arguments(&locked.definition) {
            let is_labelled = |pointer: &String| {
                let rest = pointer.strip_prefix('/');
                let rest = rest.and_then(|rest| rest.strip_prefix(argument.as_str()));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if !paths.iter().any(is_labelled) {
                found.add(&UNLABELLED_PATH, problem(world, name, &argument));
            }
        }
    }
}

/// Those of a tool that are texts, or lists, and called like a path.
fn arguments(definition: &str) -> Vec<String> {
    let Ok(definition) = definition.parse::<Value>() else {
        return Vec::new();
    };
    let properties = definition.pointer("/inputSchema/properties");
    let properties = properties.and_then(Value::as_object).into_iter().flatten();
    let named = properties.filter(|(name, schema)| {
        let kind = schema.get("type").and_then(Value::as_str);
        NAMES.contains(&name.to_ascii_lowercase().as_str())
            && matches!(kind, Some("string" | "array"))
    });
    named.map(|(name, _)| name.clone()).collect()
}

fn problem(world: &LintContext<'_>, tool: &str, argument: &str) -> PolicyProblem {
    let [shown, argument] = [tool, argument].map(|text| text.escape_debug().to_string());
    let message = format!("`paths` of `{shown}` leaves out its argument `{argument}`");
    let help = format!(
        "what is not among `paths` is not looked at: add \"/{argument}\", or leave this lint out if \
         it is no path"
    );
    let problem = PolicyProblem::warning(UNLABELLED_PATH.code, message).with_help(help);
    let mut files = world.label_files("tools.toml");
    match files.find_map(|file| Some((file, place(file, tool)?))) {
        Some((file, place)) => problem.in_source(file).at(place, "it is not here"),
        None => problem,
    }
}

/// Where the paths of a tool are labelled.
fn place(file: &PolicySource, tool: &str) -> Option<std::ops::Range<usize>> {
    let file = DeTable::parse(&file.text).ok()?;
    let tools = file.get_ref().get("tools")?.get_ref().as_table()?;
    let tool = tools.get(tool)?.get_ref().as_table()?;
    Some(tool.get("paths")?.span())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fixture::{check_in, locking_with, source};
    use super::super::material::Material;
    use crate::policy::{Labels, ToolLabels};

    #[test]
    fn an_argument_that_paths_leaves_out_is_found() {
        let check = |arguments: &str, paths: Option<&[&str]>, roots: bool, findings| {
            let definition = format!(r#"{{"inputSchema":{{"properties":{{{arguments}}}}}}}"#);
            let mut said = Labels::default();
            let paths: Option<Vec<String>> =
                paths.map(|all| all.iter().map(ToString::to_string).collect());
            let labels = ToolLabels {
                paths: paths.clone(),
                ..ToolLabels::default()
            };
            said.tools.insert("a".to_owned(), labels);
            let mut files = vec![source(
                "p/tools.toml",
                &format!("[tools.a]\npaths = {:?}\n", paths.unwrap_or_default()),
            )];
            if roots {
                files.push(source("p/roots.toml", "[roots.a]\npath = \"/a\"\n"));
            }
            let material = Material {
                labels: files,
                said,
                lock: Arc::new(locking_with(&["a"], &definition)),
                ..Material::default()
            };
            check_in("unlabelled_path", &material, findings);
        };
        let both = r#""source":{"type":"string"},"destination":{"type":"string"}"#;
        check(both, Some(&["/source"]), true, 1);
        check(both, Some(&[]), true, 2);
        check(both, Some(&["/source", "/destination"]), true, 0);
        check(both, None, true, 0);
        check(both, Some(&["/source"]), false, 0);
        let list = r#""paths":{"type":"array"}"#;
        check(list, Some(&["/paths/*"]), true, 0);
        check(list, Some(&["/path"]), true, 1);
        check(r#""file":{"type":"boolean"}"#, Some(&[]), true, 0);
        check(r#""text":{"type":"string"}"#, Some(&[]), true, 0);
    }
}
