//! The wire shapes of `admit_core::wire::scans` as `/openapi.json` describes them; a test compares the members.
#![cfg_attr(not(test), expect(dead_code, reason = "described, never made: what is sent are core's types"))]
#![cfg_attr(test, allow(dead_code))]

use utoipa::ToSchema;

use super::doc::ScanV2;

/// The question: a scan in S2's form, or a signed claim of ours.
#[derive(ToSchema, serde::Deserialize)]
#[serde(untagged)]
pub enum OnlineRequest {
    /// A claim: `stage` is `claim`.
    Claim(Box<ScanV2>),
    /// S2's form.
    S2(ScanS2),
}

/// A scan in S2's form.
#[derive(ToSchema, serde::Deserialize)]
pub struct ScanS2 {
    /// The code as read: 1–512 bytes without control characters.
    #[schema(min_length = 1, max_length = 512)]
    ticket_code: String,
    /// By the device's clock.
    #[schema(format = DateTime)]
    scanned_at: String,
    /// Its id within the device: printable ASCII, 1–128 characters. Without it, one is made of device, code and time.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]+$")]
    offline_id: Option<String>,
}

/// The server's verdict under the head.
#[derive(ToSchema)]
pub struct OnlineAnswer {
    scan_id: String,
    /// Null where no ticket holds the code.
    ticket_id: Option<String>,
    /// `valid`, `duplicate`, `invalid`, `gate_access_denied` or `expired`.
    outcome: String,
    /// The reason; absent where the outcome is valid.
    reason: Option<String>,
    /// Persons who may go in now.
    may_admit: u32,
    /// When the ticket last let somebody in.
    #[schema(format = DateTime)]
    last_scan_at: Option<String>,
    last_gate_id: Option<String>,
    /// The event's changes cursor with this scan.
    cursor: String,
    #[schema(format = DateTime)]
    server_time: String,
}

/// A batch in S2's form.
#[derive(ToSchema)]
pub struct ScansSyncRequest {
    /// Idempotency key: printable ASCII, 1–128 characters.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]+$")]
    batch_id: String,
    /// Must be the authenticated device.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]+$")]
    device_id: String,
    /// When this attempt was made: within 24 h of the server's time.
    #[schema(format = DateTime)]
    batch_created_at: String,
    #[schema(min_items = 1, max_items = 10000)]
    scans: Vec<ScanS2>,
    /// The number of scans.
    #[schema(minimum = 1, maximum = 10000)]
    batch_size: u64,
}

/// The result of a batch. A repeat brings `message` beside.
#[derive(ToSchema)]
pub struct ScansSyncAnswer {
    batch_id: String,
    /// `completed`, or `partial_success` where an error is other than `already_scanned`.
    status: String,
    /// Scans without an error.
    processed_count: u64,
    /// Scans listed in `errors`.
    error_count: u64,
    summary: Summary,
    /// The scans with an error. A listed scan is stored all the same: being listed is a receipt.
    errors: Vec<ScanError>,
    /// Times of the oldest and the newest scan.
    #[schema(min_items = 2, max_items = 2)]
    timestamp_range: Vec<String>,
    #[schema(format = DateTime)]
    timestamp: String,
    sync_duration_seconds: f64,
    /// `Batch already synced (idempotent)`, for a repeat only.
    message: Option<String>,
}

/// A batch's scans by kind.
#[derive(ToSchema)]
pub struct Summary {
    total_scans: u64,
    /// Without an error.
    new_scans: u64,
    duplicate_scans: u64,
    missing_tickets: u64,
    invalid_tickets: u64,
}

/// A scan with an error.
#[derive(ToSchema)]
pub struct ScanError {
    /// Its id: as sent, or as made for it.
    offline_id: String,
    ticket_code: String,
    /// `already_scanned`, `ticket_not_found`, `ticket_voided`, `ticket_refunded` or `ticket_already_used`.
    reason: String,
    /// `already_scanned`: when the ticket let somebody in before.
    #[schema(format = DateTime)]
    last_scan_at: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use admit_core::wire::scans;
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;

    fn keys(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }
    /// Checks an example with every member: core reads it and writes it back, and the description names the same
    /// members.
    fn same<C: Serialize + DeserializeOwned, D: PartialSchema>(example: Value, beside: &[&str]) {
        let core: C = serde_json::from_value(example.clone()).unwrap_or_else(|error| panic!("{error}: {example}"));
        let mut members = keys(&serde_json::to_value(core).unwrap());
        members.extend(beside.iter().map(|name| (*name).to_owned()));
        let described = keys(&serde_json::to_value(D::schema()).unwrap()["properties"]);
        assert_eq!(members, described, "{}", std::any::type_name::<C>());
    }

    #[test]
    fn s2s_shapes_are_described_as_core_reads_and_writes_them() {
        let time = "2026-06-07T19:30:00Z";
        let scan = json!({ "ticket_code": "A", "scanned_at": time, "offline_id": "o" });
        let summary = json!({
            "total_scans": 1, "new_scans": 1, "duplicate_scans": 0, "missing_tickets": 0, "invalid_tickets": 0,
        });
        let error = json!({ "offline_id": "o", "ticket_code": "A", "reason": "already_scanned", "last_scan_at": time });
        same::<scans::ScanS2, ScanS2>(scan.clone(), &[]);
        same::<scans::Summary, Summary>(summary.clone(), &[]);
        same::<scans::ScanError, ScanError>(error.clone(), &[]);
        same::<scans::ScansSyncRequest, ScansSyncRequest>(
            json!({ "batch_id": "b", "device_id": "d", "batch_created_at": time, "scans": [scan], "batch_size": 1 }),
            &[],
        );
        same::<scans::ScansSyncAnswer, ScansSyncAnswer>(
            json!({
                "batch_id": "b", "status": "completed", "processed_count": 0, "error_count": 1, "summary": summary,
                "errors": [error], "timestamp_range": [time, time], "timestamp": time, "sync_duration_seconds": 0.5,
            }),
            &["message"],
        );
        same::<scans::OnlineAnswer, OnlineAnswer>(
            json!({
                "scan_id": "s", "ticket_id": "t", "outcome": "duplicate", "reason": "already_scanned", "may_admit": 0,
                "last_scan_at": time, "last_gate_id": "g", "cursor": "1780860600000-00000000000000ab.1",
                "server_time": time,
            }),
            &[],
        );
    }
}
