//! What the other side answers in a test: `result = …`.

use toml::Spanned;
use toml::de::DeValue;

use super::fixture::Reply;
use super::json;
use super::read_step;
use super::section::Section;
use super::suggest;
use super::table::Table;
use crate::wire::Fragment;

/// The things that an answer can be.
const FORMS: [&str; 4] = ["text", "json", "error", "raw"];

/// The code of an error that the fixture gives only a message.
const SERVER_ERROR: i64 = -32_000;

pub(super) fn reply(table: &Table<'_>) -> Option<Reply> {
    let expected = "a table such as `{ text = \"…\" }` or `{ error = \"…\" }`";
    let result = table.table("result", Section::Result, expected)?;
    let forms: Vec<&str> = FORMS
        .into_iter()
        .filter(|form| result.get(form).is_some())
        .collect();
    if let (Some(value), false) = (result.get("is_error"), forms.contains(&"text")) {
        let message = "`is_error` goes with `text`";
        result
            .reading
            .tell(&value.span(), "test::conflict", message, None);
    }
    match forms.as_slice() {
        ["text"] => text(&result),
        ["json"] => json::fragment(result.reading, result.get("json")?).map(Reply::Result),
        ["error"] => error(&result),
        ["raw"] => read_step::raw(&result).map(Reply::Raw),
        [] => {
            result.require(
                "what is answered",
                "write `text = \"…\"`, `json = { … }`, `error = \"…\"` or `raw = '…'`",
            );
            None
        }
        several => {
            let message = format!("one answer is one thing, not {}", suggest::list(several));
            result.tell("test::conflict", message, "keep one of them");
            None
        }
    }
}

/// The result of a tool that says something.
fn text(result: &Table<'_>) -> Option<Reply> {
    let text = result.text("text")?.into_inner();
    let block = Fragment::object([
        ("type", Fragment::string("text")),
        ("text", Fragment::string(&text)),
    ]);
    let mut members = vec![("content", Fragment::array([block]))];
    if let Some(flag) = result.flag("is_error") {
        let flag = Fragment::decode(if flag { "true" } else { "false" }).ok()?;
        members.push(("isError", flag));
    }
    Some(Reply::Result(Fragment::object(members)))
}

/// A JSON-RPC error.
fn error(result: &Table<'_>) -> Option<Reply> {
    let (code, message) = match result.get("error")?.get_ref() {
        DeValue::String(message) => (SERVER_ERROR, message.clone().into_owned()),
        _ => {
            let expected = "a message, or a table with `code` and `message`";
            let error = result.table("error", Section::Error, expected)?;
            let message = error.text("message").map(Spanned::into_inner);
            (
                error.integer("code").unwrap_or(SERVER_ERROR),
                message.unwrap_or_default(),
            )
        }
    };
    let code = Fragment::decode(&code.to_string()).ok()?;
    Some(Reply::Error(Fragment::object([
        ("code", code),
        ("message", Fragment::string(&message)),
    ])))
}
