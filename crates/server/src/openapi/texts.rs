//! Core's types that are a text in JSON stand in the document as texts, in the place where they are used. A reader needs
//! no name such as `TicketId` for a string.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

/// Puts each named text into the places that refer to it, and drops its name.
pub fn inline(document: &mut OpenApi) {
    let Ok(mut json) = serde_json::to_value(&*document) else { return };
    let Some(Value::Object(schemas)) = json.pointer_mut("/components/schemas") else { return };
    let names: Vec<String> =
        schemas.iter().filter(|(_, one)| one["type"] == "string").map(|(name, _)| name.clone()).collect();
    let texts: BTreeMap<String, Value> =
        names.iter().filter_map(|name| Some((format!("#/components/schemas/{name}"), schemas.remove(name)?))).collect();
    put(&mut json, &texts);
    if let Ok(inlined) = serde_json::from_value(json) {
        *document = inlined;
    }
}

fn put(value: &mut Value, texts: &BTreeMap<String, Value>) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| put(one, texts)),
        Value::Object(object) => {
            object.values_mut().for_each(|one| put(one, texts));
            if let Some(text) = object.get("$ref").and_then(Value::as_str).and_then(|name| texts.get(name)) {
                let text = text.clone();
                object.remove("$ref");
                add(object, &text);
            }
            if let Some(text) = text_or_null(object) {
                object.remove("oneOf");
                add(object, &text);
            }
        }
        _ => {}
    }
}

/// The members of a text; what the place says itself stays.
fn add(object: &mut Map<String, Value>, text: &Value) {
    for (name, value) in text.as_object().into_iter().flatten() {
        object.entry(name).or_insert_with(|| value.clone());
    }
}

/// An optional text: `oneOf` null and a text.
fn text_or_null(object: &Map<String, Value>) -> Option<Value> {
    let [null, text] = object.get("oneOf")?.as_array()?.as_slice() else { return None };
    if *null != json!({ "type": "null" }) || text["type"] != "string" {
        return None;
    }
    let mut text = text.clone();
    text["type"] = json!(["string", "null"]);
    if let Some(words) = text.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_where_it_is_used_with_what_that_place_says() {
        let word = json!({ "type": "string", "enum": ["a", "b"], "description": "a word" });
        let texts = BTreeMap::from([("#/w".to_owned(), word)]);
        let mut one = json!({ "properties": {
            "own": { "$ref": "#/w", "description": "its own" },
            "none": { "oneOf": [{ "type": "null" }, { "$ref": "#/w", "description": "maybe" }] },
            "all": { "type": "array", "items": { "$ref": "#/w" } },
            "other": { "$ref": "#/x" },
        } });
        put(&mut one, &texts);
        assert_eq!(
            one,
            json!({ "properties": {
            "own": { "type": "string", "enum": ["a", "b"], "description": "its own" },
            "none": { "type": ["string", "null"], "enum": ["a", "b", null], "description": "maybe" },
            "all": { "type": "array", "items": { "type": "string", "enum": ["a", "b"], "description": "a word" } },
            "other": { "$ref": "#/x" },
        } })
        );
    }
}
