//! Names of private data sets, in `tools.toml`, `roots.toml` and `resources.toml`.

use super::file_names::CODE;
use super::pointers::is_pointer;
use crate::policy::table::{SpannedText, TomlTable};
use crate::policy::{DATASET_NAMES, DatasetsBy, Labels, MOST_DATASETS, PolicyProblem, is_dataset};

/// The names under `datasets`.
pub(super) fn names(table: &mut TomlTable<'_, '_>) -> Vec<String> {
    let given = table.strings("datasets");
    checked(table, given)
}

/// What the values of arguments select.
pub(super) fn by_arguments(table: &mut TomlTable<'_, '_>) -> Vec<DatasetsBy> {
    let Some(mut by) = table.table("datasets_by") else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (pointer, place, field) in by.entries() {
        if !is_pointer(&pointer) {
            let message = format!("`{pointer}` is no JSON pointer");
            let help = "`\"/table\" = { users = \"customers\" }` is for the argument `table`";
            by.report(place, &message, Some(help.to_owned()));
        }
        let Some(mut values) = by.inside(field) else {
            continue;
        };
        let mut known = Vec::new();
        for (value, _, field) in values.entries() {
            let given = values.strings_of(&field);
            known.push((value, checked(&mut values, given)));
        }
        all.push(DatasetsBy {
            pointer,
            values: known.into_iter().collect(),
        });
    }
    all
}

fn checked(table: &mut TomlTable<'_, '_>, given: Vec<SpannedText>) -> Vec<String> {
    let mut names = Vec::new();
    for (name, place) in given {
        if is_dataset(&name) {
            names.push(name);
        } else {
            let message = format!("`{name}` is no name of a data set");
            table.report(place, &message, Some(DATASET_NAMES.to_owned()));
        }
    }
    names
}

/// All files together have an end, as a session has that read all that they label.
pub(super) fn bound(labels: &Labels, problems: &mut Vec<PolicyProblem>) {
    let count = labels.datasets().len();
    if count > MOST_DATASETS {
        let message = format!("labels name {count} data sets, more than {MOST_DATASETS}");
        let help = "give one name to data sets that no policy tells apart";
        problems.push(PolicyProblem::error(CODE, message).with_help(help));
    }
}
