//! The laws of `decide` and `reduce` (spec §3, §4): as sentences with one example each, and as properties over thousands
//! of generated histories. `ADMIT_LAWS=100000` sets how many.

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
