//! Compares two versions of the description of the admin API (OpenAPI 3.1).

use serde_json::{Value, json};

use crate::compare::{At, Comparison, Written};
use crate::schema::referred;

/// What changed incompatibly for the programs that use the API.
pub(crate) fn changes(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (path, operations) in old["paths"].as_object().unwrap() {
        for (method, before) in operations.as_object().unwrap() {
            let place = format!("{method} {path}");
            match new["paths"].get(path).and_then(|it| it.get(method)) {
                None => found.push(format!("{place}: is gone")),
                Some(after) => found.extend(Operation { old, new, place }.changes(before, after)),
            }
        }
    }
    found
}

struct Operation<'d> {
    old: &'d Value,
    new: &'d Value,
    place: String,
}

impl Operation<'_> {
    fn changes(&self, before: &Value, after: &Value) -> Vec<String> {
        let mut found = self.parameters(before, after);
        let [had, has] =
            [before, after].map(|it| it.get("requestBody").cloned().unwrap_or(json!({})));
        found.extend(self.needs("the body", &had, &has));
        if let (Some(had), Some(has)) = (content(&had), content(&has)) {
            found.extend(self.schemas("the body", had, has, Written::ByUsers));
        } else if content(&had).is_some() {
            found.push(format!("{}: the body is gone", self.place));
        }
        for (status, before) in before["responses"].as_object().unwrap() {
            let before = resolved(self.old, before);
            match after["responses"]
                .get(status)
                .map(|it| resolved(self.new, it))
            {
                None if status.starts_with('2') => {
                    found.push(format!("{}: {status} is gone", self.place));
                }
                None => {}
                Some(after) => {
                    let pair = content(before).zip(content(after));
                    found.extend(pair.into_iter().flat_map(|(before, after)| {
                        self.schemas(status, before, after, Written::ByProgram)
                    }));
                }
            }
        }
        found
    }

    fn parameters(&self, before: &Value, after: &Value) -> Vec<String> {
        let all = |document, operation: &Value| -> Vec<Value> {
            let all = operation
                .get("parameters")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            all.map(|it| resolved(document, it).clone()).collect()
        };
        let (olds, news) = (all(self.old, before), all(self.new, after));
        let same =
            |one: &Value, other: &Value| one["name"] == other["name"] && one["in"] == other["in"];
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        let mut found = Vec::new();
        for before in &olds {
            match news.iter().find(|after| same(before, after)) {
                None => found.push(format!("{}: `{}` is gone", self.place, name(before))),
                Some(after) => {
                    let [was, is] = [before, after].map(|it| &it["schema"]);
                    found.extend(self.schemas(&name(before), was, is, Written::ByUsers));
                }
            }
        }
        for after in &news {
            let before = olds.iter().find(|before| same(before, after)).cloned();
            found.extend(self.needs(&name(after), &before.unwrap_or(json!({})), after));
        }
        found
    }

    fn needs(&self, what: &str, before: &Value, after: &Value) -> Option<String> {
        let [was, is] = [before, after].map(|it| it.get("required") == Some(&json!(true)));
        (is && !was).then(|| format!("{}: {what} is now required", self.place))
    }

    fn schemas(&self, what: &str, before: &Value, after: &Value, written: Written) -> Vec<String> {
        let at = At::new(&format!("{} {what} ", self.place));
        Comparison {
            old: self.old,
            new: self.new,
            written,
        }
        .schemas(&at, before, after)
    }
}

fn resolved<'d>(document: &'d Value, it: &'d Value) -> &'d Value {
    it.get("$ref").map_or(it, |reference| {
        referred(document, reference.as_str().unwrap())
    })
}

/// The schema of a body or of a response.
fn content(it: &Value) -> Option<&Value> {
    let kinds = it.get("content")?.as_object()?;
    kinds.values().next()?.get("schema")
}
