//! `kill -9` at random moments while passes are on their way: every guest has one token, one object, and one mail, or at
//! most one more per crash with the same Message-ID. `ADMIT_KILLS` says how often; 10 without it.

#[allow(dead_code, reason = "each target uses its part of the harness")]
mod serving;
#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../server/tests/it/passes/sink.rs"]
mod sink;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

use serving::{Folder, Server};
use sink::Sink;

/// Guests added in each life of the server.
const GUESTS: usize = 12;
/// How long the server is left alone after its guests were added, at most, milliseconds.
const LIFE_MS: u64 = 400;

struct Office {
    client: Client,
    server: Server,
}

impl Office {
    async fn add(&self, n: usize) -> String {
        let (url, event) = (self.server.url(), self.server.told["event_id"].as_str().unwrap());
        let key = self.server.told["api_token"].as_str().unwrap();
        let request = self.client.post(format!("{url}/api/events/{event}/guests")).bearer_auth(key);
        let body = json!({ "name": format!("Guest {n}"), "email": format!("g{n}@guests.example") });
        let answer = request.json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        answer.json::<Value>().await.unwrap()["ticket"]["barcode"].as_str().unwrap().to_owned()
    }
    async fn open_runs(&self) -> Vec<Value> {
        let (url, event) = (self.server.url(), self.server.told["event_id"].as_str().unwrap());
        let key = self.server.told["api_token"].as_str().unwrap();
        let mut all = Vec::new();
        for state in ["open", "gave_up"] {
            let path = format!("{url}/api/events/{event}/runs?limit=500&state={state}");
            let answer: Value = self.client.get(path).bearer_auth(key).send().await.unwrap().json().await.unwrap();
            all.extend(answer["items"].as_array().unwrap().clone());
        }
        all
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_often_the_server_is_killed_a_guest_gets_one_pass() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("ADMIT_KILLS").unwrap_or(10);
    let seed = number("ADMIT_SEED").unwrap_or(u64::from(std::process::id()));
    println!("{kills} kills, ADMIT_SEED={seed}");
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let (folder, sink) = (Folder::new("passes"), Sink::start(&[]));
    let settings = [("SMTP_URL", sink.url()), ("SMTP_FROM", "passes@club.example".to_owned())];
    let client = Client::builder().no_proxy().build().unwrap();
    let mut office = Office { client, server: Server::start_with(&folder.0, &settings).await };
    let mut tokens = Vec::new();
    let mut cut_off = 0;
    for _ in 0..kills {
        for _ in 0..GUESTS {
            tokens.push(office.add(tokens.len()).await);
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // tidy-allow: the random moment of the kill is what is tested
        tokio::time::sleep(Duration::from_millis(random % LIFE_MS)).await;
        office.server.kill().await;
        office.server = Server::start_with(&folder.0, &settings).await;
        cut_off += usize::from(!office.open_runs().await.is_empty());
    }
    let recovery = Instant::now();
    loop {
        let open = office.open_runs().await;
        if open.is_empty() {
            break;
        }
        assert!(recovery.elapsed() < Duration::from_secs(60), "ADMIT_SEED={seed}: {open:#?}");
    }
    println!(
        "{} guests, {cut_off} kills with runs open, all done {:?} after the last start",
        tokens.len(),
        recovery.elapsed()
    );
    office.server.kill().await;
    each_has_one(&folder, &sink, &tokens, kills as usize);
    serving::in_order(&folder.0);
}

/// One object a token; one mail a token, or with the same Message-ID at most one more a crash.
fn each_has_one(folder: &Folder, sink: &Sink, tokens: &[String], crashes: usize) {
    let objects = std::fs::read_dir(folder.0.join("objects/qr-codes")).unwrap();
    let names = objects.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // What a crash left half-written has another name and is no object.
    let mut objects: Vec<String> = names.filter(|name| name.ends_with(".png")).collect();
    objects.sort();
    let mut expected: Vec<String> = tokens.iter().map(|token| format!("{token}.png")).collect();
    expected.sort();
    assert_eq!(objects, expected);
    let mut by_token: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mail in sink.mails().into_iter().filter(|mail| mail.is_well_formed()) {
        let token = mail.text("text/plain").split("token=").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
        by_token.entry(token).or_default().push(mail.header("Message-ID").to_owned());
    }
    assert_eq!(by_token.len(), tokens.len(), "every guest has a mail, and nobody else");
    let mut repeats = 0;
    for (token, ids) in &by_token {
        assert!(tokens.contains(token));
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert!(ids.len() <= 1 + crashes, "{ids:?}");
        repeats += ids.len() - 1;
    }
    println!("{repeats} mails were sent twice");
}
