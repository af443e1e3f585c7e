//! `admit scan` against the real server, each a separate process: on a pipe, on a terminal, and killed at any moment.
#![cfg(target_os = "linux")]

mod office;
mod gate;
mod door;
mod terminal;
mod killed;
