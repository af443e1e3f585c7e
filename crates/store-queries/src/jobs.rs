//! Statements about runs of workflows and their steps.

use admit_app::error::Result;
use admit_app::ports::{RunFilter, TxJobs};
use admit_app::records::{Listed, Page, RunRecord, StepRecord};
use admit_core::ids::EventId;
use admit_core::time::Timestamp;

use crate::driver::{Driver, bulks, statements};
use crate::page;
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! run_columns {
    () => {
        "run_id, kind, event_id, subject, input, state, tries, step, problem, next_at, created_at, updated_at"
    };
}

statements! {
    /// One run by id.
    RUN = concat!("SELECT ", run_columns!(), " FROM runs WHERE organization_id = $1 AND run_id = $2");
    /// A page of runs. $4: the event, $5: the state of the runs.
    RUNS = concat!("SELECT ", run_columns!(), " FROM runs WHERE organization_id = $1 AND (created_at, run_id) < ($2, $3)
        AND (CAST($4 AS TEXT) IS NULL OR event_id = $4) AND (CAST($5 AS TEXT) IS NULL OR state = $5)
        ORDER BY created_at DESC, run_id DESC LIMIT $6");
    /// A page of runs about the subject $7. It is a statement of its own, because with an optional condition the
    /// database uses no index. Mailing ten thousand guests runs this statement ten thousand times.
    RUNS_OF_SUBJECT = concat!("SELECT ", run_columns!(), " FROM runs WHERE organization_id = $1 AND (created_at, run_id) < ($2, $3)
        AND (CAST($4 AS TEXT) IS NULL OR event_id = $4) AND (CAST($5 AS TEXT) IS NULL OR state = $5) AND subject = $7
        ORDER BY created_at DESC, run_id DESC LIMIT $6");
    /// The subjects of all runs of a kind in an event.
    RUN_SUBJECTS = "SELECT DISTINCT subject FROM runs WHERE organization_id = $1 AND event_id = $2 AND kind = $3 ORDER BY subject";
    /// Which of the given subjects have a run of this kind.
    RUN_SUBJECTS_AMONG = "SELECT DISTINCT subject FROM runs WHERE organization_id = $1 AND event_id = $2 AND kind = $3 AND subject IN ($4)";
    /// The newest run of a kind about each of some subjects.
    NEWEST_RUNS = concat!("SELECT ", run_columns!(), " FROM runs AS newest WHERE organization_id = $1 AND event_id = $2 AND kind = $3
        AND NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.organization_id = newest.organization_id
            AND later.subject = newest.subject AND later.event_id = newest.event_id AND later.kind = newest.kind
            AND (later.created_at, later.run_id) > (newest.created_at, newest.run_id))
        AND subject IN ($4)");
    /// Overwrites the state of a run, unless the run is done.
    UPDATE_RUN = "UPDATE runs SET state = $3, tries = $4, step = $5, problem = $6, next_at = $7, updated_at = $8
        WHERE organization_id = $1 AND run_id = $2 AND state <> 'done'";
    /// Steps of a run.
    RUN_STEPS = "SELECT run_id, name, place, output, tries, began_at, done_at FROM steps WHERE organization_id = $1 AND run_id = $2
        ORDER BY place, name";
    /// Stores the result of a finished step.
    INSERT_STEP = "INSERT INTO steps (organization_id, run_id, name, place, output, tries, began_at, done_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    /// Extends the lease of a run to $4, if it is still under the fence $3. It changes no row if another process took
    /// the run.
    HOLD_RUN = "UPDATE job_queue SET next_at = $4 WHERE organization_id = $1 AND run_id = $2 AND fence = $3 AND holder IS NOT NULL";
    /// Ends the lease of a run. $3: when the run is due again.
    RELEASE_RUN = "UPDATE job_queue SET holder = NULL, next_at = $3 WHERE organization_id = $1 AND run_id = $2";
    /// Ends the lease of a run that waits for the mail lane, and puts it behind all others that wait. $3: the latest
    /// time at which the run is due.
    PARK_RUN = "UPDATE job_queue SET holder = NULL, next_at = $3,
        parked = (SELECT COALESCE(MAX(parked), 0) + 1 FROM job_queue WHERE parked IS NOT NULL)
        WHERE organization_id = $1 AND run_id = $2";
    /// Makes a run due that no process holds. $3: when.
    HURRY_RUN = "UPDATE job_queue SET next_at = $3 WHERE organization_id = $1 AND run_id = $2 AND holder IS NULL";
    /// Removes a finished run from the queue.
    DEQUEUE_RUN = "DELETE FROM job_queue WHERE organization_id = $1 AND run_id = $2";
}
bulks! {
    /// Makes runs.
    INSERT_RUNS = "runs" {
        organization_id: Text, run_id: Text, kind: Text, event_id: Text, subject: Text, input: Text, state: Text,
        tries: Int, step: Text, problem: Text, next_at: Int, created_at: Int, updated_at: Int,
    };
    /// Puts runs into the queue.
    QUEUE_RUNS = "job_queue" { organization_id: Text, run_id: Text, next_at: Int, fence: Int };
}

fn read_run(row: &mut Row) -> Result<RunRecord> {
    Ok(RunRecord {
        run_id: row.text()?,
        kind: row.text()?,
        event_id: row.parsed()?,
        subject: row.text()?,
        input: row.text()?,
        state: row.parsed()?,
        tries: row.count()?,
        step: row.option(Row::text)?,
        problem: row.option(Row::text)?,
        next_at: row.option(Row::at)?,
        created_at: row.at()?,
        updated_at: row.at()?,
    })
}
fn read_step(row: &mut Row) -> Result<StepRecord> {
    Ok(StepRecord {
        run_id: row.text()?,
        name: row.text()?,
        place: row.count()?,
        output: row.blob()?,
        tries: row.count()?,
        began_at: row.at()?,
        done_at: row.at()?,
    })
}

impl<D: Driver> TxJobs for SqlTx<'_, D> {
    fn insert_runs(&mut self, runs: &[RunRecord]) -> Result<()> {
        if runs.is_empty() {
            return Ok(());
        }
        let id = self.organization_id.clone();
        let now = self.with(|driver, _| driver.about_now())?;
        let mut rows: Vec<Value<'_>> = Vec::with_capacity(runs.len() * 13);
        let mut queue: Vec<Value<'_>> = Vec::with_capacity(runs.len() * 4);
        for run in runs {
            rows.extend([
                (&id).into(),
                (&run.run_id).into(),
                (&run.kind).into(),
                (&run.event_id).into(),
                (&run.subject).into(),
                (&run.input).into(),
                run.state.as_str().into(),
                run.tries.into(),
                run.step.as_ref().into(),
                run.problem.as_ref().into(),
                run.next_at.into(),
                run.created_at.into(),
                run.updated_at.into(),
            ]);
            queue.extend([(&id).into(), (&run.run_id).into(), now.into(), 0_u64.into()]);
        }
        self.execute_many(&INSERT_RUNS, &rows)?;
        self.execute_many(&QUEUE_RUNS, &queue)
    }
    fn run(&mut self, run_id: &str) -> Result<Option<RunRecord>> {
        let id = self.organization_id.clone();
        self.one(&RUN, &[(&id).into(), run_id.into()], read_run)
    }
    fn runs(&mut self, filter: &RunFilter, page: &Page) -> Result<Listed<RunRecord>> {
        let id = self.organization_id.clone();
        let from = page::from(page)?;
        let mut values = vec![
            (&id).into(),
            from.number.into(),
            from.id.into(),
            filter.event_id.as_ref().into(),
            filter.state.map(admit_core::job::RunState::as_str).into(),
            page::limit(page).into(),
        ];
        values.extend(filter.subject.as_ref().map(Value::from));
        let statement = if filter.subject.is_some() { &RUNS_OF_SUBJECT } else { &RUNS };
        let items = self.all(statement, &values, read_run)?;
        Ok(page::listed(page, items, |run| (run.created_at.ms(), run.run_id.clone())))
    }
    fn run_subjects(&mut self, event_id: &EventId, kind: &str, among: Option<&[String]>) -> Result<Vec<String>> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into(), kind.into()];
        let Some(among) = among else { return self.all(&RUN_SUBJECTS, &key, Row::text) };
        let list: Vec<Value<'_>> = among.iter().map(Value::from).collect();
        let mut subjects = self.each(&RUN_SUBJECTS_AMONG, &key, &list, Row::text)?;
        subjects.sort();
        Ok(subjects)
    }
    fn newest_runs(&mut self, event_id: &EventId, kind: &str, subjects: &[String]) -> Result<Vec<RunRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
        self.each(&NEWEST_RUNS, &[(&id).into(), event_id.into(), kind.into()], &list, read_run)
    }
    fn update_run(&mut self, run: &RunRecord) -> Result<bool> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&run.run_id).into(),
            run.state.as_str().into(),
            run.tries.into(),
            run.step.as_ref().into(),
            run.problem.as_ref().into(),
            run.next_at.into(),
            run.updated_at.into(),
        ];
        self.execute(&UPDATE_RUN, &values).map(|changed| changed == 1)
    }
    fn run_steps(&mut self, run_id: &str) -> Result<Vec<StepRecord>> {
        let id = self.organization_id.clone();
        self.all(&RUN_STEPS, &[(&id).into(), run_id.into()], read_step)
    }
    fn insert_step(&mut self, step: &StepRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&step.run_id).into(),
            (&step.name).into(),
            step.place.into(),
            step.output.as_slice().into(),
            step.tries.into(),
            step.began_at.into(),
            step.done_at.into(),
        ];
        self.queue(&INSERT_STEP, &values)
    }
    fn hold_run(&mut self, run_id: &str, fence: u64, lease_ms: i64) -> Result<bool> {
        let id = self.organization_id.clone();
        let until = self.with(|driver, _| driver.about_now())?.plus_ms(lease_ms);
        let held = self.execute(&HOLD_RUN, &[(&id).into(), run_id.into(), fence.into(), until.into()])?;
        Ok(held == 1)
    }
    fn release_run(&mut self, run_id: &str, after_ms: Option<i64>) -> Result<()> {
        let id = self.organization_id.clone();
        let now = self.with(|driver, _| driver.about_now())?;
        let due = after_ms.map(|after_ms| now.plus_ms(after_ms));
        self.queue(&RELEASE_RUN, &[(&id).into(), run_id.into(), due.into()])
    }
    fn park_run(&mut self, run_id: &str, until: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&PARK_RUN, &[(&id).into(), run_id.into(), until.into()])
    }
    fn hurry_run(&mut self, run_id: &str) -> Result<()> {
        let id = self.organization_id.clone();
        let now = self.with(|driver, _| driver.about_now())?;
        self.execute(&HURRY_RUN, &[(&id).into(), run_id.into(), now.into()]).map(|_| ())
    }
    fn dequeue_run(&mut self, run_id: &str) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&DEQUEUE_RUN, &[(&id).into(), run_id.into()])
    }
}
