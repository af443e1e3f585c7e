//! Problems as JSON (RFC 9457), and reading JSON so that an error names its field (spec §5).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::tree::Tree;

/// A field that is wrong, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// The path of the field, such as `scans[3].count`. Empty for the document itself.
    pub path: String,
    /// The right value of the field, in words that follow the field's name: "must be 1 to 10000".
    pub message: String,
}

impl FieldError {
    /// The error of the field at `path`.
    pub fn new(path: impl Into<String>, message: impl std::fmt::Display) -> Self {
        Self { path: path.into(), message: message.to_string() }
    }
    /// The same error with a longer path: `count` under `scans[3]` becomes `scans[3].count`, and so does `[3].count`
    /// under `scans`.
    pub fn under(self, parent: &str) -> Self {
        let path = match self.path.as_str() {
            own if own.is_empty() || parent.is_empty() => format!("{parent}{own}"),
            own if own.starts_with('[') => format!("{parent}{own}"),
            own => format!("{parent}.{own}"),
        };
        Self { path, ..self }
    }
}

/// `application/problem+json`: the body of every error answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// A URI reference that names the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in plain words, the same for every occurrence.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// A stable word for programs, such as `batch_id_reused`.
    pub code: String,
    /// The fault of this request, in plain words.
    pub detail: String,
    /// The fields that are wrong. Empty if the problem is another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// JSON members that only problems with this `code` have, such as `kept` and `quota_left` of `device_revoked` (spec
    /// D10).
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Problem {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let mut details = Map::deserialize(source)?;
        let mut own = |name: &'static str| details.remove(name).ok_or_else(|| D::Error::missing_field(name));
        let text = |value: Value| String::deserialize(Tree(value)).map_err(D::Error::custom);
        let (kind, title) = (text(own("type")?)?, text(own("title")?)?);
        let (code, detail) = (text(own("code")?)?, text(own("detail")?)?);
        let status = u16::deserialize(Tree(own("status")?)).map_err(D::Error::custom)?;
        let errors =
            own("errors").map_or(Ok(Vec::new()), |errors| Vec::deserialize(Tree(errors))).map_err(D::Error::custom)?;
        Ok(Self { kind, title, status, code, detail, errors, details })
    }
}

/// Longest part of a sender's own text that an error repeats, in characters.
const REPEATED_CHARS: usize = 80;

/// Reads a JSON document. If it fails, the document is read again to find the field's name. Only faulty documents cost
/// that time.
pub fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, FieldError> {
    serde_json::from_slice(json).map_err(|error| named::<T>(json, &error))
}

/// Reads a document as [`read`] does. Calls `unknown` with the path of each field that the shape lacks, such as
/// `scans.3.mood`. A newer device's fields are accepted (spec §5), and the caller keeps their content.
pub fn read_noting<'a, T: Deserialize<'a>>(json: &'a [u8], mut unknown: impl FnMut(&str)) -> Result<T, FieldError> {
    let mut source = serde_json::Deserializer::from_slice(json);
    let mut note = |path: serde_ignored::Path<'_>| unknown(&path.to_string());
    let read = serde_ignored::deserialize(&mut source, &mut note);
    read.and_then(|read| source.end().map(|()| read)).map_err(|error| named::<T>(json, &error))
}

/// The same error with the name of its field.
#[cfg(feature = "field-paths")]
fn named<'a, T: Deserialize<'a>>(json: &'a [u8], first: &serde_json::Error) -> FieldError {
    let mut source = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, T>(&mut source) {
        // The document itself is right, but more text follows it.
        Ok(_) => FieldError::new("", format_args!("is not one JSON document: {first}")),
        Err(error) => explain(&error.path().to_string(), error.inner()),
    }
}

/// Reads JSON with errors that do not name the field. The scanner app is built with this variant: it reads only JSON
/// that the server wrote, and the code that finds a field's name would make the app larger.
#[cfg(not(feature = "field-paths"))]
fn named<'a, T: Deserialize<'a>>(_json: &'a [u8], first: &serde_json::Error) -> FieldError {
    explain("", first)
}

/// Says serde's error in our own words.
fn explain(path: &str, error: &serde_json::Error) -> FieldError {
    let path = if path == "." { "" } else { path };
    if error.is_syntax() || error.is_eof() {
        return FieldError::new("", format_args!("is not JSON: {error}"));
    }
    let text = error.to_string();
    let text = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]);
    if let Some(field) = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return FieldError::new(field, "is required").under(path);
    }
    if let Some(field) = text.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
        return FieldError::new(field, "must be given once").under(path);
    }
    let found = text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: "));
    if let Some((found, expected)) = found.and_then(|rest| rest.rsplit_once(", expected ")) {
        let found: String = found.chars().take(REPEATED_CHARS).collect();
        return FieldError::new(path, format_args!("must be {}, not {found}", in_words(expected)));
    }
    if text.starts_with("invalid length ") && text.contains("expected struct ") {
        // Serde would accept an array of the members, in order, for an object.
        return FieldError::new(path, "must be an object, not an array");
    }
    FieldError::new(path, text.chars().take(REPEATED_CHARS * 4).collect::<String>())
}

fn in_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" => "a whole number from 0 up, within its range",
        "i32" | "i64" => "a whole number",
        "a sequence" => "an array",
        "a borrowed string" => "a string",
        _ if expected.starts_with("struct ") || expected == "a map" => "an object",
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read only by serde")]
    struct Inner {
        count: u32,
        name: String,
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "read only by serde")]
    struct Outer {
        items: Vec<Inner>,
    }

    #[test]
    fn an_error_names_its_field_and_says_what_would_be_right() {
        let cases = [
            (
                r#"{"items":[{"count":1,"name":"a"},{"count":"x","name":"a"}]}"#,
                "items[1].count",
                "must be a whole number",
            ),
            (r#"{"items":[{"count":-1,"name":"a"}]}"#, "items[0].count", "must be a whole number from 0 up"),
            (r#"{"items":[{"count":99999999999,"name":"a"}]}"#, "items[0].count", "must be a whole number from 0 up"),
            (r#"{"items":[{"count":1}]}"#, "items[0].name", "is required"),
            (r#"{}"#, "items", "is required"),
            (r#"{"items":[],"items":[]}"#, "items", "must be given once"),
            (r#"{"items":[{"count":1,"count":1}]}"#, "items[0].count", "must be given once"),
            (r#"{"items":{}}"#, "items", "must be an array, not map"),
            (r#"[]"#, "", "must be an object, not an array"),
            (r#"{"items":[[]]}"#, "items[0]", "must be an object, not an array"),
            (r#""x""#, "", "must be an object"),
            (r#"{"items":["#, "", "is not JSON"),
            (r#"{"items":[]} x"#, "", "is not one JSON document"),
            ("", "", "is not JSON"),
        ];
        for (json, path, message) in cases {
            let error = read::<Outer>(json.as_bytes()).unwrap_err();
            assert_eq!(error.path, path, "{json}: {error}");
            assert!(error.message.starts_with(message), "{json}: {error}");
        }
    }

    #[test]
    fn a_problem_carries_the_members_of_its_code_beside_its_own() {
        let problem = Problem {
            kind: "about:blank".into(),
            title: "Forbidden".into(),
            status: 403,
            code: "device_revoked".into(),
            detail: "This device was revoked.".into(),
            errors: vec![],
            details: [("quota_left".to_owned(), 5.into())].into_iter().collect(),
        };
        let text = serde_json::to_string(&problem).unwrap();
        assert_eq!(
            text,
            r#"{"type":"about:blank","title":"Forbidden","status":403,"code":"device_revoked","detail":"This device was revoked.","quota_left":5}"#
        );
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }
}
