//! A member of the organisation other than the owner.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::organiser::post;
use crate::server::{TestServer, json};

/// A member with a role and a session.
pub struct Member<'a> {
    server: &'a TestServer,
    cookie: String,
    /// The user's id.
    pub user_id: String,
}

impl<'a> Member<'a> {
    /// Makes the member and the session.
    pub async fn new(server: &'a TestServer, role: &str) -> Self {
        let email = format!("{role}@home.example");
        let new = json!({ "email": email, "name": "Pat", "password": crate::server::PASSWORD, "role": role });
        let made = post(server, "/api/members", new, 201).await;
        let session = json!({ "email": email, "password": crate::server::PASSWORD });
        let answer = server.post("/api/session").json(&session).send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Self { server, cookie, user_id: made["id"].as_str().unwrap().to_owned() }
    }
    /// A request of this member.
    pub fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let path = path.replace("{event}", self.server.home.event_id.as_str());
        self.server.request(method, &path).header("cookie", &self.cookie)
    }
    /// A `GET`, which must answer 200.
    pub async fn get(&self, path: &str) -> Value {
        json(self.ask(Method::GET, path).send().await.unwrap(), 200).await
    }
}
