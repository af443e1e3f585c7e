//! Checks everything that this server depends on, for `/readyz` and `admit doctor`: what is wrong, and what to do
//! about it.

use std::sync::PoisonError;
use std::time::Duration;

pub use crate::finding::{Condition, Finding};
use crate::state::AppState;
use admit_app::ports::{Unable, Unsent};

/// The time limit of one check.
const LIMIT: Duration = Duration::from_secs(5);
/// The age at which a result about a distant service is checked again, in milliseconds. Mail servers limit the number
/// of sign-ins.
const OLD_MS: i64 = 300_000;
/// Free space on the disk below which there is a warning, in bytes.
const LITTLE_ROOM: u64 = 1_000_000_000;
/// Free space on the disk below which the check fails, in bytes. The scans of the next evening may need more.
const NO_ROOM: u64 = 100_000_000;
/// The difference of two clocks from which there is a warning, in milliseconds.
const CLOCK_APART_MS: i64 = 2_000;
/// The difference between this machine's clock and the database's from which the check fails, in milliseconds. Times on
/// screens are then wrong.
const CLOCK_WRONG_MS: i64 = 60_000;

/// Runs all checks that need an open database, each at most [`LIMIT`]. [`disk`] needs none.
pub async fn examine(state: &AppState) -> Vec<Finding> {
    let mut findings = database(state).await;
    findings.extend(elsewhere(state).await);
    findings
}

/// Checks that answer quickly: database, clock, disk.
async fn here(state: &AppState) -> Vec<Finding> {
    let mut findings = database(state).await;
    findings.extend(state.settings.data_dir.as_deref().map(disk));
    findings
}

/// Checks of services that may be far away and slow: Redis, the mail server, the object store.
async fn elsewhere(state: &AppState) -> [Finding; 3] {
    tokio::join!(redis(state), mail(state), objects(state)).into()
}

/// Runs the quick checks, and adds the last results about distant services. Old results are refreshed in the
/// background. The first answer after a start has none.
pub async fn quickly(state: &AppState) -> Vec<Finding> {
    let mut findings = here(state).await;
    let now_ms = state.app.clock.monotonic_ms();
    let mut seen = state.seen.last.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.0.is_none_or(|at_ms| now_ms - at_ms >= OLD_MS) {
        seen.0 = Some(now_ms);
        let state = state.clone();
        tokio::spawn(async move {
            let found = elsewhere(&state).await;
            state.seen.last.lock().unwrap_or_else(PoisonError::into_inner).1 = found.into();
        });
    }
    findings.extend(seen.1.iter().cloned());
    findings
}

/// Checks the database: whether it answers, the version of its schema, and its clock.
pub async fn database(state: &AppState) -> Vec<Finding> {
    const FIX: &str = "start the database, or correct DATABASE_URL; the log names the reason";
    let asked = tokio::time::timeout(LIMIT, state.app.store.now()).await;
    let now = match asked {
        Ok(Ok(now)) => now,
        Ok(Err(error)) => {
            return vec![Finding::failed("database", format!("the database does not answer: {error}"), FIX)];
        }
        Err(_) => return vec![Finding::failed("database", "the database gave no answer within 5 seconds", FIX)],
    };
    let apart_ms = state.app.clock.now().ms() - now.ms();
    vec![Finding::ok("database", "the database answers, and its tables are this version's"), clock(apart_ms)]
}

/// A finding about the difference between this machine's clock and the database's, in milliseconds.
pub fn clock(apart_ms: i64) -> Finding {
    const FIX: &str = "let both machines set their clocks by NTP (timedatectl set-ntp true)";
    let seconds = apart_ms.unsigned_abs() as f64 / 1_000.0;
    let says = |end: &str| format!("this machine's clock and the database's are {seconds:.1} seconds apart{end}");
    match apart_ms.saturating_abs() {
        0..CLOCK_APART_MS => Finding::ok("clock", "this machine and the database agree on the time"),
        CLOCK_APART_MS..CLOCK_WRONG_MS => Finding::warning("clock", says(""), FIX),
        _ => Finding::failed("clock", says(": times on screens are wrong"), FIX),
    }
}

/// Checks the free space on the disk of the data folder. It opens and writes nothing, so that it answers on a full disk.
pub fn disk(folder: &std::path::Path) -> Finding {
    match free_bytes(folder) {
        Ok(bytes) => room(bytes),
        Err(error) => Finding::failed(
            "disk",
            format!("the data folder cannot be looked at: {error}"),
            "make the folder of ADMIT_DATA_DIR readable and writable for the user that runs Admit",
        ),
    }
}

#[cfg(unix)]
fn free_bytes(folder: &std::path::Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
#[cfg(not(unix))]
fn free_bytes(_: &std::path::Path) -> std::io::Result<u64> {
    Ok(u64::MAX)
}

/// A finding about the free space on the disk, in bytes.
pub fn room(bytes: u64) -> Finding {
    const FIX: &str = "free some space on the disk of ADMIT_DATA_DIR: old backups, logs, or a larger disk";
    let says = || format!("{} MB are free on the disk of the data folder", bytes / 1_000_000);
    match bytes {
        0..NO_ROOM => Finding::failed("disk", says(), FIX),
        NO_ROOM..LITTLE_ROOM => Finding::warning("disk", says(), FIX),
        _ => Finding::ok("disk", says()),
    }
}

async fn redis(state: &AppState) -> Finding {
    const FIX: &str = "start Redis, or correct REDIS_URL; with rediss:// this machine must trust the authority of its \
                       certificate (SSL_CERT_FILE names a file of authorities)";
    let Some(link) = &state.redis else { return Finding::off("redis", "no Redis is set up (REDIS_URL)") };
    match link.reach().await {
        Ok(()) => Finding::ok("redis", "Redis answers"),
        Err(why) => {
            let says = format!("Redis does not answer: nothing is lost, and answers are slower ({why})");
            Finding::warning("redis", says, FIX)
        }
    }
}

async fn mail(state: &AppState) -> Finding {
    const FIX: &str = "start the mail server, or correct SMTP_URL; mails wait until then and are not lost";
    if state.passes.mail.sender().is_none() {
        return Finding::off("mail", "no mail server is set up (SMTP_URL, SMTP_FROM): passes are made and wait");
    }
    match tokio::time::timeout(LIMIT, state.passes.mail.reach()).await {
        Ok(Ok(())) => Finding::ok("mail", "the mail server answers"),
        Ok(Err(Unsent::Never(why) | Unsent::Later(why) | Unsent::Stopped(why))) => Finding::warning("mail", why, FIX),
        Err(_) => Finding::warning("mail", "the mail server gave no answer within 5 seconds", FIX),
    }
}

async fn objects(state: &AppState) -> Finding {
    const FIX: &str = "correct OBJECTS_URL: the bucket or folder must exist, and its key may read and write there";
    let looked = state.passes.objects.has("checkup".to_owned());
    match tokio::time::timeout(LIMIT, looked).await {
        Ok(Ok(_)) => Finding::ok("objects", "the place of pictures answers"),
        Ok(Err(Unable::Later(why) | Unable::Never(why))) => {
            Finding::warning("objects", format!("pictures of passes cannot be kept: {why}"), FIX)
        }
        Err(_) => Finding::warning("objects", "the place of pictures gave no answer within 5 seconds", FIX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skewed_clock_is_told_with_its_fix() {
        assert_eq!(clock(1_999).condition, Condition::Ok);
        assert_eq!(clock(-2_000).condition, Condition::Warning);
        let wrong = clock(3_600_000);
        assert_eq!(wrong.condition, Condition::Failed);
        assert!(wrong.says.contains("3600.0 seconds") && wrong.fix.unwrap().contains("NTP"), "{wrong:?}");
        assert_eq!(clock(i64::MIN).condition, Condition::Failed);
    }

    #[test]
    fn a_full_disk_is_told_before_it_stops_an_evening() {
        let conditions = [99_999_999, 100_000_000, 999_999_999, 1_000_000_000].map(|bytes| room(bytes).condition);
        assert_eq!(conditions, [Condition::Failed, Condition::Warning, Condition::Warning, Condition::Ok]);
        assert!(room(0).fix.unwrap().contains("ADMIT_DATA_DIR"));
    }
}
