//! Pairing tokens, which the QR code for a new scanner carries (spec D11 way (a)).

pub mod create;
mod named;
pub mod show;

pub use create::{NewPairingToken, create, create_for};
pub(crate) use named::{made_here, next_name};
pub use show::{PairingPlace, show};
