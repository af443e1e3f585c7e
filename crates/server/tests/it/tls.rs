//! TLS on the server's own listener (S1 §7).

use std::time::Duration;

use admit_server::adapters::http_client;
use admit_server::tls::{Authority, Tls};
use admit_server::{AppState, listen, router};
use reqwest::{Certificate, Client, StatusCode};

use crate::server::TestServer;

/// Serves the same state by TLS, and gives host and port.
async fn serve(state: &AppState, tls: Tls) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(listen::serve_tls(listener, tls, router(state.clone()), state.shutdown.clone()));
    address
}
fn client(trusts: &str) -> Client {
    let builder = http_client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let trusted = Certificate::from_pem(trusts.as_bytes()).unwrap();
    builder.tls_certs_only([trusted]).timeout(Duration::from_secs(20)).build().unwrap()
}
async fn answers(client: &Client, address: &str) -> bool {
    let asked = client.get(format!("https://{address}/healthz")).send().await;
    asked.is_ok_and(|answer| answer.status() == 200)
}

#[tokio::test]
async fn whoever_trusts_the_local_authority_is_served_and_nobody_else() {
    let server = TestServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let tls = Tls::local(folder.path(), &["door.lan".into()]).unwrap();
    let authority = tls.authority().unwrap().pem().to_owned();
    let address = serve(&server.state, tls).await;
    assert!(answers(&client(&authority), &address).await);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Authority::open(elsewhere.path()).unwrap();
    assert!(!answers(&client(other.pem()), &address).await, "another server's authority is none of ours");
    // The authority is kept, so a phone that trusts it once trusts it after every start.
    assert_eq!(Authority::open(folder.path()).unwrap().pem(), authority);
    #[cfg(unix)]
    {
        let key = std::fs::metadata(folder.path().join("local-ca.key")).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
    }
}

#[tokio::test]
async fn who_comes_without_tls_is_shown_the_way() {
    let server = TestServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let address = serve(&server.state, Tls::local(folder.path(), &[]).unwrap()).await;
    let ask = async |path: &str| server.client.get(format!("http://{address}{path}")).send().await.unwrap();
    let page = ask("/trust").await;
    assert_eq!(page.status(), 200);
    let text = page.text().await.unwrap();
    assert!(text.contains("Certificate Trust Settings") && text.contains("Install anyway"), "{text}");
    let download = ask("/local-ca.crt").await;
    assert_eq!(download.headers()["content-type"], "application/x-x509-ca-cert");
    assert_eq!(download.bytes().await.unwrap()[0], 0x30, "DER");
    let sent_on = ask("/scan/?a=1").await;
    assert_eq!(sent_on.status(), StatusCode::PERMANENT_REDIRECT);
    assert_eq!(sent_on.headers()["location"], format!("https://{address}/scan/?a=1"));
    // A request with a key that went over the network in the clear is refused, not redirected.
    assert_eq!(ask("/api/events").await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_certificate_is_read_again_when_its_files_change() {
    let server = TestServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let own = |length: usize| {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        // Files of the same length and the same second would look unchanged.
        let pem = format!("{}{}", made.cert.pem(), "\n".repeat(length));
        (pem, made.signing_key.serialize_pem())
    };
    let (first, second) = (own(1), own(2));
    let put = |pair: &(String, String)| {
        std::fs::write(&cert, &pair.0).unwrap();
        std::fs::write(&key, &pair.1).unwrap();
    };
    put(&first);
    let tls = Tls::from_files(&cert, &key).unwrap();
    let address = serve(&server.state, tls.clone()).await;
    assert!(answers(&client(&first.0), &address).await);
    assert!(!tls.read_again().unwrap(), "nothing changed");
    // Only one of the two files has changed: the log says so, and the old certificate stays.
    std::fs::write(&cert, &second.0).unwrap();
    let told = tls.read_again().unwrap_err().to_string();
    assert!(told.contains("ADMIT_TLS_KEY"), "{told}");
    assert!(answers(&client(&first.0), &address).await);
    put(&second);
    assert!(tls.read_again().unwrap());
    assert!(answers(&client(&second.0), &address).await && !answers(&client(&first.0), &address).await);
}

#[test]
fn files_that_are_no_certificate_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty"), "").unwrap();
    let refused = |cert: &str, key: &str| Tls::from_files(&path(cert), &path(key)).err().unwrap().to_string();
    assert!(refused("missing", "missing").contains("ADMIT_TLS_CERT"));
    assert!(refused("empty", "empty").contains("holds no certificate"));
}
