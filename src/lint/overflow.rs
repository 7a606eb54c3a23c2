//! Arithmetic that can fail at run time.
//!
//! The checker proves that every access succeeds; what it lets through and may still fail is
//! arithmetic beyond 64 bits. Values that the gate fills in have known ends, and what is compared
//! before has those of the comparison; an agent's own numbers have none.

use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::expressions::{Sign, long, parts, path, text};
use super::findings::{Lint, LintFindings, LintMessage};
use super::material::LintContext;
use super::ranges::{Range, compared, domain};
use crate::policy::engines::cedar::children;

pub(super) const CAN_ERROR: Lint = Lint {
    code: "lint::can_error",
    about: "arithmetic that can overflow and then denies the message",
    look,
};

/// Milliseconds of the years that a time stamp can be written in, 0000 to 9999.
const YEARS: Range = Range::new(-62_167_219_200_000, 253_402_300_799_999);

/// What the gate's clock says.
const CLOCKS: [&str; 3] = ["now", "startedAt", "at"];

fn look(world: &LintContext<'_>, found: &mut LintFindings) {
    for policy in world.policies {
        let Some(condition) = policy.condition() else {
            continue;
        };
        let mut search = OverflowSearch::default();
        search.visit(condition);
        for expr in search.overflows {
            let say = LintMessage {
                message: "this can overflow: then the policy cannot be evaluated, and the message \
                          is denied"
                    .to_owned(),
                help: "compare without arithmetic, or bound the value first, as in \
                       `x < 1000000 && x * 2 > 10`"
                    .to_owned(),
                label: "beyond 64 bits for some values",
            };
            found.at(&CAN_ERROR, policy, expr.source_loc(), say);
        }
    }
}

#[derive(Default)]
struct OverflowSearch<'e> {
    /// What has been compared on the way to where the search is.
    known: Vec<(&'e Expr, Range)>,
    overflows: Vec<&'e Expr>,
}

impl<'e> OverflowSearch<'e> {
    fn visit(&mut self, expr: &'e Expr) {
        if let ExprKind::And { left, right } = expr.expr_kind() {
            self.visit(left);
            self.given(left, Sign::Holds, right);
        } else if let ExprKind::Or { left, right } = expr.expr_kind() {
            self.visit(left);
            self.given(left, Sign::Fails, right);
        } else if let ExprKind::If {
            test_expr,
            then_expr,
            else_expr,
        } = expr.expr_kind()
        {
            self.visit(test_expr);
            self.given(test_expr, Sign::Holds, then_expr);
            self.given(test_expr, Sign::Fails, else_expr);
        } else if is_arithmetic(expr) {
            self.range(expr);
        } else {
            for part in children(expr) {
                self.visit(part);
            }
        }
    }

    /// Visits what is only evaluated if `test` came out so.
    fn given(&mut self, test: &'e Expr, sign: Sign, then: &'e Expr) {
        let before = self.known.len();
        self.known
            .extend(parts(test, sign).iter().filter_map(compared));
        self.visit(then);
        self.known.truncate(before);
    }

    /// What an integer, or the milliseconds of a time or a duration, can be.
    fn range(&mut self, expr: &'e Expr) -> Range {
        let kind = expr.expr_kind();
        if let Some(value) = long(expr) {
            return Range::only(value);
        }
        let before = self.overflows.len();
        let possible = if let ExprKind::BinaryApp {
            op: op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
            arg1,
            arg2,
        } = kind
        {
            let (one, other) = (self.range(arg1), self.range(arg2));
            one.joined(*op, other)
        } else if let ExprKind::UnaryApp {
            op: UnaryOp::Neg,
            arg,
        } = kind
        {
            let Range { low, high } = self.range(arg);
            Range::new(-high, -low)
        } else if let ExprKind::ExtensionFunctionApp { fn_name, args } = kind {
            self.extension(&fn_name.to_string(), args)
        } else {
            for part in children(expr) {
                self.visit(part);
            }
            self.seen(expr)
        };
        // Around an overflow there is nothing more to tell.
        if possible.is_beyond(Range::ALL) && self.overflows.len() == before {
            self.overflows.push(expr);
        }
        possible.within(Range::ALL)
    }

    fn extension(&mut self, name: &str, args: &'e [Expr]) -> Range {
        match (name, args) {
            ("offset", [time, by]) => self.range(time).joined(BinaryOp::Add, self.range(by)),
            ("durationSince", [one, other]) => {
                self.range(one).joined(BinaryOp::Sub, self.range(other))
            }
            ("toDate", [time]) => {
                let Range { low, high } = self.range(time);
                Range::new(low - 86_400_000, high)
            }
            ("toTime", [time]) => {
                self.range(time);
                Range::new(0, 86_400_000)
            }
            ("toMilliseconds" | "toSeconds" | "toMinutes" | "toHours" | "toDays", [duration]) => {
                self.range(duration)
            }
            ("datetime", _) => YEARS,
            ("duration", [written]) => text(written).and_then(milliseconds).unwrap_or(Range::ALL),
            _ => {
                for part in args {
                    self.visit(part);
                }
                Range::ALL
            }
        }
    }

    /// What is known of a value that is looked up.
    fn seen(&self, expr: &Expr) -> Range {
        let of_clock = path(expr).and_then(|(_, path)| path.last().copied());
        let own = domain(expr)
            .or_else(|| of_clock.filter(|it| CLOCKS.contains(it)).map(|_| YEARS))
            .unwrap_or(Range::ALL);
        let same = self.known.iter().filter(|(known, _)| known.eq_shape(expr));
        same.fold(own, |range, (_, known)| range.within(*known))
    }
}

impl Range {
    fn joined(self, op: BinaryOp, other: Self) -> Self {
        let pairs = [
            (self.low, other.low),
            (self.low, other.high),
            (self.high, other.low),
            (self.high, other.high),
        ];
        let results = pairs.map(|(one, other)| match op {
            BinaryOp::Sub => one - other,
            BinaryOp::Mul => one * other,
            BinaryOp::Add
            | BinaryOp::Eq
            | BinaryOp::Less
            | BinaryOp::LessEq
            | BinaryOp::In
            | BinaryOp::Contains
            | BinaryOp::ContainsAll
            | BinaryOp::ContainsAny
            | BinaryOp::GetTag
            | BinaryOp::HasTag => one + other,
        });
        Self {
            low: results.into_iter().min().unwrap_or(Self::ALL.low),
            high: results.into_iter().max().unwrap_or(Self::ALL.high),
        }
    }
}

fn is_arithmetic(expr: &Expr) -> bool {
    const FUNCTIONS: [&str; 3] = ["offset", "durationSince", "toDate"];
    if let ExprKind::ExtensionFunctionApp { fn_name, .. } = expr.expr_kind() {
        return FUNCTIONS.contains(&fn_name.to_string().as_str());
    }
    matches!(
        expr.expr_kind(),
        ExprKind::BinaryApp {
            op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul,
            ..
        } | ExprKind::UnaryApp {
            op: UnaryOp::Neg,
            ..
        }
    )
}

/// Of a duration as it is written: `1d2h3m4s5ms`, with a `-` before it.
fn milliseconds(written: &str) -> Option<Range> {
    let (sign, mut rest) = match written.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, written),
    };
    let units = [
        ("ms", 1),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ];
    let mut sum = 0_i128;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at_checked(digits)?;
        let (unit, length) = units.iter().find(|(unit, _)| after.starts_with(unit))?;
        sum += number.parse::<i64>().ok().map(i128::from)? * length;
        rest = after.strip_prefix(unit)?;
    }
    Some(Range::new(sign * sum, sign * sum))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, check};
    use super::*;

    /// The agent's own number, which may be anything.
    const GUARD: &str =
        "context.raw_arguments.hasTag(\"/n\") && context.raw_arguments.getTag(\"/n\") has long && ";
    const N: &str = "context.raw_arguments.getTag(\"/n\").long";

    #[track_caller]
    fn when(condition: &str, findings: usize) {
        let condition = condition.replace("$n", N);
        let policy = call("forbid", "", &format!("when {{ {GUARD}({condition}) }}"));
        check("can_error", &policy, findings);
    }

    #[test]
    fn arithmetic_on_what_an_agent_sends_is_found() {
        for condition in [
            "$n + 1 > 10",
            "$n * 2 > 10",
            "0 - $n > 10",
            "-$n > 10",
            "$n * $n > 10",
            "principal.trust + 1 > 2",
            "$n > 3 && $n + 1 > 10",
            "$n < 10 || $n + 1 > 10",
            "(if $n < 10 then 1 else $n + 1) > 10",
            "9223372036854775807 + 1 > $n",
            "context.env.now.offset(duration(\"9223372036854775807ms\")) > context.env.now",
            "context.env.consent has at && context.env.now.offset(duration(\"-9223372036854775807ms\"))\
             .durationSince(context.env.consent.at) < duration(\"1h\") && $n < 1",
        ] {
            when(condition, 1);
        }
        when("($n + 1) * 2 > $n", 1);
        when("$n + 1 > 2 && $n * 2 > 3", 2);
    }

    #[test]
    fn arithmetic_that_cannot_overflow_is_not() {
        for condition in [
            "$n > 10",
            "-1 < $n",
            "2 * 3 + 1 > $n",
            "$n < 10 && $n > 0 && $n * 2 > 10",
            "$n > 10 || $n < -10 || $n + 1 > 10",
            "(if $n < 10 then 1 else 1) > 10",
            "context.targets.bytes * 2 > 10",
            "context.env.session.calls + 1 > 10",
            "resource.level + context.env.session.level > 4",
            "context.env.now.durationSince(context.env.session.startedAt) < duration(\"1d2h3m4s5ms\")",
            "context.env.now > datetime(\"2026-01-01\").offset(duration(\"-5d\"))",
            "context.env.now.toDate() == datetime(\"2026-01-01\")",
            "context.env.now.toTime() < duration(\"8h\")",
        ] {
            when(condition, 0);
        }
    }

    #[test]
    fn durations_are_read_as_cedar_writes_them() {
        let check = |text: &str, expected: Option<i128>| {
            let expected = expected.map(|value| Range::new(value, value));
            assert_eq!(milliseconds(text), expected, "{text}");
        };
        check("1d2h3m4s5ms", Some(93_784_005));
        check("-1h", Some(-3_600_000));
        check("5ms", Some(5));
        check("5", None);
        check("h", None);
        check("99999999999999999999d", None);
    }
}
