//! The commands, with one file for each.

pub mod audit;
pub mod backup;
pub mod csv;
pub mod load;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod manual;
pub mod migrate_store;
pub mod openapi;
pub mod rebuild;
pub mod relay;
pub mod scan;
pub mod simulate;
pub mod token;
pub mod user;
