//! Closes a log whose missing scans nobody will hand over any more (spec §3 "Log"). The gap stays on record, and is no
//! longer waited for. If the device reports the log again, it is open again.

use admit_core::access::Action;
use admit_core::ids::{DeviceId, LogId};
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Scope, Topic, read, write};
use crate::records::LogRecord;
use crate::scans::log::count_missing;

/// Closes a log of a device. Closing it again changes nothing.
pub async fn close_log(app: &App, caller: &UserCaller, device_id: DeviceId, log_id: LogId) -> Result<LogRecord> {
    caller.must(Action::ManageDevices)?;
    let now = app.clock.now();
    let found = || Error::not_found("log");
    let (device, log) = (device_id.clone(), log_id.clone());
    let event_id = read(&*app.store, &caller.organization_id, move |tx| tx.log(&device, &log)).await?;
    let event_id = event_id.ok_or_else(found)?.event_id;
    let by = caller.clone();
    let log = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let log = tx.log(&device_id, &log_id)?.ok_or_else(found)?;
        if log.closed_at.is_some() {
            return Ok(log);
        }
        if log.event_id != event_id {
            return Err(Error::Later { code: "busy", retry_after_ms: 1_000 }); // The device was moved at this moment.
        }
        let closed = LogRecord { closed_at: Some(now), ..log };
        tx.put_log(&closed)?;
        tx.stamp(&event_id)?;
        let said = json!({ "log_id": log_id.as_str(), "head": closed.head, "missing": count_missing(&closed) });
        tx.append_audit(line::of(&by, Some(&event_id), "log_closed", ("Device", device_id.as_str()), said))?;
        Ok(closed)
    })
    .await?;
    let (organization_id, event_id) = (caller.organization_id.clone(), log.event_id.clone());
    app.hints.hint(Hint { organization_id, event_id, serial: None, topic: Topic::Devices });
    Ok(log)
}
