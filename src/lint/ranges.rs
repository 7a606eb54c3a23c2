//! What integers can be: known ends of what the gate fills in, and what comparisons say.

use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Var};

use super::expressions::{ChainPart, Sign, equality, literal, long, path, text};

/// Both ends included. Wider than any integer of Cedar's, so that an overflow can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Range {
    pub(super) const ALL: Self = Self {
        low: i64::MIN as i128,
        high: i64::MAX as i128,
    };

    pub(super) const fn only(value: i64) -> Self {
        Self {
            low: value as i128,
            high: value as i128,
        }
    }

    pub(super) const fn new(low: i128, high: i128) -> Self {
        Self { low, high }
    }

    pub(super) fn within(self, other: Self) -> Self {
        Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    pub(super) const fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub(super) const fn holds(self, value: i64) -> bool {
        self.low <= value as i128 && value as i128 <= self.high
    }

    pub(super) const fn is_beyond(self, ends: Self) -> bool {
        self.low < ends.low || self.high > ends.high
    }
}

/// Values that the gate fills in for every principal.
pub(super) fn domain(expr: &Expr) -> Option<Range> {
    /// Messages and counters are far below what a double holds exactly.
    const COUNTED: Range = Range::new(0, 1 << 53);
    let (root, path) = path(expr)?;
    match (root, path.as_slice()) {
        (Var::Context, ["env", "session", "level"] | ["result" | "targets", "level"])
        | (Var::Resource, ["level"]) => Some(Range::new(0, 3)),
        (Var::Context, ["env", "session", "calls"] | ["targets" | "result", "bytes"]) => {
            Some(COUNTED)
        }
        _ => None,
    }
}

/// What a comparison with an integer says of its other side.
pub(super) fn compared<'e>(part: &ChainPart<'e>) -> Option<(&'e Expr, Range)> {
    if let Some((side, value)) = equality(part.expr) {
        let value = long(value)?;
        return (part.sign == Sign::Holds).then_some((side, Range::only(value)));
    }
    let ExprKind::BinaryApp { op, arg1, arg2 } = part.expr.expr_kind() else {
        return None;
    };
    if !matches!(op, BinaryOp::Less | BinaryOp::LessEq) {
        return None;
    }
    let strict = i128::from(*op == BinaryOp::Less);
    let number = |expr| long(expr).or_else(|| moment(expr));
    let (side, value, below): (&Expr, _, _) = match (number(arg1), number(arg2)) {
        (None, Some(value)) => (arg1, value, true),
        (Some(value), None) => (arg2, value, false),
        (None, None) | (Some(_), Some(_)) => return None,
    };
    // `!(x < 3)` is `x >= 3`, `!(x <= 3)` is `x > 3`.
    let holds = part.sign == Sign::Holds;
    let step = if holds { strict } else { 1 - strict };
    let value = i128::from(value);
    let range = if below == holds {
        Range::new(Range::ALL.low, value - step)
    } else {
        Range::new(value + step, Range::ALL.high)
    };
    Some((side, range)).filter(|_| literal(side).is_none())
}

/// A date and time that is written out, as a number that grows with it: its digits, down to
/// milliseconds. Nothing where the time is not in UTC.
fn moment(expr: &Expr) -> Option<i64> {
    const DIGITS: usize = 17;
    let ExprKind::ExtensionFunctionApp { fn_name, args } = expr.expr_kind() else {
        return None;
    };
    let [written] = args.as_slice() else {
        return None;
    };
    let written = text(written).filter(|_| fn_name.to_string() == "datetime")?;
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    let in_utc = written.ends_with('Z') || !written.contains('T');
    (in_utc && digits.len() <= DIGITS)
        .then(|| format!("{digits:0<DIGITS$}").parse().ok())
        .flatten()
}
