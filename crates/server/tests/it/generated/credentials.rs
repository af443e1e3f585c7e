//! Nobody gets in without a credential, and nobody does what their role may not.

use admit_core::access::Role;
use reqwest::Response;

use super::document::Operation;
use super::venue::{Venue, Whose};
use crate::server::problem;

/// The operations that need no credential. An operation that is added without one is named here, or this fails.
const OPEN: [&str; 8] = [
    "GET /api/scanning/time",
    "GET /healthz",
    "GET /passes",
    "GET /readyz",
    "POST /api/scanning/pair",
    "POST /api/scanning/pairing-place",
    "POST /api/scanning/pairing-requests",
    "POST /api/session",
];

async fn send(venue: &Venue, operation: &Operation, whose: Whose, credential: (&str, &str)) -> Response {
    let names = operation.names("path").into_iter();
    let values: Vec<_> = names.map(|name| (name, venue.in_path(&operation.path, name, whose))).collect();
    let body = venue.body(operation, Whose::Home, false).await;
    let request = venue.request(operation, &values, body.as_ref());
    let (header, value) = credential;
    if header.is_empty() { request } else { request.header(header, value) }.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_wants_a_credential_save_for_those_that_cannot() {
    let venue = Venue::open().await;
    let (all, mut open) = (venue.document.operations(), Vec::new());
    // Bodies need pairing tokens of their own: those that are made while asking are of no concern.
    for operation in all.iter().filter(|one| one.schemes.is_empty()) {
        open.push(operation.label());
    }
    open.sort();
    assert_eq!(open, OPEN, "these need no credential");
    for operation in all.iter().filter(|one| !one.schemes.is_empty()) {
        let bearer = format!("Bearer admit_nobodys_{}", "0".repeat(40));
        for credential in [("", ""), ("authorization", bearer.as_str()), ("cookie", "admit_session=nobodys")] {
            let answer = send(&venue, operation, Whose::Home, credential).await;
            assert_eq!(answer.status(), 401, "{} with {credential:?}", operation.label());
            assert!(answer.headers().contains_key("www-authenticate"), "{}", operation.label());
        }
        // A person's token opens no device's operation, nor a device's key a person's.
        let wrong = match (operation.for_people(), operation.for_devices()) {
            (true, false) => venue.home.phone.key(),
            (false, true) => &venue.server.home.token,
            _ => continue,
        };
        let answer = send(&venue, operation, Whose::Home, ("authorization", &format!("Bearer {wrong}"))).await;
        assert_eq!(answer.status(), 401, "{} with another kind of credential", operation.label());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_for_the_roles_that_the_document_names_and_no_other() {
    let venue = Venue::open().await;
    let (mut refused, mut let_in) = (0, 0);
    let mut sessions = Vec::new();
    for role in Role::ALL {
        sessions.push((*role, venue.session(*role).await));
    }
    let operations = venue.document.operations();
    for operation in operations.iter().filter(|one| one.for_people()) {
        let label = operation.label();
        let roles = operation.roles.as_ref().unwrap_or_else(|| panic!("{label} does not say which roles may call it"));
        for (role, session) in &sessions {
            if roles.iter().any(|one| one == role.as_str()) {
                // What is not there: so that nothing is used up, and a stream does not begin.
                if !operation.names("path").is_empty() {
                    let answer = send(&venue, operation, Whose::Nobodys, ("cookie", session)).await;
                    assert_ne!(answer.status(), 403, "{label} as {role}");
                    assert_ne!(answer.status(), 401, "{label} as {role}");
                    let_in += 1;
                }
                continue;
            }
            let answer = send(&venue, operation, Whose::Home, ("cookie", session)).await;
            assert_eq!(answer.status(), 403, "{label} as {role}");
            problem(answer, 403, "forbidden").await;
            refused += 1;
        }
    }
    assert!(refused > 80 && let_in > 80, "{refused} {let_in}");
}
