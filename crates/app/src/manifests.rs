//! Manifests: the signed list by which a device decides (S1 §2), and the signed names.

pub mod fetch;
pub mod fetch_names;

pub use fetch::{FetchCommand, FetchedManifest, fetch};
pub use fetch_names::{FetchNamesCommand, fetch_names};
