//! Tests generated from `/openapi.json`. They test every operation of the document, and fail for one that they cannot
//! call. So no new endpoint stays untested.

mod document;
mod venue;
mod organisations;
mod credentials;
mod unknown;
