//! The parts of an expression that are asked by themselves, with their places in its text.
//!
//! CEL's own tree has the place of one word for each node, and none of where an expression ends. So
//! the text is cut at its connectives; what is cut wrong gives a mutant that does not load, or one that
//! a test notices.

use std::ops::Range;

use super::length::token_length;
use crate::policy::{Part, PartKind};

/// One word or sign outside of all brackets; brackets and what is in them are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
}

/// Parts before the parts that they are made of; the first is the whole.
///
/// INVARIANT: `length.rs` let the text through, which bounds how deep this goes.
pub(super) fn parts(text: &str) -> Vec<Part> {
    parts_of(text, 0..text.len())
}

/// The same of an expression that stands in a text.
pub(super) fn parts_of(text: &str, span: Range<usize>) -> Vec<Part> {
    let mut cutting = Cutting {
        text,
        parts: Vec::new(),
    };
    cutting.expression(span, None);
    cutting.parts
}

/// The words of a piece of text, without comments.
pub(super) fn tokens(text: &str, within: Range<usize>) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = within.start;
    let mut open: Option<(usize, usize)> = None;
    while let Some(rest) = text.get(at..within.end) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        let is_pair = PAIRS.iter().any(|pair| rest.starts_with(pair));
        let length = if is_pair {
            2
        } else {
            token_length(rest, first)
        };
        let end = at + length;
        match (first, open) {
            _ if first.is_whitespace() || rest.starts_with("//") => {}
            ('(' | '[' | '{', None) => open = Some((at, 1)),
            ('(' | '[' | '{', Some((start, depth))) => open = Some((start, depth + 1)),
            (')' | ']' | '}', Some((start, 1))) => {
                tokens.push(Token { span: start..end });
                open = None;
            }
            (')' | ']' | '}', Some((start, depth))) => open = Some((start, depth - 1)),
            (_, Some(_)) => {}
            (_, None) => tokens.push(Token { span: at..end }),
        }
        at = end;
    }
    tokens
}

/// Signs of two letters.
const PAIRS: [&str; 6] = ["&&", "||", "==", "!=", "<=", ">="];

/// What binds less than `!`.
const OPERATORS: [&str; 12] = [
    "==", "!=", "<=", ">=", "<", ">", "in", "+", "-", "*", "/", "%",
];

struct Cutting<'t> {
    text: &'t str,
    parts: Vec<Part>,
}

impl Cutting<'_> {
    fn expression(&mut self, span: Range<usize>, parent: Option<usize>) {
        let tokens = self.inner(tokens(self.text, span));
        if let Some(at) = self.position(&tokens, "?") {
            let (test, rest) = tokens.split_at(at);
            let rest = rest.get(1..).unwrap_or_default();
            if let Some(colon) = self.position(rest, ":") {
                let (then, otherwise) = rest.split_at(colon);
                let otherwise = otherwise.get(1..).unwrap_or_default();
                self.node(PartKind::If, &tokens, &[test, then, otherwise], parent);
                return;
            }
        }
        for (sign, kind) in [("||", PartKind::Any), ("&&", PartKind::All)] {
            let sides: Vec<&[Token]> = tokens.split(|token| self.is(token, sign)).collect();
            if sides.len() > 1 {
                self.node(kind, &tokens, &sides, parent);
                return;
            }
        }
        let binds_less = |token: &Token| OPERATORS.iter().any(|sign| self.is(token, sign));
        let denials = tokens.iter().take_while(|token| self.is(token, "!"));
        let denials = denials.count();
        if denials > 0 && !tokens.iter().any(binds_less) {
            // Two cancel each other out, as the parser has it.
            let negated = tokens.get(denials..).unwrap_or_default();
            if denials.is_multiple_of(2) {
                self.expression(cover(negated), parent);
            } else {
                self.node(PartKind::Not, &tokens, &[negated], parent);
            }
            return;
        }
        self.push(PartKind::Condition, cover(&tokens), parent);
    }

    /// Without brackets around the whole.
    fn inner(&self, mut found: Vec<Token>) -> Vec<Token> {
        while let [only] = found.as_slice()
            && self
                .text
                .get(only.span.clone())
                .is_some_and(|it| it.starts_with('('))
        {
            found = tokens(self.text, only.span.start + 1..only.span.end - 1);
        }
        found
    }

    fn node(
        &mut self,
        kind: PartKind,
        whole: &[Token],
        children: &[&[Token]],
        parent: Option<usize>,
    ) {
        let place = self.push(kind, cover(whole), parent);
        for child in children {
            self.expression(cover(child), Some(place));
        }
    }

    fn push(&mut self, kind: PartKind, span: Range<usize>, parent: Option<usize>) -> usize {
        let place = self.parts.len();
        if let Some(parent) = parent.and_then(|parent| self.parts.get_mut(parent)) {
            parent.children.push(place);
        }
        self.parts.push(Part {
            kind,
            span,
            parent,
            children: Vec::new(),
        });
        place
    }

    fn is(&self, token: &Token, word: &str) -> bool {
        self.text.get(token.span.clone()) == Some(word)
    }

    fn position(&self, tokens: &[Token], word: &str) -> Option<usize> {
        tokens.iter().position(|token| self.is(token, word))
    }
}

/// From the first word to the last.
fn cover(tokens: &[Token]) -> Range<usize> {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.start..last.span.end,
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        fn tell(text: &str, parts: &[Part], place: usize) -> String {
            let part = &parts[place];
            let inner = part.children.iter().map(|child| tell(text, parts, *child));
            let inner = inner.collect::<Vec<_>>().join(" | ");
            match part.kind {
                PartKind::Condition => text.get(part.span.clone()).unwrap().to_owned(),
                PartKind::All => format!("all({inner})"),
                PartKind::Any => format!("any({inner})"),
                PartKind::Not => format!("not({inner})"),
                PartKind::If => format!("if({inner})"),
                PartKind::Scope | PartKind::When | PartKind::Unless => panic!("{part:?}"),
            }
        }
        tell(text, &parts(text), 0)
    }

    #[test]
    fn a_condition_is_cut_at_its_connectives() {
        for (text, expected) in [
            ("a", "a"),
            (" ( ( a ) ) ", "a"),
            ("a && b && c", "all(a | b | c)"),
            ("a && (b || !c)", "all(a | any(b | not(c)))"),
            ("a || b && c", "any(a | all(b | c))"),
            ("(a && b) && c", "all(all(a | b) | c)"),
            ("!(a && b)", "not(all(a | b))"),
            ("!!a", "a"),
            ("!!!a.b(c && d)", "not(a.b(c && d))"),
            ("!a == b", "!a == b"),
            ("!a in b", "!a in b"),
            (
                "a ? b || c : d ? e : f",
                "if(a | any(b | c) | if(d | e | f))",
            ),
            ("(a ? b : c) && d", "all(if(a | b | c) | d)"),
            ("a == '&&' && b == \"||\"", "all(a == '&&' | b == \"||\")"),
            ("a // && b\n&& c", "all(a | c)"),
            ("x in {'a': 1} && y", "all(x in {'a': 1} | y)"),
            ("l.all(i, i && j)", "l.all(i, i && j)"),
            ("(a) && (b)", "all(a | b)"),
            ("(a) == (b)", "(a) == (b)"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }
}
