//! The signed list by which a device decides (S1 §2, spec §5). The server builds it once and signs it per device. The
//! device verifies it at every start. The module also has the list's compact form, and the signed names for gates that
//! allow them.

pub mod index;
pub mod build;
pub mod compact;
pub mod verify;
pub mod names;

pub use build::{Code, Input, Large, delta_part, envelope, large_part, signed_tail};
pub use compact::{compact_delta_part, compact_part, compact_tail};
pub use index::{Found, Index, IndexError, content_hash};
pub use names::{Names, NamesInput, names_delta_part, names_part, names_tail, read_names};
pub use verify::{Content, Delta, Expected, Identity, Manifest, ManifestError, Standing, compare, read};
