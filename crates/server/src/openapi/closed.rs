//! Marks the bodies of the organiser's API as closed: `additionalProperties: false`. [`crate::strict`] refuses members
//! that are not described.

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{OpenApi, RefOr, Schema};

use crate::strict::is_organisers;

/// Closes every shape that such a body contains.
pub fn close(document: &mut OpenApi) {
    let names = read_by(&serde_json::to_value(&*document).unwrap_or_default(), is_organisers);
    let shapes = document.components.as_mut().map(|all| &mut all.schemas);
    for (_, shape) in shapes.into_iter().flatten().filter(|(name, _)| names.contains(*name)) {
        if let RefOr::T(Schema::Object(object)) = shape {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
}

/// Names of the shapes in the bodies of operations for which `is_one` holds, at any depth.
pub(super) fn read_by(document: &Value, is_one: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let items = document["paths"].as_object().into_iter().flatten().filter_map(|(_, item)| item.as_object());
    for operation in items.flat_map(|item| item.values()).filter(|operation| is_one(operation)) {
        add(document, &operation["requestBody"], &mut names);
    }
    names
}

fn add(document: &Value, schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            let name = members.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
            if let Some(name) = name
                && names.insert(name.to_owned())
            {
                add(document, &document["components"]["schemas"][name], names);
            }
            members.values().for_each(|one| add(document, one, names));
        }
        Value::Array(items) => items.iter().for_each(|one| add(document, one, names)),
        _ => {}
    }
}
