//! Wire shapes: what is written is read back, and a malformed value is refused by the name of its field. The bytes of
//! each shape are pinned, because devices in the field hold the other end.

mod any_scan;
mod block;
mod manifest;
mod sample;
mod scanning;
mod stored;
