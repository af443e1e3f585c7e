//! The HTTP part of level 2: the server's own router around the use cases of a seed, called in process. Nothing
//! listens on a port, because the faulty network is the simulator's.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use admit_app::ports::App;
use admit_app::secret::Secret;
use admit_server::{AppState, Settings, router};
use admit_sim::http_factory::{HttpServer, Open};
use admit_sim::server::{Reply, Request, Response};
use axum::Router;
use axum::body::Body;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

/// The longest time that the simulator waits for another thread to compute an answer. After that the request counts as
/// hung, and the simulator panics.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes the HTTP part of a server around use cases.
pub fn open() -> Open {
    Arc::new(|app| Box::new(Http::around(app)))
}

struct Http {
    router: Router,
    /// The runtime that timers belong to. No thread drives it, because the simulator's virtual time is the only time.
    /// So no timer ever fires, and a task that a request would start never runs.
    runtime: Runtime,
}

impl Http {
    fn around(app: App) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
        let secret = Secret::new("replaced by the use cases' own, with all else of theirs");
        let secret = secret.unwrap_or_else(|error| panic!("no secret: {error}"));
        let inside = runtime.enter();
        let mut state = AppState::new(app.store.clone(), secret, Settings::default());
        // Clock and randomness are the world's. Caches, which only make answers faster, are the server's own.
        let recent = state.app.recent.clone();
        state.app = App { recent, hints: state.live.clone(), ..app };
        let router = router(state);
        drop(inside);
        Self { router, runtime }
    }

    async fn answer(&self, request: http::Request<Body>) -> Response {
        let Ok(answer) = self.router.clone().oneshot(request).await;
        let (head, body) = answer.into_parts();
        let headers = head.headers.iter();
        let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
        let body = axum::body::to_bytes(body, usize::MAX).await;
        let body = body.unwrap_or_else(|error| panic!("an answer breaks off: {error}"));
        Response { status: head.status.as_u16(), headers: headers.collect(), body: body.to_vec() }
    }
}

impl HttpServer for Http {
    fn ask(&mut self, request: &Request) -> Reply {
        let mut asked = http::Request::builder().method(request.method.as_str()).uri(&request.path);
        for (name, value) in &request.headers {
            asked = asked.header(name, value);
        }
        // The headers that a client library adds.
        if let Some(body) = &request.body {
            asked = asked.header("content-length", body.len());
            if request.header("content-type").is_none() {
                asked = asked.header("content-type", "application/json");
            }
        }
        let asked = asked.body(request.body.clone().map_or_else(Body::empty, Body::from));
        let asked = asked.unwrap_or_else(|error| panic!("{} is no request: {error}", request.path));
        let inside = self.runtime.enter();
        let held_back = request.query("wait").is_some();
        let answer = drive(self.answer(asked), held_back, PATIENCE);
        drop(inside);
        // The store answers in place. So only a long poll without changes is not ready here: it waits for time, which
        // does not pass. The caller gives up.
        answer.map_or(Reply::Hold, Reply::Answer)
    }
}

/// Records that the future was woken, and wakes the thread that drives it.
struct Woken {
    awake: AtomicBool,
    driver: Thread,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.awake.store(true, Ordering::Release);
        self.driver.unpark();
    }
}

/// Drives a future to its end. While the future waits for another thread, this one sleeps. With `held_back` the result
/// is `None` as soon as the future waits, because only later virtual time would wake it.
///
/// # Panics
///
/// If nothing wakes the future for `patience`. A seed that hangs would otherwise report nothing.
fn drive<T>(future: impl Future<Output = T>, held_back: bool, patience: Duration) -> Option<T> {
    let woken = Arc::new(Woken { awake: AtomicBool::new(true), driver: std::thread::current() });
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    loop {
        while woken.awake.swap(false, Ordering::AcqRel) {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(value);
            }
        }
        if held_back {
            return None;
        }
        let since = Instant::now();
        while !woken.awake.load(Ordering::Acquire) {
            assert!(since.elapsed() < patience, "a request waits for a timer, or for a task that nobody drives");
            std::thread::park_timeout(patience);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_computes_is_waited_for() {
        let (say, heard) = tokio::sync::oneshot::channel();
        let computing = std::thread::spawn(move || say.send(7));
        assert_eq!(drive(heard, false, PATIENCE), Some(Ok(7)));
        computing.join().unwrap().unwrap();
    }

    #[test]
    fn a_long_poll_that_nothing_wakes_is_held_back() {
        assert_eq!(drive(std::future::pending::<()>(), true, PATIENCE), None);
    }

    #[test]
    #[should_panic(expected = "a task that nobody drives")]
    fn a_request_that_leaves_its_work_to_a_task_of_its_own_is_an_error_and_no_silence() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let task = runtime.spawn(async {});
        let _ = drive(task, false, Duration::from_millis(50));
    }
}
