//! Passes: one file brings 10,000 guests with their e-mail addresses. It is imported first while nobody scans, then
//! while a phone scans. The figures are the times until the last picture is stored and until the mail server has the
//! last letter. The raw limit is the time of the bare steps without the server: draw each picture, store it, send each
//! letter. A third figure is the time of the phone's syncs meanwhile.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use admit_core::limits::DOORS_BUSY_MS;
use admit_core::pass;
use anyhow::{Context, Result, anyhow, ensure};

use crate::ground::postgres;
use crate::http::Connection;
use crate::ingest::check;
use crate::list::Random;
use crate::mailbox::{self, Mailbox};
use crate::organiser::{Listed, Organiser, Place, listed};
use crate::phone::{Format, Phone};
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::sample::percentile;
use crate::server::{Data, Server};

/// Guests in the file.
const GUESTS: usize = 10_000;
/// Number of syncs of one scan each that are measured on the idle server: half of them before the import, half after
/// it. At least as many must happen while passes are made.
const SAMPLES: usize = 200;
/// The time between two syncs of the phone.
const PACE: Duration = Duration::from_millis(40);
/// The number of tickets that the phone may scan.
const TICKETS: usize = 8_000;
/// The longest time that one import with all its passes may take.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// Letters that are sent at once, as in the product.
const LETTERS: usize = 8;
/// Pictures that are made and stored at once, as many as the product carries out runs at once.
const PICTURES: usize = 32;
/// The least share of the bare steps' rate that is the target.
const STEPS: f64 = 0.7;

/// Measures each of the run's stores.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &store in &run.stores {
        rows.extend(one(run, store)?);
    }
    Ok(rows)
}

/// The times of one import with its passes, in seconds from the file's first byte.
struct Work {
    imported: f64,
    last_object: f64,
    last_mail: f64,
    /// The milliseconds of each of the phone's syncs during the import.
    syncs: Vec<f64>,
}

fn one(run: &Run, store: Store) -> Result<Vec<Row>> {
    let guests = run.scaled(GUESTS, 300);
    let folder = run.fresh_folder(&format!("passes-{store}"))?;
    let mut mailbox = Mailbox::keeping(run.fresh_folder(&format!("passes-mail-{store}"))?)?;
    let data = Data { folder, database_url: (store == Store::Postgres).then(|| postgres().database()) };
    let account = Server::found(run, &data)?;
    let settings = [
        ("SMTP_URL", mailbox.url()),
        ("SMTP_FROM", "passes@bench.example".to_owned()),
        ("PUBLIC_URL", "https://tickets.bench.example".to_owned()),
    ];
    let server = Server::serve_with(run, &data, &settings)?;
    let mut organiser = Organiser::sign_in(&server, &account)?;
    let place = organiser.event("A night")?;
    organiser.import(&place, run.scaled(TICKETS, 2_000))?;
    let paired = organiser.pair(&place, 1)?.remove(0);
    let tickets = listed(&server, &paired)?;
    organiser.import_guests(&place, "first", 1)?;
    let letter = mailbox.letter()?;
    mailbox.only_count()?;

    let quiet = alone(&mut organiser, &server, &place, guests, &mailbox)?;
    mailbox.only_count()?;

    let mut phone = Scanning { phone: Phone::new(paired, 7)?, connection: server.connect()?, fresh: &tickets };
    // Warms up; these samples don't count.
    phone.samples(20)?;
    let mut idle = phone.samples(SAMPLES / 2)?;
    let work = carry_out(&mut organiser, &place, guests, &mut phone, &mailbox, &data)?;
    organiser.until_no_run_is_open(&server, &place, PATIENCE)?;
    idle.extend(phone.samples(SAMPLES / 2)?);
    let (_, most_mb) = server.memory_mb()?;
    server.stop()?;
    let bare = Bare::measure(run, guests, &letter, &mailbox)?;
    std::fs::remove_dir_all(&data.folder)?;
    ensure!(run.quick || work.syncs.len() >= SAMPLES, "only {} syncs fell into the work", work.syncs.len());
    let mut all = vec![undisturbed(store, guests, quiet, &bare)];
    all.extend(rows(store, guests, &work, &idle, &bare, most_mb));
    Ok(all)
}

/// Imports guests while nobody scans. Gives the seconds from the file's first byte until the mail server has the last
/// letter.
fn alone(organiser: &mut Organiser, server: &Server, place: &Place, guests: usize, mailbox: &Mailbox) -> Result<f64> {
    // Runs wait while the doors are busy, so this waits until they have been quiet for longer than that.
    std::thread::sleep(Duration::from_millis(2 * DOORS_BUSY_MS.unsigned_abs()));
    let begun = Instant::now();
    organiser.import_guests(place, "early", guests)?;
    let seconds = last_mail(mailbox, guests, begun)?;
    organiser.until_no_run_is_open(server, place, PATIENCE)?;
    Ok(seconds)
}

/// The row of the undisturbed import: durable steps against bare steps (docs/performance.md).
fn undisturbed(store: Store, guests: usize, seconds: f64, bare: &Bare) -> Row {
    let name = format!("{} guests imported at once, {store}, nobody scans: passes", number(guests as f64));
    let input = "from the file's first byte to the last letter, three steps each kept by a commit; limit: picture, storing and \
                 sending alone, one after the other";
    let rate = |seconds: f64| guests as f64 / seconds;
    Row::new(name, rate(seconds), "passes/s", Target::None, input)
        .beside(rate(bare.picture + bare.put + bare.send), Target::Share(STEPS))
}

/// Imports the guests and waits for their letters, while the phone scans.
fn carry_out(
    organiser: &mut Organiser,
    place: &Place,
    guests: usize,
    phone: &mut Scanning<'_>,
    mailbox: &Mailbox,
    data: &Data,
) -> Result<Work> {
    let over = AtomicBool::new(false);
    let (begun, begun_at) = (Instant::now(), SystemTime::now());
    let (work, syncs) = std::thread::scope(|scope| {
        let syncs = scope.spawn(|| phone.samples_until(&over));
        let work = organiser.import_guests(place, "guest", guests).and_then(|()| {
            let imported = begun.elapsed().as_secs_f64();
            Ok((imported, last_mail(mailbox, guests, begun)?))
        });
        over.store(true, Ordering::Relaxed);
        (work, syncs.join())
    });
    let (imported, last_mail) = work?;
    let syncs = syncs.map_err(|_| anyhow!("the phone panicked"))??;
    let last_object = last_object(&data.folder.join("objects/qr-codes"), 2 * guests, begun_at)?;
    Ok(Work { imported, last_object, last_mail, syncs })
}

fn last_mail(mailbox: &Mailbox, guests: usize, begun: Instant) -> Result<f64> {
    loop {
        let (letters, last) = mailbox.came();
        if letters >= guests {
            return Ok(last.duration_since(begun).as_secs_f64());
        }
        ensure!(begun.elapsed() < PATIENCE, "{letters} of {guests} mails came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The time at which the last object was stored, in seconds after `begun`.
fn last_object(folder: &Path, guests: usize, begun: SystemTime) -> Result<f64> {
    use std::os::unix::fs::MetadataExt as _;
    let (mut objects, mut last) = (0, 0.0_f64);
    for file in std::fs::read_dir(folder).context("no object was stored")? {
        let file = file?.metadata()?;
        objects += 1;
        last = last.max(file.ctime() as f64 + file.ctime_nsec() as f64 / 1e9);
    }
    // The folder also has the picture of the first guest.
    ensure!(objects == guests + 1, "{objects} objects of {guests} guests");
    Ok(last - begun.duration_since(SystemTime::UNIX_EPOCH)?.as_secs_f64())
}

/// A phone that sends each scan at once, as an online phone does.
struct Scanning<'t> {
    phone: Phone,
    connection: Connection,
    fresh: &'t [Listed],
}

impl Scanning<'_> {
    /// The milliseconds from a sync's first byte to its whole receipt.
    fn sample(&mut self) -> Result<f64> {
        let (ticket, rest) = self.fresh.split_first().context("the event has too few tickets")?;
        self.fresh = rest;
        let upload = self.phone.upload(Format::V2, std::slice::from_ref(ticket))?;
        let begun = Instant::now();
        let answer = self.connection.send(&upload.request)?;
        let took = begun.elapsed().as_secs_f64() * 1_000.0;
        check(&answer, &upload)?;
        std::thread::sleep(PACE.saturating_sub(begun.elapsed()));
        Ok(took)
    }
    fn samples(&mut self, count: usize) -> Result<Vec<f64>> {
        (0..count).map(|_| self.sample()).collect()
    }
    fn samples_until(&mut self, over: &AtomicBool) -> Result<Vec<f64>> {
        let mut samples = Vec::new();
        while !over.load(Ordering::Relaxed) && !self.fresh.is_empty() {
            samples.push(self.sample()?);
        }
        Ok(samples)
    }
}

/// The seconds that each step alone takes for all guests.
struct Bare {
    picture: f64,
    put: f64,
    send: f64,
}

impl Bare {
    fn measure(run: &Run, guests: usize, letter: &[u8], mailbox: &Mailbox) -> Result<Bare> {
        let folder = run.fresh_folder("passes-bare")?;
        let mut random = Random(11);
        let tokens: Vec<String> = (0..guests).map(|_| random.uuid()).collect();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pictures = Mutex::new(vec![Vec::new(); guests]);
        let picture = at_once(cores, guests, |at| {
            let made = admit_app::passes::png(&pass::url("https://tickets.bench.example", &tokens[at]))?;
            pictures.lock().map_err(|_| anyhow!("a picture panicked"))?[at] = made;
            Ok(())
        })?;
        let pictures = pictures.into_inner().map_err(|_| anyhow!("a picture panicked"))?;
        let put = at_once(PICTURES, guests, |at| mailbox::put(&folder, &format!("{}.png", tokens[at]), &pictures[at]))?;
        let send = at_once(LETTERS, guests, |_| mailbox::send(mailbox.address(), letter))?;
        std::fs::remove_dir_all(&folder)?;
        Ok(Bare { picture, put, send })
    }
}

/// Calls `work` for each number below `count`, on this many threads. Gives the seconds that all calls together took.
fn at_once(threads: usize, count: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let worker = || -> Result<()> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    return Ok(());
                }
                work(at)?;
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a step panicked"))?)
    })?;
    Ok(begun.elapsed().as_secs_f64())
}

fn rows(store: Store, guests: usize, work: &Work, idle: &[f64], bare: &Bare, most_mb: f64) -> Vec<Row> {
    let many = number(guests as f64);
    let name = |what: &str| format!("{many} guests imported at once, {store}: {what}");
    let each = |seconds: f64| number(seconds * 1e6 / guests as f64);
    let steps = format!(
        "a pass's bare steps: picture {} µs, {PICTURES} stored at once {} µs, {LETTERS} sent at once {} µs",
        each(bare.picture),
        each(bare.put),
        each(bare.send)
    );
    let seconds = |what: &str, seconds: f64, input: String| Row::new(name(what), seconds, "s", Target::None, input);
    let syncs = &work.syncs;
    let percent = |what: &str, share: f64| {
        let input = format!(
            "{} syncs of one scan each, {} ms apart; limit: {} on the idle server",
            syncs.len(),
            PACE.as_millis(),
            idle.len()
        );
        Row::new(name(what), percentile(syncs, share), "ms", Target::None, input)
            .beside(percentile(idle, share), Target::None)
    };
    let mut p95 = percent("one-scan sync meanwhile, p95", 0.95);
    let most = percentile(idle, 0.95);
    p95.target = Some("≤ 1.5 × limit, or limit + 5 ms".to_owned());
    p95.met = Some(p95.value <= (1.5 * most).max(most + 5.0));
    vec![
        seconds(
            "taken in",
            work.imported,
            format!("from the file's first byte to the answer; the server holds at most {} MB", number(most_mb)),
        ),
        seconds("last picture stored", work.last_object, format!("limit: picture and storing alone; {steps}"))
            .beside(bare.picture + bare.put, Target::None),
        seconds(
            "last letter taken",
            work.last_mail,
            "limit: picture, storing and sending alone, one after the other".to_owned(),
        )
        .beside(bare.picture + bare.put + bare.send, Target::None),
        percent("one-scan sync meanwhile, p50", 0.5),
        p95,
        percent("one-scan sync meanwhile, longest", 1.0),
    ]
}
