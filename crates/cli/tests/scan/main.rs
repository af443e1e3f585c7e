//! `admit scan` against the real server, each a process of its own: at a pipe, at a terminal, and killed at any moment.
#![cfg(target_os = "linux")]

mod office;
mod gate;
mod door;
mod terminal;
mod killed;
