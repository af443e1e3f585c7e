//! Manifests: the signed list a device decides by (S1 §2).

pub mod fetch;

pub use fetch::{FetchCommand, FetchedManifest, fetch};
