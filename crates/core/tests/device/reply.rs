//! The HTTP answers that the test's server gives.

use admit_core::wire::stored::to_text;

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(status: u16, body: &impl serde::Serialize) -> Self {
        Self { status, headers: Vec::new(), body: to_text(body).into_bytes() }
    }
    pub fn html(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: b"<html>Sign in to the Wi-Fi".to_vec() }
    }
    pub fn problem(status: u16, code: &str) -> Self {
        Self::problem_with(status, code, serde_json::json!({}))
    }
    pub fn problem_with(status: u16, code: &str, more: serde_json::Value) -> Self {
        let mut body = serde_json::json!({
            "type": "about:blank", "title": code, "status": status, "code": code, "detail": format!("It is {code}."),
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Self { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }
    pub fn with(self, name: &str, value: impl ToString) -> Self {
        Self { headers: [self.headers, vec![(name.to_owned(), value.to_string())]].concat(), ..self }
    }
}
