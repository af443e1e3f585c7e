//! The server over real HTTP on loopback, on the embedded store. One target: each file is a subject.

mod server;
mod signed;
mod device;
mod frame;
mod auth;
mod malformed;
mod sync;
mod manifest;
mod independent;
mod changes;
mod stream;
mod organiser;
