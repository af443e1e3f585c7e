//! The answers that all operations have in common: those of the middleware, the extractors and the credentials. This
//! module adds them to every operation, so that no route can forget them.

use admit_core::access::{Action, Role, can};
use serde_json::{Value, json};
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder};

use crate::error::PROBLEM_JSON;

/// The extension of an organiser's route with words of [`Action`]. The caller's role must allow one of them. The list
/// is empty if any member may call the route.
pub const ACTIONS: &str = "x-actions";
/// The extension with the roles that may call the route, derived from [`ACTIONS`].
pub const ROLES: &str = "x-roles";

/// Operations whose body is optional.
const BODY_AT_WILL: [&str; 2] = ["delete_api_scanning_devices_id", "post_api_pairing_requests_token_approve"];

/// Adds the common answers and the allowed roles to every operation.
pub fn complete(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let operations = [
            (true, &mut item.get),
            (true, &mut item.head),
            (false, &mut item.post),
            (false, &mut item.put),
            (false, &mut item.patch),
            (false, &mut item.delete),
        ];
        for (safe, operation) in operations {
            if let Some(operation) = operation {
                name_roles(operation);
                name_credentials(operation);
                let name = operation.operation_id.as_deref().unwrap_or_default();
                if let (true, Some(RefOr::T(body))) = (BODY_AT_WILL.contains(&name), &mut operation.request_body) {
                    body.required = Some(Required::False);
                }
                add_answers(path, safe, operation);
            }
        }
    }
}

/// Adds to an operation the roles whose members may call it, so that a reader of the document does not need the table
/// of rights.
fn name_roles(operation: &mut Operation) {
    let Some(actions) = actions(operation) else { return };
    let may = |role: &Role| actions.is_empty() || actions.iter().any(|action| can(*role, *action));
    let roles: Vec<&str> = Role::ALL.iter().filter(|role| may(role)).map(|role| role.as_str()).collect();
    let roles = ExtensionsBuilder::new().add(ROLES, json!(roles)).build();
    operation.extensions.get_or_insert_default().merge(roles);
}

/// Adds to an operation for members the two credentials that it accepts: a session's cookie and an API token.
fn name_credentials(operation: &mut Operation) {
    if operation.security.is_none() && actions(operation).is_some() {
        let named = |name: &str| SecurityRequirement::new::<_, [&str; 0], &str>(name, []);
        operation.security = Some(vec![named("session"), named("api_token")]);
    }
}

/// The actions of which a caller's role must allow one; `None` if no person calls the operation.
fn actions(operation: &Operation) -> Option<Vec<Action>> {
    let Value::Array(words) = operation.extensions.as_ref()?.get(ACTIONS)? else { return None };
    Some(words.iter().filter_map(|word| word.as_str()?.parse().ok()).collect())
}

fn add_answers(path: &str, safe: bool, operation: &mut Operation) {
    let known =
        operation.security.as_ref().is_some_and(|all| all.iter().any(|one| *one != SecurityRequirement::default()));
    let everybody = operation.extensions.as_ref().and_then(|all| all.get(ROLES)).and_then(Value::as_array);
    let some_roles = everybody.is_some_and(|roles| roles.len() < Role::ALL.len());
    let in_path = has_parameter(operation, |place| *place == ParameterIn::Path);
    let anywhere = has_parameter(operation, |_| true);
    let body = operation.request_body.is_some();
    let mut answers: Vec<(&str, &str)> = Vec::new();
    if everybody.is_some() {
        answers.push(("400", "A field is wrong, or not known (`unknown_field`); `errors` names it"));
    } else if anywhere || body {
        answers.push(("400", "A field is wrong; `errors` names it"));
    }
    if known {
        answers.push(("401", "No credential, or one that is not good here"));
    }
    if some_roles {
        answers.push(("403", "`forbidden`: the caller's role may not; `cross_site_request`"));
    } else if !safe {
        answers.push(("403", "`cross_site_request`: a browser sent it from another site's page"));
    }
    if path.starts_with("/api/events/{id}") {
        answers.push(("404", "No such event"));
    } else if in_path {
        answers.push(("404", "No such thing, or another organisation's"));
    }
    if body {
        answers.push(("408", "`body_too_slow`"));
        answers.push(("411", "`length_required`"));
        answers.push(("413", "`body_too_large`, `body_too_deep`"));
        answers.push(("415", "`unsupported_media_type`, `unsupported_content_encoding`"));
    }
    if path.starts_with("/api/") {
        answers.push(("503", "Not now: try again, after `Retry-After` where it is given"));
    }
    // A route names its own errors by status and description; all of them are problems.
    for (status, answer) in &mut operation.responses.responses {
        if let RefOr::T(answer) = answer
            && status.as_str() >= "400"
            && answer.content.is_empty()
        {
            *answer = problem(&answer.description);
        }
    }
    for (status, description) in answers {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(problem(description)));
    }
}

fn has_parameter(operation: &Operation, place: impl Fn(&ParameterIn) -> bool) -> bool {
    let all = operation.parameters.iter().flatten();
    all.into_iter().any(|one| matches!(one, RefOr::T(parameter) if place(&parameter.parameter_in)))
}

fn problem(description: &str) -> Response {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(description).content(PROBLEM_JSON, content).build()
}
