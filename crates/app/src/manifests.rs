//! Manifests: the signed list a device decides by (S1 §2), and the signed names beside it.

pub mod fetch;
pub mod fetch_names;

pub use fetch::{FetchCommand, FetchedManifest, fetch};
pub use fetch_names::{FetchNamesCommand, fetch_names};
