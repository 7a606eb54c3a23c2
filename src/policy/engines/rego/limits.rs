//! Refuses text that would take too long to parse, or be too deep to evaluate.
//!
//! Measured with regorus 0.14: each level of `[` or `{` doubles what parsing takes (16 levels: 0.2 s,
//! 24: half a minute), and no timer runs while it parses. Evaluation recurses on chains of operators
//! and on calls of rules, and a stack that overflows ends the process.

use super::tokens::{RegoToken, TokenKind};

/// Bytes of all Rego files of a directory together.
pub(super) const MAX_BYTES: usize = 256 << 10;

/// Brackets that are open at once.
pub(super) const MAX_NESTING: usize = 10;

/// Operators and dots in one expression between two brackets.
pub(super) const MAX_CHAIN: usize = 48;

/// What parsing may cost: for each word, two to the power of the brackets around it. Some hundred
/// milliseconds.
pub(super) const MAX_COST: usize = 1 << 19;

/// Why a file is too much, and where.
pub(super) fn check(tokens: &[RegoToken<'_>]) -> Result<(), (String, usize)> {
    let mut chains = vec![0_usize];
    let mut cost = 0_usize;
    let mut operator_before = false;
    for token in tokens {
        let depth = chains.len() - 1;
        cost = cost.saturating_add(1 << depth.min(MAX_NESTING));
        let is_operator = is_operator(token);
        // A line that neither ends nor goes on with an operator is an expression of its own.
        if token.begins_line && !operator_before && !is_operator {
            reset(&mut chains);
        }
        match token.text {
            _ if token.kind == TokenKind::String => {}
            "(" | "[" | "{" => chains.push(0),
            ")" | "]" | "}" if chains.len() > 1 => {
                chains.pop();
            }
            "," | ";" | ":" | ":=" => reset(&mut chains),
            _ => {}
        }
        if is_operator && let Some(chain) = chains.last_mut() {
            *chain += 1;
        }
        operator_before = is_operator;
        let why = if chains.len() > MAX_NESTING + 1 {
            format!("more than {MAX_NESTING} brackets in each other")
        } else if chains.iter().sum::<usize>() > MAX_CHAIN {
            format!("more than {MAX_CHAIN} operators and dots in one expression")
        } else if cost > MAX_COST {
            "too many brackets in each other for the length of the text".to_owned()
        } else {
            continue;
        };
        return Err((why, token.at));
    }
    Ok(())
}

fn reset(chains: &mut [usize]) {
    if let Some(chain) = chains.last_mut() {
        *chain = 0;
    }
}

fn is_operator(token: &RegoToken<'_>) -> bool {
    const SIGNS: [&str; 15] = [
        ".", "+", "-", "*", "/", "%", "&", "|", "==", "!=", "<", ">", "<=", ">=", "=",
    ];
    const WORDS: [&str; 5] = ["not", "in", "with", "as", "else"];
    match token.kind {
        TokenKind::Sign => SIGNS.contains(&token.text),
        TokenKind::Word => WORDS.contains(&token.text),
        TokenKind::Number | TokenKind::String => false,
    }
}
