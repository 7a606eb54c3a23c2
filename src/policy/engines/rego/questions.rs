//! Rules beside an author's own that tell how far the bodies of those come.
//!
//! For each statement one rule has the body up to it, and is the set of what its variables may be
//! there: empty where the body does not come so far. One more rule is the list of all answers, so
//! that one evaluation gives everything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::policy::PolicySource;

/// Bytes of all questions together; bodies beyond are one condition each.
const MOST_BYTES: usize = 4 << 20;

/// Whether bodies are asked about statement by statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    Apart,
    Whole,
}

/// Questions while they are gathered.
#[derive(Debug)]
pub(super) struct Questions {
    bodies: Bodies,
    prefix: String,
    /// Of one file.
    rules: String,
    /// Of all files.
    values: String,
    asked: BTreeMap<String, usize>,
    bytes: usize,
    count: usize,
}

/// Some statements, and the variables that they give values to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body<'b> {
    pub(super) statements: &'b [String],
    pub(super) variables: &'b [String],
}

impl Questions {
    /// Rules with names that none of the sources has.
    pub(super) fn new(bodies: Bodies, sources: &[PolicySource]) -> Self {
        let mut prefix = "traced".to_owned();
        let sources = sources.iter();
        while sources.clone().any(|source| source.text.contains(&prefix)) {
            prefix.push('_');
        }
        Self {
            bodies,
            prefix,
            rules: String::new(),
            values: String::new(),
            asked: BTreeMap::new(),
            bytes: 0,
            count: 0,
        }
    }

    pub(super) fn are_whole(&self) -> bool {
        self.bodies == Bodies::Whole || self.bytes > MOST_BYTES
    }

    /// Asks how a body comes out; gives the place of the answer, which is a set.
    pub(super) fn body(&mut self, body: Body<'_>) -> usize {
        let name = self.name(self.count);
        let variables = body.variables.iter();
        let members: Vec<String> = variables
            .map(|name| format!("\"{name}\": {name}"))
            .collect();
        let value = if members.is_empty() {
            "true".to_owned()
        } else {
            format!("{{{}}}", members.join(", "))
        };
        let begin = self.rules.len();
        let statements = body.statements.join("\n");
        let _ = writeln!(
            self.rules,
            "{name} contains {value} if {{\n{statements}\n}}"
        );
        self.bytes += self.rules.len() - begin;
        self.next()
    }

    /// Asks what a rule comes to; gives the place of the answer, which is a list of one, or of none.
    pub(super) fn value(&mut self, rule: &str) -> usize {
        if let Some(place) = self.asked.get(rule) {
            return *place;
        }
        let (name, variable) = (self.name(self.count), self.variable());
        let _ = writeln!(
            self.values,
            "{name} := [{variable} | {variable} := data.mcp.{rule}]"
        );
        self.asked.insert(rule.to_owned(), self.count);
        self.next()
    }

    /// The rules that ask about the bodies of a file, which see what it imports.
    pub(super) fn of_file(&mut self) -> String {
        std::mem::take(&mut self.rules)
    }

    /// All other rules.
    pub(super) fn of_all(&self) -> String {
        let names: Vec<String> = (0..self.count).map(|place| self.name(place)).collect();
        let all = self.all();
        format!("{}{all} := [\n{}\n]\n", self.values, names.join(",\n"))
    }

    /// The rule that has all answers in their order.
    pub(super) fn all(&self) -> String {
        format!("{}all", self.prefix)
    }

    /// The rules that have one answer each.
    pub(super) fn each(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|place| self.name(place))
    }

    fn name(&self, place: usize) -> String {
        format!("{}{place}", self.prefix)
    }

    fn variable(&self) -> String {
        format!("{}it", self.prefix)
    }

    fn next(&mut self) -> usize {
        let place = self.count;
        self.count += 1;
        place
    }
}
