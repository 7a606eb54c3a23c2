//! `[audit]`: where records go, and how surely.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use super::errors::ConfigReason;
use super::section::ConfigSection;
use super::settings::{
    Audit, Durability, EventKinds, FlightRecorder, OnFault, RecordedArguments, RecordedResults,
    Syslog,
};
use crate::audit::syslog::{Facility, SyslogAddress};

/// Larger than any line.
const FILE_SIZES: RangeInclusive<u64> = 1 << 20..=1 << 40;

const FILE_AGES: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(24 * 366);

/// A checkpoint costs a line of 650 bytes; an operator looks at a log at least once a day.
const CHECKPOINT_INTERVALS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(24);

pub(super) fn audit(mut section: ConfigSection<'_, '_>, base: &Path) -> Audit {
    let default = Audit::default();
    let audit = Audit {
        file: section.path("file", base),
        durability: section
            .one_of(
                "durability",
                &[("async", Durability::Async), ("strict", Durability::Strict)],
            )
            .unwrap_or(default.durability),
        on_fault: section
            .one_of(
                "on_fault",
                &[("deny", OnFault::Deny), ("warn", OnFault::Warn)],
            )
            .unwrap_or(default.on_fault),
        arguments: section
            .one_of(
                "arguments",
                &[
                    ("digest", RecordedArguments::Digest),
                    ("redacted", RecordedArguments::Redacted),
                    ("off", RecordedArguments::Off),
                ],
            )
            .unwrap_or(default.arguments),
        results: section
            .one_of(
                "results",
                &[
                    ("redacted", RecordedResults::Redacted),
                    ("off", RecordedResults::Off),
                ],
            )
            .unwrap_or(default.results),
        max_file_size: section.size("max_file_size", &FILE_SIZES),
        max_file_age: section.duration("max_file_age", &FILE_AGES),
        signing_key_file: section.path("signing_key_file", base),
        checkpoint_interval: section
            .duration("checkpoint_interval", &CHECKPOINT_INTERVALS)
            .unwrap_or(default.checkpoint_interval),
        digest_key_file: section.path("digest_key_file", base),
        syslog: syslog(section.section("syslog"), base),
    };
    if !section.has("file") {
        let help = "name the log in `file`, or remove this key";
        section.only_when(
            &["max_file_size", "max_file_age"],
            "only applies with `file`",
            help,
        );
    }
    if !section.has("signing_key_file") {
        let help = "name a key with `signing_key_file`, or remove this key";
        section.only_when(
            &["checkpoint_interval"],
            "only applies with `signing_key_file`",
            help,
        );
    }
    if audit.durability == Durability::Strict && !section.has("file") {
        let help = "only a file can be synced to disk, as in `file = \"audit.jsonl\"`";
        section.require(
            "file",
            ConfigReason::RequiredWhen("durability is 'strict'"),
            help,
        );
    }
    section.finish();
    audit
}

pub(super) fn flight_recorder(
    mut section: ConfigSection<'_, '_>,
    base: &Path,
) -> Option<FlightRecorder> {
    let file = section.path("file", base);
    let kinds = [("tool", EventKinds::Tool), ("mcp", EventKinds::Mcp)];
    let event_kinds = section.one_of("event_kinds", &kinds);
    if section.is_present() && !section.has("file") {
        let help = "as in `file = \"flight.duckdb\"`: the database of the events";
        section.require("file", ConfigReason::Required, help);
    }
    section.finish();
    Some(FlightRecorder {
        file: file?,
        event_kinds: event_kinds.unwrap_or(EventKinds::Tool),
    })
}

/// Whether records may cross a network in clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InClear {
    Allowed,
    Refused,
}

fn syslog(mut section: ConfigSection<'_, '_>, base: &Path) -> Option<Syslog> {
    let address = section.string("address");
    let address = address.and_then(|text| match SyslogAddress::parse(&text) {
        Ok(address) => Some(address),
        Err(problem) => {
            let help = "as in `\"unix:/dev/log\"`, `\"tls://log.example.com:6514\"`, or `udp` or `tcp` to \
                        this machine";
            section.refuse("address", ConfigReason::Invalid(problem), Some(help));
            None
        }
    });
    let in_clear = section.switch("allow_plain", InClear::Allowed, InClear::Refused);
    let facility = section.one_of("facility", &Facility::NAMES);
    let ca_file = section.path("ca_file", base);
    if section.is_present() && !section.has("address") {
        let help = "as in `address = \"unix:/dev/log\"`: without it no server gets records";
        section.require("address", ConfigReason::Required, help);
    }
    if let Some(address) = &address {
        who_may_read(&mut section, address, in_clear.unwrap_or(InClear::Refused));
    }
    section.finish();
    Some(Syslog {
        address: address?,
        facility: facility.unwrap_or(Facility::Local0),
        ca_file,
    })
}

/// Records tell who calls what.
fn who_may_read(section: &mut ConfigSection<'_, '_>, address: &SyslogAddress, in_clear: InClear) {
    if section.has("ca_file") && !matches!(address, SyslogAddress::Tls(_)) {
        let help = "write `tls` in `address`, or remove it";
        section.refuse("ca_file", ConfigReason::NoEffect("without TLS"), Some(help));
    }
    match (address.is_private(), in_clear) {
        (true, InClear::Allowed) => {
            let reason = ConfigReason::NoEffect("beside TLS, or an address of this machine");
            section.refuse("allow_plain", reason, Some("remove it"));
        }
        (false, InClear::Refused) => {
            let reason = ConfigReason::Invalid("is not encrypted");
            let help = "other machines on the network path could read what agents do: write `tls`, or \
                        `allow_plain = true` if you trust the path";
            section.refuse("address", reason, Some(help));
        }
        (true, InClear::Refused) | (false, InClear::Allowed) => {}
    }
}
