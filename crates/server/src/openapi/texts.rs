//! Describes core's types that are strings in JSON, such as `TicketId`, as plain strings at each place of use. So the
//! document has no named schemas for them.

use std::collections::BTreeMap;

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Object, SchemaType, Type};
use utoipa::openapi::{OpenApi, RefOr, Schema};

/// The string schemas by the `$ref` that names them.
type Texts = BTreeMap<String, Object>;

/// Puts each named string schema into the places that refer to it, and drops its name.
pub fn inline(document: &mut OpenApi) {
    let Some(components) = document.components.as_mut() else { return };
    let mut texts = Texts::new();
    components.schemas.retain(|name, schema| match schema {
        RefOr::T(Schema::Object(text)) if text.schema_type == SchemaType::Type(Type::String) => {
            texts.insert(format!("#/components/schemas/{name}"), text.clone());
            false
        }
        _ => true,
    });
    components.schemas.values_mut().for_each(|schema| put(schema, &texts));
    for item in document.paths.paths.values_mut() {
        let all = [&mut item.get, &mut item.head, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        all.into_iter().flatten().for_each(|operation| put_in_operation(operation, &texts));
    }
}

fn put_in_operation(operation: &mut Operation, texts: &Texts) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            parameter.schema.iter_mut().for_each(|schema| put(schema, texts));
        }
    }
    for answer in operation.responses.responses.values_mut() {
        if let RefOr::T(answer) = answer {
            for content in answer.content.values_mut() {
                if let RefOr::T(content) = content {
                    content.schema.iter_mut().for_each(|schema| put(schema, texts));
                }
            }
        }
    }
}

fn put(schema: &mut RefOr<Schema>, texts: &Texts) {
    match schema {
        RefOr::Ref(named) => {
            if let Some(text) = texts.get(&named.ref_location) {
                let mut text = text.clone();
                text.description = Some(named.description.clone()).filter(|about| !about.is_empty());
                *schema = RefOr::T(Schema::Object(text));
            }
        }
        RefOr::T(Schema::Object(object)) => {
            object.properties.values_mut().for_each(|one| put(one, texts));
            if let Some(AdditionalProperties::RefOr(one)) = object.additional_properties.as_deref_mut() {
                put(one, texts);
            }
        }
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                put(items, texts);
            }
        }
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(|one| put(one, texts)),
        RefOr::T(Schema::AnyOf(any)) => any.items.iter_mut().for_each(|one| put(one, texts)),
        RefOr::T(Schema::OneOf(choice)) => {
            choice.items.iter_mut().for_each(|one| put(one, texts));
            if let Some(text) = text_or_null(&choice.items) {
                *schema = RefOr::T(Schema::Object(text));
            }
        }
        RefOr::T(_) => {}
    }
}

/// The string of a choice between null and a string. `None` for any other choice.
fn text_or_null(choices: &[RefOr<Schema>]) -> Option<Object> {
    let [RefOr::T(Schema::Object(one)), RefOr::T(Schema::Object(other))] = choices else { return None };
    let is = |object: &Object, kind: Type| object.schema_type == SchemaType::Type(kind);
    let text = [(one, other), (other, one)].into_iter().find(|(a, b)| is(a, Type::String) && is(b, Type::Null))?.0;
    let mut text = text.clone();
    text.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
    if let Some(words) = &mut text.enum_values {
        words.push(serde_json::Value::Null);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_stands_where_it_is_used_with_what_that_place_says() {
        let word = json!({ "type": "string", "enum": ["a", "b"], "description": "a word" });
        let texts = Texts::from([("#/w".to_owned(), serde_json::from_value(word).unwrap())]);
        let mut one: RefOr<Schema> = serde_json::from_value(json!({ "type": "object", "properties": {
            "own": { "$ref": "#/w", "description": "its own" },
            "none": { "oneOf": [{ "type": "null" }, { "$ref": "#/w", "description": "maybe" }] },
            "all": { "type": "array", "items": { "$ref": "#/w" } },
            "other": { "$ref": "#/x" },
        } }))
        .unwrap();
        put(&mut one, &texts);
        let shown = serde_json::to_value(one).unwrap();
        assert_eq!(
            shown["properties"],
            json!({
                "own": { "type": "string", "enum": ["a", "b"], "description": "its own" },
                "none": { "type": ["string", "null"], "enum": ["a", "b", null], "description": "maybe" },
                "all": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
                "other": { "$ref": "#/x" },
            })
        );
    }
}
