//! What was measured, as tables for people and as JSON.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::load::{Load, Outcome};
use super::measure::{Failure, quantile};
use super::options::Idling;
use super::paths::Kind;
use super::svg;

/// One table.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) data: Value,
    pub(crate) curves: Vec<Curve>,
}

/// The distribution of one path's latencies.
#[derive(Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    /// How many nines a share has (0 is the least latency, 2 is p99), and microseconds.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    fn of(outcome: &Outcome) -> Self {
        let point = |step: u32| {
            let nines = f64::from(step) / 20.0;
            let share = 1.0 - 10_f64.powf(-nines);
            (nines, quantile(&outcome.times, share))
        };
        Self {
            name: outcome.name.clone(),
            points: (0..=80).map(point).collect(),
        }
    }
}

impl Section {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
            data: Value::Array(Vec::new()),
            curves: Vec::new(),
        }
    }

    /// A row, and the same for machines.
    pub(crate) fn row(&mut self, cells: Vec<String>, data: Value) {
        self.rows.push(cells);
        if let Value::Array(all) = &mut self.data {
            all.push(data);
        }
    }

    fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        writeln!(out, "\n{}", self.title)?;
        let width = |nth: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(nth));
            let widths = cells.chain(self.columns.get(nth)).map(String::len);
            widths.max().unwrap_or(0)
        };
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            for (nth, cell) in row.iter().enumerate() {
                let width = width(nth);
                if nth == 0 {
                    write!(out, "  {cell:<width$}")?;
                } else {
                    write!(out, "  {cell:>width$}")?;
                }
            }
            writeln!(out)?;
        }
        Ok(out.flush()?)
    }
}

/// All tables so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    machine: String,
    sections: Vec<Section>,
    goals: Vec<(Vec<String>, Value)>,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    Least(f64),
    Most(f64),
}

impl Report {
    /// A figure that has a goal.
    pub(crate) fn goal(&mut self, id: &str, what: &str, measured: f64, goal: Goal) {
        let (words, limit, is_met) = match goal {
            Goal::Least(limit) => ("at least", limit, measured >= limit),
            Goal::Most(limit) => ("at most", limit, measured <= limit),
        };
        let cells = vec![
            format!("{id} {what}"),
            ratio(measured),
            format!("{words} {limit}"),
            if is_met { "met" } else { "missed" }.to_owned(),
        ];
        let data =
            json!({"goal": id, "what": what, "measured": measured, "limit": limit, "met": is_met});
        self.goals.push((cells, data));
    }

    /// The table of all goals that were measured.
    pub(crate) fn add_goals(&mut self) -> Result<(), Failure> {
        if self.goals.is_empty() {
            return Ok(());
        }
        let mut section = Section::new("goals", &["goal", "measured", "should be", ""]);
        for (cells, data) in std::mem::take(&mut self.goals) {
            section.row(cells, data);
        }
        self.add(section)
    }

    /// Prints a table at once, and keeps it.
    pub(crate) fn add(&mut self, section: Section) -> Result<(), Failure> {
        section.print(&mut std::io::stdout().lock())?;
        self.sections.push(section);
        Ok(())
    }

    /// Says what machine this is, and how busy it is with other work.
    pub(crate) fn begin(idling: Idling) -> Result<Self, Failure> {
        let processors = std::thread::available_parallelism()?.get();
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let load = read("/proc/loadavg");
        let load = load.split(' ').next().unwrap_or_default();
        let kernel = read("/proc/sys/kernel/osrelease");
        let idling = match idling {
            Idling::Halted => "idle processors halt",
            Idling::Awake => "processors are kept awake",
        };
        let machine = format!(
            "{processors} processors, Linux {}, load {load} before the first call, {idling}",
            kernel.trim()
        );
        writeln!(std::io::stdout(), "{machine}")?;
        Ok(Self {
            machine,
            ..Self::default()
        })
    }

    pub(crate) fn write_json(&self, file: &Path) -> Result<(), Failure> {
        let sections: Vec<Value> = self
            .sections
            .iter()
            .map(|section| json!({"title": section.title, "rows": section.data}))
            .collect();
        let text = format!(
            "{:#}\n",
            json!({ "machine": self.machine, "sections": sections })
        );
        Ok(std::fs::write(file, text)?)
    }

    pub(crate) fn write_svg(&self, file: &Path) -> Result<(), Failure> {
        Ok(std::fs::write(file, svg::draw(&self.sections))?)
    }
}

/// One decimal.
pub(crate) fn short(number: f64) -> String {
    format!("{number:.1}")
}

/// No decimal.
pub(crate) fn whole(number: f64) -> String {
    format!("{number:.0}")
}

fn ratio(number: f64) -> String {
    format!("{number:.2}")
}

/// A number that some rows do not have.
fn maybe(number: Option<f64>, write: fn(f64) -> String) -> String {
    number.map_or_else(|| "-".to_owned(), write)
}

/// The table of one load on all paths.
pub(crate) fn of_load(title: &str, load: Load, payload: usize, outcomes: &[Outcome]) -> Section {
    let of_kind = |kind: Kind| outcomes.iter().rfind(|outcome| outcome.kind == kind);
    let (direct, floor, peer) = (
        of_kind(Kind::Direct),
        of_kind(Kind::Floor),
        of_kind(Kind::Peer),
    );
    let beside_peer = peer.map_or_else(|| "x peer".to_owned(), |peer| format!("x {}", peer.name));
    let mut section = Section::new(
        &format!("{title}: {}, {}", size(payload), load.name()),
        &[
            "path",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "+p50 us",
            "+p99 us",
            "calls/s",
            "x direct",
            "x floor",
            &beside_peer,
            "cpu us/call",
            "cpu x floor",
            "RSS KiB",
        ],
    );
    for outcome in outcomes {
        let at = |share: f64| quantile(&outcome.times, share);
        let added = |share: f64| direct.map(|direct| at(share) - quantile(&direct.times, share));
        let beside = |other: Option<&Outcome>| other.map(|other| outcome.rate() / other.rate());
        let processor = outcome.processor_per_call();
        let floor_processor = floor.and_then(Outcome::processor_per_call);
        let beside_floor = processor
            .zip(floor_processor)
            .map(|(own, floor)| own / floor);
        let resident = outcome.resident;
        let curve = Curve::of(outcome);
        section.row(
            vec![
                outcome.name.clone(),
                short(at(0.5)),
                short(at(0.99)),
                short(at(0.999)),
                maybe(added(0.5), short),
                maybe(added(0.99), short),
                whole(outcome.rate()),
                maybe(beside(direct), ratio),
                maybe(beside(floor), ratio),
                maybe(beside(peer), ratio),
                maybe(processor, short),
                maybe(beside_floor, ratio),
                resident.map_or_else(|| "-".to_owned(), |kib| kib.to_string()),
            ],
            json!({
                "path": outcome.name, "load": load.name(), "payload_bytes": payload,
                "calls": outcome.times.len(), "seconds": outcome.elapsed.as_secs_f64(),
                "p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99), "p99_9_us": at(0.999),
                "p99_99_us": at(0.9999), "max_us": at(1.0),
                "added_p50_us": added(0.5), "added_p99_us": added(0.99),
                "calls_per_second": outcome.rate(), "times_direct": beside(direct),
                "times_floor": beside(floor), "times_peer": beside(peer),
                "processor_us_per_call": processor, "processor_times_floor": beside_floor,
                "resident_kib": resident, "curve_nines_us": curve.points,
            }),
        );
        section.curves.push(curve);
    }
    section
}

/// Bytes in words.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
