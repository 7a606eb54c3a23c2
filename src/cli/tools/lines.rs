//! Differences of texts, line by line.

/// Unchanged lines that are shown before and after a change.
const CONTEXT: usize = 2;

/// Pairs of lines that are compared at most: beyond, all old lines go and all new ones come.
const MAX_PAIRS: usize = 4 << 20;

/// What a server wrote, on one line in which nothing hides.
pub(in crate::cli) fn shown(text: &str) -> String {
    let mut out = String::new();
    crate::loading::push_quoted(text, &mut out);
    let inner = out.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    inner
        .unwrap_or_default()
        .replace("\\\"", "\"")
        .replace("\\\\", "\\")
}

/// Lines that went (`-`), came (`+`) or stand round those; `…` for what is left out.
pub(super) fn difference(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let steps = steps(&old, &new);
    let near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        let range = steps.iter().skip(from).take(at - from + CONTEXT + 1);
        range.into_iter().any(|(sign, _)| *sign != ' ')
    };
    let mut lines = Vec::new();
    let mut left_out = false;
    for (at, (sign, line)) in steps.iter().enumerate() {
        if near(at) {
            if left_out {
                lines.push("…".to_owned());
            }
            lines.push(format!("{sign} {line}"));
        }
        left_out = !near(at);
    }
    lines
}

/// The shortest way from one to the other, by the longest common subsequence.
fn steps<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let same = old.iter().zip(new).take_while(|(one, other)| one == other);
    let head = same.count();
    let rest_old = old.get(head..).unwrap_or_default();
    let rest_new = new.get(head..).unwrap_or_default();
    let same = rest_old.iter().rev().zip(rest_new.iter().rev());
    let tail = same.take_while(|(one, other)| one == other).count();
    let rest_old = rest_old.get(..rest_old.len() - tail).unwrap_or_default();
    let rest_new = rest_new.get(..rest_new.len() - tail).unwrap_or_default();

    let mut steps: Vec<(char, &str)> = old.iter().take(head).map(|line| (' ', *line)).collect();
    if rest_old.len().saturating_mul(rest_new.len()) > MAX_PAIRS {
        steps.extend(rest_old.iter().map(|line| ('-', *line)));
        steps.extend(rest_new.iter().map(|line| ('+', *line)));
    } else {
        middle(rest_old, rest_new, &mut steps);
    }
    steps.extend(old.iter().skip(old.len() - tail).map(|line| (' ', *line)));
    steps
}

fn middle<'t>(old: &[&'t str], new: &[&'t str], steps: &mut Vec<(char, &'t str)>) {
    // How many lines the rests have in common, from each pair of places on.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let longest = if one == other {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(place) = common.get_mut(i * width + j) {
                *place = longest;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => {
                steps.push((' ', one));
                i += 1;
                j += 1;
            }
            (Some(one), Some(_)) if at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                steps.push(('-', one));
                i += 1;
            }
            (_, Some(other)) => {
                steps.push(('+', other));
                j += 1;
            }
            (Some(one), None) => {
                steps.push(('-', one));
                i += 1;
            }
            (None, None) => return,
        }
    }
}
