//! A device hangs up while its upload is being stored. A committed upload counts all the same.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use admit_app::ports::App;
use admit_core::limits::UNKNOWN_CODES_PER_MINUTE;
use admit_core::wire::scans::ScansSyncRequest;
use admit_store_sqlite::{CommitFault, Options, Sqlite, StatementFault};
use futures_util::FutureExt as _;

use super::*;
use crate::home::{Copy, is_postgres};

const WHILE: Duration = Duration::from_secs(20);

/// The world's content in a store with threads of its own. The store reports that it is about to commit, and then
/// waits. `None` if the world's store cannot be copied in this way.
fn threaded(world: &World) -> Option<(App, Receiver<()>, Sender<()>)> {
    let Copy::Image(image) = world.store.copy() else { return None };
    let ((here, at_commit), (go, may_go)) = (channel(), channel());
    // Reads end with a commit, too. Only the commit of the transaction that wrote the batch is held.
    let (wrote, writes) = (Arc::new(AtomicBool::new(false)), Mutex::new((here, may_go)));
    let writing = wrote.clone();
    let look = move |statement: &'static str| {
        writing.fetch_or(statement == "INSERT_BATCH", Ordering::SeqCst);
        StatementFault::Proceed
    };
    let hold = move || {
        if !wrote.load(Ordering::SeqCst) {
            return CommitFault::Proceed;
        }
        let waits = writes.lock().unwrap();
        let _ = waits.0.send(());
        let _ = waits.1.recv_timeout(WHILE);
        CommitFault::Proceed
    };
    let clock = world.app.clock.clone();
    let clock: admit_store_sqlite::ClockHook = Arc::new(move || clock.now().ms());
    let (before_commit, before_statement) = (Some(Arc::new(hold) as _), Some(Arc::new(look) as _));
    let options = Options { clock: Some(clock), before_commit, before_statement, ..Options::default() };
    let store = Arc::new(Sqlite::memory_of(&image, options).unwrap());
    Some((App { store, ..world.app.clone() }, at_commit, go))
}

/// Polls an upload until its commit is under way, and then drops it. Returns how much of the allowance is used in the
/// end.
fn hang_up<T>(
    app: &App,
    phone: &Phone<'_>,
    at_commit: &Receiver<()>,
    go: &Sender<()>,
    upload: impl Future<Output = T>,
) -> u32 {
    let mut upload = Box::pin(upload);
    while at_commit.recv_timeout(Duration::from_millis(2)).is_err() {
        assert!((&mut upload).now_or_never().is_none(), "nothing is answered before the commit");
    }
    let (org, ms) = (&phone.caller.organization_id, app.clock.monotonic_ms());
    let used = || UNKNOWN_CODES_PER_MINUTE - app.unknown_codes.left(org, &phone.caller.device_id, ms);
    assert_eq!(used(), 0);
    drop(upload);
    go.send(()).unwrap();
    for _ in 0..WHILE.as_millis() {
        if used() > 0 {
            break;
        }
        // No message arrives any more: this call only waits between two looks.
        let _ = at_commit.recv_timeout(Duration::from_millis(1));
    }
    used()
}

/// Spec §5 "Rate limit": the stored answer tells which codes are unknown. So the upload uses up their allowance even if
/// the device hangs up.
#[test]
fn an_upload_uses_up_its_allowance_though_the_device_hangs_up() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let items: Vec<Value> = (1..=7)
        .map(|n| signed(&phone, &scan_of(&world, &phone, &format!("s{n}"), n, &format!("NO-{n}"), at(0))))
        .collect();
    let Some((app, at_commit, go)) = threaded(&world) else { return assert!(is_postgres()) };
    let body = json!({ "device_id": phone.caller.device_id, "sync_batch_id": "b", "format": 2, "scans": items });
    let request = serde_json::from_str(&body.to_string()).unwrap();
    assert_eq!(hang_up(&app, &phone, &at_commit, &go, scans::ingest_batch(&app, &phone.caller, request)), 7);
}

/// The same test for S2's form.
#[test]
fn an_upload_of_s2s_form_uses_up_its_allowance_though_the_device_hangs_up() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let scan =
        |n| json!({ "offline_id": format!("s{n}"), "ticket_code": format!("NO-{n}"), "scanned_at": at(0).to_string() });
    let body = json!({
        "batch_id": "b", "device_id": phone.caller.device_id, "batch_size": 7,
        "scans": (0..7).map(scan).collect::<Vec<_>>(), "batch_created_at": world.app.clock.now().to_string(),
    });
    let Some((app, at_commit, go)) = threaded(&world) else { return assert!(is_postgres()) };
    let request = ScansSyncRequest::read(body.to_string().as_bytes()).unwrap();
    assert_eq!(hang_up(&app, &phone, &at_commit, &go, scans::sync_offline(&app, &phone.caller, request)), 7);
}
