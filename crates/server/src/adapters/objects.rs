//! The store of pass pictures: a folder of this machine, or a bucket of an S3-compatible service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use admit_app::ports::{Objects, Unable};
use admit_core::limits::OBJECTS_MS;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ClientOptions, Error, ObjectStore, ObjectStoreExt, RetryConfig};

use crate::adapters::http_client::install_crypto;
use crate::config::{Bucket, ObjectsPlace};

/// An object store that is ready to use.
pub struct Store {
    kept: Kept,
    prefix: Path,
}

enum Kept {
    /// A folder. It is created with the first object, so a server that makes no passes leaves no folder.
    InFolder(PathBuf),
    Elsewhere(Arc<dyn ObjectStore>),
}

impl Store {
    /// Opens the object store. It creates nothing and sends no request yet.
    pub fn open(place: &ObjectsPlace) -> Result<Self, String> {
        let (kept, prefix) = match place {
            ObjectsPlace::Memory => (Kept::Elsewhere(Arc::new(InMemory::new())), ""),
            ObjectsPlace::Folder(folder) => (Kept::InFolder(folder.clone()), ""),
            ObjectsPlace::Bucket(bucket) => {
                let store = s3(bucket).map_err(|error| error.to_string())?;
                (Kept::Elsewhere(Arc::new(store)), bucket.prefix.as_str())
            }
        };
        Ok(Self { kept, prefix: Path::parse(prefix).map_err(|error| error.to_string())? })
    }
    fn store(&self) -> Result<Arc<dyn ObjectStore>, Unable> {
        match &self.kept {
            Kept::Elsewhere(store) => Ok(store.clone()),
            Kept::InFolder(folder) => {
                let told = |error: &dyn std::fmt::Display| {
                    Unable::Later(format!("the folder {} cannot be used: {error}", folder.display()))
                };
                std::fs::create_dir_all(folder).map_err(|error| told(&error))?;
                let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| told(&error))?;
                Ok(Arc::new(store.with_fsync(true)))
            }
        }
    }
    fn path(&self, key: &str) -> Result<Path, Unable> {
        let key = Path::parse(key).map_err(|error| Unable::Never(error.to_string()))?;
        Ok(self.prefix.parts().chain(key.parts()).collect())
    }
}

fn s3(bucket: &Bucket) -> Result<object_store::aws::AmazonS3, Error> {
    // After one quick retry the request fails. The run then waits and tries its step again.
    let retry = RetryConfig { max_retries: 1, retry_timeout: Duration::from_secs(5), ..RetryConfig::default() };
    let plain = bucket.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
    let client = ClientOptions::new()
        .with_allow_http(plain)
        .with_timeout(Duration::from_millis(OBJECTS_MS))
        .with_connect_timeout(Duration::from_secs(5))
        .with_content_type_for_suffix("png", "image/png");
    install_crypto();
    let mut builder =
        AmazonS3Builder::from_env().with_bucket_name(&bucket.name).with_client_options(client).with_retry(retry);
    if let Some((id, secret)) = &bucket.key {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
    }
    if let Some(endpoint) = &bucket.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &bucket.region {
        builder = builder.with_region(region);
    }
    builder.build()
}

impl Objects for Store {
    fn has(&self, key: String) -> BoxFuture<'_, Result<bool, Unable>> {
        async move {
            let path = self.path(&key)?;
            match in_time(self.store()?.head(&path)).await? {
                Ok(_) => Ok(true),
                Err(Error::NotFound { .. }) => Ok(false),
                Err(error) => Err(meaning(&error)),
            }
        }
        .boxed()
    }
    fn put(&self, key: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Unable>> {
        async move {
            let path = self.path(&key)?;
            in_time(self.store()?.put(&path, bytes.into())).await?.map(|_| ()).map_err(|error| meaning(&error))
        }
        .boxed()
    }
}

/// A place that stores nothing, with the reason.
pub struct Nowhere(pub String);

impl Objects for Nowhere {
    fn has(&self, _: String) -> BoxFuture<'_, Result<bool, Unable>> {
        async { Err(Unable::Later(format!("OBJECTS_URL cannot be used: {}", self.0))) }.boxed()
    }
    fn put(&self, _: String, _: Vec<u8>) -> BoxFuture<'_, Result<(), Unable>> {
        async { Err(Unable::Later(format!("OBJECTS_URL cannot be used: {}", self.0))) }.boxed()
    }
}

async fn in_time<T>(work: impl Future<Output = T>) -> Result<T, Unable> {
    let limit = Duration::from_millis(OBJECTS_MS);
    tokio::time::timeout(limit, work).await.map_err(|_| Unable::Later("the object store takes too long".to_owned()))
}

/// Turns an error of the object store into a reason to retry later. No error is final, because a person can correct its
/// cause: a missing store, missing rights, a full disk.
fn meaning(error: &Error) -> Unable {
    Unable::Later(format!("the object store did not take it: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_keeps_an_object_under_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let place = ObjectsPlace::Folder(folder.path().join("objects"));
        let store = Store::open(&place).unwrap();
        let key = || "qr-codes/a.png".to_owned();
        assert_eq!(store.has(key()).await, Ok(false));
        store.put(key(), vec![1, 2]).await.unwrap();
        assert_eq!(store.has(key()).await, Ok(true));
        assert_eq!(std::fs::read(folder.path().join("objects/qr-codes/a.png")).unwrap(), [1, 2]);
        assert!(Store::open(&place).unwrap().has(key()).await.unwrap(), "after a restart too");
    }
}
