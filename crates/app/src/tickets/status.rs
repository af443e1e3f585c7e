//! Who set a ticket's status. A person's decision outranks files and promoters.

use std::collections::BTreeMap;

use admit_core::access::{Action, can};
use admit_core::ids::{EventId, TicketId};
use admit_core::limits::PAGE_MAX;
use admit_core::rule::{Change, TicketChange};
use admit_core::ticket::TicketStatus;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::{AuditRecord, TicketRecord};

/// The serials of the newest status rules of these tickets. A ticket that still has its first status has none.
pub(crate) fn newest(
    tx: &mut dyn Tx,
    event_id: &EventId,
    tickets: &[&TicketRecord],
) -> Result<BTreeMap<TicketId, u64>> {
    let ids: Vec<TicketId> = tickets.iter().map(|ticket| ticket.ticket_id.clone()).collect();
    let mut newest: BTreeMap<TicketId, u64> = BTreeMap::new();
    for rule in tx.load_rules(event_id, &ids)?.tickets {
        if let Change::Ticket(ticket_id, TicketChange::Status(_)) = rule.change {
            let serial = newest.entry(ticket_id).or_default();
            *serial = rule.serial.max(*serial);
        }
    }
    Ok(newest)
}

/// The line that the ledger has for the write of this status rule. `None` if no person made the rule.
pub(crate) fn by_hand(
    tx: &mut dyn Tx,
    event_id: &EventId,
    ticket: &TicketRecord,
    serial: u64,
) -> Result<Option<AuditRecord>> {
    let mut lines = tx.audit_of(event_id, ("Ticket", ticket.ticket_id.as_str()), PAGE_MAX)?;
    if let Some(guest_id) = &ticket.guest_id {
        lines.extend(tx.audit_of(event_id, ("Guest", guest_id.as_str()), PAGE_MAX)?);
    }
    let persons = |line: &AuditRecord| matches!(line.line.action.as_str(), "ticket_updated" | "guest_updated");
    Ok(lines.into_iter().find(|line| line.serial == serial && persons(line)))
}

/// Checks that the caller may set this status. A promoter may void an active ticket, and restore what they voided
/// themselves. Every other status belongs to the organiser. So a promoter cannot let in a guest whom the organiser
/// refunded or turned away.
pub(crate) fn may_become(tx: &mut dyn Tx, by: &UserCaller, ticket: &TicketRecord, status: TicketStatus) -> Result<()> {
    if can(by.role, Action::ManageGuests) || status == ticket.rules.status {
        return Ok(());
    }
    let own = match (ticket.rules.status, status) {
        (TicketStatus::Active, TicketStatus::Voided) => true,
        (TicketStatus::Voided, TicketStatus::Active) => {
            let newest = newest(tx, &ticket.event_id, &[ticket])?;
            let line = match newest.get(&ticket.ticket_id) {
                Some(serial) => by_hand(tx, &ticket.event_id, ticket, *serial)?,
                None => None,
            };
            line.is_some_and(|line| line.line.user_id.as_ref() == Some(&by.user_id))
        }
        _ => false,
    };
    let message =
        "is the organiser's to change: a promoter takes good tickets back, and makes good what they took back";
    if own { Ok(()) } else { Err(Error::invalid("ticket_status", message)) }
}
