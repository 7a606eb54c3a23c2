//! JUnit XML as Jenkins, GitLab and others collect it (Jenkins' `junit-10.xsd`).
//!
//! The format has no place for a file and a line of a test; they stand in the text of its failure.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::failure::FAILED;
use super::{Report, RunProblem, SuiteReport, TestOutcome, TestReport};
use crate::findings::{Finding, printable};

type Xml = Writer<Vec<u8>>;

const NOT_RUN: &str = "not run";

/// The suite of what was asked of the tests, beside that they pass.
const SHORT: &str = "what the tests see and notice";

impl Report {
    /// Each fixture is a suite. Where the tests fall short is one of failures, what kept tests from
    /// running one of errors.
    pub fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let errors = self.problems.len();
        let shortfalls = self.shortfalls();
        let short = shortfalls.len();
        let tests = self.summary.tests + errors + short;
        let failures = self.summary.failed + short;
        xml.create_element("testsuites")
            .with_attribute(("name", "mcp-protector test-policy"))
            .with_attribute(("tests", tests.to_string().as_str()))
            .with_attribute(("failures", failures.to_string().as_str()))
            .with_attribute(("errors", errors.to_string().as_str()))
            .write_inner_content(|xml| {
                for suite in &self.suites {
                    suite.junit(xml)?;
                }
                if short > 0 {
                    suite(xml, SHORT, None, [short, short, 0], |xml| {
                        shortfalls.iter().try_for_each(|it| shortfall(it, xml))
                    })?;
                }
                if self.problems.is_empty() {
                    return Ok(());
                }
                suite(xml, NOT_RUN, None, [errors, 0, errors], |xml| {
                    self.problems.iter().try_for_each(|it| it.junit(xml))
                })
            })?;
        out.write_all(&xml.into_inner())?;
        writeln!(out)
    }
}

impl SuiteReport {
    fn junit(&self, xml: &mut Xml) -> io::Result<()> {
        let failed = |test: &&TestReport| test.outcome == TestOutcome::Failed;
        let counts = [
            self.tests.len(),
            self.tests.iter().filter(failed).count(),
            0,
        ];
        suite(xml, &self.suite, Some(&self.file), counts, |xml| {
            self.tests.iter().try_for_each(|test| test.junit(self, xml))
        })
    }
}

impl TestReport {
    fn junit(&self, suite: &SuiteReport, xml: &mut Xml) -> io::Result<()> {
        let case = xml
            .create_element("testcase")
            .with_attribute(("name", printable(&self.called()).as_str()))
            .with_attribute(("classname", printable(&suite.suite).as_str()));
        if self.outcome == TestOutcome::Passed {
            return case.write_empty().map(|_| ());
        }
        let mut lines = vec![format!("{}:{}", suite.file, self.line)];
        lines.extend(self.explained());
        let message = self.problems.join("; ");
        case.write_inner_content(|xml| told(xml, "failure", FAILED, &message, &lines))?;
        Ok(())
    }
}

impl RunProblem {
    fn junit(&self, xml: &mut Xml) -> io::Result<()> {
        let code = self.code.as_deref().unwrap_or(NOT_RUN);
        let mut lines = Vec::new();
        if let Some(file) = &self.file {
            let (line, column) = (self.line.unwrap_or(1), self.column.unwrap_or(1));
            lines.push(format!("{file}:{line}:{column}"));
        }
        lines.push(self.message.clone());
        lines.extend(self.help.iter().map(|help| format!("help: {help}")));
        xml.create_element("testcase")
            .with_attribute(("name", printable(code).as_str()))
            .with_attribute(("classname", NOT_RUN))
            .write_inner_content(|xml| told(xml, "error", code, &self.message, &lines))?;
        Ok(())
    }
}

fn shortfall(short: &Finding, xml: &mut Xml) -> io::Result<()> {
    let code = short.code.as_deref().unwrap_or_default();
    let place = short.place.as_ref();
    let place = place.map(|place| format!("{}:{}", place.file, place.line));
    let mut lines: Vec<String> = place.into_iter().collect();
    lines.extend(short.told().lines().map(str::to_owned));
    xml.create_element("testcase")
        .with_attribute(("name", printable(&short.message).as_str()))
        .with_attribute(("classname", SHORT))
        .write_inner_content(|xml| told(xml, "failure", code, &short.message, &lines))?;
    Ok(())
}

/// `counts`: tests, failures, errors.
fn suite(
    xml: &mut Xml,
    name: &str,
    file: Option<&str>,
    counts: [usize; 3],
    tests: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let [all, failures, errors] = counts.map(|count| count.to_string());
    let mut element = xml
        .create_element("testsuite")
        .with_attribute(("name", printable(name).as_str()));
    if let Some(file) = file {
        element = element.with_attribute(("file", printable(file).as_str()));
    }
    element
        .with_attribute(("tests", all.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .with_attribute(("errors", errors.as_str()))
        .write_inner_content(tests)?;
    Ok(())
}

fn told(
    xml: &mut Xml,
    element: &str,
    kind: &str,
    message: &str,
    lines: &[String],
) -> io::Result<()> {
    let lines: Vec<String> = lines.iter().map(|line| printable(line)).collect();
    xml.create_element(element)
        .with_attribute(("type", printable(kind).as_str()))
        .with_attribute(("message", printable(message).as_str()))
        .write_text_content(BytesText::new(&lines.join("\n")))?;
    Ok(())
}
