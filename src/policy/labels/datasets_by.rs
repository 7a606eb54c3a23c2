//! Data sets that the value of an argument selects, such as the name of a table.

use std::collections::{BTreeSet, HashMap};

use super::super::message_facts::Arguments;
use super::Labels;
use super::targets::texts_at;
use crate::policy::UNKNOWN_DATASET;

/// What the host says of the values of one argument.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetsBy {
    /// The JSON pointer of the argument, with `*` as in other labels.
    pub pointer: String,
    /// The data sets behind each exact value.
    pub values: HashMap<String, Vec<String>>,
}

impl DatasetsBy {
    /// What a call reads. A value that is not listed, one that is no text, and an argument that is not there
    /// may select any.
    pub(super) fn read_by(&self, arguments: &Arguments<'_>) -> BTreeSet<String> {
        let texts = texts_at(arguments, &self.pointer);
        let mut names = BTreeSet::new();
        for text in &texts {
            match text.as_deref().and_then(|text| self.values.get(text)) {
                Some(known) => names.extend(known.iter().cloned()),
                None => names.extend([UNKNOWN_DATASET.to_owned()]),
            }
        }
        if texts.is_empty() {
            names.insert(UNKNOWN_DATASET.to_owned());
        }
        names
    }
}

impl Labels {
    /// Every data set that the host names.
    pub fn datasets(&self) -> BTreeSet<&str> {
        let tools = || self.all_tools();
        let by = tools().flat_map(|tool| &tool.datasets_by);
        let selected = by.flat_map(|by| by.values.values());
        let said = tools().map(|tool| &tool.datasets);
        let roots = self.roots.iter().map(|root| &root.datasets);
        let all = said.chain(selected).chain(roots);
        let all = all.chain(self.resources.datasets());
        all.flatten().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Leaf;

    #[test]
    fn a_value_selects_what_is_listed_for_it_and_any_other_may_select_anything() {
        let values = [
            ("users", vec!["customers".to_owned()]),
            ("staff", vec!["payroll".to_owned(), "customers".to_owned()]),
            ("colours", vec![]),
        ];
        let check = |pointer: &str, arguments: Vec<(&str, Leaf<'static>)>, expected: &[&str]| {
            let by = DatasetsBy {
                pointer: pointer.to_owned(),
                values: values
                    .clone()
                    .map(|(value, names)| (value.to_owned(), names))
                    .into(),
            };
            let arguments = arguments
                .into_iter()
                .map(|(at, leaf)| (at.to_owned(), leaf));
            let read = by.read_by(&Arguments(arguments.collect()));
            let read: Vec<&str> = read.iter().map(String::as_str).collect();
            assert_eq!(read, expected, "{pointer}");
        };
        let text = |text: &'static str| Leaf::String(text.into());
        let list = |texts: &[&'static str]| {
            Leaf::Strings(texts.iter().map(|text| (*text).into()).collect())
        };
        check("/table", vec![("/table", text("users"))], &["customers"]);
        check(
            "/table",
            vec![("/table", text("staff"))],
            &["customers", "payroll"],
        );
        check("/table", vec![("/table", text("colours"))], &[]);
        check("/table", vec![("/table", text("Users"))], &["?"]);
        check("/table", vec![("/table", text(" users"))], &["?"]);
        check("/table", vec![("/table", text("customers"))], &["?"]);
        check("/table", vec![("/table", Leaf::Bool(true))], &["?"]);
        check("/table", vec![("/table", Leaf::Null)], &["?"]);
        check("/table", vec![("/table/users", text("users"))], &["?"]);
        check("/table", vec![("/other", text("users"))], &["?"]);
        check("/table", vec![], &["?"]);
        check("/table", vec![("/table", Leaf::EmptyArray)], &["?"]);
        let both = vec![
            ("/table", list(&["users", "other"])),
            ("/table/0", text("users")),
            ("/table/1", text("other")),
        ];
        check("/table", both, &["?", "customers"]);
        let each = vec![
            ("/reads/0/table", text("users")),
            ("/reads/1/table", text("staff")),
        ];
        check("/reads/*/table", each, &["customers", "payroll"]);
        let near = vec![
            ("/reads/0/table", text("users")),
            ("/reads/1", text("staff")),
        ];
        check("/reads/*/table", near, &["?", "customers"]);
    }
}
