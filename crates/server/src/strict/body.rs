//! Compares a JSON body with the schema of its operation, and finds the fields that the schema does not have.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::unknown::{LISTED, Unknown};

/// The depth to which a schema is read. Below it any field is accepted.
const LEVELS: usize = 16;

/// The names in a schema. A value may be an object with these members, or an array of these items. It may be both if
/// the schema has alternatives.
#[derive(Debug, Default)]
pub struct Shape {
    /// The members of an object; `None` accepts any.
    members: Option<BTreeMap<String, Shape>>,
    /// The items of an array; `None` accepts any.
    items: Option<Box<Shape>>,
}

impl Shape {
    /// Reads a schema of `document`.
    pub fn of(document: &Value, schema: &Value) -> Self {
        let mut shape = Self::default();
        shape.add(document, schema, LEVELS);
        shape
    }

    /// The shape of an object without members.
    pub fn empty() -> Self {
        Self { members: Some(BTreeMap::new()), items: None }
    }

    fn add(&mut self, document: &Value, schema: &Value, levels: usize) {
        let Some(below) = levels.checked_sub(1) else { return };
        if let Some(path) = schema["$ref"].as_str() {
            let named = document.pointer(path.trim_start_matches('#')).unwrap_or(&Value::Null);
            return self.add(document, named, below);
        }
        for word in ["oneOf", "anyOf", "allOf"] {
            for one in schema[word].as_array().into_iter().flatten() {
                self.add(document, one, below);
            }
        }
        if let Some(properties) = schema["properties"].as_object() {
            let members = self.members.get_or_insert_default();
            for (name, of) in properties {
                members.entry(name.clone()).or_default().add(document, of, below);
            }
        }
        if schema["items"].is_object() {
            self.items.get_or_insert_default().add(document, &schema["items"], below);
        }
    }
}

/// The unknown fields of a body, at most [`LISTED`], in the order of the body. The body is never held as a tree.
pub fn unknown(shape: &Shape, json: &[u8]) -> Vec<Unknown> {
    let mut walk = Walk { path: String::new(), found: Vec::new() };
    // The walk ends at the last listed field, or where the body is no JSON. The parser reports the latter.
    let _ = At { walk: &mut walk, shape }.deserialize(&mut serde_json::Deserializer::from_slice(json));
    walk.found
}

struct Walk {
    path: String,
    found: Vec<Unknown>,
}

/// The walk at one value.
struct At<'w, 's> {
    walk: &'w mut Walk,
    shape: &'s Shape,
}

impl<'de> DeserializeSeed<'de> for At<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        match self.shape {
            // No name below this value can be unknown.
            Shape { members: None, items: None } => source.deserialize_ignored_any(IgnoredAny).map(|_| ()),
            _ => source.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for At<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let any = Shape::default();
        let (of, above) = (self.shape.items.as_deref().unwrap_or(&any), self.walk.path.len());
        for index in 0_usize.. {
            self.walk.path.push_str(&format!("[{index}]"));
            let item = items.next_element_seed(At { walk: &mut *self.walk, shape: of })?;
            self.walk.path.truncate(above);
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let (any, above) = (Shape::default(), self.walk.path.len());
        while let Some(name) = members.next_key::<String>()? {
            let shape = match &self.shape.members {
                None => &any,
                Some(known) => match known.get(&name) {
                    Some(shape) => shape,
                    None => {
                        let names: Vec<&str> = known.keys().map(String::as_str).collect();
                        self.walk.found.push(Unknown::new(&self.walk.path, &name, "field", &names));
                        if self.walk.found.len() == LISTED {
                            return Err(A::Error::custom("enough"));
                        }
                        &any
                    }
                },
            };
            if above > 0 {
                self.walk.path.push('.');
            }
            self.walk.path.push_str(&name);
            members.next_value_seed(At { walk: &mut *self.walk, shape })?;
            self.walk.path.truncate(above);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(json: &str) -> Vec<String> {
        let document = json!({ "components": { "schemas": {
            "Guest": { "type": "object", "properties": { "name": {}, "party_size": {}, "more": { "type": "object" } } },
            "Ticket": { "type": "object", "properties": {
                "barcode": {}, "gate_ids": { "type": "array", "items": { "type": "string" } },
                "guest": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Guest" }] },
            } },
        } } });
        let ticket = json!({ "$ref": "#/components/schemas/Ticket" });
        let schema = json!({ "oneOf": [ticket, { "type": "array", "items": ticket }] });
        unknown(&Shape::of(&document, &schema), json.as_bytes()).into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn an_unknown_field_is_found_at_any_depth() {
        assert_eq!(paths(r#"{"barcode":"x","gate_ids":["a"],"guest":{"name":"Ada","party_size":2}}"#), [""; 0]);
        assert_eq!(paths(r#"{"bar":1,"guest":{"partysize":5}}"#), ["bar", "guest.partysize"]);
        assert_eq!(paths(r#"[{"barcode":"x"},{"guest":{"nam":{"a":[{"b":1}]}}}]"#), ["[1].guest.nam"]);
        assert_eq!(paths(r#"{"guest":null,"gate_ids":null}"#), [""; 0]);
    }

    #[test]
    fn an_object_that_the_schema_leaves_open_takes_anything() {
        assert_eq!(paths(r#"{"guest":{"more":{"shoe_size":43}}}"#), [""; 0]);
    }

    #[test]
    fn what_is_no_json_is_left_to_the_parser() {
        for text in ["", "{", "[1,", "{\"guest\":{]", "7", "\"x\"", "null"] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_body_of_nothing_but_slips_is_answered_with_the_first_twenty() {
        let many: Vec<String> = (0..1_000).map(|number| format!("\"x{number}\":0")).collect();
        assert_eq!(paths(&format!("{{{}}}", many.join(","))).len(), LISTED);
    }
}
