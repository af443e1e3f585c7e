//! Sample values in which every field is set.

use admit_core::barcode::BarcodeHash;
use admit_core::event::{
    BarcodeKind, Days, DoorSettings, EventRules, EventStatus, Offset, ReEntry, StaffPin, ZoneClock, ZoneLimits,
};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::rule::Epoch;
use admit_core::scan::{Basis, ClockEvidence, Form, Method, Outcome, Override, Scan, ScanKind, Stage};
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;

/// Parses an identifier; panics on a bad one.
pub fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().unwrap()
}

pub fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub fn epoch() -> Epoch {
    Epoch { restored_at_ms: 1_765_100_000_000, random: 0xdead_beef }
}

/// A scan in which every field is set.
pub fn full_scan() -> Scan {
    Scan {
        form: Form::V2,
        scan_id: id("scan-1"),
        device_id: id("device-1"),
        log_id: Some(id("log-1")),
        seq: Some(3),
        prev: Some([7; 16]),
        key_id: Some(id("key-1")),
        event_id: id("event-1"),
        gate_id: id("north-main"),
        kind: ScanKind::Revert,
        stage: Stage::Final,
        method: Method::Manual,
        barcode_hash: Some(BarcodeHash::of("TOKEN-1")),
        raw_hash: Some(BarcodeHash::of("token-1")),
        ticket_id: Some(id("tkt-001")),
        count: 4,
        outcome: Outcome::Invalid,
        opened: true,
        override_: Some(Override { by: "Zoë".into(), reason: "paid\n\"cash\"".into() }),
        walk_in: None,
        headcount: None,
        operator: Some("Änne".into()),
        target_device: Some(id("device-2")),
        target_scan_id: Some(id("scan-0")),
        keep: 2,
        at: at("2025-12-07T19:30:00.123Z"),
        uncertainty_ms: 40,
        clock: Some(ClockEvidence { wall_ms: -5, mono_ms: 81_234, session_id: "s".into(), corrected: true }),
        epoch: Some(epoch()),
        manifest_version: 7,
        cursor: 9,
        practice: false,
        basis: Some(Basis {
            within: 1,
            inside: 2,
            spent: 0,
            last_entry_at: Some(at("2025-12-07T19:29:00Z")),
            status: Some(TicketStatus::Voided),
        }),
    }
}

/// A scan in which every field that may be empty is empty.
pub fn bare_scan() -> Scan {
    Scan {
        form: Form::V1,
        log_id: None,
        seq: None,
        prev: None,
        key_id: None,
        kind: ScanKind::Entry,
        barcode_hash: None,
        raw_hash: None,
        ticket_id: None,
        override_: None,
        walk_in: None,
        headcount: None,
        operator: None,
        target_device: None,
        target_scan_id: None,
        keep: 0,
        clock: None,
        epoch: None,
        practice: false,
        basis: None,
        ..full_scan()
    }
}

pub fn ticket_rules() -> TicketRules {
    TicketRules {
        status: TicketStatus::Active,
        entry_limit: 4,
        gate_ids: vec![id("north-main"), id("south")],
        zone: "vip".into(),
        valid_from: Some(at("2025-12-07T18:00:00Z")),
        expires_at: None,
    }
}

pub fn gate_rules() -> GateRules {
    GateRules {
        name: "North".into(),
        zones: vec!["general".into(), "vip".into()],
        direction: Direction::Both,
        capacity: Some(1_000),
        names_on_devices: true,
        walk_ins: false,
        entry_rules: vec![EntryRule::CheckTicketValid, EntryRule::CheckNotDuplicate],
    }
}

pub fn event_rules() -> EventRules {
    EventRules {
        name: "Fête".into(),
        starts_at: at("2025-12-07T18:00:00Z"),
        ends_at: at("2025-12-07T23:00:00Z"),
        status: EventStatus::Live,
        re_entry: ReEntry::AfterGap,
        min_gap_seconds: 300,
        staff_pin: Some(StaffPin { salt: [1; 16], hash: [2; 32], iterations: 60_000 }),
        opened_at: None,
        days: Days::default(),
        limits: ZoneLimits::default(),
        walk_ins: None,
    }
}

pub fn door_settings() -> DoorSettings {
    let offsets = vec![
        Offset { from: at("2025-10-08T18:00:00Z"), offset_s: 7_200 },
        Offset { from: at("2025-10-26T01:00:00Z"), offset_s: 3_600 },
    ];
    let clock = Some(ZoneClock { zone: "Europe/Paris".into(), offsets });
    let verdict_fields = vec!["Table".into(), "Company".into()];
    let barcode_kinds = vec![BarcodeKind::Pdf417, BarcodeKind::Ean13];
    DoorSettings { clock, verdict_fields, barcode_kinds, zone_names: [("vip".into(), "VIP lounge".into())].into() }
}
