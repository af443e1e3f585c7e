//! Durable workflows: what must happen after a commit, step by step, through any crash.
//!
//! A run is stored in the transaction of the fact that it follows from (law 7), so it exists exactly if the fact
//! does. The process that takes a run carries out its steps in order. The result of a step is stored with the step. A
//! run that is taken again continues at the first step that is not stored.
//!
//! Each taking gives a fence, and a step is stored only under the newest fence. A process that was thought dead can
//! therefore do its work twice, but it cannot store it.
//!
//! A step comes in two kinds. One that only writes to the database ([`Steps::write`]) is stored in the transaction of what
//! it writes: it happens once. One that reaches outside ([`Steps::work`]) happens at least once, and is told a key that is
//! the same every time, so that the world outside can tell a repeat; a run's last one ([`Steps::work_last`]) is stored with
//! the run's end.

mod workflow;
mod carry_out;
mod list;
mod retry;

pub use carry_out::{Ended, carry_out};
pub use list::{list, show};
pub use retry::{retry, retry_all};
pub use workflow::{Setback, StepResult, Steps, Workflow, Workflows, fresh};
