//! Latency distributions as a drawing: one panel for each table that has them.
//!
//! Across: the share of calls, as nines. Up: microseconds, on a logarithmic axis.

use std::fmt::Write as _;

use super::measure::number;
use super::report::{Curve, Section};

const WIDTH: f64 = 860.0;
const PANEL: f64 = 360.0;
/// Round the plot in a panel.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 44.0;
/// The rightmost share, p99.99, in nines.
const NINES: f64 = 4.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:14px;font-weight:600}\
.back{fill:#fff}.grid{stroke:#ddd}.curve{fill:none;stroke-width:2}\
.c0{stroke:#666}.c1{stroke:#0a7d4f}.c2{stroke:#b45f06}.c3{stroke:#8e44ad}.c4{stroke:#1f5fbf}.c5{stroke:#c0392b}.c6{stroke:#00838f}.c7{stroke:#7a6a00}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.back{fill:#16181c}.grid{stroke:#3a3d44}\
.c0{stroke:#aaa}.c1{stroke:#4fd39b}.c2{stroke:#f0a860}.c3{stroke:#cf9be6}.c4{stroke:#7fb0ff}.c5{stroke:#ff8a7a}.c6{stroke:#5fd7e2}.c7{stroke:#d9c65a}}";

/// The paths that most panels have, each of which has one color in all of them.
const KNOWN: [(&str, usize); 10] = [
    ("direct", 0),
    ("floor", 1),
    ("cat", 2),
    ("haproxy", 2),
    ("socat", 3),
    ("nginx", 3),
    ("gate", 4),
    ("gate, 100 policies", 5),
    ("gate, no audit file", 6),
    ("gate, strict audit", 7),
];

/// The places of a panel's axes.
struct Axes {
    /// The panel's upper edge.
    top: f64,
    /// Powers of ten at the lower and the upper end.
    decades: (f64, f64),
}

impl Axes {
    fn x(nines: f64) -> f64 {
        LEFT + nines / NINES * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, micros: f64) -> f64 {
        let (low, high) = self.decades;
        let share = (micros.max(0.1).log10() - low) / (high - low);
        self.top + PANEL - BOTTOM - share * (PANEL - TOP - BOTTOM)
    }
}

/// The whole drawing.
pub(crate) fn draw(sections: &[Section]) -> String {
    let drawn: Vec<&Section> = sections
        .iter()
        .filter(|section| !section.curves.is_empty())
        .collect();
    let height = PANEL * number(drawn.len());
    let mut out = String::new();
    // To write to a `String` cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"Latency distributions\">\n<style>{STYLE}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
    );
    for (nth, section) in drawn.into_iter().enumerate() {
        panel(&mut out, section, PANEL * number(nth));
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, section: &Section, top: f64) {
    let all = section.curves.iter().flat_map(|curve| &curve.points);
    let (mut least, mut most) = (f64::MAX, 1.0_f64);
    for (_, micros) in all {
        least = least.min(micros.max(0.1));
        most = most.max(*micros);
    }
    let low = least.log10().floor();
    let axes = Axes {
        top,
        decades: (low, most.log10().ceil().max(low + 1.0)),
    };
    text(out, LEFT, top + 22.0, "title", "start", &section.title);
    grid(out, &axes);
    for (nth, curve) in section.curves.iter().enumerate() {
        line(out, &axes, nth, curve);
    }
}

fn grid(out: &mut String, axes: &Axes) {
    let (low, high) = axes.decades;
    let mut power = low;
    while power <= high {
        let micros = 10_f64.powf(power);
        let y = axes.y(micros);
        rule(out, (LEFT, y), (WIDTH - RIGHT, y));
        let name = match micros {
            1_000_000.0.. => format!("{:.0} s", micros / 1e6),
            1_000.0.. => format!("{:.0} ms", micros / 1e3),
            _ => format!("{micros} \u{b5}s"),
        };
        text(out, LEFT - 8.0, y + 4.0, "", "end", &name);
        power += 1.0;
    }
    let (bottom, ceiling) = (axes.y(10_f64.powf(low)), axes.y(10_f64.powf(high)));
    for (nines, name) in [
        (0.0, "p0"),
        (0.301, "p50"),
        (1.0, "p90"),
        (2.0, "p99"),
        (3.0, "p99.9"),
        (4.0, "p99.99"),
    ] {
        let x = Axes::x(nines);
        rule(out, (x, ceiling), (x, bottom));
        text(out, x, bottom + 18.0, "", "middle", name);
    }
}

fn line(out: &mut String, axes: &Axes, nth: usize, curve: &Curve) {
    let points: Vec<String> = curve
        .points
        .iter()
        .map(|(nines, micros)| format!("{:.1},{:.1}", Axes::x(*nines), axes.y(*micros)))
        .collect();
    let known = KNOWN.iter().find(|(name, _)| *name == curve.name);
    let (color, dashes) = match known {
        Some((_, color)) => (*color, ""),
        None => (nth % 8, " stroke-dasharray=\"6 3\""),
    };
    let points = points.join(" ");
    let _ = writeln!(
        out,
        "<polyline class=\"curve c{color}\"{dashes} points=\"{points}\"/>"
    );
    let (x, y) = (WIDTH - RIGHT + 16.0, axes.top + TOP + 18.0 * number(nth));
    let _ = writeln!(
        out,
        "<line class=\"curve c{color}\"{dashes} x1=\"{x}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\"/>",
        x + 22.0
    );
    text(out, x + 28.0, y + 4.0, "", "start", &curve.name);
}

fn rule(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        out,
        "<line class=\"grid\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}
