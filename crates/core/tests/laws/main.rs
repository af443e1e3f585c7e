//! The properties of `decide` and `reduce` (spec §3, §4). Each is a sentence with one example, and is checked on
//! thousands of generated histories. `ADMIT_LAWS=100000` sets the number of histories.

mod area;
mod case;
mod claims;
mod decide;
mod doors;
mod examples;
mod generator;
mod headcounts;
mod laws;
mod refusals;
mod variants;
mod walk_ins;
