//! The OpenAPI description, and answers as it describes them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::http::Answer;

/// `docs/schema/admin-api.json`, and which of its operations went well.
pub(super) struct Description {
    document: Value,
    walked: RefCell<BTreeSet<String>>,
}

impl Description {
    pub(super) fn published() -> Self {
        let text = include_str!("../../../docs/schema/admin-api.json");
        Self {
            document: text.parse().unwrap(),
            walked: RefCell::default(),
        }
    }

    /// Checks the status, the media type and the body of an answer.
    #[track_caller]
    pub(super) fn check(&self, method: &str, path: &str, answer: &Answer) {
        let Some(operation) = self.operation(method, path) else {
            assert!(
                matches!(answer.status, 401..=405 | 429),
                "{path}: {answer:?}"
            );
            self.check_body(
                "application/problem+json",
                &json!({ "$ref": "#/components/schemas/Problem" }),
                answer,
            );
            return;
        };
        let response = &operation["responses"][answer.status.to_string()];
        assert!(
            !response.is_null(),
            "{method} {path} has no {}: {answer:?}",
            answer.status
        );
        let response = self.resolved(response);
        let content = response["content"].as_object().unwrap();
        let (media_type, content) = content.iter().next().unwrap();
        self.check_body(media_type, &content["schema"], answer);
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            let is_there = answer.header(name).is_some();
            assert!(is_there || header["required"] != true, "{name}: {answer:?}");
        }
        if answer.status < 300 {
            let id = operation["operationId"].as_str().unwrap();
            self.walked.borrow_mut().insert(id.to_owned());
        }
    }

    #[track_caller]
    fn check_body(&self, media_type: &str, schema: &Value, answer: &Answer) {
        assert_eq!(
            answer.header("content-type"),
            Some(media_type),
            "{answer:?}"
        );
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let body: Value = answer.body.parse().unwrap();
        let errors = validator.iter_errors(&body);
        let errors: Vec<_> = errors
            .map(|it| format!("{}: {it}", it.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{body:#}");
        if media_type.ends_with("problem+json") {
            assert_eq!(body["status"], answer.status, "{body}");
        }
    }

    /// The operation at a path, which may have a query.
    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let path = path.split('?').next().unwrap();
        let is_it = |form: &str| {
            let (form, path) = (form.split('/'), path.split('/'));
            let same = |(form, segment): (&str, &str)| form.starts_with('{') || form == segment;
            form.clone().count() == path.clone().count() && form.zip(path).all(same)
        };
        let paths = self.document["paths"].as_object().unwrap();
        let (_, item) = paths.iter().find(|(form, _)| is_it(form))?;
        item.get(method.to_ascii_lowercase())
    }

    fn resolved<'d>(&'d self, value: &'d Value) -> &'d Value {
        match value["$ref"].as_str().and_then(|it| it.strip_prefix('#')) {
            Some(pointer) => self.document.pointer(pointer).unwrap(),
            None => value,
        }
    }

    /// Checks that every operation went well once.
    #[track_caller]
    pub(super) fn is_walked(&self) {
        let paths = self.document["paths"].as_object().unwrap();
        let all = paths
            .values()
            .flat_map(|item| item.as_object().unwrap().values());
        let all = all.map(|it| it["operationId"].as_str().unwrap().to_owned());
        assert_eq!(*self.walked.borrow(), all.collect::<BTreeSet<_>>());
    }
}
