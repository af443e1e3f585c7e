//! The signed list a device decides by (S1 §2, spec §5): built once, signed per device, verified at every start.

pub mod index;
pub mod build;
pub mod verify;

pub use build::{Code, Input, Large, delta_part, envelope, large_part, signed_tail};
pub use index::{Found, Index, IndexError, content_hash};
pub use verify::{Content, Delta, Expected, Identity, Manifest, ManifestError, Standing, compare, read};
