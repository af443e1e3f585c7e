//! The log's events that S1 §10.1 names. Their names and fields do not change. One list makes the functions that log
//! them and the table of `docs/telemetry.md`. No field holds a device, a ticket, a code, a token or a guest.

use admit_core::scan::Outcome;

/// An event of the log, as the documentation describes it.
#[derive(Debug, Clone, Copy)]
pub struct EventKind {
    /// The event's name, in the field `event` of the log line.
    pub name: &'static str,
    /// The log level of the event.
    pub level: &'static str,
    /// The situation in which it is logged.
    pub when: &'static str,
    /// The fields in addition to `event`: name and meaning.
    pub fields: &'static [(&'static str, &'static str)],
}

macro_rules! events {
    ($($function:ident = $name:literal, $level:ident, $when:literal, { $($field:ident: $type:ty = $meaning:literal),+ $(,)? })+) => {
        /// Every event, in the order of S1 §10.1.
        pub const EVENTS: &[EventKind] = &[$(EventKind {
            name: $name,
            level: stringify!($level),
            when: $when,
            fields: &[$((stringify!($field), $meaning)),+],
        }),+];
        $(
            #[doc = concat!("Logs `", $name, "`: ", $when)]
            pub fn $function($($field: $type),+) {
                tracing::event!(tracing::Level::$level, event = $name, $($field),+);
            }
        )+
    };
}

events! {
    manifest_download = "manifest.download", INFO, "The server sends a device its ticket list, whole or what changed.", {
        event_id: &str = "Event of the list",
        codes: u64 = "Codes in the answer",
    }
    manifest_verified = "manifest.verified", INFO, "A device says for the first time that it decides by a list. It verified the signature before.", {
        event_id: &str = "Event of the list",
        version: u64 = "Version of the list",
    }
    scan_local = "scan.local", DEBUG, "The server stores a scan that a device decided alone.", {
        event_id: &str = "Event of the scan",
        outcome: &str = "The device's outcome",
    }
    scan_valid = "scan.valid", DEBUG, "The server stores a scan whose outcome was valid.", {
        event_id: &str = "Event of the scan",
        source: &str = "`device`, or `server` where the device asked before the door opened",
    }
    scan_invalid = "scan.invalid", DEBUG, "The server stores a scan whose outcome was not valid.", {
        event_id: &str = "Event of the scan",
        source: &str = "`device`, or `server` where the device asked before the door opened",
        outcome: &str = "Which outcome",
    }
    sync_attempt = "sync.attempt", DEBUG, "A device's upload has been read.", {
        bytes: u64 = "Size of the body after decoding, bytes",
    }
    sync_success = "sync.success", INFO, "An upload is stored, or answered again from storage.", {
        event_id: &str = "Event of the scans",
        processed: u64 = "Scans that the answer names as stored",
        rejected: u64 = "Scans refused for good; of S2's form, scans that let nobody in",
        conflicts: u64 = "Findings that it caused",
        repeated: bool = "The same batch came before",
        took_ms: u64 = "From request to answer, milliseconds",
    }
    sync_failed = "sync.failed", WARN, "An upload was not stored. The device tries again.", {
        status: u64 = "HTTP status",
        code: &str = "Code of the problem",
        took_ms: u64 = "From request to answer, milliseconds",
    }
    conflict_detected = "conflict.detected", WARN, "An upload brought double entries or duplicates to light.", {
        event_id: &str = "Event of the scans",
        conflicts: u64 = "How many",
    }
    device_paired = "device.paired", INFO, "A device got its key.", {
        event_id: &str = "Event that it is assigned to",
        gate_id: &str = "Gate that it is assigned to",
    }
    device_revoked = "device.revoked", INFO, "A person withdrew a device's right to speak.", {
        event_id: &str = "Event that it was assigned to",
    }
}

/// Logs `scan.valid` or `scan.invalid` by the outcome of a scan.
pub fn scan_judged(event_id: &str, source: &str, outcome: Outcome) {
    match outcome {
        Outcome::Valid => scan_valid(event_id, source),
        other => scan_invalid(event_id, source, other.as_str()),
    }
}

/// The table of events in `docs/telemetry.md`.
pub fn table() -> String {
    let mut out = String::from("| Event | Level | When | Fields |\n|---|---|---|---|\n");
    for kind in EVENTS {
        let fields: Vec<String> = kind.fields.iter().map(|(name, meaning)| format!("`{name}`: {meaning}")).collect();
        out += &format!("| `{}` | {} | {} | {} |\n", kind.name, kind.level, kind.when, fields.join("<br>"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_10_1_every_event_is_there_by_its_name() {
        let names: Vec<&str> = EVENTS.iter().map(|kind| kind.name).collect();
        let s1 = [
            "manifest.download",
            "manifest.verified",
            "scan.local",
            "scan.valid",
            "scan.invalid",
            "sync.attempt",
            "sync.success",
            "sync.failed",
            "conflict.detected",
            "device.paired",
            "device.revoked",
        ];
        assert_eq!(names, s1);
    }

    #[test]
    fn the_documentation_has_the_table_of_the_code() {
        let page = include_str!("../../../docs/telemetry.md");
        assert!(page.contains(&table()), "docs/telemetry.md needs this table:\n\n{}", table());
    }
}
