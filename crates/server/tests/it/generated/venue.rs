//! Two organisations with one of everything each, and the value that each parameter's name stands for.

use std::cell::Cell;

use admit_core::access::Role;
use admit_core::webhook::seconds;
use admit_server::Settings;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::document::{Document, Operation};
use crate::device::Phone;
use crate::organiser::as_owner;
use crate::server::{Org, PASSWORD, TestServer, json};
use crate::webhooks::Endpoint;

/// A text in every name of the first organisation. No answer to the second may contain it.
pub const MARK: &str = "Of home alone";

/// The organisation whose things a request names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    Home,
    Other,
    Nobodys,
}

/// One of everything.
pub struct Things {
    pub phone: Phone,
    gate: String,
    log: String,
    member: String,
    entry_type: String,
    guest_list: String,
    ticket: String,
    guest: String,
    run: String,
    incident: String,
    api_token: String,
    pairing_request: String,
    event: String,
    organization: String,
    scan: String,
    import: String,
    webhook: Endpoint,
}

pub struct Venue {
    pub server: TestServer,
    pub document: Document,
    pub home: Things,
    pub other: Things,
    count: Cell<u64>,
}

async fn owner(server: &TestServer, org: &Org, path: &str, body: Value, status: u16) -> Value {
    json(as_owner(server, org, Method::POST, path).json(&body).send().await.unwrap(), status).await
}

/// Two doors admit the same ticket.
async fn double_entry(server: &TestServer, org: &Org, name: &str, doors: [&Phone; 2]) -> String {
    let now = server.state.app.clock.now().plus_ms(-60_000).to_string();
    for phone in doors {
        let id = format!("{}-once", phone.device_id());
        let scan = json!({ "ticket_code": org.barcodes[0], "scanned_at": now, "offline_id": format!("{name}-scan") });
        let body = json!({
            "batch_id": id, "device_id": phone.device_id(), "batch_created_at": now, "batch_size": 1, "scans": [scan],
        });
        json(phone.bearer(server.post("/api/scans/sync")).json(&body).send().await.unwrap(), 200).await;
    }
    let path = "/api/events/{event}/incidents";
    let listed = json(as_owner(server, org, Method::GET, path).send().await.unwrap(), 200).await;
    listed["items"][0]["id"].as_str().unwrap().to_owned()
}

async fn things(server: &TestServer, org: &Org, name: &str) -> Things {
    let id = |value: &Value, member: &str| value[member].as_str().unwrap().to_owned();
    let event = org.event_id.as_str();
    let named = if name == "home" { MARK } else { "Of the other" };
    let gate = format!("only-{name}");
    owner(server, org, "/api/events/{event}/gates", json!({ "id": gate, "name": named }), 201).await;
    let member =
        json!({ "email": format!("p@{name}.example"), "name": named, "password": PASSWORD, "role": "promoter" });
    let member = id(&owner(server, org, "/api/members", member, 201).await, "id");
    let entry_type = json!({ "name": named, "zone": "general" });
    let entry_type = owner(server, org, "/api/events/{event}/entry-types", entry_type, 201).await;
    let list = json!({ "name": named, "promoter_id": member });
    let guest_list = id(&owner(server, org, "/api/events/{event}/guest-lists", list, 201).await, "id");
    let guest = json!({ "name": named, "guest_list_id": guest_list, "email": format!("guest@{name}.example") });
    let guest = owner(server, org, "/api/events/{event}/guests", guest, 201).await;
    let runs = as_owner(server, org, Method::GET, "/api/events/{event}/runs").send().await.unwrap();
    let run = id(&json(runs, 200).await["items"][0], "id");
    let api_token = owner(server, org, "/api/api-tokens", json!({ "name": named }), 201).await;
    let phone = Phone::pair(server, org, &format!("{name}-1")).await;
    let second = Phone::pair(server, org, &format!("{name}-2")).await;
    let incident = double_entry(server, org, name, [&phone, &second]).await;
    let log = format!("log-of-{name}");
    let beat = json!({ "log_id": log, "head": 3, "pending": 3 });
    let path = format!("/api/scanning/events/{event}/heartbeat");
    json(phone.bearer(server.post(&path)).json(&beat).send().await.unwrap(), 200).await;
    let ask = json!({ "device_id": format!("asks-{name}"), "name": named });
    let asked = json(server.post("/api/scanning/pairing-requests").json(&ask).send().await.unwrap(), 201).await;
    let pairing_request = id(&asked, "pairing_token");
    let approve = format!("/api/pairing-requests/{pairing_request}/approve");
    owner(server, org, &approve, json!({ "event_id": event, "gate_id": gate }), 200).await;
    let webhook = Endpoint::of(server, org, json!(null)).await;
    let import =
        as_owner(server, org, Method::POST, "/api/events/{event}/tickets/import").header("content-type", "text/csv");
    let import = json(import.body(format!("name\n{named} by file\n")).send().await.unwrap(), 200).await;
    Things {
        gate,
        log,
        member,
        entry_type: id(&entry_type, "id"),
        guest_list,
        ticket: id(&guest["ticket"], "id"),
        guest: id(&guest, "id"),
        run,
        incident,
        api_token: id(&api_token, "id"),
        pairing_request,
        event: event.to_owned(),
        organization: org.owner.organization_id.to_string(),
        scan: format!("{name}-scan"),
        import: id(&import, "import_id"),
        webhook,
        phone,
    }
}

impl Venue {
    pub async fn open() -> Self {
        let server = TestServer::with(Settings { syncs_per_minute: 1_000_000, ..Settings::default() }).await;
        let document = Document::of(&server).await;
        let home = things(&server, &server.home, "home").await;
        let other = things(&server, &server.other, "other").await;
        Self { server, document, home, other, count: Cell::new(0) }
    }

    fn number(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    /// The value of a variable in a path, found by the noun before it. Panics for an unknown noun.
    pub fn in_path(&self, path: &str, name: &str, whose: Whose) -> String {
        let before = path.split(&format!("/{{{name}}}")).next().unwrap();
        let noun = before.rsplit('/').next().unwrap();
        let of = match whose {
            Whose::Home => &self.home,
            Whose::Other => &self.other,
            Whose::Nobodys => return format!("nobodys-{}", self.number()),
        };
        match noun {
            "events" => of.event.clone(),
            "gates" => of.gate.clone(),
            "guest-lists" => of.guest_list.clone(),
            "entry-types" => of.entry_type.clone(),
            "members" => of.member.clone(),
            "api-tokens" => of.api_token.clone(),
            "tickets" => of.ticket.clone(),
            "runs" => of.run.clone(),
            "incidents" => of.incident.clone(),
            "devices" => of.phone.device_id().to_string(),
            "logs" => of.log.clone(),
            "pairing-requests" => of.pairing_request.clone(),
            "webhook-endpoints" => of.webhook.id.clone(),
            "imports" => of.import.clone(),
            // This is the path to which webhooks are sent.
            "guests" if name == "endpoint" => of.webhook.id.clone(),
            "guests" => of.guest.clone(),
            _ => panic!("{{{name}}} of {path}: say in this test where a real one comes from"),
        }
    }

    /// The value of an identifier in a body or query; `None` if the name identifies no thing of an organisation.
    pub fn named(&self, label: &str, name: &str, whose: Whose) -> Option<String> {
        let of = match whose {
            Whose::Home => &self.home,
            Whose::Other => &self.other,
            Whose::Nobodys => return Some(format!("nobodys-{}", self.number())),
        };
        Some(match name {
            "event_id" => of.event.clone(),
            "gate_id" | "gate_ids" => of.gate.clone(),
            // The sender chooses the name of a new gate.
            "id" if label == "POST /api/events/{id}/gates" => match whose {
                Whose::Home => of.gate.clone(),
                _ => format!("made-{}", self.number()),
            },
            "entry_type_id" => of.entry_type.clone(),
            "guest_list_id" => of.guest_list.clone(),
            "promoter_id" => of.member.clone(),
            "organization_id" => of.organization.clone(),
            // One answer to many incidents names them here.
            "ids" => of.incident.clone(),
            "ticket_id" => of.ticket.clone(),
            "guest_id" | "guest_ids" => of.guest.clone(),
            "device_id" | "target_device" => of.phone.device_id().to_string(),
            "log_id" => of.log.clone(),
            "key_id" => of.phone.key_id().to_string(),
            "scan_id" | "offline_id" | "target_scan_id" => match whose {
                Whose::Home => of.scan.clone(),
                _ => format!("made-{}", self.number()),
            },
            "batch_id" | "sync_batch_id" => match whose {
                Whose::Home => format!("{}-once", of.phone.device_id()),
                _ => format!("made-{}", self.number()),
            },
            // The sender chooses these: the organiser's numbers of a guest and of an order, the session of a browser
            // or phone.
            "external_id" | "order_id" | "session_id" => format!("made-{}", self.number()),
            // This is a right, not a name: everybody who has it may use it.
            "pairing_token" => return None,
            _ => panic!("`{name}` in {label}: say in this test where a real one comes from"),
        })
    }

    /// A body that the operation accepts from `whose`; with `most`, the larger of the alternatives.
    pub async fn body(&self, operation: &Operation, whose: Whose, most: bool) -> Option<Value> {
        let (media, schema) = operation.body.as_ref()?;
        let label = operation.label();
        match media.as_str() {
            "application/json" => {}
            "text/csv" | "text/plain" | "text/tab-separated-values" | "application/octet-stream" => {
                return Some(json!("name\nNobody\n"));
            }
            "application/x-ndjson" => return Some(json!("{}\n")),
            _ => panic!("{label} takes {media}: say in this test what such a body may be"),
        }
        let org = if whose == Whose::Home { &self.server.home } else { &self.server.other };
        let pairing_token = self.server.pairing_token(org).await;
        let now = self.server.state.app.clock.now();
        let mut text = |name: &str| match name {
            "pairing_token" => json!(pairing_token),
            _ if super::document::is_id(name) => json!(self.named(&label, name, whose)),
            "ends_at" => json!(now.plus_ms(3_600_000)),
            _ if name.ends_with("_at") => json!(now),
            "email" => json!(format!("made-{}@example.org", self.number())),
            "password" => json!(PASSWORD),
            "barcode_hash" => json!(format!("sha256:{}", "0".repeat(64))),
            _ => json!("main"),
        };
        Some(self.document.sample(schema, "", most, &mut text))
    }

    /// A request to an operation with these values in its path (or in its query, for names that the path lacks) and
    /// with this body.
    pub fn request(&self, operation: &Operation, values: &[(&str, String)], body: Option<&Value>) -> RequestBuilder {
        let path = values.iter().fold(operation.path.clone(), |path, (name, value)| {
            let variable = format!("{{{name}}}");
            if path.contains(&variable) { path.replace(&variable, value) } else { format!("{path}?{name}={value}") }
        });
        let request = self.server.request(operation.method.clone(), &path);
        match (&operation.body, body) {
            (Some((media, _)), Some(body)) if operation.is_signed() => {
                request.header("content-type", media).body(body.to_string())
            }
            (Some((media, _)), Some(Value::String(text))) => request.header("content-type", media).body(text.clone()),
            (Some(_), Some(body)) => request.json(body),
            _ => request,
        }
    }

    /// A request with a credential of `whose`, or signed with the secret of its endpoint.
    pub fn request_of(
        &self,
        operation: &Operation,
        values: &[(&str, String)],
        body: Option<&Value>,
        whose: Whose,
    ) -> RequestBuilder {
        let request = self.request(operation, values, body);
        if !operation.is_signed() {
            return request.bearer_auth(self.credential(operation, whose));
        }
        let (id, now) = (format!("made-{}", self.number()), self.server.state.app.clock.now());
        let secret = if whose == Whose::Home { &self.home.webhook.secret } else { &self.other.webhook.secret };
        let text = body.map(Value::to_string).unwrap_or_default();
        request
            .header("webhook-id", &id)
            .header("webhook-timestamp", seconds(now))
            .header("webhook-signature", secret.sign(&id, now, text.as_bytes()))
    }

    /// Resumes the second organisation's device. Five refused uploads in a row suspend a device, and these tests cause
    /// many refusals.
    pub async fn let_go_on(&self) {
        let path = format!("/api/scanning/devices/{}/resume", self.other.phone.device_id());
        let answer = as_owner(&self.server, &self.server.other, Method::POST, &path).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }

    /// The credential of `whose` that an operation accepts: its device's key, or its owner's token.
    pub fn credential(&self, operation: &Operation, whose: Whose) -> &str {
        let (org, things) = match whose {
            Whose::Home => (&self.server.home, &self.home),
            _ => (&self.server.other, &self.other),
        };
        if operation.for_devices() && !operation.for_people() { things.phone.key() } else { &org.token }
    }

    /// All stored rows of the first organisation, one per line. Rows without an organisation are included, except
    /// requests that strangers may make.
    pub fn stored(&self) -> Vec<String> {
        let rows = self.server.place().rows();
        let (foreign, owner) = (self.other.organization.as_str(), self.server.other.owner.user_id.as_str());
        let foreign = |row: &String| {
            row.contains(foreign)
                || row.contains(owner)
                || row.starts_with("pairing_requests ")
                || row.starts_with("users ") && !row.contains("home.example")
        };
        let rows: Vec<String> = rows.into_iter().filter(|row| !foreign(row)).collect();
        assert!(rows.iter().filter(|row| row.contains(&self.home.organization)).count() > 30, "nothing was read");
        rows
    }

    /// A session of a member of the first organisation with this role.
    pub async fn session(&self, role: Role) -> String {
        let email = format!("{role}-{}@home.example", self.number());
        let body = json!({ "email": email, "name": "Somebody", "password": PASSWORD, "role": role.as_str() });
        owner(&self.server, &self.server.home, "/api/members", body, 201).await;
        let body = json!({ "email": email, "password": PASSWORD });
        let answer = self.server.post("/api/session").json(&body).send().await.unwrap();
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
}
