//! Which functions a rule may call, and that no rule calls itself.
//!
//! A policy is a function of its input: what reads a clock or rolls dice is refused when it is
//! loaded, and so is what makes much of little, which no timer could stop. regorus finds neither
//! an unknown function nor recursion before it runs, and recursion overflows its stack.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{RegoToken, TokenKind};
use crate::policy::engines::document::KnownNames;
use crate::policy::suggest::did_you_mean;

/// What is wrong, where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RejectedCall {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Functions of Rego that are there. All are pure, and none makes a large value of small ones.
pub(super) const ALLOWED: [&str; 68] = [
    "abs",
    "array.concat",
    "array.reverse",
    "array.slice",
    "bits.and",
    "bits.negate",
    "bits.or",
    "bits.rsh",
    "bits.xor",
    "ceil",
    "concat",
    "contains",
    "count",
    "endswith",
    "floor",
    "format_int",
    "glob.match",
    "glob.quote_meta",
    "indexof",
    "indexof_n",
    "intersection",
    "is_array",
    "is_boolean",
    "is_null",
    "is_number",
    "is_object",
    "is_set",
    "is_string",
    "json.filter",
    "json.is_valid",
    "json.marshal",
    "json.remove",
    "json.unmarshal",
    "lower",
    "max",
    "min",
    "object.filter",
    "object.get",
    "object.keys",
    "object.remove",
    "object.subset",
    "object.union",
    "object.union_n",
    "product",
    "regex.is_valid",
    "regex.match",
    "regex.split",
    "round",
    "semver.compare",
    "semver.is_valid",
    "sort",
    "split",
    "startswith",
    "strings.any_prefix_match",
    "strings.any_suffix_match",
    "strings.count",
    "strings.reverse",
    "substring",
    "sum",
    "to_number",
    "trim",
    "trim_left",
    "trim_prefix",
    "trim_right",
    "trim_space",
    "trim_suffix",
    "union",
    "upper",
];

/// Those that are refused for a reason, with the reason.
pub(super) const REFUSED: [(&str, &str); 16] = [
    ("bits.lsh", AMPLIFIES),
    ("http.send", READS),
    ("net.lookup_ip_addr", READS),
    ("numbers.range", AMPLIFIES),
    ("numbers.range_step", AMPLIFIES),
    ("opa.runtime", READS),
    ("print", WRITES),
    ("rand.intn", "dice have no place in a policy"),
    ("regex.replace", AMPLIFIES),
    ("replace", AMPLIFIES),
    ("sprintf", AMPLIFIES),
    ("strings.replace_n", AMPLIFIES),
    (
        "time.now_ns",
        "the time of the message is `input.context.env.nowMs`",
    ),
    ("trace", WRITES),
    ("uuid.rfc4122", "dice have no place in a policy"),
    ("walk", AMPLIFIES),
];

const AMPLIFIES: &str = "it can make a value of any size out of a small one";
const READS: &str = "a policy reads nothing but its input";
const WRITES: &str = "a policy writes nothing; reasons say why it decides";

/// Rules that call each other in a row. Each takes some of the stack.
pub(super) const MAX_CALLS: usize = 24;

/// Words before a bracket that are no function.
const KEYWORDS: [&str; 12] = [
    "as", "contains", "default", "else", "every", "if", "import", "in", "not", "package", "some",
    "with",
];

/// The rules of one file, by their heads.
#[derive(Debug)]
pub(super) struct Segment<'t> {
    pub(super) name: &'t str,
    pub(super) tokens: &'t [RegoToken<'t>],
}

/// Cuts a file at the words that begin a line outside of all brackets.
pub(super) fn segments<'t>(tokens: &'t [RegoToken<'t>]) -> Vec<Segment<'t>> {
    let mut starts = Vec::new();
    let mut depth = 0_usize;
    let mut goes_on = false;
    for (index, token) in tokens.iter().enumerate() {
        let is_sign = token.kind == TokenKind::Sign;
        if depth == 0
            && token.begins_line
            && token.kind == TokenKind::Word
            && !goes_on
            && !["else", "if", "contains", "in", "with"].contains(&token.text)
        {
            starts.push(index);
        }
        match token.text {
            "(" | "[" | "{" if is_sign => depth += 1,
            ")" | "]" | "}" if is_sign => depth = depth.saturating_sub(1),
            _ => {}
        }
        goes_on = is_sign && !matches!(token.text, ")" | "]" | "}")
            || [
                "if", "not", "else", "in", "contains", "default", "some", "every",
            ]
            .iter()
            .any(|word| token.is(word));
    }
    let ends = starts.iter().copied().skip(1).chain([tokens.len()]);
    let ranges = starts.iter().copied().zip(ends);
    ranges
        .filter_map(|(start, end)| {
            let tokens = tokens.get(start..end)?;
            let mut words = tokens.iter().filter(|token| !token.is("default"));
            Some(Segment {
                name: words.next()?.text,
                tokens,
            })
        })
        .collect()
}

/// Everything that is called and must not be.
pub(super) fn calls(tokens: &[RegoToken<'_>], own: &BTreeSet<&str>) -> Vec<RejectedCall> {
    let mut refused = Vec::new();
    let mut path: Option<(usize, String)> = None;
    let mut before: Option<&RegoToken<'_>> = None;
    for token in tokens {
        let after_dot = before.is_some_and(|before| before.is("."));
        if token.is("(") {
            if before.is_some_and(|before| before.is("]")) {
                refused.push(RejectedCall {
                    at: token.at,
                    message: "a function is called by its plain name here".to_owned(),
                    help: None,
                });
            } else if let Some((at, name)) = path.take() {
                refused.extend(call(at, &name, own));
            }
        }
        path = match (token.kind, path) {
            (TokenKind::Word, Some((at, path))) if after_dot => Some((at, path + token.text)),
            (TokenKind::Word, _) => Some((token.at, token.text.to_owned())),
            (TokenKind::Sign, Some((at, path))) if token.text == "." => Some((at, path + ".")),
            (TokenKind::Sign | TokenKind::Number | TokenKind::String, _) => None,
        };
        before = Some(token);
    }
    refused
}

fn call(at: usize, name: &str, own: &BTreeSet<&str>) -> Option<RejectedCall> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_own = own.contains(last) && (!name.contains('.') || name.starts_with("data."));
    if is_own || ALLOWED.contains(&name) || KEYWORDS.contains(&name) {
        return None;
    }
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Some(RejectedCall {
            at,
            message: format!("`{name}` is refused"),
            help: Some((*why).to_owned()),
        });
    }
    let help = did_you_mean(name, ALLOWED.iter().copied())
        .unwrap_or_else(|| "see the list of functions in `docs/engines.md`".to_owned());
    Some(RejectedCall {
        at,
        message: format!("there is no function `{name}`"),
        help: Some(help),
    })
}

/// A rule that leads back to itself, or is in a row of rules that is too long.
pub(super) fn recursion<'t>(segments: &[&Segment<'t>]) -> Option<&'t str> {
    let names: BTreeSet<&str> = segments.iter().map(|segment| segment.name).collect();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for segment in segments {
        let mentioned = uses.entry(segment.name).or_default();
        mentioned.extend(mentions(segment, &names));
    }
    // Rules that use none that is left are taken away, layer by layer.
    for _ in 0..MAX_CALLS {
        let done: Vec<&str> = uses
            .iter()
            .filter(|(_, used)| used.is_empty())
            .map(|(name, _)| *name)
            .collect();
        for name in &done {
            uses.remove(name);
        }
        for used in uses.values_mut() {
            used.retain(|name| !done.contains(name));
        }
    }
    uses.into_keys().next()
}

/// Names of rules in a rule, its head's own place left out. What is below `input` is no rule.
fn mentions<'s>(segment: &Segment<'s>, names: &BTreeSet<&'s str>) -> BTreeSet<&'s str> {
    let mut found = BTreeSet::new();
    let mut of_input = false;
    let mut before: Option<&RegoToken<'_>> = None;
    let head = segment.tokens.iter().position(|token| !token.is("default"));
    for token in segment.tokens.iter().skip(head.map_or(0, |head| head + 1)) {
        let after_dot = before.is_some_and(|before| before.is("."));
        let after_bracket = before.is_some_and(|before| before.is("["));
        let in_chain =
            after_dot || after_bracket || token.is(".") || token.is("[") || token.is("]");
        if !in_chain {
            of_input = token.is("input");
        }
        let name = match token.kind {
            TokenKind::Word if !(after_dot && of_input) => Some(token.text),
            TokenKind::String if after_bracket && !of_input => token.plain_string(),
            TokenKind::Word | TokenKind::String | TokenKind::Number | TokenKind::Sign => None,
        };
        found.extend(name.and_then(|name| names.get(name)).copied());
        before = Some(token);
    }
    found
}

/// Places where a rule is looked up by a value, which could be any rule.
pub(super) fn lookups(tokens: &[RegoToken<'_>], names: &BTreeSet<&str>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if !first.is("data") {
            continue;
        }
        let mut chain = after;
        let mut is_whole = true;
        while let [sign, part, tail @ ..] = chain {
            let is_name = sign.is(".") && part.kind == TokenKind::Word
                || sign.is("[") && part.kind == TokenKind::String;
            if !is_name {
                break;
            }
            let name = part.plain_string().unwrap_or(part.text);
            is_whole = !names.contains(name);
            chain = tail;
            if let [close, tail @ ..] = chain
                && close.is("]")
            {
                chain = tail;
            }
            if !is_whole {
                break;
            }
        }
        // Whatever follows the name of a rule looks into its value.
        if is_whole {
            found.push(first.at);
        }
    }
    found
}

/// Names below `input` that no document has, the first of each path, as far as paths are written out:
/// what they lead to is undefined, and a rule that needs it never holds, or always does behind a `not`.
pub(super) fn unknown_names(tokens: &[RegoToken<'_>]) -> Vec<RejectedCall> {
    let mut refused = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_member = at
            .checked_sub(1)
            .and_then(|before| tokens.get(before))
            .is_some_and(|before| before.is("."));
        if token.kind == TokenKind::Word && token.is("input") && !is_member {
            let rest = tokens.get(at.saturating_add(1)..).unwrap_or_default();
            refused.extend(doubt(rest));
        }
    }
    refused
}

fn doubt(mut rest: &[RegoToken<'_>]) -> Option<RejectedCall> {
    let mut known = KnownNames::get();
    loop {
        let (name, at, behind) = match rest {
            [dot, name, behind @ ..]
                if dot.is(".") && !dot.begins_line && name.kind == TokenKind::Word =>
            {
                (name.text, name.at, behind)
            }
            [open, name, close, behind @ ..]
                if open.is("[") && !open.begins_line && close.is("]") =>
            {
                (name.plain_string()?, name.at, behind)
            }
            _ => return None,
        };
        match known.below(name) {
            Ok(below) => known = below?,
            Err(unknown) => {
                return Some(RejectedCall {
                    at,
                    message: unknown.message,
                    help: Some(unknown.help),
                });
            }
        }
        rest = behind;
    }
}
