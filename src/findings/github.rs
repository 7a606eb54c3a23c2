//! Workflow commands of GitHub Actions, which become annotations on the lines of a change.
//!
//! <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>

use std::io::{self, Write};

use super::{Finding, FindingLevel, printable, relative};

/// One line for each finding.
pub fn github(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    for finding in findings {
        let command = match finding.severity {
            FindingLevel::Error => "error",
            FindingLevel::Warning => "warning",
            FindingLevel::Advice => "notice",
        };
        write!(out, "::{command} ")?;
        if let Some(place) = &finding.place {
            let file = property(&relative(&place.file));
            write!(out, "file={file},line={},", place.line)?;
            // A column that ends on another line would be taken for one of the first.
            if place.end_line == place.line && place.end_column > place.column {
                let last = place.end_column - 1;
                write!(out, "col={},endColumn={last},", place.column)?;
            } else {
                write!(out, "endLine={},", place.end_line)?;
            }
        }
        let title = finding.code.as_deref().unwrap_or("mcp-protector");
        writeln!(
            out,
            "title={}::{}",
            property(title),
            message(&finding.told())
        )?;
    }
    Ok(())
}

/// Several lines are one annotation.
fn message(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| printable(line).replace('%', "%25"))
        .collect();
    lines.join("%0A")
}

fn property(text: &str) -> String {
    let text = printable(text).replace('%', "%25");
    text.replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::FileSpan;
    use super::*;

    #[test]
    fn what_github_would_read_as_its_own_is_escaped() {
        let check = |finding: Finding, expected: &str| {
            let mut out = Vec::new();
            github(&[finding], &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{expected}\n"));
        };
        let place = |file: &str, end_line| FileSpan {
            file: file.to_owned(),
            line: 3,
            column: 5,
            end_line,
            end_column: 9,
        };
        let finding = |message: &str, help: Option<&str>, place: Option<FileSpan>| Finding {
            severity: FindingLevel::Warning,
            code: Some("lint::a".to_owned()),
            message: message.to_owned(),
            help: help.map(str::to_owned),
            place,
        };
        check(
            finding("100 %, a: b", None, Some(place("p/a,b:c.cedar", 3))),
            "::warning file=p/a%2Cb%3Ac.cedar,line=3,col=5,endColumn=8,title=lint%3A%3Aa::100 %25, a: b",
        );
        check(
            finding(
                "x\r\n::error::y",
                Some("z\u{202e}\u{1b}[1m"),
                Some(place("a", 4)),
            ),
            "::warning file=a,line=3,endLine=4,title=lint%3A%3Aa::x%0A::error::y%0Ahelp: z\\u{202e}\\u{1b}[1m",
        );
        let bare = Finding {
            severity: FindingLevel::Error,
            code: None,
            ..finding("x", None, None)
        };
        check(bare, "::error title=mcp-protector::x");
    }
}
