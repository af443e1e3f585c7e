//! Counts people without a ticket at the door (decision 037). Headcounts are signed and journalled like scans.

use super::door::{Asked, shown};
use super::journal::OwnScan;
use super::lookup::About;
use super::state::State;
use crate::decide::{Screen, Standing, Verdict};
use crate::ids::ScanId;
use crate::limits;
use crate::occupancy::{Recount, WithoutTicket};
use crate::scan::{Headcount, Method, ScanKind};
use crate::wire::engine::{HeadcountsView, RecountView};

impl State {
    /// This device's headcounts of its event. `None` until the device is paired. While the event is a draft they are
    /// practice headcounts. Later they are those that count.
    pub fn headcounts_view(&self) -> Option<HeadcountsView> {
        let event_id = &self.paired()?.event_id;
        let practice = self.is_practice();
        let counted = self.recorder.journal().counted.get(&(event_id.clone(), practice)).copied().unwrap_or_default();
        let mut own = self.recorder.journal().recounts().rev().filter(|own| own.scan.event_id == *event_id);
        let last = own.find(|own| own.scan.practice == practice && self.recorder.journal().kept(&own.scan) > 0);
        let recount = last.and_then(|own| match own.scan.headcount? {
            Headcount::Recount { inside } => {
                let gate = self.gate_name(&own.scan.gate_id);
                Some(RecountView { scan_id: own.scan.scan_id.clone(), at: own.scan.at, gate, inside })
            }
            Headcount::Change { .. } => None,
        });
        let WithoutTicket { staff, crew, child, other } = counted;
        Some(HeadcountsView { staff, crew, child, other, recount, area_inside: self.area_known() })
    }

    /// Records a headcount by staff: people without a ticket who came or went, or everybody inside.
    pub fn count_heads(&mut self, headcount: Headcount) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let (most, inside) = (limits::HEADCOUNT_STEP, limits::RECOUNT);
        match headcount {
            Headcount::Change { delta, .. } if !(1..=most).contains(&delta.unsigned_abs()) => {
                return self.refuse("bad_count", &format!("Count 1 to {most} persons at a time."));
            }
            Headcount::Recount { inside: said } if said > inside => {
                return self.refuse("bad_count", &format!("Persons inside must be 0 to {inside}."));
            }
            Headcount::Change { .. } | Headcount::Recount { .. } => {}
        }
        let Some((scan_id, paired)) = ScanId::new(self.out.draw_uuid()).ok().zip(self.paired().cloned()) else {
            return;
        };
        let Some(subject) = Headcount::subject_id(&paired.event_id, &paired.device_id, &scan_id) else { return };
        self.used_at = Some(self.mono());
        let about = About { hash: None, raw: None, ticket: None };
        let stamp = self.session.stamp(self.recorder.journal().last_at());
        let verdict = Verdict::valid(0);
        let asked = Asked { kind: ScanKind::Headcount, stamp, standing: Standing::default(), verdict };
        let Some(mut scan) = self.draft(&about, &asked, Method::Manual) else { return };
        (scan.scan_id, scan.ticket_id, scan.basis) = (scan_id, Some(subject), None);
        (scan.opened, scan.count, scan.headcount) = (true, headcount.persons(), Some(headcount));
        let shown = shown(Screen::Admit, &about, &asked);
        self.write_scan(scan, shown, Vec::new(), None);
    }

    /// The newest of these scans that is a recount in force for the area behind this device's gate. `None` if there is
    /// none.
    pub fn own_recount<'a>(&self, own: impl Iterator<Item = &'a OwnScan>) -> Option<Recount> {
        let recount = |own: &'a OwnScan| match own.scan.headcount? {
            Headcount::Recount { inside } if self.recorder.journal().kept(&own.scan) > 0 && !own.scan.practice => {
                Some(Recount {
                    gate_id: own.scan.gate_id.clone(),
                    at: own.scan.at,
                    device_id: own.scan.device_id.clone(),
                    scan_id: own.scan.scan_id.clone(),
                    inside,
                })
            }
            Headcount::Recount { .. } | Headcount::Change { .. } => None,
        };
        let recounts: Vec<Recount> = own.filter_map(recount).collect();
        let gate_id = &self.paired()?.gate_id;
        Recount::newest(&recounts, gate_id, |id| self.list.as_ref()?.gates.get(id)).cloned()
    }
}
