//! The time in which a phone fetches the whole list over HTTP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use admit_core::manifest::compact::MEDIA_TYPE;
use anyhow::{Context, Result, ensure};

use crate::organiser::{JSON, Organiser, list_request};
use crate::row::{Row, Target, number};
use crate::run::Run;
use crate::sample::{median, times_ms};
use crate::seed::Seed;
use crate::server::Server;

/// Measures a phone's first fetch of the list after the server's start, and later fetches, which the server answers
/// from its cache.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let seed = Seed::of(run)?;
    let folder = seed.copy(run, "fetch")?;
    let server = Server::serve(run, &folder)?;
    let phone = Organiser::sign_in(&server, &seed.demo.account)?.pair(&seed.demo_place, 1)?.remove(0);
    let mut connection = server.connect()?;
    let mut fetch = |form: &str, encoding: &str| -> Result<(f64, Vec<u8>)> {
        let asked = list_request(&phone, form, encoding);
        let mut last = None;
        let start = std::time::Instant::now();
        let answer = connection.send(&asked)?;
        let first_ms = start.elapsed().as_secs_f64() * 1_000.0;
        ensure!(answer.status == 200, "the list was answered with {}", answer.status);
        let said = answer.header("content-encoding").unwrap_or("identity");
        ensure!(said == encoding, "asked for {encoding}, given {said}");
        last.replace(answer.body);
        Ok((first_ms, last.unwrap_or_default()))
    };
    let (cold_ms, zstd) = fetch(JSON, "zstd")?;
    let tickets = count(&zstd)?;
    let of = format!("{} tickets", number(tickets as f64));
    let cold_input = format!(
        "the first request of a server's life: read, build, compress {of}; limit: the same bytes over loopback"
    );
    let bare_ms = loopback_ms(run, &zstd)?;
    let mut rows = vec![
        Row::new(format!("list, first fetch, {of}"), cold_ms, "ms", Target::None, cold_input)
            .beside(bare_ms, Target::None),
    ];
    for (name, form, encoding) in
        [("zstd", JSON, "zstd"), ("gzip", JSON, "gzip"), ("compact form, zstd", MEDIA_TYPE, "zstd")]
    {
        let (_, body) = fetch(form, encoding)?;
        let mut failed = None;
        let times = times_ms(run.runs(25), || fetch(form, encoding).map_err(|error| failed = Some(error)).is_ok());
        if let Some(error) = failed {
            return Err(error);
        }
        let input = format!(
            "{} kB by HTTP from the real server; limit: the same bytes over loopback",
            number(body.len() as f64 / 1e3)
        );
        let row = Row::new(format!("list, fetch warm, {name}, {of}"), median(&times), "ms", Target::None, input);
        rows.push(row.beside(loopback_ms(run, &body)?, Target::AtMost(100.0)));
    }
    server.stop()?;
    Ok(rows)
}

fn count(zstd: &[u8]) -> Result<usize> {
    #[derive(serde::Deserialize)]
    struct Whole {
        tickets: Vec<serde::de::IgnoredAny>,
    }
    let whole: Whole = serde_json::from_slice(&zstd::decode_all(zstd)?).context("reading the list")?;
    Ok(whole.tickets.len())
}

/// The raw limit in milliseconds: one request byte, then an answer of these bytes, over one loopback connection.
fn loopback_ms(run: &Run, bytes: &[u8]) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || -> Result<()> {
            let (mut stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            let mut asked = [0; 1];
            while stream.read(&mut asked)? > 0 {
                stream.write_all(bytes)?;
            }
            Ok(())
        });
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut body = vec![0; bytes.len()];
        let times = times_ms(run.runs(25), || stream.write_all(b"?").and_then(|()| stream.read_exact(&mut body)));
        drop(stream);
        server.join().map_err(|_| anyhow::anyhow!("the bare server panicked"))??;
        ensure!(body == bytes, "loopback brings what was sent");
        Ok(median(&times))
    })
}
