//! Every operation needs a credential, and refuses roles that may not call it.

use admit_core::access::Role;
use reqwest::Response;

use super::document::Operation;
use super::venue::{Venue, Whose};
use crate::server::problem;

/// Operations that need no credential. A new one must be added here, or the test fails.
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
    // Some bodies need a pairing token. Tokens made for this purpose do not matter.
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
        // A person's token opens no operation for devices, and a device's key none for persons.
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
                // The path names something that does not exist, so that nothing is used up and no stream begins.
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
