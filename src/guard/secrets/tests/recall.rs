//! How much of what there is is found.

use std::collections::BTreeMap;

use super::BUILTIN;
use super::corpus::{Code, Dice, Sample, encoded, percent, samples};
use crate::guard::secrets::SecretFinding;

/// Samples of each kind.
const OF_EACH: usize = 5;

#[derive(Default)]
struct RecallTally {
    all: usize,
    found: usize,
    named: usize,
    missed: BTreeMap<String, String>,
}

impl RecallTally {
    fn count(&mut self, sample: &Sample, text: &str, secret: &str) {
        self.all += 1;
        let findings = BUILTIN.find(text);
        let covering = covering(&findings, text, secret);
        match covering {
            Some(finding) => {
                self.found += 1;
                self.named += usize::from(finding.rule.as_str() == sample.kind);
            }
            None => {
                self.missed.insert(sample.kind.clone(), text.to_owned());
            }
        }
    }

    #[track_caller]
    fn check(&self, what: &str, least_percent: usize) {
        println!(
            "{what}: {} of {} found ({:.2} %), {} of them by their own rule; missed: {:#?}",
            self.found,
            self.all,
            percent(self.found, self.all),
            self.named,
            self.missed,
        );
        assert!(
            self.found * 100 >= self.all * least_percent,
            "{what}: fewer than {least_percent} %"
        );
    }
}

/// The finding that holds all of the secret.
fn covering<'f>(
    findings: &'f [SecretFinding],
    text: &str,
    secret: &str,
) -> Option<&'f SecretFinding> {
    let start = text.find(secret).unwrap();
    let end = start + secret.len();
    findings
        .iter()
        .find(|finding| finding.range.start <= start && finding.range.end >= end)
}

#[test]
fn of_plain_credentials_nearly_all_are_found() {
    let samples = samples(OF_EACH);
    let kinds: std::collections::BTreeSet<&str> =
        samples.iter().map(|sample| sample.kind.as_str()).collect();
    assert!(kinds.len() >= 130, "{} kinds", kinds.len());
    let mut tally = RecallTally::default();
    for sample in &samples {
        tally.count(sample, &sample.text, &sample.credential);
    }
    tally.check(&format!("plain, {} kinds", kinds.len()), 95);
}

#[track_caller]
fn check_encoded(what: &str, codes: &[Code], least_percent: usize) {
    let mut tally = RecallTally::default();
    let mut dice = Dice::new(7);
    for sample in samples(OF_EACH) {
        let (outer, inner) = codes.split_first().unwrap();
        let inside = inner.iter().fold(sample.text.clone(), |text, &code| {
            encoded(&text, code, &mut dice).1
        });
        let (text, run) = encoded(&inside, *outer, &mut dice);
        tally.count(&sample, &text, &run);
    }
    tally.check(what, least_percent);
}

#[test]
fn of_credentials_encoded_once_most_are_found() {
    check_encoded("percent-encoded", &[Code::Url], 90);
    check_encoded("base64", &[Code::Base64], 90);
    check_encoded("base64 for URLs", &[Code::Base64Url], 90);
    check_encoded("hexadecimal", &[Code::Hex], 90);
}

#[test]
fn of_credentials_encoded_twice_most_are_found() {
    check_encoded("base64 in base64", &[Code::Base64, Code::Base64], 90);
    check_encoded("hexadecimal in base64", &[Code::Base64, Code::Hex], 90);
    check_encoded("base64 in a URL", &[Code::Url, Code::Base64], 90);
}
