//! Statements about incidents, the rows of the review queue.

use admit_app::error::{Error, Result};
use admit_app::ports::{IncidentFilter, TxIncidents};
use admit_app::records::{IncidentRecord, IncidentStatus, Listed, Page, Resolution};
use admit_core::ids::{EventId, IncidentId};
use admit_core::incident::IncidentKind;

use crate::driver::{Driver, bulks, statements};
use crate::page;
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! incident_columns {
    () => {
        "incident_id, event_id, kind, severity, subject, digest, cause, status, resolved_digest, resolved_by, resolution, \
         resolution_note, resolved_at, opened_at, updated_at, serial"
    };
}

statements! {
    /// Incidents of the given subjects.
    INCIDENTS_OF = concat!("SELECT ", incident_columns!(), " FROM incidents WHERE organization_id = $1 AND event_id = $2 AND subject IN ($3)"), by 4 of ["incidents"];
    /// One incident by id, of any event of the organisation.
    INCIDENT = concat!("SELECT ", incident_columns!(), " FROM incidents WHERE organization_id = $1 AND incident_id = $2");
    /// A page of incidents. $5: status, $6: only incidents of the review queue, $8: kind.
    INCIDENTS = concat!("SELECT ", incident_columns!(), " FROM incidents WHERE organization_id = $1 AND event_id = $2
        AND (opened_at, incident_id) < ($3, $4) AND (CAST($5 AS TEXT) IS NULL OR status = $5) AND (queued OR NOT CAST($6 AS BOOLEAN))
        AND (CAST($8 AS TEXT) IS NULL OR kind = $8)
        ORDER BY opened_at DESC, incident_id DESC LIMIT $7");
    /// A page of incidents that a person answered and that are not open again, ordered by the time of the answer.
    DECIDED_INCIDENTS = concat!("SELECT ", incident_columns!(), " FROM incidents WHERE organization_id = $1 AND event_id = $2
        AND resolved_by IS NOT NULL AND (resolved_at, incident_id) < ($3, $4) AND status <> 'open'
        AND (CAST($5 AS TEXT) IS NULL OR status = $5) AND (queued OR NOT CAST($6 AS BOOLEAN))
        AND (CAST($8 AS TEXT) IS NULL OR kind = $8)
        ORDER BY resolved_at DESC, incident_id DESC LIMIT $7");
    /// All incidents of an event, by subject and kind.
    ALL_INCIDENTS = concat!("SELECT ", incident_columns!(), " FROM incidents WHERE organization_id = $1 AND event_id = $2 ORDER BY subject, kind");
    /// The number of incidents of the review queue that a person answered and that are not open again.
    COUNT_DECIDED = "SELECT COUNT(*) FROM incidents WHERE organization_id = $1 AND event_id = $2 AND resolved_by IS NOT NULL
        AND status <> 'open' AND queued";
    /// The number of open incidents by kind.
    COUNT_OPEN = "SELECT kind, COUNT(*) FROM incidents WHERE organization_id = $1 AND event_id = $2 AND status = 'open' GROUP BY kind ORDER BY kind";
}
bulks! {
    /// Stores incidents. If an incident of the same subject and kind is stored, its row is overwritten and keeps its
    /// id.
    PUT_INCIDENTS = "incidents" {
        organization_id: Text, incident_id: Text, event_id: Text, kind: Text, severity: Text, subject: Text, queued: Bool,
        digest: Blob, cause: Text, status: Text, resolved_digest: Blob, resolved_by: Text, resolution: Text,
        resolution_note: Text, resolved_at: Int, opened_at: Int, updated_at: Int, serial: Int,
    }, "ON CONFLICT (organization_id, event_id, subject, kind) DO UPDATE SET severity = excluded.severity,
        queued = excluded.queued, digest = excluded.digest, cause = excluded.cause, status = excluded.status,
        resolved_digest = excluded.resolved_digest, resolved_by = excluded.resolved_by, resolution = excluded.resolution,
        resolution_note = excluded.resolution_note, resolved_at = excluded.resolved_at, opened_at = excluded.opened_at,
        updated_at = excluded.updated_at, serial = excluded.serial";
}

fn read_incident(row: &mut Row) -> Result<IncidentRecord> {
    let incident_id = row.parsed()?;
    let event_id = row.parsed()?;
    let kind = row.parsed()?;
    let severity = row.parsed()?;
    let subject_key = row.text()?;
    let digest = row.hash()?;
    let cause = row.text()?;
    let status = row.text()?;
    let status =
        IncidentStatus::parse(&status).ok_or_else(|| Error::Bug(format!("unknown status of an incident: {status}")))?;
    let resolved_digest = row.option(Row::hash)?;
    let (user_id, decision) = (row.option(Row::parsed)?, row.option(Row::text)?);
    let (note, at) = (row.option(Row::text)?, row.option(Row::at)?);
    let resolution = user_id.zip(decision).zip(note.zip(at));
    let resolution = resolution.map(|((user_id, decision), (note, at))| Resolution { user_id, decision, note, at });
    Ok(IncidentRecord {
        incident_id,
        event_id,
        kind,
        severity,
        subject_key,
        digest,
        cause,
        status,
        resolved_digest,
        resolution,
        opened_at: row.at()?,
        updated_at: row.at()?,
        serial: row.count()?,
    })
}

impl<D: Driver> TxIncidents for SqlTx<'_, D> {
    fn incidents_of(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<IncidentRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
        let mut found = self.each(&INCIDENTS_OF, &[(&id).into(), event_id.into()], &list, read_incident)?;
        found.sort_by(|a, b| (&a.subject_key, a.kind).cmp(&(&b.subject_key, b.kind)));
        found.dedup_by(|a, b| a.incident_id == b.incident_id);
        Ok(found)
    }
    fn put_incidents(&mut self, incidents: &[IncidentRecord]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(incidents.len() * 18);
        for incident in incidents {
            let resolution = incident.resolution.as_ref();
            values.extend([
                (&id).into(),
                (&incident.incident_id).into(),
                (&incident.event_id).into(),
                incident.kind.as_str().into(),
                incident.severity.as_str().into(),
                (&incident.subject_key).into(),
                incident.kind.queued().into(),
                (&incident.digest).into(),
                (&incident.cause).into(),
                incident.status.as_str().into(),
                incident.resolved_digest.as_ref().into(),
                resolution.map(|resolution| &resolution.user_id).into(),
                resolution.map(|resolution| &resolution.decision).into(),
                resolution.map(|resolution| &resolution.note).into(),
                resolution.map(|resolution| resolution.at).into(),
                incident.opened_at.into(),
                incident.updated_at.into(),
                incident.serial.into(),
            ]);
        }
        self.queue_many(&PUT_INCIDENTS, &values)
    }
    fn incident(&mut self, incident_id: &IncidentId) -> Result<Option<IncidentRecord>> {
        let id = self.organization_id.clone();
        self.one(&INCIDENT, &[(&id).into(), incident_id.into()], read_incident)
    }
    fn incidents(&mut self, event_id: &EventId, filter: IncidentFilter, page: &Page) -> Result<Listed<IncidentRecord>> {
        let id = self.organization_id.clone();
        let from = page::from(page)?;
        let values = [
            (&id).into(),
            event_id.into(),
            from.number.into(),
            from.id.into(),
            filter.status.map(IncidentStatus::as_str).into(),
            filter.queued.into(),
            page::limit(page).into(),
            filter.kind.map(IncidentKind::as_str).into(),
        ];
        let items = self.all(if filter.decided { &DECIDED_INCIDENTS } else { &INCIDENTS }, &values, read_incident)?;
        let place = |incident: &IncidentRecord| match &incident.resolution {
            Some(resolution) if filter.decided => resolution.at,
            _ => incident.opened_at,
        };
        Ok(page::listed(page, items, |incident| (place(incident).ms(), incident.incident_id.to_string())))
    }
    fn all_incidents(&mut self, event_id: &EventId) -> Result<Vec<IncidentRecord>> {
        let id = self.organization_id.clone();
        self.all(&ALL_INCIDENTS, &[(&id).into(), event_id.into()], read_incident)
    }
    fn count_decided_incidents(&mut self, event_id: &EventId) -> Result<u64> {
        let id = self.organization_id.clone();
        Ok(self.one(&COUNT_DECIDED, &[(&id).into(), event_id.into()], Row::count)?.unwrap_or_default())
    }
    fn count_open_incidents(&mut self, event_id: &EventId) -> Result<Vec<(IncidentKind, u64)>> {
        let id = self.organization_id.clone();
        self.all(&COUNT_OPEN, &[(&id).into(), event_id.into()], |row| Ok((row.parsed()?, row.count()?)))
    }
}
