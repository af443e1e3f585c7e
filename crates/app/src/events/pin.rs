//! Makes the staff PIN in the form that devices carry.

use admit_core::event::StaffPin;
use admit_core::limits::PIN_ITERATIONS;
use admit_core::sign::pin_hash;

use crate::seeded_ids::SeededIds;

/// The staff PIN in the form that devices carry (spec D18). Takes some milliseconds of a core.
pub(super) fn staff_pin(digits: &str, seeded: &mut SeededIds) -> StaffPin {
    let mut salt = [0; 16];
    salt.copy_from_slice(&seeded.bytes()[..16]);
    StaffPin { salt, hash: pin_hash(digits, &salt, PIN_ITERATIONS), iterations: PIN_ITERATIONS }
}
