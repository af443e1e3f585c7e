//! An S3 server for one test: s3s over a folder, on a free port, with keys that are checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use hyper::server::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const KEY: &str = "the-key";
const SECRET: &str = "the/secret+of=it";

pub struct Bucket {
    address: SocketAddr,
    folder: tempfile::TempDir,
    stopped: CancellationToken,
}

impl Bucket {
    pub async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("admit-s3-").tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tickets")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bucket = Self { address, folder, stopped: CancellationToken::new() };
        bucket.serve(listener);
        bucket
    }
    fn serve(&self, listener: TcpListener) {
        let mut builder = S3ServiceBuilder::new(FileSystem::new(self.folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let (service, stopped) = (builder.build(), self.stopped.clone());
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = stopped.cancelled() => return,
                };
                let (service, stopped) = (service.clone(), stopped.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        _ = Builder::new().serve_connection(TokioIo::new(accepted.unwrap().0), service) => {}
                        () = stopped.cancelled() => {}
                    }
                });
            }
        });
    }
    /// The value of OBJECTS_URL for this server.
    pub fn url(&self) -> String {
        let secret = SECRET.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D");
        format!("s3://{KEY}:{secret}@tickets/home?endpoint=http%3A%2F%2F{}&region=us-east-1", self.address)
    }
    pub fn stop(&mut self) {
        self.stopped.cancel();
    }
    /// Starts the server again on the same address.
    pub async fn start_again(&mut self) {
        self.stopped = CancellationToken::new();
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                // tidy-allow: the pause of a poll loop; the former listener is being closed
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        };
        self.serve(listener);
    }
    /// The folder with its objects.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("tickets/home")
    }
    /// Its objects, by name.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let folder = self.folder().join("qr-codes");
        let Ok(files) = std::fs::read_dir(folder) else { return BTreeMap::new() };
        let files = files.map(|entry| entry.unwrap());
        files
            .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()))
            .filter(|(name, _)| name.ends_with(".png"))
            .collect()
    }
}
