//! Makes twenty thousand guests and tickets: the same content every time, with new ids and codes.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{GateId, GuestListId};
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;

use super::names::{FAMILY, GIVEN, WHOLE};
use crate::error::Result;
use crate::records::{EntryTypeRecord, EventRecord, Fields, GuestRecord, TicketRecord};
use crate::seeded_ids::SeededIds;
use crate::tickets::{Fresh, ids};

const HOUR_MS: i64 = 3_600_000;

/// The event for which guests are made.
pub(super) struct Setting<'a> {
    pub event: &'a EventRecord,
    pub entry_types: &'a [EntryTypeRecord],
    pub lists: &'a [GuestListId],
    pub restricted: &'a GateId,
    pub now: Timestamp,
}

/// Makes `count` tickets with their guests. `seeded` gives ids and codes, and the content comes from a fixed seed.
pub(super) fn make(count: usize, setting: &Setting<'_>, seeded: &mut SeededIds) -> Result<Vec<Fresh>> {
    let mut content = SeededIds::new([0xAD; 32]);
    (0..count).map(|n| one(n, content.bytes(), setting, seeded)).collect()
}

fn one(n: usize, dice: [u8; 32], setting: &Setting<'_>, seeded: &mut SeededIds) -> Result<Fresh> {
    let Setting { event, entry_types, lists, restricted, now } = setting;
    let pick = |at: usize, of: usize| usize::from(u16::from_be_bytes([dice[at], dice[at + 1]])) % of.max(1);
    let vip = pick(0, 10) == 0;
    let entry_type = entry_types.iter().find(|one| (one.zone == "vip") == vip);
    let entry_limit = match pick(2, 100) {
        0..=69 => 1,
        70..=89 => 2,
        90..=92 => 3,
        93..=97 => 4,
        98 => 6,
        _ => 10,
    };
    let status = match pick(4, 200) {
        0..=3 => TicketStatus::Voided,
        4..=5 => TicketStatus::Refunded,
        _ => TicketStatus::Active,
    };
    // A few guests have their own hours or their own gate: evening tickets, early leavers, coach parties.
    let (valid_from, expires_at) = match pick(6, 200) {
        0 => (Some(event.starts_at.plus_ms(6 * HOUR_MS)), None),
        1 => (None, Some(event.starts_at.plus_ms(HOUR_MS))),
        2 => (Some(event.starts_at), Some(event.ends_at)),
        _ => (None, None),
    };
    let gate_ids = if !vip && pick(8, 100) == 0 { vec![(*restricted).clone()] } else { Vec::new() };
    let ticket_id = ids::ticket_id(seeded, *now)?;
    let guest_id = ids::guest_id(seeded, *now)?;
    let barcode = seeded.uuid();
    let (name, mailbox) = name(n, pick(10, 20), pick(12, GIVEN.len()), pick(14, FAMILY.len()), pick(16, WHOLE.len()));
    let guest = GuestRecord {
        guest_id: guest_id.clone(),
        event_id: event.event_id.clone(),
        ticket_id: Some(ticket_id.clone()),
        guest_list_id: (pick(18, 5) == 0).then(|| lists.get(pick(20, lists.len())).cloned()).flatten(),
        entry_type_id: entry_type.map(|one| one.entry_type_id.clone()),
        name,
        email: Some(format!("{mailbox}@guests.example")),
        phone: (pick(22, 3) == 0).then(|| format!("+27 82 {:03} {:04}", pick(24, 1_000), n % 10_000)),
        party_size: entry_limit,
        note: note(pick(26, 60)),
        flag: (pick(28, 200) == 0).then(|| "Check ID".to_owned()),
        fields: fields(vip, n),
        external_id: Some(format!("ORD-{:05}", n / 2 + 10_000)),
        created_at: *now,
        updated_at: *now,
        erased_at: None,
    };
    let ticket = TicketRecord {
        ticket_id,
        event_id: event.event_id.clone(),
        rules: TicketRules {
            status,
            entry_limit,
            gate_ids,
            zone: entry_type.map_or_else(|| "general".to_owned(), |one| one.zone.clone()),
            valid_from,
            expires_at,
        },
        barcode_hashes: vec![BarcodeHash::of(&barcode)],
        barcode: Some(barcode),
        drawn: true,
        import_key: Some(format!("id:demo-{n}")),
        order_id: Some(format!("ORD-{:05}", n / 2 + 10_000)),
        guest_id: Some(guest_id),
        rules_serial: 0,
        created_at: *now,
    };
    Ok(Fresh { ticket, guest: Some(guest) })
}

fn name(n: usize, script: usize, given: usize, family: usize, whole: usize) -> (String, String) {
    if script == 0 {
        return (WHOLE[whole].to_owned(), format!("guest-{n}"));
    }
    let (given, family) = (GIVEN[given], FAMILY[family]);
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
    (format!("{given} {family}"), format!("{}.{}{n}", plain(given), plain(family)))
}

fn fields(vip: bool, n: usize) -> Fields {
    let own = [("Wristband", "Gold".to_owned()), ("Table", format!("{}", n % 40 + 1))];
    own.into_iter().filter(|_| vip).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn note(dice: usize) -> Option<String> {
    let text = match dice {
        0 => "Wheelchair: step-free way by the east ramp",
        1 => "Paid at the box office",
        2 => "Press: needs a wristband",
        3 => "Birthday: say hello",
        _ => return None,
    };
    Some(text.to_owned())
}
