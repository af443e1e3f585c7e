//! Room for uploads. A phone that was away brings a thousand scans in one body, and after an outage hundreds of phones come
//! back at one moment (trust.md §5 row 40). All of their bodies read at once took 1.3 GB, and who stood at the end of the line
//! gave up after 20 s and sent the same again. So bodies are read, and judged, as far as there is room. Who finds none waits
//! a while with the body unread, and is then told when to come back: not all at one moment, but as fast as the others go.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use admit_core::limits::{UPLOAD_BACK_MAX_MS, UPLOAD_WAIT_MS, UPLOADS_JUDGED_KIB, UPLOADS_READ_KIB};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How far back it is looked how fast uploads go, in milliseconds.
const PACE_MS: i64 = 4_000;
/// How fast they go until that is known, in KiB a second.
const PACE_KIB: i64 = 4_096;
/// Bodies that fill no more than this part of the room are read at once: what a phone with a network has just scanned.
const SMALL_PART: usize = 128;
/// How often who waits looks around.
const LOOKS: u32 = 100;

/// Who may read a body, and who may judge one. All weights are KiB.
#[derive(Debug)]
pub struct UploadRoom {
    reading: Arc<Semaphore>,
    judging: Arc<Semaphore>,
    read_kib: u32,
    judged_kib: u32,
    patience: Duration,
    began: Instant,
    line: Arc<Mutex<Line>>,
}

impl Default for UploadRoom {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        let judged_kib = UPLOADS_JUDGED_KIB.saturating_mul(cores.max(2));
        Self::new(UPLOADS_READ_KIB, judged_kib, Duration::from_millis(UPLOAD_WAIT_MS))
    }
}

/// A place to read a body in; given back when this goes.
#[derive(Debug)]
pub struct Reading(#[expect(dead_code, reason = "kept for what its end does")] Option<OwnedSemaphorePermit>);

/// A place to judge a body in; given back when this goes.
#[derive(Debug)]
pub struct Judging {
    weight: u32,
    began: Instant,
    line: Arc<Mutex<Line>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Judging {
    fn drop(&mut self) {
        // Who hung up in the line was not done with.
        let done = if self.permit.is_some() { self.weight } else { 0 };
        lock(&self.line).leave(i64::from(self.weight), i64::from(done), elapsed_ms(self.began));
    }
}

/// What is in hand, and how fast it goes.
#[derive(Debug, Default)]
struct Line {
    /// Bodies that are read and not judged yet, KiB.
    waiting: i64,
    /// Since when there have been any.
    busy_since_ms: i64,
    /// When how much was done with since then, of the last [`PACE_MS`].
    done: VecDeque<(i64, i64)>,
    /// Until when those who were sent away have been given moments to come back.
    booked_ms: i64,
}

impl Line {
    fn join(&mut self, weight: i64, now_ms: i64) {
        if self.waiting == 0 {
            self.busy_since_ms = now_ms;
        }
        self.waiting += weight;
    }
    fn leave(&mut self, weight: i64, done: i64, now_ms: i64) {
        self.waiting -= weight;
        self.done.push_back((now_ms, done));
        if self.waiting == 0 {
            // How much was done while there was little to do says nothing about how fast it goes.
            self.done.clear();
        }
    }
    /// KiB a second.
    fn pace(&mut self, now_ms: i64) -> i64 {
        while self.done.front().is_some_and(|(at, _)| *at < now_ms - PACE_MS) {
            self.done.pop_front();
        }
        let done: i64 = self.done.iter().map(|(_, weight)| weight).sum();
        let busy_ms = (now_ms - self.busy_since_ms).min(PACE_MS);
        if done == 0 || busy_ms < PACE_MS / 4 { PACE_KIB } else { (done * 1_000 / busy_ms).max(1) }
    }
    /// Milliseconds until what is read by now has been judged.
    fn ahead_ms(&mut self, now_ms: i64) -> i64 {
        self.waiting.max(0) * 1_000 / self.pace(now_ms)
    }
    /// Milliseconds until somebody with a body of this weight should come back: when those in hand are nearly done, and
    /// after everybody who was sent away before.
    fn book(&mut self, weight: i64, now_ms: i64) -> i64 {
        let pace = self.pace(now_ms);
        let soonest = now_ms + self.ahead_ms(now_ms) / 2;
        self.booked_ms = self.booked_ms.max(soonest) + (weight * 1_000 / pace).max(1);
        self.booked_ms = self.booked_ms.min(now_ms + UPLOAD_BACK_MAX_MS);
        self.booked_ms - now_ms
    }
}

impl UploadRoom {
    /// Room for `read_kib` of bodies as they came, of which `judged_kib` are judged at a time; from when
    /// somebody comes until their body is judged takes `patience` at most, or they are sent away.
    pub fn new(read_kib: u32, judged_kib: u32, patience: Duration) -> Self {
        Self {
            reading: Arc::new(Semaphore::new(read_kib as usize)),
            judging: Arc::new(Semaphore::new(judged_kib as usize)),
            read_kib,
            judged_kib,
            patience,
            began: Instant::now(),
            line: Arc::default(),
        }
    }
    /// Waits for a place to read a body of so many bytes in. Without one, or where it would be judged too late: milliseconds
    /// until it is worth another try.
    pub async fn read(&self, bytes: usize) -> Result<Reading, i64> {
        if bytes <= self.read_kib as usize * 1_024 / SMALL_PART {
            return Ok(Reading(None));
        }
        let weight = kib(bytes).min(self.read_kib);
        let mut place = pin!(Arc::clone(&self.reading).acquire_many_owned(weight));
        let came = Instant::now();
        loop {
            {
                let mut line = lock(&self.line);
                let now_ms = elapsed_ms(self.began);
                let ahead = Duration::from_millis(line.ahead_ms(now_ms).unsigned_abs());
                // Who is read now is judged after all that were read before, and hangs up if that takes too long.
                if came.elapsed() + ahead >= self.patience {
                    return Err(line.book(i64::from(weight), now_ms));
                }
                // The room is full of bodies on slow networks, and few wait to be judged: one more does no harm.
                if came.elapsed() >= self.quick() && line.waiting < i64::from(self.judged_kib) {
                    return Ok(Reading(None));
                }
            }
            // It is never closed.
            if let Ok(Ok(permit)) = timeout(self.patience / LOOKS, &mut place).await {
                return Ok(Reading(Some(permit)));
            }
        }
    }
    /// How long a body on a good network takes at most. One that takes longer gives its place back before it is read.
    pub fn quick(&self) -> Duration {
        self.patience / 5
    }
    /// Waits until a body that was read can be judged. `weight`: what it weighs beside others, in bytes.
    pub async fn judge(&self, weight: usize) -> Judging {
        let weight = kib(weight).min(self.judged_kib);
        lock(&self.line).join(i64::from(weight), elapsed_ms(self.began));
        // Leaves the line again also when whoever waits here hangs up.
        let mut place = Judging { weight, began: self.began, line: Arc::clone(&self.line), permit: None };
        // It is never closed.
        place.permit = Arc::clone(&self.judging).acquire_many_owned(weight).await.ok();
        place
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX).max(1)
}
fn elapsed_ms(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}
fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    fn room() -> UploadRoom {
        UploadRoom::new(8, 4, SHORT)
    }

    #[tokio::test]
    async fn as_much_is_judged_at_a_time_as_there_is_room_for() {
        let room = room();
        let (first, second) = (room.judge(2_048).await, room.judge(2_048).await);
        assert!(timeout(SHORT, room.judge(1)).await.is_err(), "the room is full");
        drop(first);
        let third = room.judge(1).await;
        drop((second, third));
        assert_eq!(lock(&room.line).waiting, 0, "whoever hung up has left the line, too");
    }

    #[tokio::test]
    async fn what_is_larger_than_the_room_has_it_to_itself() {
        let room = room();
        let alone = room.judge(1 << 30).await;
        assert!(timeout(SHORT, room.judge(1)).await.is_err());
        drop(alone);
        drop(room.judge(1).await);
    }

    #[tokio::test]
    async fn who_finds_no_room_while_others_wait_to_be_judged_is_told_when_to_come_back() {
        let room = room();
        let _read = room.read(8 * 1_024).await.unwrap();
        let _judged = room.judge(8 * 1_024).await;
        assert!(room.read(1_024).await.unwrap_err() > 0);
    }

    #[tokio::test]
    async fn bodies_on_slow_networks_keep_nobody_out() {
        let room = room();
        let slow = room.read(8 * 1_024).await.unwrap();
        assert!(room.read(1_024).await.is_ok(), "nobody waits to be judged");
        drop(slow);
    }

    #[tokio::test]
    async fn what_was_just_scanned_is_read_though_the_room_is_full_of_backlogs() {
        let room = room();
        let _read = room.read(8 * 1_024).await.unwrap();
        let _judged = room.judge(8 * 1_024).await;
        assert!(room.read(64).await.is_ok());
        assert!(room.read(65).await.is_err());
    }

    #[tokio::test]
    async fn who_would_be_judged_too_late_is_sent_away_though_there_is_room_to_read() {
        let room = UploadRoom::new(20_000, 4_000, Duration::from_secs(10));
        let _before = room.judge(8 * 1_024).await;
        {
            // One KiB a second.
            let mut line = lock(&room.line);
            line.busy_since_ms = -PACE_MS;
            line.done.push_back((0, PACE_MS / 1_000));
        }
        let large = 200 * 1_024;
        assert!(room.read(large).await.is_ok(), "in eight seconds");
        let more = room.judge(3 * 1_024).await;
        assert!(room.read(large).await.unwrap_err() > 0, "in eleven");
        drop(more);
        assert!(room.read(large).await.is_ok());
    }

    #[test]
    fn who_was_sent_away_comes_back_one_after_the_other_as_fast_as_the_others_go() {
        let mut line = Line::default();
        line.join(5_000, 0);
        // 1,000 KiB a second, known for three seconds.
        for second in 1..=3 {
            line.leave(1_000, 1_000, second * 1_000);
        }
        assert_eq!(line.pace(3_000), 1_000);
        assert_eq!(line.book(500, 3_000), 1_500, "when half of those who wait are done with, and then its own time");
        assert_eq!(line.book(500, 3_000), 2_000);
        line.leave(1_000, 1_000, 4_000);
        assert_eq!(line.book(500, 4_000), 1_500, "the same place, a second later");
        assert_eq!(line.book(i64::from(u32::MAX), 4_000), UPLOAD_BACK_MAX_MS);
        assert_eq!(line.pace(60_000), PACE_KIB, "what was long ago says nothing about now");
    }

    #[test]
    fn a_server_that_had_little_to_do_is_not_slow() {
        let mut line = Line::default();
        for second in 0..=3 {
            line.join(1, second * 1_000);
            line.leave(1, 1, second * 1_000 + 1);
        }
        line.join(1_000, 4_000);
        assert_eq!(line.ahead_ms(4_000), 1_000 * 1_000 / PACE_KIB);
        line.leave(0, 0, 6_000);
        assert_eq!(line.ahead_ms(6_000), 1_000 * 1_000 / PACE_KIB, "somebody hung up, nothing is done yet");
    }
}
