//! The sync limit of all nodes together: each device's sliding log as a Redis list, by Redis's clock (stack.md §5).

use std::sync::Arc;

use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::rate::{RateDecision, WINDOW_MS, decide_rate};
use redis::Script;

use super::redis_link::Link;

/// Drops what left the window; notes this sync if there is room; else answers the time that must leave it first. A time
/// more than a window ahead is of a clock that was set back since: such a log tells nothing.
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

/// Every device's log.
#[derive(Debug)]
pub struct SharedLog {
    link: Arc<Link>,
    script: Script,
}

impl SharedLog {
    /// The logs in this Redis.
    pub fn new(link: Arc<Link>) -> Self {
        Self { link, script: Script::new(TAKE) }
    }
    /// Decides on a sync, and notes what it lets through; `None` when Redis does not say.
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
        // How long to wait is core's decision: for that one to leave, there is room for one.
        Some(if allowed { RateDecision::Allowed } else { decide_rate(&[leaves_ms], now_ms, 1) })
    }
}
