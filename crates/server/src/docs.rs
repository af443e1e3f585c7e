//! Serves `/openapi.json`, and `/docs`: the same document as one page, rendered here without scripts and without other
//! hosts.

use std::fmt::Write;
use std::sync::OnceLock;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use serde_json::{Map, Value};

use crate::state::AppState;

const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const STYLE: &str = include_str!("docs.css");
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The routes. The process renders the document and the page once, at the first request, so that rendering does not
/// slow the start.
pub fn routes(document: fn(&AppState) -> utoipa::openapi::OpenApi) -> Router<AppState> {
    static JSON: OnceLock<String> = OnceLock::new();
    static PAGE: OnceLock<String> = OnceLock::new();
    let made = move |state: &AppState| JSON.get_or_init(|| json(&document(state))).as_str();
    let rendered = move |state: &AppState| {
        let page = || page(&serde_json::to_value(document(state)).unwrap_or_default());
        PAGE.get_or_init(page).as_str()
    };
    let json = move |State(state): State<AppState>| async move { of_type(made(&state), "application/json") };
    let page =
        move |State(state): State<AppState>| async move { of_type(rendered(&state), "text/html; charset=utf-8") };
    Router::new()
        .route("/openapi.json", get(json))
        .route("/docs", get(page))
        .route("/docs/style.css", get(|| async { of_type(STYLE, "text/css; charset=utf-8") }))
}

/// The document as text, for `/openapi.json` and `admit openapi`. Members are sorted, because the order of extensions
/// differs between nodes.
pub fn json(document: &utoipa::openapi::OpenApi) -> String {
    serde_json::to_value(document).and_then(|sorted| serde_json::to_string_pretty(&sorted)).unwrap_or_default()
}

fn of_type(body: impl IntoResponse, kind: &'static str) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// Renders the whole page. All its text comes from the document and is escaped.
fn page(document: &Value) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Admit: API</title>\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body>",
    );
    let info = &document["info"];
    let _ = write!(
        html,
        "<header><h1>{}</h1><p>{}</p><p>Version {}. The same as a document for programs: \
         <a href=\"/openapi.json\">/openapi.json</a></p></header>",
        escaped(&info["title"]),
        prose(&info["description"]),
        escaped(&info["version"]),
    );
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    contents(&mut html, &paths);
    html.push_str("<main>");
    for (path, item) in &paths {
        for (method, operation) in operations(item) {
            self::operation(&mut html, path, method, operation);
        }
    }
    html.push_str("<h2 id=\"schemas\">Shapes</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let name = escape(name);
        let _ = write!(html, "<section id=\"schema-{name}\"><h3>{name}</h3><p>{}</p>", prose(&schema["description"]));
        members(&mut html, schema);
        html.push_str("</section>");
    }
    html.push_str("</main></body></html>");
    html
}

fn operations(item: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    METHODS.into_iter().filter_map(|method| Some((method, item.get(method)?)))
}

fn anchor(method: &str, path: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{method}{}", path.chars().map(plain).collect::<String>())
}

fn contents(html: &mut String, paths: &Map<String, Value>) {
    html.push_str("<nav><ul>");
    for (path, item) in paths {
        for (method, _) in operations(item) {
            let (anchor, upper) = (anchor(method, path), method.to_uppercase());
            let _ = write!(html, "<li><a href=\"#{anchor}\"><b>{upper}</b> {}</a></li>", escape(path));
        }
    }
    html.push_str("<li><a href=\"#schemas\">Shapes</a></li></ul></nav>");
}

fn operation(html: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        html,
        "<section id=\"{}\"><h3><b>{}</b> <code>{}</code></h3><p>{}</p><p>{}</p>",
        anchor(method, path),
        method.to_uppercase(),
        escape(path),
        prose(&operation["summary"]),
        prose(&operation["description"]),
    );
    if let Some(security) = operation["security"].as_array() {
        let names: Vec<&str> =
            security.iter().filter_map(|one| one.as_object()?.keys().next()).map(String::as_str).collect();
        let _ = write!(html, "<p>Credential: {}</p>", escape(&names.join(" or ")));
    }
    if let Some(roles) = operation["x-roles"].as_array() {
        let names: Vec<&str> = roles.iter().filter_map(Value::as_str).collect();
        let _ = write!(html, "<p>Roles: {}</p>", escape(&names.join(", ")));
    }
    if let Some(parameters) = operation["parameters"].as_array().filter(|all| !all.is_empty()) {
        html.push_str("<table><tr><th>Parameter<th>In<th>Type<th></tr>");
        for one in parameters {
            let required = if one["required"] == true { " *" } else { "" };
            let _ = write!(
                html,
                "<tr><td><code>{}</code>{required}<td>{}<td>{}<td>{}</tr>",
                escaped(&one["name"]),
                escaped(&one["in"]),
                kind(&one["schema"]),
                prose(&one["description"]),
            );
        }
        html.push_str("</table>");
    }
    for (media, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        let _ = write!(html, "<p>Body, {}: {}</p>", escape(media), kind(&content["schema"]));
    }
    html.push_str("<table><tr><th>Answer<th><th>Body</tr>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let bodies = response["content"].as_object().into_iter().flatten();
        let bodies: Vec<String> = bodies.map(|(_, content)| kind(&content["schema"])).collect();
        let description = prose(&response["description"]);
        let _ = write!(html, "<tr><td>{}<td>{description}<td>{}</tr>", escape(status), bodies.join(", "));
    }
    html.push_str("</table></section>");
}

fn members(html: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else {
        let _ = write!(html, "<p>{}</p>", kind(schema));
        return;
    };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html.push_str("<table><tr><th>Member<th>Type<th></tr>");
    for (name, property) in properties {
        let star = if required.contains(&name.as_str()) { " *" } else { "" };
        let (name, kind, text) = (escape(name), kind(property), prose(&property["description"]));
        let _ = write!(html, "<tr><td><code>{name}</code>{star}<td>{kind}<td>{text}</tr>");
    }
    html.push_str("</table>");
}

/// Describes the type of a schema in a few words, with links to the shapes that it names.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let name = escape(name);
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    for list in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[list].as_array() {
            return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("<code>{}</code>", escape(word))).collect();
        return words.join(", ");
    }
    let name = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        name => name.as_str().unwrap_or("anything").to_owned(),
    };
    if schema["items"].is_object() { format!("array of {}", kind(&schema["items"])) } else { escape(&name) }
}

fn escaped(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

/// Renders text with `code` in backticks and with its paragraphs.
fn prose(value: &Value) -> String {
    let pieces = value.as_str().unwrap_or_default().split('`').enumerate();
    let text = |(index, piece): (usize, &str)| {
        if index % 2 == 1 { format!("<code>{}</code>", escape(piece)) } else { escape(piece).replace("\n\n", "<br>") }
    };
    pieces.map(text).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_document_says_is_on_the_page_and_cannot_become_markup() {
        let document = serde_json::json!({
            "info": {"title": "T <b>", "version": "1", "description": "uses `code`"},
            "paths": {"/a/{id}": {"get": {
                "summary": "Reads <script>",
                "x-roles": ["owner", "door"],
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}
            }}},
            "components": {"schemas": {"A": {"properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}}}
        });
        let page = page(&document);
        for part in [
            "T &lt;b&gt;",
            "<code>code</code>",
            "Reads &lt;script&gt;",
            "id=\"get-a--id-\"",
            "#schema-A",
            "integer or null",
            "Roles: owner, door",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("<script"));
    }
}
