//! Durable workflows: work that must follow a commit, step by step, through any crash.
//!
//! A run is stored in the transaction of the fact that it follows from (law 7), so it exists exactly if the fact does.
//! The process that takes a run carries out its steps in order. The result of a step is stored with the step. A run
//! that is taken again continues at the first step that is not stored.
//!
//! Each taking of a run gets a higher number, its fence. A step is stored only under the newest fence. So if a process
//! was wrongly believed dead, its work may be done twice, but only one result is stored.
//!
//! There are two kinds of steps. A step that only writes to the database ([`Steps::write`]) is stored in the
//! transaction of what it writes, so it happens once. A step that reaches outside ([`Steps::work`]) happens at least
//! once. It gets a key that is the same at every try, so that the outside service can recognise a repeat. A run's last
//! step ([`Steps::work_last`]) is stored together with the run's end.

mod workflow;
mod carry_out;
mod list;
mod retry;

pub use carry_out::{Ended, carry_out};
pub use list::{list, show};
pub use retry::{retry, retry_all};
pub use workflow::{Setback, StepResult, Steps, Workflow, Workflows, fresh};
