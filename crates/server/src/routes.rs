//! Routes, a file a noun. A handler extracts, converts, calls one use case, converts (law 3).

pub mod health;
pub mod time;
pub mod scanning;
pub mod stream;
