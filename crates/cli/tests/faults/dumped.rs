//! PostgreSQL is put back to a dump from before a guest was erased (docs/guides/data-protection.md, "Backups"). The
//! commands are those of docs/operations.md. crates/cli/tests/restore.rs has the same for the embedded database.

use std::path::Path;

use admit_store_postgres::testing;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::database::{self, admit, in_order};
use crate::serving::{Folder, Server};

/// An organiser's request, which must succeed.
async fn call(client: &Client, server: &Server, method: Method, path: &str, body: Option<Value>) -> Value {
    let key = server.told["api_token"].as_str().unwrap();
    let request = client.request(method, format!("{}{path}", server.url())).bearer_auth(key);
    let request = if let Some(body) = body { request.json(&body) } else { request };
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer.json().await.unwrap()
}

/// Dumps a database as the role for backups.
fn dump(postgres: &testing::Server, address: &str, to: &Path) {
    let by = address.replace("user=admit", "user=admit_backup");
    let made = postgres.tool("pg_dump").args(["--format=custom", "--file"]).arg(to).arg(by).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Whether a dump has this text, in a column of text or of bytes.
fn holds(postgres: &testing::Server, dump: &Path, text: &str) -> bool {
    let read = postgres.tool("pg_restore").arg("--file=-").arg(dump).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let (sql, hex) = (String::from_utf8(read.stdout).unwrap(), text.bytes().map(|byte| format!("{byte:02x}")));
    sql.contains(text) || sql.contains(&hex.collect::<String>())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_guest_is_in_the_dump_from_before_and_not_in_the_one_from_after() {
    let (folder, dumps) = (Folder::new("erased-postgres"), Folder::new("erased-dumps"));
    std::fs::create_dir(&dumps.0).unwrap();
    let (before, after) = (dumps.0.join("before"), dumps.0.join("after"));
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let (postgres, address) = block_in_place(|| {
        let postgres = testing::Server::start(true);
        let address = postgres.database();
        postgres.admin("CREATE ROLE admit_backup LOGIN BYPASSRLS");
        postgres.admin("GRANT pg_read_all_data TO admit_backup");
        (postgres, address)
    });
    let server = database::serve(&client, &address, None, &folder.0).await;
    let told = server.told.clone();
    let guest = json!({ "name": "Zenobia Quill", "email": "zenobia@quill.example" });
    let path = format!("/api/events/{}/guests", told["event_id"].as_str().unwrap());
    let guest = call(&client, &server, Method::POST, &path, Some(guest)).await;
    let path = format!("/api/guests/{}", guest["id"].as_str().unwrap());
    let erase = format!("{path}/erase");
    block_in_place(|| dump(&postgres, &address, &before));
    call(&client, &server, Method::POST, &erase, None).await;
    block_in_place(|| dump(&postgres, &address, &after));
    server.kill().await;
    for text in ["Zenobia", "zenobia@quill.example"] {
        assert!(block_in_place(|| holds(&postgres, &before, text) && !holds(&postgres, &after, text)), "{text}");
    }
    block_in_place(|| {
        let options = ["--clean", "--if-exists", "--single-transaction", "--exit-on-error", "--no-owner", "--dbname"];
        let put_back = postgres.tool("pg_restore").args(options).args([&address]).arg(&before).output().unwrap();
        assert!(put_back.status.success(), "{}", String::from_utf8_lossy(&put_back.stderr));
        let begun = admit(&address, &folder.0).args(["restore", "--in-place"]).output().unwrap();
        assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
    });
    let server = database::start(&client, &address, &folder.0, told).await;
    let back = call(&client, &server, Method::GET, &path, None).await;
    assert_eq!(back["name"], "Zenobia Quill", "the guest is back");
    let erased = call(&client, &server, Method::POST, &erase, None).await;
    assert!(erased["name"] == "" && erased["email"].is_null() && erased["erased_at"].is_string(), "{erased}");
    server.kill().await;
    block_in_place(|| in_order(&address, &folder.0));
    block_in_place(|| drop(postgres));
}
