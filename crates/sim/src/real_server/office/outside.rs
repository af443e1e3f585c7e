//! A mail server and an object store that keep everything they ever accepted, whether or not the caller got the
//! answer.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use admit_app::ports::{Letter, Mail, Mailbox, Objects, Unable, Unsent};
use admit_core::pass;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::coverage::Coverage;
use crate::mutants::{Mutant, Planted};
use crate::rng::Rng;

/// A letter that the mail server accepted.
#[derive(Debug, Clone)]
pub struct Taken {
    /// The recipient's address.
    pub to: String,
    /// Whether the letter's picture was stored when the letter was accepted.
    pub has_picture: bool,
}

/// The letters and pictures that were accepted.
#[derive(Default)]
pub struct Kept {
    /// The letters by their run.
    pub letters: BTreeMap<String, Vec<Taken>>,
    /// Every content that was stored under a name.
    pub pictures: BTreeMap<String, Vec<Vec<u8>>>,
    coverage: Coverage,
}

/// The outside world, which implements both ports.
pub struct Outside {
    kept: Mutex<Kept>,
    /// The randomness of the faults; `None` after the faults have ended.
    faults: Mutex<Option<Rng>>,
    planted: Planted,
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pauses once. A caller that waits here may be replaced or die.
async fn pause() {
    let mut paused = false;
    poll_fn(|_| if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

impl Outside {
    /// An empty outside world, whose faults are drawn from `rng`.
    pub fn new(rng: Rng, planted: Planted) -> Self {
        Self { kept: Mutex::default(), faults: Mutex::new(Some(rng)), planted }
    }
    /// Ends the faults: from now on everything succeeds and is answered.
    pub fn heal(&self) {
        *held(&self.faults) = None;
    }
    pub fn is_faulty(&self) -> bool {
        held(&self.faults).is_some()
    }
    /// The number of accepted letters of a run.
    pub fn letters(&self, run_id: &str) -> usize {
        held(&self.kept).letters.get(run_id).map_or(0, Vec::len)
    }
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        held(&self.kept)
    }
    pub fn coverage(&self) -> Coverage {
        held(&self.kept).coverage.clone()
    }
    fn strikes(&self, per_mille: u32) -> bool {
        held(&self.faults).as_mut().is_some_and(|rng| rng.per_mille(per_mille))
    }
    async fn maybe_pause(&self) {
        if self.strikes(300) {
            pause().await;
        }
    }
    fn refuses(&self) -> Result<(), Unable> {
        if self.strikes(150) { Err(Unable::Later("busy".into())) } else { Ok(()) }
    }

    fn take(&self, letter: &Letter) {
        // The Message-ID begins with the run's id, so it is the same at every try.
        let run_id = letter.message_id.split('.').next().unwrap_or_default().to_owned();
        let token = letter.text.split("token=").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let mut kept = held(&self.kept);
        let has_picture = kept.pictures.contains_key(&pass::object_key(token));
        let letters = kept.letters.entry(run_id).or_default();
        let times = if self.planted.is(Mutant::MailTwice) { 2 } else { 1 };
        letters.extend((0..times).map(|_| Taken { to: letter.to.email.clone(), has_picture }));
    }
}

impl Mail for Outside {
    fn sender(&self) -> Option<Mailbox> {
        Some(Mailbox { name: String::new(), email: "passes@example.org".into() })
    }
    fn send(&self, letter: Letter) -> BoxFuture<'_, Result<(), Unsent>> {
        async move {
            self.maybe_pause().await;
            self.refuses()?;
            if self.strikes(100) {
                held(&self.kept).coverage.hit("mail stopped for all");
                return Err(Unsent::Stopped("daily quota".into()));
            }
            self.take(&letter);
            if self.strikes(150) {
                held(&self.kept).coverage.hit("mail taken, answer lost");
                return Err(Unsent::Stopped("the connection was lost".into()));
            }
            self.maybe_pause().await;
            Ok(())
        }
        .boxed()
    }
}

impl Objects for Outside {
    fn has(&self, key: String) -> BoxFuture<'_, Result<bool, Unable>> {
        async move {
            self.refuses()?;
            let has = held(&self.kept).pictures.contains_key(&key);
            self.maybe_pause().await;
            Ok(has)
        }
        .boxed()
    }
    fn put(&self, key: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Unable>> {
        async move {
            self.refuses()?;
            if !self.planted.is(Mutant::PictureNotKept) {
                held(&self.kept).pictures.entry(key).or_default().push(bytes);
            }
            if self.strikes(150) {
                held(&self.kept).coverage.hit("picture kept, answer lost");
                return Err(Unable::Later("the connection was lost".into()));
            }
            self.maybe_pause().await;
            Ok(())
        }
        .boxed()
    }
}
