//! An S3 server for the TypeScript tests (`web/e2e/harness/bucket.ts`). It prints one line of JSON with its address
//! and the folder of its objects. It ends when its standard input ends.

#[path = "../tests/it/passes/bucket.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod bucket;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let bucket = bucket::Bucket::start().await;
    println!("{}", serde_json::json!({ "url": bucket.url(), "folder": bucket.folder() }));
    let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    ended.await.map_err(std::io::Error::other)?.map(drop)
}
