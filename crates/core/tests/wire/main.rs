//! Wire shapes: a value that is read back equals what was written, and an error for a malformed value names its field.
//! The tests fix the bytes of each shape, because devices in use read and write them.

mod any_scan;
mod block;
mod manifest;
mod sample;
mod scanning;
mod stored;
