//! Shows the page of a pass to anybody who has its address.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::TicketId;
use admit_core::incident::Subject;
use admit_core::limits::PAGE_MAX;
use admit_core::pass::{PassStanding, is_token, standing};

use crate::error::{Error, Result};
use crate::ports::{App, Pace, Scope, Tx, read, write};
use crate::records::{
    CredentialKind, EventRecord, GuestRecord, LetterheadRecord, NewAudit, OrganizationRecord, TicketRecord,
};

/// The action of the line that the first opening of a pass adds to its event's ledger.
pub(crate) const OPENED: &str = "pass_opened";

/// A pass, with everything that its page shows.
#[derive(Debug, Clone)]
pub struct Pass {
    /// The organisation of the event.
    pub organization: OrganizationRecord,
    /// How that organisation's mails and pages look.
    pub letterhead: LetterheadRecord,
    /// The event.
    pub event: EventRecord,
    /// The guest who holds the ticket. Absent if there is none.
    pub guest: Option<GuestRecord>,
    /// The ticket of the pass.
    pub ticket: TicketRecord,
    /// Persons let in so far.
    pub persons: u32,
    /// The state of the pass.
    pub standing: PassStanding,
    /// Whether nobody opened the pass's page before.
    pub is_unopened: bool,
}

/// The pass of a token. Every other token is `NotFound`, whatever the reason.
pub async fn show(app: &App, token: &str) -> Result<Pass> {
    let unknown = || Error::not_found("pass");
    if !is_token(token) {
        return Err(unknown());
    }
    let credential = app.store.credential(BarcodeHash::of(token).0).await?;
    let credential = credential.filter(|one| one.kind == CredentialKind::Pass).ok_or_else(unknown)?;
    let ticket_id = TicketId::new(credential.holder).map_err(|error| Error::Bug(error.to_string()))?;
    let now = app.clock.now();
    read(&*app.store, &credential.organization_id, move |tx| {
        let ticket = tx.ticket(&ticket_id)?.ok_or_else(|| Error::not_found("pass"))?;
        let event = tx.event(&ticket.event_id)?.ok_or_else(|| Error::not_found("pass"))?;
        let guest_ids: Vec<_> = ticket.guest_id.iter().cloned().collect();
        let guest = tx.guests_by_id(&guest_ids)?.into_iter().next();
        let key = Subject::Ticket(ticket.ticket_id.clone()).key();
        let state = tx.states(&ticket.event_id, &[key])?.into_iter().next().map(|one| one.state).unwrap_or_default();
        Ok(Pass {
            is_unopened: !was_opened(tx, &ticket)?,
            standing: standing(&ticket.rules, &state, event.re_entry, event.status, now),
            persons: state.persons(),
            organization: tx.organization()?,
            letterhead: tx.letterhead()?,
            event,
            guest,
            ticket,
        })
    })
    .await
}

/// Notes in the ledger that a pass's page was opened, the first time only. The guest's timeline shows it. The write has
/// the lowest priority, since nobody waits for it at a door.
pub async fn opened(app: &App, pass: &Pass) -> Result<()> {
    if !pass.is_unopened {
        return Ok(());
    }
    let ticket = pass.ticket.clone();
    let scope = Scope::event(&pass.organization.organization_id, &ticket.event_id);
    write(&*app.store, Scope { pace: Pace::Patient, ..scope }, move |tx| {
        // Two windows may open the page at the same time.
        if was_opened(tx, &ticket)? {
            return Ok(());
        }
        tx.stamp(&ticket.event_id)?;
        tx.append_audit(NewAudit {
            event_id: Some(ticket.event_id.clone()),
            user_id: None,
            device_id: None,
            action: OPENED,
            entity_type: "Ticket",
            entity_id: ticket.ticket_id.to_string(),
            changes: "{}".to_owned(),
            metadata: "{}".to_owned(),
        })
    })
    .await
}

fn was_opened(tx: &mut dyn Tx, ticket: &TicketRecord) -> Result<bool> {
    let lines = tx.audit_of(&ticket.event_id, ("Ticket", ticket.ticket_id.as_str()), PAGE_MAX)?;
    Ok(lines.iter().any(|line| line.line.action == OPENED))
}
