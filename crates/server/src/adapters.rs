//! The implementations of the ports: clock, randomness, hints within one process and between nodes, the sync limit,
//! room for uploads, caches, mail, objects, the job runner. Modules are listed in reading order.

pub mod clock;
pub mod random;
pub mod http_client;
pub mod redis_link;
pub mod hints_local;
pub mod hints_shared;
pub mod rate_redis;
pub mod sync_limit;
pub mod upload_room;
pub mod imports_under_way;
pub mod webhook_limit;
pub mod recent_scans;
mod mail_answer;
mod mail_server;
pub mod mail;
pub mod objects;
pub mod runner;
pub mod per_address;
