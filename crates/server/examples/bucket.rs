//! An S3 server for tests in another language than ours (`web/e2e/harness/bucket.ts`). It prints a line of JSON with
//! its address and the place of its objects. It ends when its input does.

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
