//! The organiser's side by the real API: signs in, makes an event, imports its tickets, pairs phones.

use std::time::{Duration, Instant};

use admit_core::limits::IMPORT_ROWS;
use admit_core::wire::scanning::{PairAnswer, PairRequest};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::http::{Answer, Connection, request};
use crate::list::Random;
use crate::server::{Account, Server};

/// A signed-in organiser.
#[derive(Debug)]
pub struct Organiser {
    connection: Connection,
    cookie: String,
}

/// An event and the gate its phones stand at.
#[derive(Debug, Clone)]
pub struct Place {
    /// The event's id.
    pub event_id: String,
    /// The gate's id.
    pub gate_id: String,
}

/// A ticket as the list shows it to phones.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Listed {
    /// The ticket's id.
    pub ticket_id: String,
    /// The hash of the code: `sha256:` and 64 hex digits.
    pub barcode_hash: String,
    /// Whether the list says that the ticket's status admits.
    pub is_valid: bool,
    /// The code's text. The list holds only hashes of codes, so the text is absent unless the caller fills it in.
    #[serde(skip)]
    pub code: Option<String>,
}

impl Organiser {
    /// Signs in with e-mail address and password.
    pub fn sign_in(server: &Server, account: &Account) -> Result<Organiser> {
        let mut connection = server.connect()?;
        let body = json!({ "email": account.email, "password": account.password }).to_string();
        let json = [("content-type", "application/json")];
        let answer = connection.send(&request("POST", "/api/session", &json, body.as_bytes()))?;
        answer.json().context("signing in")?;
        let set = answer.header("set-cookie").context("a session without a cookie")?;
        let cookie = set.split(';').next().unwrap_or_default().to_owned();
        Ok(Organiser { connection, cookie })
    }

    fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> Result<Answer> {
        let headers = [("content-type", kind), ("cookie", self.cookie.as_str())];
        self.connection.send(&request("POST", path, &headers, body))
    }
    fn post_json(&mut self, path: &str, body: &Value) -> Result<Value> {
        self.post(path, "application/json", body.to_string().as_bytes())?.json().with_context(|| format!("POST {path}"))
    }

    /// Makes a live event with open doors and one gate.
    pub fn event(&mut self, name: &str) -> Result<Place> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis() as i64;
        let hours = |hours: i64| admit_core::time::Timestamp::clamped(now + hours * 3_600_000).to_string();
        let event = json!({
            "name": name, "venue": "", "time_zone": "UTC", "status": "live",
            "starts_at": hours(-2), "ends_at": hours(10),
        });
        let made = self.post_json("/api/events", &event)?;
        let event_id = made["id"].as_str().context("an event without an id")?.to_owned();
        let gate = json!({ "id": "north", "name": "North", "zones": ["general"] });
        self.post_json(&format!("/api/events/{event_id}/gates"), &gate)?;
        Ok(Place { event_id, gate_id: "north".to_owned() })
    }

    /// Imports `count` tickets, each with its own code, in as many files as needed. Gives the codes.
    pub fn import(&mut self, place: &Place, count: usize) -> Result<Vec<String>> {
        let mut random = Random(count as u64);
        let codes: Vec<String> = (0..count).map(|_| random.uuid()).collect();
        for sheet in codes.chunks(IMPORT_ROWS / 2) {
            self.import_sheet(place, sheet)?;
        }
        Ok(codes)
    }

    fn import_sheet(&mut self, place: &Place, codes: &[String]) -> Result<()> {
        let mut sheet = "barcode,zone\n".to_owned();
        for code in codes {
            sheet.push_str(&format!("{code},general\n"));
        }
        let path = format!("/api/events/{}/tickets/import", place.event_id);
        let report = self.post(&path, "text/csv", sheet.as_bytes())?.json().context("importing tickets")?;
        let created = report["created"].as_u64();
        ensure!(created == Some(codes.len() as u64), "the import made other tickets: {report}");
        Ok(())
    }

    /// Imports guests in one file, each with an e-mail address. The server sends each of them a pass.
    pub fn import_guests(&mut self, place: &Place, name: &str, count: usize) -> Result<()> {
        let mut sheet = "name,email\n".to_owned();
        for n in 0..count {
            sheet.push_str(&format!("{name} {n},{name}-{n}@guests.example\n"));
        }
        let path = format!("/api/events/{}/tickets/import", place.event_id);
        let report = self.post(&path, "text/csv", sheet.as_bytes())?.json().context("importing guests")?;
        let created = report["created"].as_u64();
        ensure!(created == Some(count as u64), "the import made other guests: {report}");
        Ok(())
    }

    /// Waits until the event has no open run. It is an error if that takes longer than `patience`.
    pub fn until_no_run_is_open(&mut self, server: &Server, place: &Place, patience: Duration) -> Result<()> {
        // The server may have closed the idle connection.
        self.connection = server.connect()?;
        let path = format!("/api/events/{}/runs?state=open&limit=1", place.event_id);
        let until = Instant::now() + patience;
        loop {
            let headers = [("cookie", self.cookie.as_str())];
            let open = self.connection.send(&request("GET", &path, &headers, b""))?.json().context("listing runs")?;
            if open["items"].as_array().is_some_and(Vec::is_empty) {
                return Ok(());
            }
            ensure!(Instant::now() < until, "a run is still open: {open}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Pairs `count` phones with one pairing token, one after the other.
    pub fn pair(&mut self, place: &Place, count: usize) -> Result<Vec<PairAnswer>> {
        let asked = json!({ "gate_id": place.gate_id, "uses": count });
        let token = self.post_json(&format!("/api/events/{}/pairing-tokens", place.event_id), &asked)?;
        let token = token["pairing_token"].as_str().context("a pairing without a token")?.to_owned();
        // The seed is the time, so that no earlier pairing of this run took these ids.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let mut random = Random(since.as_nanos() as u64);
        let pair_one = |_| {
            let asked = PairRequest {
                pairing_token: token.clone(),
                device_id: admit_core::ids::DeviceId::new(random.uuid())?,
                claim_secret: None,
                name: Some("Phone".to_owned()),
                device_type: None,
                app_version: None,
            };
            let headers = [("content-type", "application/json")];
            let body = serde_json::to_vec(&asked)?;
            let answer = self.connection.send(&request("POST", "/api/scanning/pair", &headers, &body))?;
            Ok(serde_json::from_value(answer.json().context("pairing")?)?)
        };
        (0..count).map(pair_one).collect()
    }

    /// Codes of the event's newest active tickets that admit one person. At a party's code the scanner would ask how
    /// many.
    pub fn codes(&mut self, event_id: &str, count: usize) -> Result<Vec<String>> {
        let mut codes = Vec::new();
        let mut cursor: Option<String> = None;
        while codes.len() < count {
            let after = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
            let path = format!("/api/events/{event_id}/tickets?limit=500{after}");
            let headers = [("cookie", self.cookie.as_str())];
            let page =
                self.connection.send(&request("GET", &path, &headers, b""))?.json().context("listing tickets")?;
            let items = page["items"].as_array().context("a list without items")?;
            let alone = items.iter().filter(|item| item["entry_limit"] == 1 && item["status"] == "active");
            codes.extend(alone.filter_map(|item| item["barcode"].as_str()).map(str::to_owned));
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        codes.truncate(count);
        Ok(codes)
    }
}

/// The media type of the JSON list that S1 describes.
pub const JSON: &str = "application/json";

/// The request for the whole list: `form` is the media type, `encoding` the content coding.
pub fn list_request(phone: &PairAnswer, form: &str, encoding: &str) -> Vec<u8> {
    let path = format!("/api/scanning/events/{}/manifest", phone.event_id);
    let bearer = format!("Bearer {}", phone.api_key);
    request("GET", &path, &[("authorization", &bearer), ("accept", form), ("accept-encoding", encoding)], b"")
}

/// Fetches the event's tickets as a phone gets them.
pub fn listed(server: &Server, phone: &PairAnswer) -> Result<Vec<Listed>> {
    #[derive(serde::Deserialize)]
    struct Whole {
        tickets: Vec<Listed>,
    }
    let answer = server.connect()?.send(&list_request(phone, JSON, "zstd"))?;
    ensure!(answer.status == 200, "the list was answered with {}", answer.status);
    let whole: Whole = serde_json::from_slice(&zstd::decode_all(&*answer.body)?).context("reading a list")?;
    Ok(whole.tickets)
}
