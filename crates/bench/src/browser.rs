//! The scanner in Chromium. The script `web/bench` drives it; this module writes its input and reads its figures.

use std::path::{Path, PathBuf};
use std::process::Command;

use admit_core::manifest::{envelope, large_part};
use admit_core::rule::Epoch;
use admit_core::sign::ApiKey;
use admit_core::time::Timestamp;
use admit_core::wire::manifest::ManifestTail;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::list::{List, NOON_MS, Random};
use crate::row::{Row, Target};
use crate::run::Run;
use crate::seed::Seed;

/// One figure that `web/bench` measured.
#[derive(Deserialize)]
struct Measured {
    name: String,
    value: f64,
    unit: String,
    limit: Option<f64>,
    at_most: Option<f64>,
    input: String,
}

/// Measures the time from a code to a verdict in the real WASM module, with lists of two sizes.
pub fn decide(run: &Run) -> Result<Vec<Row>> {
    let folder = run.fresh_folder("lists")?;
    let sizes = [20_000, run.scaled(1_000_000, 50_000)];
    let lists: Result<Vec<_>> = sizes.iter().map(|&tickets| list(run, &folder, tickets)).collect();
    drive(run, "decide", json!({ "lists": lists?, "wall_ms": NOON_MS }))
}

/// Measures the time from a code to the painted verdict, including the durable write of the scan.
pub fn verdict(run: &Run) -> Result<Vec<Row>> {
    let seed = Seed::of(run)?;
    let folder = seed.copy(run, "verdict")?;
    let event = json!({ "place": place(&seed.demo_place), "codes": seed.demo_codes, "tickets": 20_000 });
    drive(run, "verdict", json!({ "folder": folder, "sign_in": sign_in(&seed.demo), "event": event }))
}

/// Measures the time from opening the page to Ready, while the server is not reachable.
pub fn cold_start(run: &Run) -> Result<Vec<Row>> {
    let seed = Seed::of(run)?;
    let folder = seed.copy(run, "cold")?;
    let large = seed.large_codes.len();
    let events = json!([
        { "place": place(&seed.demo_place), "tickets": 20_000 },
        { "place": place(&seed.large_place), "tickets": large },
    ]);
    drive(run, "cold", json!({ "folder": folder, "sign_in": sign_in(&seed.demo), "events": events }))
}

/// Measures the scanner's targets for camera, decoder, list, search, the page's main thread and memory.
pub fn door(run: &Run) -> Result<Vec<Row>> {
    let seed = Seed::of(run)?;
    let folder = seed.copy(run, "door")?;
    let event = json!({ "place": place(&seed.demo_place), "codes": seed.demo_codes, "tickets": 20_000 });
    let large = json!({ "place": place(&seed.large_place), "tickets": seed.large_codes.len() });
    drive(run, "door", json!({ "folder": folder, "sign_in": sign_in(&seed.demo), "event": event, "large": large }))
}

fn place(place: &crate::organiser::Place) -> serde_json::Value {
    json!({ "event_id": place.event_id, "gate_id": place.gate_id })
}
fn sign_in(demo: &crate::server::Demo) -> serde_json::Value {
    json!({ "email": demo.account.email, "password": demo.account.password })
}

/// Writes a signed list to a file. Gives the input of `web/bench`: the files and the pairing of a phone with that
/// list.
fn list(run: &Run, folder: &Path, tickets: usize) -> Result<serde_json::Value> {
    let list = List::new(tickets)?;
    let mut random = Random(9);
    let key = ApiKey::from_random([7; 32]);
    let epoch = Epoch { restored_at_ms: NOON_MS - 1_000_000, random: 1 };
    let tail = ManifestTail {
        generated_at: Timestamp::clamped(NOON_MS),
        expires_at: Timestamp::clamped(NOON_MS + 24 * 3_600_000),
        offset_seconds: 0,
        epoch,
        serial: 7,
    };
    let codes = list.codes();
    let (body, signature) = envelope(&large_part(&list.input(&codes))?.bytes, &tail, key.as_str());
    let file: PathBuf = folder.join(format!("{tickets}.json"));
    std::fs::write(&file, body)?;
    let asked = run.scaled(4_000, 400);
    // Only tickets for one person: the code of a party makes the scanner ask how many. Tickets have no order.
    let plain = list.tickets.iter().filter(|ticket| ticket.class == 0);
    let texts: Vec<&str> = plain.map(|ticket| ticket.text.as_str()).take(asked).collect();
    let prefixes_file = folder.join(format!("{tickets}.prefixes"));
    let mut prefixes: Vec<[u8; 16]> = list.tickets.iter().map(|ticket| ticket.hash.prefix()).collect();
    prefixes.sort_unstable();
    std::fs::write(&prefixes_file, prefixes.concat())?;
    Ok(json!({
        "tickets": tickets, "file": file, "prefixes": prefixes_file, "signature": signature, "version": 7,
        "epoch": epoch.to_string(), "texts": texts,
        "paired": {
            "device_id": random.uuid(), "api_key": key.as_str(), "key_id": random.uuid(),
            "organization_id": list.organization_id.as_str(), "event_id": list.event_id.as_str(), "gate_id": "north",
            "epoch": epoch.to_string(),
        },
    }))
}

/// Runs one measurement of `web/bench` and gives its rows.
fn drive(run: &Run, what: &str, given: serde_json::Value) -> Result<Vec<Row>> {
    let folder = run.folder("browser")?;
    let (asked, answered) = (folder.join(format!("{what}.in.json")), folder.join(format!("{what}.out.json")));
    std::fs::write(&asked, json!({ "quick": run.quick, "given": given }).to_string())?;
    if answered.exists() {
        std::fs::remove_file(&answered)?;
    }
    let mut command = Command::new("node");
    command.current_dir(run.root.join("web")).arg("bench/run.mjs").arg(what).arg(&asked).arg(&answered);
    command.env("ADMIT_SYNCS_PER_MINUTE", "1000000");
    if what != "decide" {
        command.env("ADMIT_BIN", run.binary()?);
    }
    let status = command.status().context("starting node")?;
    ensure!(status.success(), "web/bench ended with {status}");
    let text = std::fs::read_to_string(&answered).context("web/bench measured nothing")?;
    let measured: Vec<Measured> = serde_json::from_str(&text).context("what web/bench measured")?;
    Ok(measured.into_iter().map(row).collect())
}

fn row(one: Measured) -> Row {
    let target = one.at_most.map_or(Target::None, Target::AtMost);
    let row = Row::new(one.name, one.value, &one.unit, target, one.input);
    match one.limit {
        Some(limit) => row.beside(limit, target),
        None => row,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_the_browser_becomes_a_row() {
        let text = r#"{"name":"a","value":3,"unit":"ms","limit":2,"at_most":50,"input":"1 ticket"}"#;
        let row = row(serde_json::from_str(text).unwrap());
        assert_eq!((row.ratio, row.met, row.target.as_deref()), (Some(1.5), Some(true), Some("≤ 50 ms")));
    }
}
