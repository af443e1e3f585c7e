//! `docs/guides/paid-tickets.md`, `several-gates.md` and `several-days.md`.

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::reader::Guide;

const PAID: &str = include_str!("../../../../docs/guides/paid-tickets.md");
const GATES: &str = include_str!("../../../../docs/guides/several-gates.md");
const DAYS: &str = include_str!("../../../../docs/guides/several-days.md");
const PRETIX: &str = include_str!("../../../../docs/samples/pretix-check-in-list.csv");

async fn tickets(desk: &Desk) -> Vec<Value> {
    let page = desk.office.get(&format!("/api/events/{}/tickets?limit=50", desk.event)).await;
    page["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_of_a_shop_come_in_again_and_again() {
    let (mut guide, mut desk) = (Guide::open(PAID), Desk::open().await);
    desk.write("pretix.csv", PRETIX);
    let later = PRETIX.lines().last().unwrap().replace("D3E4F", "E4F5G").replace("samplesecretli", "samplesecretlo");
    desk.write("pretix-later.csv", &format!("{PRETIX}\n{later}\n").replace("\n\n", "\n"));
    let vip = desk.ask(&mut guide, "/entry-types").await;
    assert_eq!(vip["zone"], "vip");
    let tried = desk.run(&mut guide, "--dry-run").await;
    assert!(tried.contains("3 created") && tried.contains("nothing was written"), "{tried}");
    let done = desk.run(&mut guide, "admit import pretix.csv").await;
    let said = PAID.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(done.lines().next().unwrap()), "{done}");
    let again = desk.run(&mut guide, "pretix-later.csv").await;
    assert!(again.starts_with("1 created, 0 updated, 3 unchanged"), "{again}");
    let all = tickets(&desk).await;
    let of = |zone: &str| all.iter().filter(|ticket| ticket["zone"] == zone).count();
    assert_eq!((of("vip"), of("general")), (2, 2), "the product VIP leads to the type that was made before");
    desk.shell.set("TICKET", all[0]["id"].as_str().unwrap());
    assert_eq!(desk.ask(&mut guide, "/api/tickets/").await["status"], "refunded");
    guide.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn three_gates_admit_whom_the_guide_says() {
    let (mut guide, mut desk) = (Guide::open(GATES), Desk::open().await);
    let vip = desk.ask(&mut guide, "\"zone\": \"vip\"").await;
    let main = desk.ask(&mut guide, "/gates/main-entrance").await;
    assert_eq!((&main["zones"], &main["direction"]), (&json!(["general", "vip"]), &json!("in")));
    let terrace = desk.ask(&mut guide, "\"terrace\"").await;
    assert_eq!((&terrace["zones"], &terrace["capacity"]), (&json!(["vip"]), &json!(200)));
    assert_eq!(desk.ask(&mut guide, "\"way-out\"").await["direction"], "out");
    desk.shell.set("TYPE", vip["id"].as_str().unwrap());
    assert_eq!(desk.ask(&mut guide, "per_gate").await["per_gate"], true);
    let occupancy = desk.ask(&mut guide, "/occupancy").await;
    let gates: Vec<&Value> = occupancy["gates"].as_array().unwrap().iter().map(|gate| &gate["gate_id"]).collect();
    assert_eq!(gates, ["main-entrance", "terrace", "way-out"]);
    guide.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_and_day_tickets_have_their_days() {
    let (mut guide, mut desk) = (Guide::open(DAYS), Desk::open().await);
    let event = desk.ask(&mut guide, "\"daily\"").await;
    assert_eq!((&event["re_entry"], &event["day_starts_at"]), (&json!("daily"), &json!("06:00")));
    let file = guide.take("csv", "valid_from");
    desk.write("days.csv", &file);
    let done = desk.run(&mut guide, "days.csv").await;
    assert!(done.starts_with("2 created"), "{done}");
    let mut windows: Vec<[Value; 2]> = Vec::new();
    windows.extend(tickets(&desk).await.iter().map(|one| [one["valid_from"].clone(), one["expires_at"].clone()]));
    windows.sort_by_key(|window| window[0].to_string());
    // The event of this test is in UTC.
    let whole_day = [json!("2027-06-05T00:00:00Z"), json!("2027-06-06T00:00:00Z")];
    assert_eq!(windows, [whole_day, [json!("2027-06-06T06:00:00Z"), json!("2027-06-07T06:00:00Z")]]);
    let types = desk.office.get(&format!("/api/events/{}/entry-types", desk.event)).await;
    desk.shell.set("TYPE", types["items"][0]["id"].as_str().unwrap());
    let limited = desk.ask(&mut guide, "\"uses\"").await;
    assert_eq!((&limited["re_entry"], &limited["uses"]), (&json!("daily"), &json!(3)));
    guide.ends();
}
