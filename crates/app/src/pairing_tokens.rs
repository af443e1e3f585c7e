//! Pairing tokens: what a new scanner's QR carries (spec D11 way (a)).

pub mod create;

pub use create::{NewPairingToken, create};
