//! `decision` to verdict. Whatever is not exactly of its shape is a fault.
//!
//! `{"allow": bool, "deny": bool, "reasons": […], "obligations": […]}`, where `allow` has to be there.
//! `deny` wins over `allow`; neither is no opinion. A reason is `{"id", "code", "advice", "requires_consent"}`, an
//! obligation `{"annotate": "…"}`, `{"canonical": "paths"}` (or `"uris"`) or `{"strip_meta": "…"}`.

use std::sync::Arc;

use regorus::Value;

use super::compile::ReasonIds;
use crate::policy::{EscalationTarget, Obligation, OnDeny, Reason, Verdict};

pub(super) fn verdict(answer: &Value, ids: &ReasonIds) -> Result<Verdict, String> {
    if *answer == Value::Undefined {
        return Ok(Verdict::Abstain);
    }
    let members = members(
        answer,
        "`decision`",
        &["allow", "deny", "reasons", "obligations"],
    )?;
    let (mut allow, mut deny) = (None, false);
    let (mut reasons, mut obligations) = (Vec::new(), Vec::new());
    for (key, value) in members {
        match key {
            "allow" => allow = Some(boolean(value, "`allow`")?),
            "deny" => deny = boolean(value, "`deny`")?,
            "reasons" => {
                let items = items(value, "`reasons`")?.into_iter();
                reasons = items
                    .map(|item| reason(item, ids))
                    .collect::<Result<_, _>>()?;
            }
            _ => {
                let items = items(value, "`obligations`")?.into_iter();
                obligations = items.map(obligation).collect::<Result<_, _>>()?;
            }
        }
    }
    let allow = allow.ok_or("`decision` has no `allow`")?;
    if reasons.is_empty() {
        reasons.push(ids.whole());
    }
    Ok(match (allow, deny) {
        (_, true) => Verdict::Deny { reasons },
        (true, false) => Verdict::Allow {
            reasons,
            obligations,
        },
        (false, false) => Verdict::Abstain,
    })
}

fn reason(value: &Value, ids: &ReasonIds) -> Result<Reason, String> {
    let mut id = None;
    let (mut code, mut advice, mut on_deny) = (None, None, None);
    for (key, value) in members(
        value,
        "a reason",
        &["id", "code", "advice", "requires_consent"],
    )? {
        if key == "requires_consent" {
            let Value::Bool(is_required) = value else {
                return Err("`requires_consent` is not `true` or `false`".to_owned());
            };
            on_deny = is_required.then_some(OnDeny::AskConsent);
            continue;
        }
        let text = text(value, "a member of a reason")?;
        match key {
            "id" => id = Some(text),
            "code" => code = Some(text),
            _ => advice = Some(text),
        }
    }
    let id = id.ok_or("a reason has no `id`")?;
    let known = ids
        .get(&id)
        .ok_or_else(|| format!("no file has the words `\"id\": \"{}\"`", id.escape_debug()))?;
    Ok(Reason {
        code,
        advice,
        on_deny,
        ..known
    })
}

fn obligation(value: &Value) -> Result<Obligation, String> {
    let members = members(
        value,
        "an obligation",
        &[
            "annotate",
            "canonical",
            "add_label",
            "raise_sensitivity",
            "strip_meta",
        ],
    )?;
    let [(key, value)] = members.as_slice() else {
        return Err("an obligation has not exactly one member".to_owned());
    };
    let what = text(value, "what an obligation says")?;
    match *key {
        _ if what.is_empty() => Err("an obligation says nothing".to_owned()),
        "canonical" => Obligation::canonical(&what)
            .ok_or_else(|| "an obligation `canonical` is not `paths` or `uris`".to_owned()),
        "add_label" => Ok(Obligation::Label(what)),
        "raise_sensitivity" => EscalationTarget::named(&what).map(Obligation::Raise).ok_or_else(|| {
            "an obligation `raise_sensitivity` is not `internal`, `confidential`, `secret` or `untrusted`"
                .to_owned()
        }),
        "strip_meta" => Ok(Obligation::StripMeta(what)),
        _ => Ok(Obligation::Annotate(what)),
    }
}

/// The members of an object that has no others than these.
fn members<'v>(
    value: &'v Value,
    what: &str,
    known: &[&str],
) -> Result<Vec<(&'v str, &'v Value)>, String> {
    let Value::Object(members) = value else {
        return Err(format!("{what} is no object"));
    };
    let mut found = Vec::new();
    for (key, value) in members.iter() {
        let name = match key.as_string() {
            Ok(name) if known.contains(&&**name) => name,
            Ok(_) | Err(_) => {
                return Err(format!("{what} has an unknown member: {key:.60?}"));
            }
        };
        found.push((&**name, value));
    }
    Ok(found)
}

fn items<'v>(value: &'v Value, what: &str) -> Result<Vec<&'v Value>, String> {
    if let Value::Array(items) = value {
        Ok(items.iter().collect())
    } else if let Value::Set(items) = value {
        Ok(items.iter().collect())
    } else {
        Err(format!("{what} is neither an array nor a set"))
    }
}

fn boolean(value: &Value, what: &str) -> Result<bool, String> {
    let truth = value.as_bool().copied();
    truth.map_err(|_| format!("{what} is neither `true` nor `false`"))
}

fn text(value: &Value, what: &str) -> Result<Arc<str>, String> {
    let text = value.as_string().map(Arc::clone);
    text.map_err(|_| format!("{what} is no string"))
}
