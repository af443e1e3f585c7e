//! The shapes of a scan's parts that are not about its ticket: a guest added at the door, people counted by hand.
#![cfg_attr(not(test), expect(dead_code, reason = "described, never made: what is sent are core's types"))]
#![cfg_attr(test, allow(dead_code))]

use utoipa::ToSchema;

/// A guest added at the door: what is signed, and beside it the name that the signed digest is of.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = WalkIn)]
pub struct WalkInDoc {
    zone: String,
    #[schema(minimum = 1, maximum = 10000)]
    party: u32,
    /// SHA-256 of the salt and the name behind it, hexadecimal.
    name_digest: String,
    name: Option<String>,
    /// 16 random bytes, hexadecimal.
    salt: Option<String>,
}

/// Staff's count: `change` or `recount`, never both.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Headcount)]
pub struct HeadcountDoc {
    change: Option<HeadcountChangeDoc>,
    recount: Option<RecountDoc>,
}

/// People without a ticket who came in, or went out.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = HeadcountChange)]
pub struct HeadcountChangeDoc {
    /// `staff`, `crew`, `child` or `other`.
    class: String,
    /// Persons who came in, 1 to 50; below zero, who went out.
    #[schema(minimum = -50, maximum = 50)]
    delta: i32,
}

/// Everybody in the area behind the gate.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Recount)]
pub struct RecountDoc {
    #[schema(maximum = 1000000)]
    inside: u32,
}
