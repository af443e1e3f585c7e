//! The workflow of a pass (S0 "Cloudflare Workflows", spec §6): insert-qr-code → generate-qr-png → upload → send-email.
//! The result of each step is stored. After a crash the run continues at the first step that is not stored.

use std::sync::Arc;

use admit_core::barcode::BarcodeHash;
use admit_core::event::EventStatus;
use admit_core::ids::GuestId;
use admit_core::limits::PASS_RUNS;
use admit_core::pass;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::delivery_reason::DeliveryReason;
use super::letter::{self, Facts};
use super::sending::{self, Turn};
use crate::error::{Error, Result};
use crate::jobs::{Setback, StepResult, Steps, Workflow};
use crate::picture;
use crate::ports::{App, Mail, Objects, RunFilter, Scope, Tx, Unable, read};
use crate::records::{
    CredentialKind, CredentialRecord, EventRecord, GuestRecord, LetterheadRecord, MailKind, MailTemplateRecord,
    OrganizationRecord, Page, RunRecord, TicketRecord,
};

/// The word under which the workflow's runs are stored.
pub const KIND: &str = "pass";
/// Step 1: makes the token's page available.
pub const INSERT_QR_CODE: &str = "insert-qr-code";
/// Step 2: makes the QR code's picture.
const GENERATE_QR_PNG: &str = "generate-qr-png";
/// Step 3: stores the picture in the object store.
const UPLOAD: &str = "upload";
/// Step 4: mails the pass.
pub const SEND_EMAIL: &str = "send-email";

/// The services that the workflow uses, and the addresses that it writes.
#[derive(Clone)]
pub struct SetUp {
    /// The mail server.
    pub mail: Arc<dyn Mail>,
    /// The store for pictures.
    pub objects: Arc<dyn Objects>,
    /// `PUBLIC_URL`: the address that a QR code leads to. Absent if it is not set.
    pub public_url: Option<String>,
    /// `OBJECTS_PUBLIC_URL`: the address at which everybody can see the objects. Absent means this server's own
    /// address.
    pub objects_public_url: Option<String>,
}

/// The workflow that delivers a pass.
pub struct Delivery(pub SetUp);

impl Workflow for Delivery {
    fn kind(&self) -> &'static str {
        KIND
    }
    fn run<'a>(&'a self, steps: &'a mut Steps) -> BoxFuture<'a, StepResult<()>> {
        async move {
            if self.0.public_url.is_none() && waits_for_nothing(steps).await? {
                steps.say(OVER);
                return Ok(());
            }
            let token = insert_qr_code(steps).await?;
            let png = generate_qr_png(&self.0, steps, &token).await?;
            let picture_url = upload(&self.0, steps, &token, &png).await?;
            let said = send_email(&self.0, steps, token, png, picture_url).await?;
            if let Some(note) = said["note"].as_str() {
                steps.say(note);
            }
            Ok(())
        }
        .boxed()
    }
}

impl From<Unable> for Setback {
    fn from(unable: Unable) -> Self {
        match unable {
            Unable::Later(why) => Self::Again(why),
            Unable::Never(why) => Self::GiveUp(why),
        }
    }
}

/// Stores that the guest's token gives access to the ticket's pass. From then on the page of the pass is available. The
/// token is the code of the guest's ticket. It was made with the guest, so it is the same however often this step runs.
/// Returns the token.
async fn insert_qr_code(steps: &mut Steps) -> StepResult<String> {
    let guest_id = guest_of(steps.run())?;
    let (organization_id, now) = (steps.organization_id().clone(), steps.app().clock.now());
    let scope = Scope::organization(&organization_id);
    let given = steps.write(INSERT_QR_CODE, scope, move |tx| {
        let (_, ticket) = holder(tx, &guest_id)?;
        let token = ticket.barcode.filter(|_| ticket.drawn).ok_or_else(no_pass)?;
        let kept = tx.keep_pass(&CredentialRecord {
            token_hash: BarcodeHash::of(&token).0,
            organization_id: organization_id.clone(),
            kind: CredentialKind::Pass,
            holder: ticket.ticket_id.to_string(),
            expires_at: None,
            created_at: now,
        })?;
        // A code that was made for another ticket, and was imported into this event from a file, opens the other
        // ticket's page. So this guest has no pass.
        if !kept {
            return Err(no_pass());
        }
        Ok((token.into_bytes(), ()))
    });
    Ok(words(given.await?.0)?)
}

/// Whether waiting for `PUBLIC_URL` is useless, because the event is over or gone. While the event is not over, a run
/// waits for `PUBLIC_URL` before it makes a pass.
async fn waits_for_nothing(steps: &Steps) -> StepResult<bool> {
    let (app, event_id) = (steps.app(), steps.run().event_id.clone());
    let event = read(&*app.store, steps.organization_id(), move |tx| tx.event(&event_id)).await?;
    Ok(event.is_none_or(|event| is_past(&event, app.clock.now())))
}

pub(crate) fn is_over(event: &EventRecord) -> bool {
    matches!(event.status, EventStatus::Ended | EventStatus::Archived)
}

fn is_past(event: &EventRecord, now: Timestamp) -> bool {
    is_over(event) || now >= event.ends_at
}

async fn generate_qr_png(set_up: &SetUp, steps: &mut Steps, token: &str) -> StepResult<Vec<u8>> {
    let url = set_up.public_url.as_deref().map(|base| pass::url(base, token));
    steps
        .work(GENERATE_QR_PNG, |_| async move {
            let url = url.ok_or_else(|| Setback::NotSetUp(NO_PUBLIC_URL.to_owned()))?;
            Ok(picture::png(&url)?)
        })
        .await
}

/// The remark of a run that came after the event's end.
const OVER: &str = "the event is over: nothing was mailed";
/// The remark of a run whose event is still a draft.
const DRAFT: &str = "the event is a draft. Its passes are mailed within minutes after its doors open";
/// The reason of a run that waits for the server's address.
const NO_PUBLIC_URL: &str = "PUBLIC_URL is not set: a pass leads its guest to that address";

/// Stores the picture and returns its address. An existing object is not stored again: its name holds the token, so it
/// is the same picture.
async fn upload(set_up: &SetUp, steps: &mut Steps, token: &str, png: &[u8]) -> StepResult<String> {
    let (key, objects, png) = (pass::object_key(token), set_up.objects.clone(), png.to_vec());
    let base = set_up.objects_public_url.as_deref().or(set_up.public_url.as_deref()).unwrap_or_default();
    let url = format!("{base}/{key}");
    let given = steps.work(UPLOAD, |_| async move {
        if !objects.has(key.clone()).await? {
            objects.put(key, png).await?;
        }
        Ok(url.into_bytes())
    });
    Ok(words(given.await?)?)
}

/// Mails the guest with the present data, or says why nothing is mailed: `{"mailed": true}`, `{"mailed": false, "note":
/// …}`.
async fn send_email(
    set_up: &SetUp,
    steps: &mut Steps,
    token: String,
    png: Vec<u8>,
    picture_url: String,
) -> StepResult<Value> {
    let (app, run, organization_id) = (steps.app().clone(), steps.run().clone(), steps.organization_id().clone());
    let (set_up, stopped, run_id) = (set_up.clone(), steps.taken.mail_stopped, run.run_id.clone());
    let given = steps.work_last(SEND_EMAIL, |key| async move {
        let found = read(&*app.store, &organization_id, move |tx| look(tx, &run)).await?;
        let now = app.clock.now();
        let said = match nothing_to_mail(&found, now) {
            Some(note) => json!({ "mailed": false, "note": note }),
            None => {
                // The run waits at most until the event's end. After that there is nothing left to mail.
                let until = found.event.ends_at;
                let turn = sending::turn(&app, &run_id, stopped).await?.ok_or(Setback::Parked(until))?;
                if found.event.status == EventStatus::Draft {
                    sending::pass_on(&app, turn).await;
                    return Err(Setback::NotSetUp(DRAFT.to_owned()));
                }
                mail(&set_up, &app, &found, (&token, png, &picture_url), &key, (&run_id, turn)).await?;
                json!({ "mailed": true })
            }
        };
        Ok(said.to_string().into_bytes())
    });
    let given = words(given.await?)?;
    serde_json::from_str(&given).map_err(|error| Error::Bug(error.to_string()).into())
}

/// Everything that the mail is about, read when it goes out.
struct Found {
    organization: OrganizationRecord,
    letterhead: LetterheadRecord,
    templates: MailTemplateRecord,
    event: EventRecord,
    guest: GuestRecord,
    ticket: TicketRecord,
    why: Option<DeliveryReason>,
    /// Number of mails that earlier runs sent.
    earlier: usize,
    /// Whether a later run of the same guest will mail.
    is_overtaken: bool,
}

fn look(tx: &mut dyn Tx, run: &RunRecord) -> Result<Found> {
    let (guest, ticket) = holder(tx, &guest_of(run)?)?;
    let event = tx.event(&run.event_id)?.ok_or_else(|| Error::not_found("event"))?;
    let filter = RunFilter { subject: Some(run.subject.clone()), ..RunFilter::default() };
    let mut of_guest = tx.runs(&filter, &Page { limit: PASS_RUNS, cursor: None })?.items;
    of_guest.retain(|one| one.kind == KIND);
    let newest = of_guest.first().is_none_or(|newest| newest.run_id == run.run_id);
    let mut earlier = 0;
    for other in of_guest.iter().filter(|one| one.run_id != run.run_id) {
        let steps = tx.run_steps(&other.run_id)?;
        earlier += steps.iter().filter(|step| step.name == SEND_EMAIL && was_mailed(&step.output)).count();
    }
    let input: Value = serde_json::from_str(&run.input).unwrap_or_default();
    Ok(Found {
        organization: tx.organization()?,
        letterhead: tx.letterhead()?,
        templates: tx.mail_template(MailKind::Pass)?,
        event,
        guest,
        ticket,
        why: (input["why"] == DeliveryReason::Changed.as_str()).then_some(DeliveryReason::Changed),
        earlier,
        is_overtaken: !newest,
    })
}

fn was_mailed(output: &[u8]) -> bool {
    serde_json::from_slice::<Value>(output).is_ok_and(|said| said["mailed"] == true)
}

/// Why nothing is mailed, in words for the organiser. `None` if a mail goes out.
fn nothing_to_mail(found: &Found, now: Timestamp) -> Option<&'static str> {
    if found.is_overtaken {
        Some("this guest changed again: the later run mails them")
    } else if is_past(&found.event, now) {
        Some(OVER)
    } else if found.ticket.rules.status != TicketStatus::Active {
        Some("the ticket is withdrawn or used: nothing was mailed")
    } else if found.guest.email.is_none() {
        Some("no e-mail address: the pass is made, its link can be shared")
    } else {
        None
    }
}

async fn mail(
    set_up: &SetUp,
    app: &App,
    found: &Found,
    (token, png, picture_url): (&str, Vec<u8>, &str),
    key: &str,
    (run_id, turn): (&str, Turn),
) -> StepResult<()> {
    let until = found.event.ends_at;
    let Some(sender) = set_up.mail.sender() else {
        return Err(sending::not_set_up(app, run_id, until).await?);
    };
    let base = set_up.public_url.as_deref().ok_or_else(|| Setback::NotSetUp(NO_PUBLIC_URL.to_owned()))?;
    let letter = letter::write(Facts {
        organization: &found.organization,
        letterhead: &found.letterhead,
        templates: &found.templates,
        event: &found.event,
        guest: &found.guest,
        email: found.guest.email.as_deref().unwrap_or_default(),
        ticket: &found.ticket,
        token,
        base,
        picture_url,
        png,
        earlier: found.earlier,
        is_change: found.why == Some(DeliveryReason::Changed) && found.earlier > 0,
        sender: &sender,
        key,
        now: app.clock.now(),
    })?;
    sending::send(app, &*set_up.mail, (run_id, turn), letter, until).await
}

fn guest_of(run: &RunRecord) -> Result<GuestId> {
    GuestId::new(run.subject.clone()).map_err(|error| Error::Bug(error.to_string()))
}

/// The guest and the guest's ticket. Fails with `NotFound` if either is missing.
pub(super) fn holder(tx: &mut dyn Tx, guest_id: &GuestId) -> Result<(GuestRecord, TicketRecord)> {
    let guest = tx.guests_by_id(std::slice::from_ref(guest_id))?.into_iter().next();
    let guest = guest.ok_or_else(|| Error::not_found("guest"))?;
    let ticket = match &guest.ticket_id {
        Some(ticket_id) => tx.ticket(ticket_id)?,
        None => None,
    };
    Ok((guest, ticket.ok_or_else(|| Error::not_found("ticket"))?))
}

pub(crate) fn no_pass() -> Error {
    Error::conflict(
        "code_of_another",
        "this ticket's code was made elsewhere and came with an import: its holder has it from there, and it has no pass",
    )
}

fn words(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| Error::Bug(format!("a step gave what is no text: {error}")))
}
