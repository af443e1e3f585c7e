//! Tests made from `/openapi.json`: an operation that is added there is tested here, and what these tests cannot place
//! they refuse, so that a new endpoint cannot slip by.

mod document;
mod venue;
mod organisations;
mod credentials;
mod unknown;
