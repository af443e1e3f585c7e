//! The queue of due runs, over all organisations. It is part of the closed list of unscoped statements (law 6). It
//! holds only ids and times; the runs themselves are guarded by row level security.

use admit_app::error::Result;
use admit_app::records::TakenRun;

use crate::driver::{Driver, statements};
use crate::mail_lane;
use crate::value::{Row, Value};

statements! {
    /// Takes due runs, longest due first. $1: the holder, $2: the end of the lease, $3: now, $4: the most runs. On
    /// PostgreSQL two holders that take at the same moment take different runs.
    TAKE_RUNS = "UPDATE job_queue SET holder = $1, fence = fence + 1, next_at = $2, parked = NULL WHERE (organization_id, run_id) IN
        (SELECT organization_id, run_id FROM job_queue WHERE next_at <= $3 ORDER BY next_at, run_id LIMIT $4)
        RETURNING organization_id, run_id, fence",
        postgres = "WITH due AS MATERIALIZED (SELECT organization_id, run_id FROM job_queue WHERE next_at <= $3
            ORDER BY next_at, run_id LIMIT $4 FOR UPDATE SKIP LOCKED)
        UPDATE job_queue q SET holder = $1, fence = q.fence + 1, next_at = $2, parked = NULL FROM due
        WHERE q.organization_id = due.organization_id AND q.run_id = due.run_id
        RETURNING q.organization_id, q.run_id, q.fence";
    /// Extends the lease of runs that the holder $1 still has, until $2. On PostgreSQL it skips runs whose step is
    /// being stored at this moment. Storing a step extends the lease as well, and the two would otherwise wait for
    /// each other for a second.
    RENEW_RUNS = "UPDATE job_queue SET next_at = $2 WHERE holder = $1 AND run_id IN ($3)",
        postgres = "WITH own AS MATERIALIZED (SELECT organization_id, run_id FROM job_queue WHERE holder = $1
            AND run_id IN ($3) FOR UPDATE SKIP LOCKED)
        UPDATE job_queue q SET next_at = $2 FROM own
        WHERE q.organization_id = own.organization_id AND q.run_id = own.run_id";
    /// Ends all leases of a holder, so that its runs are due. $1: the holder, $2: now.
    FREE_RUNS = "UPDATE job_queue SET holder = NULL, next_at = $2 WHERE holder = $1";
    /// The time at which the next run is due; NULL if no run waits.
    NEXT_RUN = "SELECT MIN(next_at) FROM job_queue WHERE next_at IS NOT NULL";
}

fn read_taken(row: &mut Row, mail_stopped: bool) -> Result<TakenRun> {
    Ok(TakenRun { organization_id: row.parsed()?, run_id: row.text()?, fence: row.count()?, mail_stopped })
}

/// Takes due runs for `holder`, and gives them in order of id. If the mail lane is open, runs that wait for it become
/// due first.
pub fn take<D: Driver>(driver: &mut D, holder: &str, lease_ms: i64, limit: usize) -> Result<Vec<TakenRun>> {
    let now = driver.now()?;
    let mail_stopped = mail_lane::tend(driver, now)?;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = driver.query(&TAKE_RUNS, &[holder.into(), now.plus_ms(lease_ms).into(), now.into(), most.into()])?;
    let mut taken = rows.into_iter().map(|mut row| read_taken(&mut row, mail_stopped)).collect::<Result<Vec<_>>>()?;
    taken.sort_by(|a, b| (&a.run_id, &a.organization_id).cmp(&(&b.run_id, &b.organization_id)));
    Ok(taken)
}

/// Extends the leases of those among `run_ids` that `holder` still has, to `lease_ms` milliseconds from now.
pub fn renew<D: Driver>(driver: &mut D, holder: &str, run_ids: &[String], lease_ms: i64) -> Result<()> {
    if run_ids.is_empty() {
        return Ok(());
    }
    let until = driver.now()?.plus_ms(lease_ms);
    let list: Vec<Value<'_>> = run_ids.iter().map(Value::from).collect();
    driver.execute_each(&RENEW_RUNS, &[holder.into(), until.into()], &list).map(|_| ())
}

/// Ends the leases of `holder`, so that its runs are due at once. Gives their number.
pub fn free<D: Driver>(driver: &mut D, holder: &str) -> Result<u64> {
    let now = driver.now()?;
    driver.execute(&FREE_RUNS, &[holder.into(), now.into()])
}

/// Milliseconds until the next run is due; 0 if one is due now, `None` if no run waits.
pub fn next_in<D: Driver>(driver: &mut D) -> Result<Option<i64>> {
    let row = driver.query(&NEXT_RUN, &[])?.into_iter().next();
    let next = row.map(|mut row| row.option(Row::at)).transpose()?.flatten();
    let now = driver.now()?;
    let next = next.into_iter().chain(mail_lane::next_at(driver)?).min();
    Ok(next.map(|next| next.since(now).max(0)))
}
