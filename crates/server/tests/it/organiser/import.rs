//! Importing and exporting CSV files.

use reqwest::{Method, Response};
use serde_json::json;

use super::{as_owner, get};
use crate::server::{TestServer, json, problem};

const FILE: &str = "barcode,name,party_size,status\r\nI-1,\"Brânză, Amélie\",2,\r\nI-2,=cmd(),x,\r\nI-3,Bo,1,void\r\n";

async fn import(server: &TestServer, query: &str, body: impl Into<reqwest::Body>) -> Response {
    let path = format!("/api/events/{{event}}/tickets/import{query}");
    let request = as_owner(server, &server.home, Method::POST, &path);
    request.header("content-type", "text/csv; charset=utf-8").body(body).send().await.unwrap()
}

#[tokio::test]
async fn a_file_is_tried_imported_and_told_by_line() {
    let server = TestServer::start().await;
    let error = json!([{ "line": 3, "field": "party_size", "message": "must be a whole number of persons, not x" }]);
    let dry = json(import(&server, "?dry_run=1", FILE).await, 200).await;
    assert_eq!((&dry["created"], &dry["errors"], &dry["dry_run"]), (&json!(1), &error, &json!(true)));
    assert_eq!(dry["left_out_because"], json!([{ "reason": "status", "about": "void", "rows": 1 }]));
    assert_eq!(get(&server, "/api/events/{event}/tickets?q=I-").await["items"], json!([]));
    let done = json(import(&server, "", FILE).await, 200).await;
    assert_eq!((&done["created"], &done["wrong_lines"], &done["dry_run"]), (&json!(1), &json!(1), &json!(false)));
    let again = json(import(&server, "", FILE).await, 200).await;
    assert_eq!((&again["created"], &again["updated"], &again["unchanged"]), (&json!(0), &json!(0), &json!(1)));
}

#[tokio::test]
async fn what_is_no_csv_is_refused() {
    let server = TestServer::start().await;
    let said = problem(import(&server, "", "name\n\"never\n").await, 400, "invalid_request").await;
    assert!(said["detail"].as_str().unwrap().contains("line 2"), "{said}");
    problem(import(&server, "?dry_run=perhaps", FILE).await, 400, "invalid_request").await;
    let path = "/api/events/{event}/tickets/import";
    let typed = as_owner(&server, &server.home, Method::POST, path).json(&json!({})).send().await.unwrap();
    problem(typed, 415, "unsupported_media_type").await;
}

#[tokio::test]
async fn an_export_is_a_file_without_formulas() {
    let server = TestServer::start().await;
    let file = "barcode,name,phone\nI-9,=cmd(),+49 30 1\n";
    json(import(&server, "", file).await, 200).await;
    let path = "/api/events/{event}/tickets/export";
    let answer = as_owner(&server, &server.home, Method::GET, path).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/csv; charset=utf-8");
    assert!(answer.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
    let text = answer.text().await.unwrap();
    assert_eq!(text.lines().count(), 12);
    assert!(text.contains("I-9,'=cmd(),,'+49 30 1,"), "{text}");
    let again = json(import(&server, "", text).await, 200).await;
    assert_eq!((&again["unchanged"], &again["errors"]), (&json!(11), &json!([])));
}
