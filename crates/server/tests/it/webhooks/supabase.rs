//! Runs `integrations/postgres/admit-supabase.sql` on a plain PostgreSQL with a stub for pg_net that records the
//! requests. The endpoint accepts these requests. The script was not run on Supabase, as the guide says.

use admit_store_postgres::testing::{self, run_sql};
use serde_json::{Value, json};

use super::{Endpoint, guests};
use crate::server::{TestServer, json as read};

const FILE: &str = include_str!("../../../../../integrations/postgres/admit-supabase.sql");
const STUB: &str = include_str!("../../../../../integrations/postgres/tests/pg_net.sql");
const GUESTS: &str = include_str!("../../../../../integrations/postgres/tests/guests.sql");
const ACTS: &str = include_str!("../../../../../integrations/postgres/tests/supabase.sql");

/// Runs SQL on a thread for blocking work.
async fn sql(address: &str, text: &str) -> Result<(), String> {
    let (address, text) = (address.to_owned(), text.to_owned());
    let run = move || run_sql(&address, &text).map_err(|error| format!("{error:?}"));
    tokio::task::spawn_blocking(run).await.unwrap()
}
/// The requests that the stub recorded, in order.
async fn calls(address: &str) -> Vec<Value> {
    let address = testing::shared().as_superuser(address);
    let rows = tokio::task::spawn_blocking(move || testing::rows(&address)).await.unwrap();
    let lines = rows.iter().filter_map(|row| row.strip_prefix("calls "));
    let mut calls: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    calls.sort_by_key(|call| call["id"].as_i64());
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_trigger_signs_the_endpoint_accepts() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let address = tokio::task::spawn_blocking(|| testing::shared().database()).await.unwrap();
    sql(&testing::shared().as_superuser(&address), STUB).await.unwrap();
    sql(&address, GUESTS).await.unwrap();
    sql(&address, FILE).await.unwrap();
    sql(&address, FILE).await.expect("running it again changes nothing");
    sql(&address, ACTS).await.unwrap();
    sql(&address, "SELECT add_guest(1, 'Nobody is told', 1)").await.unwrap();
    assert_eq!(
        calls(&address).await,
        Vec::<Value>::new(),
        "no endpoint is set, and the organiser's insert goes through"
    );
    let url = format!("{}{}", server.url, endpoint.path);
    let secret = endpoint.secret.to_text();
    sql(&address, &format!("SELECT set_endpoint('{url}', '{secret}')")).await.unwrap();
    let acts = ["add_odd_guest(7)", "add_phone(8)", "add_nobody(9)", "change_guest(7, 4)", "drop_guest(8)"];
    let acts = acts.into_iter().chain(["strip_guest(7)", "change_guest(7, 5)", "drop_guest(9)"]);
    for act in acts {
        sql(&address, &format!("SELECT {act}")).await.unwrap();
    }
    let calls = calls(&address).await;
    assert_eq!(calls.len(), 6, "who has neither mail nor phone is not told of (S0)");
    let mut statuses = Vec::new();
    for call in &calls {
        assert_eq!(call["url"], json!(url));
        let mut request = server.client.post(&url).body(call["body"].as_str().unwrap().to_owned());
        for (name, value) in call["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        statuses.push(read(request.send().await.unwrap(), 200).await["status"].clone());
    }
    assert_eq!(json!(statuses), json!(["created", "created", "updated", "recorded", "updated", "recorded"]));
    let mut found = guests(&server).await;
    found.sort();
    assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("By phone", "Zoë \"Q\" <b>O'Brien</b> \u{1f39f}"));
    assert_eq!((found[1].1.as_deref(), found[1].2), (None, 4), "the address went with the row's");
    // An older change that comes late has no effect.
    let late = &calls[0];
    let body = late["body"].as_str().unwrap();
    let now = server.state.app.clock.now();
    let answer = endpoint.signed(&server, "late", now, body.as_bytes()).send().await.unwrap();
    assert_eq!(read(answer, 200).await["status"], "ignored");
    // A secret that lost its last letter when it was copied would fail for each guest.
    let cut = secret.trim_end_matches('=');
    assert_ne!(cut, secret);
    assert!(sql(&address, &format!("SELECT set_endpoint('{url}', '{cut}')")).await.is_err());
    // Whatever happens to an extension later, the organiser's own rows are stored.
    sql(&testing::shared().as_superuser(&address), "SELECT drop_pgcrypto()").await.unwrap();
    sql(&address, "SELECT add_guest(10, 'Nobody is told', 1)").await.unwrap();
    sql(&address, "SELECT must_have_guests(3)").await.unwrap();
    assert_eq!(self::calls(&address).await.len(), 6);
    let missing = sql(&address, FILE).await.unwrap_err();
    assert!(missing.contains("pgcrypto is not here") && !missing.contains("pg_net"), "{missing}");
    // A secret of another form is refused when it is entered.
    let wrong = sql(&address, "SELECT set_endpoint('https://admit.example', 'my password')").await.unwrap_err();
    assert!(wrong.contains("endpoint_secret_check"), "{wrong}");
}
