//! The mail lane: the row that exists while the mail server refuses all letters, and the runs that wait meanwhile. It
//! is part of the closed list of unscoped statements (law 6), because a server has one mail server for all
//! organisations.

use admit_app::error::Result;
use admit_app::records::MailLaneRecord;
use admit_core::job::backoff_ms;
use admit_core::limits::{JOB_PROBLEM_CHARS, MAIL_PROBE_MS};
use admit_core::time::Timestamp;

use crate::driver::{Driver, statements};
use crate::value::Row;

statements! {
    /// The row of the stopped lane; no row while the lane is open.
    MAIL_LANE = "SELECT since, reason, next_at, pauses, probe FROM mail_lane WHERE id = 1";
    /// The time of the stopped lane's next probe, and whether runs wait for the lane. Gives one row in any case. The
    /// time is NULL while the lane is open.
    MAIL_LANE_AT = "SELECT lane.next_at, CAST(CASE WHEN EXISTS (SELECT 1 FROM job_queue WHERE parked IS NOT NULL) THEN 1 ELSE 0 END AS BIGINT)
        FROM (SELECT 1 AS id) AS found LEFT JOIN mail_lane AS lane ON lane.id = found.id";
    /// Stops an open lane. $1: the start of the stop, $2: the reason, $3: the time of its first probe.
    STOP_MAIL_LANE = "INSERT INTO mail_lane (id, since, reason, next_at, pauses) VALUES (1, $1, $2, $3, 1) ON CONFLICT DO NOTHING";
    /// Extends the stop after a failed probe. $1: the run that was the probe, $2: the reason, $3: the time of the next
    /// probe, $4: the number of pauses so far.
    PAUSE_MAIL_LANE = "UPDATE mail_lane SET reason = $2, next_at = $3, pauses = $4, probe = NULL WHERE id = 1 AND probe = $1";
    /// Makes a run's letter the probe. $1: the run, $2: the time until which no other letter becomes the probe, $3:
    /// now.
    PROBE_MAIL_LANE = "UPDATE mail_lane SET probe = $1, next_at = $2 WHERE id = 1 AND next_at <= $3";
    /// Moves the next probe of a stopped lane to now ($1).
    HURRY_MAIL_LANE = "UPDATE mail_lane SET next_at = $1, probe = NULL WHERE id = 1 AND next_at > $1";
    /// Opens the lane.
    OPEN_MAIL_LANE = "DELETE FROM mail_lane WHERE id = 1";
    /// The run that waits longest for the lane.
    LONGEST_PARKED = "SELECT organization_id, run_id FROM job_queue WHERE parked IS NOT NULL ORDER BY parked, run_id LIMIT 1";
    /// Makes one waiting run due. $3: now.
    WAKE_PARKED = "UPDATE job_queue SET next_at = $3, parked = NULL
        WHERE organization_id = $1 AND run_id = $2 AND parked IS NOT NULL";
    /// Makes all waiting runs due. $1: now.
    WAKE_ALL_PARKED = "UPDATE job_queue SET next_at = $1, parked = NULL WHERE parked IS NOT NULL";
}

fn read(row: &mut Row) -> Result<MailLaneRecord> {
    Ok(MailLaneRecord {
        since: row.at()?,
        reason: row.text()?,
        next_at: row.at()?,
        pauses: row.count()?,
        probe: row.option(Row::text)?,
    })
}

/// The stopped lane; `None` while the lane is open.
pub fn find<D: Driver>(driver: &mut D) -> Result<Option<MailLaneRecord>> {
    let row = driver.query(&MAIL_LANE, &[])?.into_iter().next();
    row.map(|mut row| read(&mut row)).transpose()
}

/// The time of the lane's next probe. `None`: the lane is open, or no run waits for it.
pub fn next_at<D: Driver>(driver: &mut D) -> Result<Option<Timestamp>> {
    let (next_at, parked) = look(driver)?;
    Ok(next_at.filter(|_| parked))
}

fn look<D: Driver>(driver: &mut D) -> Result<(Option<Timestamp>, bool)> {
    let row = driver.query(&MAIL_LANE_AT, &[])?.into_iter().next();
    let found = row.map(|mut row| Ok((row.option(Row::at)?, row.count::<u64>()? > 0))).transpose()?;
    Ok(found.unwrap_or((None, false)))
}

/// Prepares the lane before runs are taken. If the lane is open, all waiting runs become due. If it is stopped and its
/// pause is over, the run that waits longest becomes the probe. Gives whether the lane is stopped.
pub fn tend<D: Driver>(driver: &mut D, now: Timestamp) -> Result<bool> {
    let (next_at, parked) = look(driver)?;
    let Some(next_at) = next_at else {
        if parked {
            driver.execute(&WAKE_ALL_PARKED, &[now.into()])?;
        }
        return Ok(false);
    };
    if parked && next_at <= now {
        let longest = driver.query(&LONGEST_PARKED, &[])?.into_iter().next();
        if let Some(mut row) = longest {
            let (organization_id, run_id) = (row.text()?, row.text()?);
            let until = now.plus_ms(MAIL_PROBE_MS);
            if driver.execute(&PROBE_MAIL_LANE, &[(&run_id).into(), until.into(), now.into()])? == 1 {
                driver.execute(&WAKE_PARKED, &[(&organization_id).into(), (&run_id).into(), now.into()])?;
            }
        }
    }
    Ok(true)
}

/// Records that the mail server refused a run's letter because of the account or the server. If the lane is open, it
/// stops. If the letter was the probe, the lane stays stopped for longer. A refusal of any other letter changes
/// nothing: it was under way when the lane stopped.
pub fn stop<D: Driver>(driver: &mut D, run_id: &str, reason: &str, random: u8) -> Result<()> {
    let now = driver.now()?;
    let reason: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(JOB_PROBLEM_CHARS).collect();
    match find(driver)? {
        None => {
            let until = now.plus_ms(backoff_ms(1, random));
            driver.execute(&STOP_MAIL_LANE, &[now.into(), (&reason).into(), until.into()])?;
        }
        Some(lane) => {
            let pauses = lane.pauses.saturating_add(1);
            let until = now.plus_ms(backoff_ms(pauses, random));
            driver.execute(&PAUSE_MAIL_LANE, &[run_id.into(), (&reason).into(), until.into(), pauses.into()])?;
        }
    }
    Ok(())
}

/// Records that the mail server accepted a probe. The lane opens, and the waiting runs are due.
pub fn resume<D: Driver>(driver: &mut D) -> Result<()> {
    let now = driver.now()?;
    driver.execute(&OPEN_MAIL_LANE, &[])?;
    driver.execute(&WAKE_ALL_PARKED, &[now.into()]).map(|_| ())
}

/// Lets a stopped lane be probed at once.
pub fn hurry<D: Driver>(driver: &mut D) -> Result<()> {
    let now = driver.now()?;
    driver.execute(&HURRY_MAIL_LANE, &[now.into()]).map(|_| ())
}
