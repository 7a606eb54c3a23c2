//! Places of arguments, as labels name them.

use crate::policy::table::TomlTable;

pub(super) fn pointers(table: &mut TomlTable<'_, '_>, key: &'static str) -> Vec<String> {
    let mut pointers = Vec::new();
    for (pointer, place) in table.strings(key) {
        if is_pointer(&pointer) {
            pointers.push(pointer);
        } else {
            let message = format!("`{pointer}` is no JSON pointer");
            let help = "`/url` is the argument `url`, `/opts/url` one inside `opts` (RFC 6901)";
            table.report(place, &message, Some(help.to_owned()));
        }
    }
    pointers
}

/// RFC 6901 §3, with `*` for each member; the whole of the arguments is not one of them.
pub(super) fn is_pointer(text: &str) -> bool {
    let mut escapes = text.split('~').skip(1);
    text.starts_with('/') && escapes.all(|rest| rest.starts_with(['0', '1']))
}
