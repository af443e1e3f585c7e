//! The queue of jobs for a thread, and the order in which they run.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use admit_app::ports::Pace;

use crate::driver::unavailable;
use crate::group::Job;

/// The most operations in one transaction (ARCHITECTURE.md §4).
const GROUP: usize = admit_core::limits::LANE_REQUESTS;
/// The most jobs of the lowest priority (`Pace::Patient`) in a transaction that has no other job. There is a limit
/// because the next job may have to wait for their commit.
const PATIENT: usize = 24;
/// The most jobs of the lowest priority (`Pace::Patient`) in a transaction with other jobs. It is small because the
/// other jobs wait for these.
const PATIENT_BESIDE: usize = 2;
/// The most operations that wait. Further ones are refused with a request to retry.
pub(crate) const QUEUE: usize = 10_000;

#[derive(Default)]
struct Waiting {
    urgent: VecDeque<Job>,
    usual: VecDeque<Job>,
    patient: VecDeque<Job>,
    /// Whether the last turn ended before any patient job ran.
    passed_over: bool,
    closing: bool,
}

impl Waiting {
    fn hurried(&self) -> usize {
        self.urgent.len() + self.usual.len()
    }
    fn len(&self) -> usize {
        self.hurried() + self.patient.len()
    }
    fn next_hurried(&mut self) -> Option<Job> {
        self.urgent.pop_front().or_else(|| self.usual.pop_front())
    }
}

/// The jobs that wait for a thread.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    wakeup: Condvar,
}

impl Queue {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::new(Waiting::default()), wakeup: Condvar::new() })
    }
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Adds a job. It is refused when too many wait or the store is closing.
    pub fn push(&self, job: Job, pace: Pace) {
        let mut waiting = self.lock();
        if waiting.closing || waiting.len() >= QUEUE {
            drop(waiting);
            job.answer(Err(unavailable()));
            return;
        }
        match pace {
            Pace::Urgent => waiting.urgent.push_back(job),
            Pace::Usual => waiting.usual.push_back(job),
            Pace::Patient => waiting.patient.push_back(job),
        }
        drop(waiting);
        self.wakeup.notify_one();
    }
    /// The next job, urgent ones first. Blocks until there is one. `None`: the store is closing and no job is left.
    pub fn take(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            let job = waiting.next_hurried().or_else(|| waiting.patient.pop_front());
            if job.is_some() || waiting.closing {
                return job;
            }
            waiting = self.wakeup.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
    /// The jobs of the next transaction. Blocks until there are some. `None`: the store is closing and no job is left.
    pub fn turn(&self) -> Option<Turn<'_>> {
        let mut waiting = self.lock();
        loop {
            let hurried = waiting.hurried();
            if hurried > 0 || !waiting.patient.is_empty() {
                let hurried = (hurried > 0).then_some(hurried.min(GROUP));
                let first = if waiting.passed_over { PATIENT_BESIDE } else { 0 };
                return Some(Turn { queue: self, hurried, first, patient: 0 });
            }
            if waiting.closing {
                return None;
            }
            waiting = self.wakeup.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
    pub fn close(&self) {
        self.lock().closing = true;
        self.wakeup.notify_all();
    }
}

/// Jobs that share a transaction. Each is given out when the one before it is done.
///
/// A turn begins with the urgent and usual jobs that wait (`Pace`), and adds a few patient ones after them. The patient
/// ones come first if the last turn ended before it reached them. If only patient jobs wait, they run by themselves
/// until another job comes. That job joins the open transaction, which then commits the patient jobs together with that
/// job.
///
/// So a patient job delays another job by one operation. The commit that both share is one that the other job needs
/// anyway. The exception is a job that comes during the commit of patient jobs.
pub(crate) struct Turn<'q> {
    queue: &'q Queue,
    /// The number of urgent and usual jobs still to give out; `None` as long as none came.
    hurried: Option<usize>,
    /// The number of patient jobs that come first.
    first: usize,
    /// The number of patient jobs given out so far.
    patient: usize,
}

impl Iterator for Turn<'_> {
    type Item = Job;
    fn next(&mut self) -> Option<Job> {
        let mut waiting = self.queue.lock();
        if self.first > 0
            && let Some(job) = waiting.patient.pop_front()
        {
            (self.first, self.patient) = (self.first - 1, self.patient + 1);
            return Some(job);
        }
        if self.hurried.is_none() && waiting.hurried() > 0 {
            self.hurried = Some(waiting.hurried().min(GROUP));
        }
        if let Some(left) = &mut self.hurried
            && *left > 0
        {
            *left -= 1;
            return waiting.next_hurried();
        }
        let most = if self.hurried.is_some() { PATIENT_BESIDE } else { PATIENT };
        if self.patient >= most {
            return None;
        }
        self.patient += 1;
        waiting.patient.pop_front()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut waiting = self.queue.lock();
        waiting.passed_over = self.patient == 0 && !waiting.patient.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Work;
    use admit_app::error::Error;
    use tokio::sync::oneshot;

    fn push(queue: &Queue, pace: Pace, count: usize) {
        for _ in 0..count {
            let name = match pace {
                Pace::Urgent => "urgent",
                Pace::Usual => "usual",
                Pace::Patient => "patient",
            };
            let work = Work::Look(Box::new(move |_| Err(Error::not_found(name))));
            queue.push(Job { work, spans: Default::default(), reply: oneshot::channel().0 }, pace);
        }
    }
    fn queue(urgent: usize, usual: usize, patient: usize) -> Arc<Queue> {
        let queue = Queue::new();
        push(&queue, Pace::Patient, patient);
        push(&queue, Pace::Usual, usual);
        push(&queue, Pace::Urgent, urgent);
        queue
    }
    /// The number of jobs that wait in each class: urgent, usual, patient.
    fn left(queue: &Queue) -> [usize; 3] {
        let waiting = queue.lock();
        [waiting.urgent.len(), waiting.usual.len(), waiting.patient.len()]
    }

    #[test]
    fn what_may_wait_waits_and_is_not_starved() {
        let many = queue(3, GROUP, 40);
        assert_eq!(many.turn().unwrap().count(), GROUP + PATIENT_BESIDE);
        assert_eq!(
            left(&many),
            [0, 3, 38],
            "urgent ones first, then in the order of coming, and a few of the patient beside"
        );
        assert_eq!(many.turn().unwrap().count(), 3 + PATIENT_BESIDE);
        assert_eq!(many.turn().unwrap().count(), PATIENT);
        assert_eq!(
            left(&many),
            [0, 0, 12],
            "by themselves more, and not all: whoever comes next waits for their commit"
        );
    }

    #[test]
    fn a_turn_that_was_over_early_leaves_the_patient_the_beginning_of_the_next() {
        let many = queue(0, 3 * GROUP, 40);
        // After the first job the time for grouping is over.
        assert_eq!(many.turn().unwrap().take(1).count(), 1);
        assert_eq!(left(&many), [0, 3 * GROUP - 1, 40]);
        assert_eq!(many.turn().unwrap().take(3).count(), 3);
        assert_eq!(left(&many), [0, 3 * GROUP - 2, 38], "two of the patient, and one in a hurry");
        assert_eq!(many.turn().unwrap().take(1).count(), 1);
        assert_eq!(left(&many), [0, 3 * GROUP - 3, 38], "and not twice in a row");
    }

    #[test]
    fn whoever_is_in_a_hurry_joins_the_patient_transaction_that_is_open_and_ends_it() {
        let many = queue(0, 0, 40);
        let mut turn = many.turn().unwrap();
        assert_eq!((turn.next().is_some(), left(&many)), (true, [0, 0, 39]));
        push(&many, Pace::Usual, 2);
        push(&many, Pace::Urgent, 1);
        assert_eq!((turn.next().is_some(), left(&many)), (true, [0, 2, 39]), "the urgent one is next");
        assert_eq!(turn.by_ref().take(2).count(), 2);
        assert_eq!(left(&many), [0, 0, 39]);
        // A job that comes now gets a transaction of its own. Otherwise the jobs that joined would never be answered.
        push(&many, Pace::Usual, 1);
        assert_eq!((turn.count(), left(&many)), (1, [0, 1, 38]), "as many of the patient as beside others");
    }

    #[test]
    fn who_comes_while_a_hurried_transaction_is_open_waits_for_the_next() {
        let few = queue(0, 2, 0);
        let mut turn = few.turn().unwrap();
        assert!(turn.next().is_some());
        push(&few, Pace::Urgent, 5);
        assert_eq!(turn.count(), 1, "one turn is as long as it was when it began");
        assert_eq!(few.turn().unwrap().count(), 5);
    }

    #[test]
    fn a_queue_that_closes_gives_out_what_is_left_and_then_nothing() {
        let few = queue(1, 0, 1);
        few.close();
        push(&few, Pace::Usual, 1);
        assert_eq!(few.turn().unwrap().count(), 2);
        assert!(few.turn().is_none() && few.take().is_none());
    }
}
