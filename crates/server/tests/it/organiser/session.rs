//! Signing in by cookie, members, API tokens.

use admit_core::limits::SIGN_INS_PER_MINUTE;
use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, patch, post};
use crate::member::Member;
use crate::server::{PASSWORD, TestServer, json, problem};

#[tokio::test]
async fn a_browser_signs_in_by_cookie_and_out_again() {
    let server = TestServer::start().await;
    let sign_in = |email: &str, password: &str| {
        server.post("/api/session").json(&json!({ "email": email, "password": password })).send()
    };
    problem(sign_in(&server.home.email, "wrong password").await.unwrap(), 401, "wrong_credentials").await;
    problem(sign_in("nobody@home.example", PASSWORD).await.unwrap(), 401, "wrong_credentials").await;
    let answer = sign_in(&server.home.email, PASSWORD).await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let me = json(answer, 200).await;
    assert_eq!((me["email"].as_str(), me["role"].as_str()), (Some(server.home.email.as_str()), Some("owner")));
    assert_eq!(me["organization_id"], server.home.owner.organization_id.as_str());
    assert!(!me.to_string().contains("admit_ss_"), "the session is in the cookie alone");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = |method, path: &str| server.request(method, path).header("cookie", &cookie).send();
    assert_eq!(json(with(Method::GET, "/api/session").await.unwrap(), 200).await["organization_name"], "home");
    assert_eq!(with(Method::DELETE, "/api/session").await.unwrap().status(), 204);
    problem(with(Method::GET, "/api/session").await.unwrap(), 401, "unknown_token").await;
}

#[tokio::test]
async fn signing_in_anew_ends_the_session_that_the_browser_had() {
    let server = TestServer::start().await;
    let sign_in = async |cookie: &str| {
        let body = json!({ "email": server.home.email, "password": PASSWORD });
        let answer = server.post("/api/session").header("cookie", cookie).json(&body).send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        json(answer, 200).await;
        cookie
    };
    let first = sign_in("theme=dark").await;
    let elsewhere = sign_in("theme=dark").await;
    let second = sign_in(&first).await;
    let who = async |cookie: &str| {
        server.request(Method::GET, "/api/session").header("cookie", cookie).send().await.unwrap().status()
    };
    assert_eq!([who(&first).await, who(&second).await, who(&elsewhere).await], [401, 200, 200]);
}

/// The random part of a secret, in hexadecimal digits.
fn digits(secret: &str) -> &str {
    let digits = secret.rsplit('_').next().unwrap();
    assert!(digits.bytes().all(|one| one.is_ascii_hexdigit()), "{secret}");
    digits
}

#[tokio::test]
async fn sessions_and_api_tokens_are_256_random_bits_and_pairing_codes_128() {
    let server = TestServer::start().await;
    let session = async || {
        let body = json!({ "email": server.home.email, "password": PASSWORD });
        let answer = server.post("/api/session").json(&body).send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        cookie.split([';', '=']).nth(1).unwrap().to_owned()
    };
    let token = async || {
        let made = post(&server, "/api/api-tokens", json!({ "name": "Box office" }), 201).await;
        made["token"].as_str().unwrap().to_owned()
    };
    let pairing = async || server.pairing_token(&server.home).await;
    let pairs = [
        (session().await, session().await, 256),
        (token().await, token().await, 256),
        (pairing().await, pairing().await, 128),
    ];
    for (one, other, bits) in &pairs {
        assert_eq!((digits(one).len() * 4, digits(other).len() * 4), (*bits, *bits), "{one}");
        assert_ne!(one, other);
    }
}

#[tokio::test]
async fn nothing_but_a_sign_in_begins_a_session() {
    let server = TestServer::start().await;
    for path in ["/", "/scan", "/healthz", "/api/session", "/api/events"] {
        for signed in [false, true] {
            let request = server.get(path);
            let request = if signed { request.bearer_auth(&server.home.token) } else { request };
            let answer = request.send().await.unwrap();
            assert!(!answer.headers().contains_key("set-cookie"), "{path}: {:?}", answer.headers());
        }
    }
}

/// A person who tries passwords must wait for the rest of the minute. Staff behind one address who know their
/// passwords need not.
#[tokio::test]
async fn from_one_address_so_many_sign_ins_fail_in_a_minute_and_no_more() {
    let server = TestServer::start().await;
    let sign_in = |password: &str, from: &str| {
        let body = json!({ "email": server.home.email, "password": password });
        server.post("/api/session").header("x-forwarded-for", from).json(&body).send()
    };
    for _ in 0..SIGN_INS_PER_MINUTE + 5 {
        assert_eq!(sign_in(PASSWORD, "203.0.113.1").await.unwrap().status(), 200);
    }
    for _ in 0..SIGN_INS_PER_MINUTE {
        problem(sign_in("wrong password", "203.0.113.2").await.unwrap(), 401, "wrong_credentials").await;
    }
    let waits = sign_in(PASSWORD, "203.0.113.2").await.unwrap();
    assert!(waits.headers().contains_key("retry-after"));
    problem(waits, 429, "rate_limited").await;
    assert_eq!(sign_in(PASSWORD, "203.0.113.1").await.unwrap().status(), 200, "others go on");
}

#[tokio::test]
async fn a_session_is_only_for_an_organisation_of_ones_own() {
    let server = TestServer::start().await;
    let body = json!({
        "email": server.home.email, "password": PASSWORD, "organization_id": server.other.owner.organization_id,
    });
    problem(server.post("/api/session").json(&body).send().await.unwrap(), 401, "wrong_credentials").await;
}

#[tokio::test]
async fn members_come_and_go_and_their_roles_count() {
    let server = TestServer::start().await;
    let body = json!({ "email": "v@staff.example", "name": "V", "password": "long enough", "role": "viewer" });
    let made = post(&server, "/api/members", body.clone(), 201).await;
    let again = as_owner(&server, &server.home, Method::POST, "/api/members").json(&body).send().await.unwrap();
    problem(again, 409, "email_taken").await;
    let answer = server.post("/api/session").json(&json!({ "email": "v@staff.example", "password": "long enough" }));
    let answer = answer.send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let create = || {
        let body = json!({ "name": "X", "starts_at": "2026-06-07T18:00:00Z", "ends_at": "2026-06-08T04:00:00Z" });
        server.post("/api/events").header("cookie", &cookie).json(&body).send()
    };
    problem(create().await.unwrap(), 403, "forbidden").await;
    let path = format!("/api/members/{}", made["id"].as_str().unwrap());
    assert_eq!(patch(&server, &path, json!({ "role": "manager" })).await["role"], "manager");
    assert_eq!(create().await.unwrap().status(), 201);
    let wrong = as_owner(&server, &server.home, Method::PATCH, &path).json(&json!({ "role": "king" })).send();
    assert_eq!(problem(wrong.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "role");
    let gone = as_owner(&server, &server.home, Method::DELETE, &path).send().await.unwrap();
    assert_eq!(gone.status(), 204);
    problem(create().await.unwrap(), 401, "unknown_token").await;
    let me = format!("/api/members/{}", server.home.owner.user_id);
    let last = as_owner(&server, &server.home, Method::DELETE, &me).send().await.unwrap();
    problem(last, 409, "last_owner").await;
    assert_eq!(get(&server, "/api/members").await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_api_token_is_shown_once_and_withdrawn_at_once() {
    let server = TestServer::start().await;
    let made = post(&server, "/api/api-tokens", json!({ "name": "Box office" }), 201).await;
    let token = made["token"].as_str().unwrap();
    let with = || server.get("/api/session").bearer_auth(token).send();
    assert_eq!(with().await.unwrap().status(), 200);
    let listed = get(&server, "/api/api-tokens").await;
    assert!(!listed.to_string().contains(token));
    let path = format!("/api/api-tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(as_owner(&server, &server.home, Method::DELETE, &path).send().await.unwrap().status(), 204);
    problem(with().await.unwrap(), 401, "unknown_token").await;
}

#[tokio::test]
async fn one_changes_ones_own_password_by_the_present_one_and_every_other_session_ends() {
    let server = TestServer::start().await;
    let member = Member::new(&server, "viewer").await;
    let (fresh, old) = ("a whole new password", crate::server::PASSWORD);
    let change = |body: Value| member.ask(Method::POST, "/api/session/password").json(&body).send();
    let wrong = change(json!({ "present": "not it at all", "password": fresh })).await.unwrap();
    assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], "present");
    let short = change(json!({ "present": old, "password": "short" })).await.unwrap();
    assert_eq!(problem(short, 400, "invalid_request").await["errors"][0]["path"], "password");
    // An API token must not be able to change its user's password.
    let token = as_owner(&server, &server.home, Method::POST, "/api/session/password");
    let token = token.json(&json!({ "present": old, "password": fresh })).send().await.unwrap();
    problem(token, 403, "session_needed").await;
    let changed = change(json!({ "present": old, "password": fresh })).await.unwrap();
    assert_eq!(changed.status(), 200);
    let cookie = changed.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    // The session of this request goes on with a new secret; the former secret ends.
    let here = server.get("/api/session").header("cookie", cookie).send().await.unwrap();
    assert_eq!(here.status(), 200);
    problem(member.ask(Method::GET, "/api/session").send().await.unwrap(), 401, "unknown_token").await;
    for (password, status) in [(old, 401), (fresh, 200)] {
        let body = json!({ "email": "viewer@home.example", "password": password });
        assert_eq!(server.post("/api/session").json(&body).send().await.unwrap().status(), status);
    }
}
