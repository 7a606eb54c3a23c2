//! Tools that no test knows of.

use toml::de::DeTable;

use super::findings::{Lint, LintFindings};
use super::material::LintContext;
use crate::policy::PolicyProblem;

pub(super) const UNTESTED_TOOL: Lint = Lint {
    code: "lint::untested_tool",
    about: "a tool of `tools.toml` or `tools.lock` without a test, beside tests",
    look,
};

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    let Some(tested) = &world.given.tested else {
        return;
    };
    for source in world.label_files("tools.toml") {
        // What is wrong with the file is told when it is loaded.
        let Ok(file) = DeTable::parse(&source.text) else {
            continue;
        };
        let tools = file
            .get_ref()
            .get("tools")
            .and_then(|it| it.get_ref().as_table());
        for (name, _) in tools.into_iter().flat_map(|tools| tools.iter()) {
            if tested.contains(name.get_ref().as_ref()) {
                continue;
            }
            let message = format!("no test names `{}`", name.get_ref());
            let problem = PolicyProblem::warning(UNTESTED_TOOL.code, message)
                .with_help("test a call of it, or list it in `listed` or `hidden`")
                .in_source(source)
                .at(name.span(), "labelled here");
            found.add(&UNTESTED_TOOL, problem);
        }
    }
    let labelled = |name: &str| world.given.said.tools.contains_key(name);
    for (name, tool) in world.given.lock.tools() {
        if tested.contains(name) || labelled(name) {
            continue;
        }
        let message = format!("no test names `{}`, which is locked", name.escape_debug());
        let problem = PolicyProblem::warning(UNTESTED_TOOL.code, message)
            .with_help("test a call of it, or list it in `listed` or `hidden`");
        let mut sources = world.label_files("tools.lock");
        let problem = match sources.find(|source| source.name == tool.origin.file) {
            Some(source) => problem.on_line(source, tool.origin.line, "locked here"),
            None => problem,
        };
        found.add(&UNTESTED_TOOL, problem);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_in, found, locking, source};
    use super::super::material::Material;

    #[test]
    fn a_locked_tool_that_no_test_names_is_found_on_its_line() {
        let material = Material {
            labels: vec![source("tools.lock", "{\n  \"name\": \"a\"\n}")],
            lock: std::sync::Arc::new(locking(&["a"])),
            tested: Some([].into()),
            ..Material::default()
        };
        let found = found("untested_tool", &material);
        let place = found[0].labels[0].inner();
        assert_eq!((place.offset(), place.len()), (4, 11), "{found:?}");
    }

    #[test]
    fn a_labelled_tool_that_no_test_names_is_found() {
        let check = |tested: Option<&[&str]>, findings| {
            let tested = tested.map(|names| names.iter().map(ToString::to_string).collect());
            let material = Material {
                labels: vec![source("p/tools.toml", "[tools.a]\n[tools.b]\n[default]\n")],
                tested,
                ..Material::default()
            };
            check_in("untested_tool", &material, findings);
        };
        check(Some(&["a", "b", "c"]), 0);
        check(Some(&["a"]), 1);
        check(Some(&[]), 2);
        check(None, 0);
    }
}
