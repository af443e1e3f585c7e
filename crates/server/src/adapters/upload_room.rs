//! Limits how many uploads are read and judged at a time.
//!
//! *Room* is memory for bodies, counted in KiB. A body takes room while it is read and waits to be judged, and other
//! room while it is judged. Small bodies don't wait for room to be read.
//!
//! After an outage hundreds of phones come back at the same moment, each with a thousand scans in one body (trust §5
//! row 40). When all bodies were read at once they took 1.3 GB, and the last phones gave up after 20 s and sent the
//! same again. So an upload without room waits with its body unread. After some time the server refuses it and tells
//! its phone when to come back. These moments are spread out, at the pace at which uploads are finished.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use admit_core::limits::{UPLOAD_BACK_MAX_MS, UPLOAD_WAIT_MS, UPLOADS_JUDGED_KIB, UPLOADS_READ_KIB};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{timeout, timeout_at};

/// The time window over which the pace of uploads is measured, in milliseconds.
const PACE_MS: i64 = 4_000;
/// The assumed pace until it is measured, in KiB per second.
const PACE_KIB: i64 = 4_096;
/// A body that fills at most this fraction of the room is small and is read at once. Such a body has the newest scans
/// of an online phone.
const SMALL_PART: usize = 128;
/// A waiting upload checks the room this many times within its patience.
const LOOKS: u32 = 100;
/// Slow bodies have this many times the normal room, in addition to it.
const SLOW: usize = 8;

/// Limits the total weight of the bodies that are read at a time, and of those that are judged at a time. All weights
/// are in KiB.
#[derive(Debug)]
pub struct UploadRoom {
    reading: Arc<Semaphore>,
    /// Room for bodies that arrive slowly, so that they do not delay those that arrive quickly.
    slow: Arc<Semaphore>,
    judging: Arc<Semaphore>,
    /// Room for judging small bodies, so that they do not wait behind large ones.
    judging_small: Arc<Semaphore>,
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

/// The right to read a body. It holds `None` for a small body, which takes no room. Dropping the right frees its room.
#[derive(Debug)]
pub struct Reading(Option<OwnedSemaphorePermit>);

/// The right to judge a body. Dropping it frees the room.
#[derive(Debug)]
pub struct Judging {
    weight: u32,
    began: Instant,
    line: Arc<Mutex<Line>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Judging {
    fn drop(&mut self) {
        // An upload whose client hung up while it waited was not finished.
        let done = if self.permit.is_some() { self.weight } else { 0 };
        lock(&self.line).leave(i64::from(self.weight), i64::from(done), elapsed_ms(self.began));
    }
}

/// The uploads that wait or are judged, and their pace.
#[derive(Debug, Default)]
struct Line {
    /// The weight of bodies that are read and not finished yet, in KiB.
    waiting: i64,
    /// The weight that is judged at a time, in KiB.
    full: i64,
    /// Since when `waiting` has been above `full`, in milliseconds.
    full_since_ms: i64,
    /// The finished uploads of the last [`PACE_MS`]: time in milliseconds and weight in KiB.
    done: VecDeque<(i64, i64)>,
    /// The latest of the moments that refused clients got for their next try, in milliseconds.
    booked_ms: i64,
}

impl Line {
    fn join(&mut self, weight: i64, now_ms: i64) {
        let was_full = self.waiting > self.full;
        self.waiting += weight;
        if !was_full && self.waiting > self.full {
            self.full_since_ms = now_ms;
        }
    }
    fn leave(&mut self, weight: i64, done: i64, now_ms: i64) {
        self.waiting -= weight;
        self.done.push_back((now_ms, done));
        if self.waiting <= self.full {
            // Work done while there was little to do says nothing about the pace.
            self.done.clear();
        }
        if self.waiting == 0 {
            self.booked_ms = 0;
        }
        self.forget(now_ms);
    }
    fn forget(&mut self, now_ms: i64) {
        while self.done.front().is_some_and(|(at, _)| *at < now_ms - PACE_MS) {
            self.done.pop_front();
        }
    }
    /// The pace at which uploads are finished, in KiB per second. It includes the uploads that are judged now, because
    /// a slow server may have finished nothing yet.
    fn pace(&mut self, now_ms: i64) -> i64 {
        self.forget(now_ms);
        let busy_ms = (now_ms - self.full_since_ms).min(PACE_MS);
        if self.waiting <= self.full || busy_ms < PACE_MS / 4 {
            return PACE_KIB;
        }
        let done: i64 = self.done.iter().map(|(_, weight)| weight).sum();
        ((done + self.full) * 1_000 / busy_ms).max(1)
    }
    /// Milliseconds until the client of a refused upload of this weight should send it again. The moment lies after
    /// half of the present work is expected to be done, so that the server has no pause if the work is faster than
    /// expected. It also lies after every moment that was given out before.
    fn book(&mut self, weight: i64, now_ms: i64) -> i64 {
        let pace = self.pace(now_ms);
        let soonest = now_ms + self.waiting.max(0) * 1_000 / pace / 2;
        self.booked_ms = self.booked_ms.max(soonest) + (weight * 1_000 / pace).max(1);
        self.booked_ms = self.booked_ms.min(now_ms + UPLOAD_BACK_MAX_MS);
        self.booked_ms - now_ms
    }
}

impl UploadRoom {
    /// The bodies that are read at a time weigh at most `read_kib` together. Those that are judged at a time weigh at
    /// most `judged_kib`. An upload is refused if it may not be read within `patience`, or not judged within one and a
    /// half times `patience` after it came.
    pub fn new(read_kib: u32, judged_kib: u32, patience: Duration) -> Self {
        let small = (judged_kib / 4).max(read_kib.div_ceil(SMALL_PART as u32));
        Self {
            reading: Arc::new(Semaphore::new(read_kib as usize)),
            slow: Arc::new(Semaphore::new(read_kib as usize * SLOW)),
            judging: Arc::new(Semaphore::new(judged_kib as usize)),
            judging_small: Arc::new(Semaphore::new(small as usize)),
            read_kib,
            judged_kib,
            patience,
            began: Instant::now(),
            line: Arc::new(Mutex::new(Line { full: i64::from(judged_kib), ..Line::default() })),
        }
    }
    /// Waits for the right to read a body of so many bytes; judging the body takes `times` as much room. The error is
    /// the number of milliseconds after which the client should come back.
    pub async fn read(&self, bytes: usize, times: usize) -> Result<Reading, i64> {
        if self.is_small(bytes) {
            return Ok(Reading(None));
        }
        let weight = kib(bytes).min(self.read_kib);
        let mut place = pin!(Arc::clone(&self.reading).acquire_many_owned(weight));
        let came = Instant::now();
        loop {
            // The semaphore is never closed.
            if let Ok(Ok(permit)) = timeout(self.patience / LOOKS, &mut place).await {
                return Ok(Reading(Some(permit)));
            }
            let mut line = lock(&self.line);
            // The room is full of bodies on slow networks, and few wait to be judged. So one more is read in the slow
            // room.
            if came.elapsed() >= self.quick()
                && line.waiting < line.full
                && let Ok(permit) = Arc::clone(&self.slow).try_acquire_many_owned(weight)
            {
                return Ok(Reading(Some(permit)));
            }
            if came.elapsed() >= self.patience {
                let weight = kib(bytes.saturating_mul(times)).min(self.judged_kib);
                return Err(line.book(i64::from(weight), elapsed_ms(self.began)));
            }
        }
    }
    /// The longest time of reading a body on a good network.
    pub fn quick(&self) -> Duration {
        self.patience / 5
    }
    /// Moves a body that takes longer than [`UploadRoom::quick`] to the slow room, if that has room for it.
    pub fn slowed(&self, reading: Reading) -> Reading {
        let Reading(Some(permit)) = &reading else { return reading };
        let weight = u32::try_from(permit.num_permits()).unwrap_or(u32::MAX);
        match Arc::clone(&self.slow).try_acquire_many_owned(weight) {
            Ok(permit) => Reading(Some(permit)),
            Err(_) => reading,
        }
    }
    /// Waits for the right to judge a body that was read. `weight`: its weight in bytes; `came`: when its client began
    /// to wait. The error is the number of milliseconds after which the client should come back.
    pub async fn judge(&self, weight: usize, came: Instant) -> Result<Judging, i64> {
        let room = if self.is_small(weight) { &self.judging_small } else { &self.judging };
        let weight = kib(weight).min(self.judged_kib);
        lock(&self.line).join(i64::from(weight), elapsed_ms(self.began));
        // Dropping `place` also ends the wait of a client that hangs up.
        let mut place = Judging { weight, began: self.began, line: Arc::clone(&self.line), permit: None };
        let until = came + self.patience * 3 / 2;
        let Ok(permit) = timeout_at(until.into(), Arc::clone(room).acquire_many_owned(weight)).await else {
            drop(place);
            return Err(lock(&self.line).book(i64::from(weight), elapsed_ms(self.began)));
        };
        // The semaphore is never closed.
        place.permit = permit.ok();
        Ok(place)
    }
    fn is_small(&self, bytes: usize) -> bool {
        bytes <= self.read_kib as usize * 1_024 / SMALL_PART
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
    async fn judge(room: &UploadRoom, weight: usize) -> Result<Judging, i64> {
        room.judge(weight, Instant::now()).await
    }

    #[tokio::test]
    async fn as_much_is_judged_at_a_time_as_there_is_room_for() {
        let room = room();
        let (first, second) = (judge(&room, 2_048).await.unwrap(), judge(&room, 2_048).await.unwrap());
        assert!(timeout(SHORT / 3, judge(&room, 1_024)).await.is_err(), "the room is full");
        drop(first);
        let third = judge(&room, 1_024).await.unwrap();
        drop((second, third));
        assert_eq!(lock(&room.line).waiting, 0, "whoever hung up has left the line, too");
    }

    #[tokio::test]
    async fn what_is_larger_than_the_room_has_it_to_itself() {
        let room = room();
        let alone = judge(&room, 1 << 30).await.unwrap();
        assert!(judge(&room, 1_024).await.is_err());
        drop(alone);
        judge(&room, 1_024).await.unwrap();
    }

    #[tokio::test]
    async fn who_would_be_judged_when_nobody_listens_any_more_is_told_when_to_come_back() {
        let room = room();
        let _before = judge(&room, 8 * 1_024).await.unwrap();
        let came = Instant::now();
        assert!(judge(&room, 1_024).await.unwrap_err() > 0);
        assert!(came.elapsed() >= SHORT);
        let late = Instant::now() - SHORT * 2;
        assert!(timeout(SHORT, room.judge(1_024, late)).await.unwrap().is_err(), "at once");
        assert_eq!(lock(&room.line).waiting, 4, "they have left the line");
    }

    #[tokio::test]
    async fn who_finds_no_room_while_others_wait_to_be_judged_is_told_when_to_come_back() {
        let room = room();
        let _read = room.read(8 * 1_024, 1).await.unwrap();
        let _judged = judge(&room, 8 * 1_024).await.unwrap();
        assert!(room.read(1_024, 1).await.unwrap_err() > 0);
    }

    #[tokio::test]
    async fn bodies_on_slow_networks_keep_nobody_out() {
        let room = room();
        let slow = room.read(8 * 1_024, 1).await.unwrap();
        assert!(room.read(1_024, 1).await.is_ok(), "nobody waits to be judged");
        let slow = room.slowed(slow);
        assert_eq!(room.reading.available_permits(), 8, "it has given its place back");
        drop(slow);
        assert_eq!(room.slow.available_permits(), 8 * SLOW);
    }

    #[tokio::test]
    async fn bodies_on_slow_networks_have_a_bound_too() {
        let room = room();
        let _slow = Arc::clone(&room.slow).try_acquire_many_owned((8 * SLOW) as u32).unwrap();
        let read = room.slowed(room.read(8 * 1_024, 1).await.unwrap());
        assert_eq!(room.reading.available_permits(), 0, "it keeps its place");
        assert!(room.read(1_024, 1).await.is_err());
        drop(read);
        assert!(room.read(1_024, 1).await.is_ok());
    }

    #[tokio::test]
    async fn what_was_just_scanned_stands_behind_no_backlog() {
        let room = room();
        let _read = room.read(8 * 1_024, 1).await.unwrap();
        let _judged = judge(&room, 8 * 1_024).await.unwrap();
        assert!(room.read(64, 1).await.is_ok());
        assert!(judge(&room, 64).await.is_ok());
        assert!(room.read(65, 1).await.is_err());
        assert!(judge(&room, 65).await.is_err());
    }

    #[test]
    fn who_was_sent_away_comes_back_one_after_the_other_as_fast_as_the_others_go() {
        let mut line = Line { full: 1_000, ..Line::default() };
        line.join(5_000, 0);
        assert_eq!(line.pace(500), PACE_KIB, "not known yet");
        // 1,000 KiB per second are finished for four seconds; the last ones are still being judged.
        for second in 1..=3 {
            line.leave(1_000, 1_000, second * 1_000);
        }
        assert_eq!(line.pace(4_000), 1_000);
        assert_eq!(line.book(500, 4_000), 1_500, "when half of those who wait are done with, and then its own time");
        assert_eq!(line.book(500, 4_000), 2_000);
        assert_eq!(line.book(500, 4_500), 2_000, "the same place, half a second later");
        assert_eq!(line.book(i64::from(u32::MAX), 4_500), UPLOAD_BACK_MAX_MS);
        line.leave(2_000, 2_000, 5_000);
        assert!(line.book(500, 5_000) < 1_000, "what was booked is past when nobody waits");
    }

    #[test]
    fn a_server_that_had_little_to_do_is_not_slow() {
        let mut line = Line { full: 2_000, ..Line::default() };
        for second in 0..4 {
            line.join(10, second * 1_000);
            line.leave(9, 9, second * 1_000 + 1);
        }
        line.join(1_000, 4_000);
        assert_eq!(line.pace(6_000), PACE_KIB, "there was always something in hand, and room");
        assert!(line.done.is_empty());
    }
}
