//! The sync limit over all nodes: each device's log of uploads as a Redis list, by Redis's clock.

use std::sync::Arc;

use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::rate::{RateDecision, WINDOW_MS, decide_rate};
use redis::Script;

use super::redis_link::Link;

/// Removes times that left the window and adds this sync if there is room. If there is none, returns the time that must
/// leave the window before the next sync. A time more than a window ahead comes from a clock that was set back since,
/// so the script discards the log.
const TAKE: &str = r"
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local window, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local last = redis.call('LINDEX', KEYS[1], -1)
if last and tonumber(last) > now + window then redis.call('DEL', KEYS[1]) end
local first = redis.call('LINDEX', KEYS[1], 0)
while first and tonumber(first) + window <= now do
  redis.call('LPOP', KEYS[1])
  first = redis.call('LINDEX', KEYS[1], 0)
end
local held = redis.call('LLEN', KEYS[1])
if held < limit then
  redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], window)
  return {1, now, now}
end
return {0, now, tonumber(redis.call('LINDEX', KEYS[1], held - limit) or now)}
";

/// The logs of all devices in Redis.
#[derive(Debug)]
pub struct SharedLog {
    link: Arc<Link>,
    script: Script,
}

impl SharedLog {
    /// Uses the logs in this Redis.
    pub fn new(link: Arc<Link>) -> Self {
        Self { link, script: Script::new(TAKE) }
    }
    /// Decides about a sync, and records it if it is allowed. `None`: Redis gave no answer.
    pub async fn take(
        &self,
        organization_id: &OrganizationId,
        device_id: &DeviceId,
        limit: u32,
    ) -> Option<RateDecision> {
        let key = format!("admit:org:{organization_id}:device:{device_id}:syncs");
        let mut call = self.script.prepare_invoke();
        call.key(key).arg(WINDOW_MS).arg(limit);
        let said = self.link.ask(|mut connection| async move { call.invoke_async(&mut connection).await }).await;
        let (allowed, now_ms, leaves_ms): (bool, i64, i64) = said?;
        // Core computes the waiting time: until the time in `leaves_ms` has left, which makes room for one.
        Some(if allowed { RateDecision::Allowed } else { decide_rate(&[leaves_ms], now_ms, 1) })
    }
}
