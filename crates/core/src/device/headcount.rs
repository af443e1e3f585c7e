//! Counts people without a ticket at the door (decision 037). Headcounts are signed and journalled like scans.

use super::desk::{Act, Asked, Desk};
use super::lookup::About;
use super::outbox::Outbox;
use super::reader::Reader;
use crate::decide::Screen;
use crate::ids::ScanId;
use crate::limits;
use crate::scan::{Headcount, Method, ScanKind};

/// Records a headcount by staff: people without a ticket who came or went, or everybody inside.
pub(super) fn count_heads(desk: &Desk<'_>, reader: &mut Reader, out: &mut Outbox, headcount: Headcount) -> Act {
    if let Err(refusal) = desk.known.may_scan() {
        return refusal.into();
    }
    let (most, inside) = (limits::HEADCOUNT_STEP, limits::RECOUNT);
    match headcount {
        Headcount::Change { delta, .. } if !(1..=most).contains(&delta.unsigned_abs()) => {
            return Act::refuse("bad_count", &format!("Count 1 to {most} persons at a time."));
        }
        Headcount::Recount { inside: said } if said > inside => {
            return Act::refuse("bad_count", &format!("Persons inside must be 0 to {inside}."));
        }
        Headcount::Change { .. } | Headcount::Recount { .. } => {}
    }
    let Some((scan_id, paired)) = ScanId::new(out.draw_uuid()).ok().zip(desk.known.paired()) else {
        return Act::Nothing;
    };
    let Some(subject) = Headcount::subject_id(&paired.event_id, &paired.device_id, &scan_id) else {
        return Act::Nothing;
    };
    reader.used(desk.session);
    let about = About::nothing();
    let stamp = desk.session.stamp(desk.known.journal.last_at());
    let asked = Asked::nothing(ScanKind::Headcount, stamp);
    let Some(mut scan) = desk.draft(out, &about, &asked, Method::Manual) else { return Act::Nothing };
    (scan.scan_id, scan.ticket_id, scan.basis) = (scan_id, Some(subject), None);
    (scan.opened, scan.count, scan.headcount) = (true, headcount.persons(), Some(headcount));
    let shown = asked.shown(Screen::Admit, &about);
    desk.sign(scan, shown, None)
}
