//! The OpenAPI document as a list of operations, with bodies that fit their schemas.

use reqwest::Method;
use serde_json::{Map, Value};

use crate::server::{TestServer, json};

pub struct Document(Value);

/// One method of one path.
pub struct Operation {
    pub method: Method,
    pub path: String,
    /// Place (`path`, `query`, `header`) and name of each parameter.
    pub parameters: Vec<(String, String)>,
    /// Media type and schema of the body.
    pub body: Option<(String, Value)>,
    /// Security schemes, each of which opens the operation.
    pub schemes: Vec<String>,
    /// Roles that may call it; `None` if no person may.
    pub roles: Option<Vec<String>>,
}

impl Operation {
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
    pub fn names(&self, place: &str) -> Vec<&str> {
        self.parameters.iter().filter(|(at, _)| at == place).map(|(_, name)| name.as_str()).collect()
    }
    pub fn for_people(&self) -> bool {
        self.schemes.iter().any(|one| one == "session")
    }
    /// Whether the operation is authenticated by a signature over its body.
    pub fn is_signed(&self) -> bool {
        self.schemes.iter().any(|one| one == "webhook_signature")
    }
    pub fn for_devices(&self) -> bool {
        self.schemes.iter().any(|one| one == "device_key")
    }
}

impl Document {
    pub async fn of(server: &TestServer) -> Self {
        Self(json(server.get("/openapi.json").send().await.unwrap(), 200).await)
    }

    pub fn operations(&self) -> Vec<Operation> {
        let mut all = Vec::new();
        for (path, item) in self.0["paths"].as_object().unwrap() {
            for (method, one) in item.as_object().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
                let schemes = list(&one["security"]);
                let schemes = schemes.iter().flat_map(|one| one.as_object().unwrap().keys().cloned()).collect();
                let content = one["requestBody"]["content"].as_object();
                let body = content.and_then(|all| all.iter().next());
                all.push(Operation {
                    method: method.to_uppercase().parse().unwrap(),
                    path: path.clone(),
                    parameters: list(&one["parameters"]).iter().map(|p| (text(&p["in"]), text(&p["name"]))).collect(),
                    body: body.map(|(media, content)| (media.clone(), content["schema"].clone())),
                    schemes,
                    roles: one["x-roles"].as_array().map(|roles| roles.iter().map(text).collect()),
                });
            }
        }
        assert!(all.len() > 50, "the document was not read");
        all
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(path) => self.resolved(self.0.pointer(path.trim_start_matches('#')).unwrap()),
            None => schema,
        }
    }

    /// A value of this schema with the required members and every member that names a thing. If there are alternatives,
    /// it takes the one with the fewest requirements, or with `other` the one with the most. `text` gives the texts by
    /// the member's name.
    pub fn sample(&self, schema: &Value, name: &str, other: bool, text: &mut dyn FnMut(&str) -> Value) -> Value {
        let schema = self.resolved(schema);
        for word in ["oneOf", "anyOf"] {
            if let Some(all) = schema[word].as_array() {
                let mut all: Vec<&Value> = all.iter().filter(|one| one["type"] != "null").collect();
                all.sort_by_key(|one| match &self.resolved(one)["required"] {
                    _ if self.resolved(one)["type"] == "array" => usize::MAX,
                    required => required.as_array().map_or(0, Vec::len),
                });
                let one = if other { all.last() } else { all.first() };
                return self.sample(one.unwrap(), name, other, text);
            }
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        match kind(schema) {
            "object" => {
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let mut object = Map::new();
                for (member, of) in schema["properties"].as_object().into_iter().flatten() {
                    if required.iter().any(|one| one == member) || self.names_something(of, member) {
                        object.insert(member.clone(), self.sample(of, member, other, text));
                    }
                }
                Value::Object(object)
            }
            "array" => Value::Array(vec![self.sample(&schema["items"], name, other, text)]),
            "boolean" => Value::Bool(true),
            "integer" | "number" => Value::from(if name == "format" && other { 2 } else { 1 }),
            _ => text(name),
        }
    }

    /// Whether a member is an identifier, or contains one.
    fn names_something(&self, schema: &Value, name: &str) -> bool {
        let schema = self.resolved(schema);
        let variants = ["oneOf", "anyOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
        // A log needs its head, and the items of an upload need their form.
        is_id(name)
            || matches!(name, "head" | "format")
            || variants.into_iter().any(|one| self.names_something(one, ""))
            || schema["items"].is_object() && self.names_something(&schema["items"], "")
            || schema["properties"].as_object().is_some_and(|all| all.iter().any(|(n, of)| self.names_something(of, n)))
    }
}

fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap(),
        kind => kind.as_str().unwrap_or("object"),
    }
}

/// Whether a member with this name identifies a thing.
pub fn is_id(name: &str) -> bool {
    matches!(name, "id" | "ids")
        || name.ends_with("_id")
        || name.ends_with("_ids")
        || name.starts_with("target_")
        || name.ends_with("_token")
}

/// The identifiers in a body: JSON pointer and value.
pub fn ids_of(body: &Value) -> Vec<(String, String)> {
    fn walk(value: &Value, at: &str, name: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(key, one)| walk(one, &format!("{at}/{key}"), key, found))
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, one)| walk(one, &format!("{at}/{i}"), name, found));
            }
            Value::String(_) if is_id(name) => found.push((at.to_owned(), name.to_owned())),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(body, "", "", &mut found);
    found
}
