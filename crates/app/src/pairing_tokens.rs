//! Pairing tokens: what a new scanner's QR carries (spec D11 way (a)).

pub mod create;
mod named;
pub mod show;

pub use create::{NewPairingToken, create, create_for};
pub(crate) use named::{made_here, next_name};
pub use show::{PairingPlace, show};
