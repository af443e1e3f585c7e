//! Tells a device which part of its log the server lacks. A device asks for it after an epoch change (spec §3 "Epoch
//! and witness").

use admit_core::wire::scanning::{LogStatusAnswer, LogStatusRequest};

use super::heartbeat::{scope, speak_of_head};
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, write};
use crate::scans::log::missing;

/// Ranges `[from, to]` of `seq` numbers that the server never received, up to the head that the device states.
pub async fn log_status(app: &App, caller: &DeviceCaller, request: LogStatusRequest) -> Result<LogStatusAnswer> {
    let device_id = caller.device_id.clone();
    let scope = scope(app, caller).await?;
    write(&*app.store, scope, move |tx| {
        let device = tx.device(&device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        speak_of_head(tx, &device, &request.log_id, request.head)?;
        let log = tx.log(&device_id, &request.log_id)?;
        Ok(LogStatusAnswer { missing: log.as_ref().map(missing).unwrap_or_default() })
    })
    .await
}
