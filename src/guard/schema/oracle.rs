//! What holds for every schema and value. Also what the fuzz target `schema` asks for.

use crate::guard::schema::{Schema, SchemaProblem};
use crate::wire::{Document, Limits};

/// The longest schema.
const LONGEST: usize = 256 * 1024;

/// The text before the first NUL is a schema, and what follows it a value. Whatever they are, compiling
/// and checking ends, and says the same each time.
pub(super) fn laws(input: &[u8]) {
    let split = input.iter().position(|byte| *byte == 0);
    let (schema, value) = input.split_at(split.unwrap_or(input.len()));
    let limits = Limits::default();
    let Ok(schema) = Document::decode(schema, &limits) else {
        return;
    };
    let compiled = Schema::compile(schema.root());
    let again = Schema::compile(schema.root());
    assert_eq!(compiled.as_ref().err(), again.as_ref().err());
    if schema.root().text().len() > LONGEST {
        assert_eq!(compiled.err(), Some(SchemaProblem::TooLong));
        return;
    }
    let (Ok(compiled), Ok(again)) = (compiled, again) else {
        return;
    };
    let value = value.strip_prefix(&[0]).unwrap_or_default();
    let Ok(value) = Document::decode(value, &limits) else {
        return;
    };
    let found = compiled.check(value.root());
    assert_eq!(found, compiled.check(value.root()));
    assert_eq!(found, again.check(value.root()));
    // Words that go to an agent are short, whatever is in the schema.
    if let Err(violation) = found {
        assert!(violation.to_string().len() < 4096, "{violation}");
    }
}
