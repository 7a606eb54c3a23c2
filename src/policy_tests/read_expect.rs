//! What must become of a message.

use toml::Spanned;
use toml::de::DeValue;

use super::fixture::{Decision, Expect};
use super::read::plain;
use super::section::Section;
use super::table::{Reading, Table, Value};

/// What a test expects of its message.
pub(super) fn expect(table: &Table<'_>) -> Option<Expect> {
    let listing = table.get("list").is_some();
    let visible = table.texts("visible");
    let hidden = table.texts("hidden");
    let mut expect = match table.get("expect") {
        Some(value) => told(table.reading, value)?,
        None if visible.is_some() || hidden.is_some() => Expect::of(Decision::Allow),
        None => {
            let help = if listing {
                "say what the list shows, as in `visible = [\"read_file\"]`"
            } else {
                "write `expect = \"allow\"`, `expect = \"deny\"`, or \
                 `expect = { decision = \"deny\", because = [\"policy-id\"] }`"
            };
            table.require("`expect`", help);
            return None;
        }
    };
    if let (Some(value), Some(_), Decision::Allow, false) = (
        table.get("expect"),
        &expect.errors,
        expect.decision,
        listing,
    ) {
        only_denials_have(table.reading, "errors", value);
    }
    expect.visible = visible;
    expect.hidden = hidden.unwrap_or_default();
    if expect.decision == Decision::Deny && (expect.visible.is_some() || !expect.hidden.is_empty())
    {
        let message = "a list that is denied shows nothing";
        table.tell(
            "test::conflict",
            message,
            "expect it to be allowed, or say nothing of what it shows",
        );
    }
    Some(expect)
}

impl Expect {
    fn of(decision: Decision) -> Self {
        Self {
            decision,
            because: Vec::new(),
            code: None,
            advice: None,
            reason: None,
            errors: None,
            visible: None,
            hidden: Vec::new(),
        }
    }
}

const DECISIONS: [(&str, Decision); 2] = [("allow", Decision::Allow), ("deny", Decision::Deny)];

fn told(reading: &Reading, value: &Value<'_>) -> Option<Expect> {
    if value.get_ref().is_str() {
        let decision = reading.word(&reading.text(value)?, &DECISIONS);
        return decision.map(Expect::of);
    }
    let DeValue::Table(table) = value.get_ref() else {
        reading.wrong_type(value, "`\"allow\"`, `\"deny\"` or a table");
        return None;
    };
    let table = Table::new(reading, Section::Expect, value.span(), table);
    let because = table.texts("because");
    reading.name(because.as_deref().unwrap_or_default());
    let errors = table.texts("errors");
    let [code, advice, reason] = ["code", "advice", "reason"].map(|key| table.text(key));
    let Some(decision) = table.get("decision") else {
        table.require(
            "`decision`",
            "write `decision = \"allow\"` or `decision = \"deny\"`",
        );
        return None;
    };
    let decision = reading.word(&reading.text(decision)?, &DECISIONS)?;
    for (key, list) in [("because", &because), ("errors", &errors)] {
        if let (Some([]), Some(value)) = (list.as_deref(), table.get(key)) {
            let message = format!("an empty `{key}` says nothing");
            let help = Some("name something, or leave it out".to_owned());
            reading.tell(&value.span(), "test::value", message, help);
        }
    }
    if decision == Decision::Allow {
        only_denials(reading, &table);
    }
    Some(Expect {
        because: because.unwrap_or_default(),
        code: code.map(Spanned::into_inner),
        advice: advice.map(Spanned::into_inner),
        reason: reason.map(Spanned::into_inner),
        errors: errors.map(plain),
        ..Expect::of(decision)
    })
}

/// A list can be allowed and yet be too short, because a policy could not be evaluated; so `errors`
/// is not among these.
fn only_denials(reading: &Reading, table: &Table<'_>) {
    for key in ["code", "advice", "reason"] {
        if let Some(value) = table.get(key) {
            only_denials_have(reading, key, value);
        }
    }
}

fn only_denials_have(reading: &Reading, key: &str, value: &Value<'_>) {
    let message = format!("only a denial has `{key}`");
    reading.tell(&value.span(), "test::conflict", message, None);
}
