//! The settings of services that passes need: the mail server and the object store.

use std::path::PathBuf;

use admit_app::ports::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;

use super::fault::SettingError;

/// A mail server and the sender of letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailPlace {
    /// The value of `SMTP_URL`.
    pub url: String,
    /// The value of `SMTP_FROM`.
    pub sender: Mailbox,
}

/// Where objects (the pictures of passes) are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectsPlace {
    /// In the memory of this process, for tests and for commands that store no object.
    Memory,
    /// In a folder of this machine.
    Folder(PathBuf),
    /// In an S3 bucket.
    Bucket(Bucket),
}

/// A bucket of an S3-compatible store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// The bucket's name.
    pub name: String,
    /// The text before every object's name; empty for none.
    pub prefix: String,
    /// Access key and secret. `None`: those of the environment (`AWS_ACCESS_KEY_ID` …).
    pub key: Option<(String, String)>,
    /// The address of a service other than Amazon's; `None` for Amazon S3.
    pub endpoint: Option<String>,
    /// The region; `None`: that of the environment.
    pub region: Option<String>,
}

/// Parses `SMTP_URL` and `SMTP_FROM`.
pub(super) fn mail(url: &str, from: Option<&str>) -> Result<MailPlace, SettingError> {
    let wrong = |name, message: &str| SettingError { name, message: message.to_owned() };
    let from = from.ok_or_else(|| wrong("SMTP_FROM", "must be given with SMTP_URL: the address mails are from"))?;
    let sender: lettre::message::Mailbox =
        from.parse().map_err(|_| wrong("SMTP_FROM", "must be an address such as passes@example.org"))?;
    // The message does not repeat the address, which may contain a password.
    let like = "must be like smtps://user:password@mail.example.org or smtp://mail.example.org:587?tls=required";
    let read = Url::parse(url.trim()).map_err(|_| wrong("SMTP_URL", like))?;
    let host = read.host_str().unwrap_or_default();
    if !matches!(read.scheme(), "smtp" | "smtps") || host.is_empty() {
        return Err(wrong("SMTP_URL", like));
    }
    let tls = read.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
    if !matches!(tls.as_deref(), None | Some("required" | "opportunistic")) {
        return Err(wrong("SMTP_URL", "may say ?tls=required or ?tls=opportunistic"));
    }
    let here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    if read.password().is_some() && read.scheme() == "smtp" && tls.as_deref() != Some("required") && !here {
        return Err(wrong("SMTP_URL", "would send its password unencrypted: say smtps://, or ?tls=required"));
    }
    let sender = Mailbox { name: sender.name.unwrap_or_default(), email: sender.email.to_string() };
    Ok(MailPlace { url: url.trim().to_owned(), sender })
}

/// Parses `OBJECTS_URL`.
pub(super) fn objects(url: &str) -> Result<ObjectsPlace, SettingError> {
    let wrong = || SettingError {
        name: "OBJECTS_URL",
        message: "must be like file:/var/lib/admit/objects or s3://bucket/prefix?region=eu-central-1".to_owned(),
    };
    let url = url.trim();
    if let Some(folder) = url.strip_prefix("file:") {
        let folder = folder.strip_prefix("//").unwrap_or(folder);
        return if folder.is_empty() { Err(wrong()) } else { Ok(ObjectsPlace::Folder(PathBuf::from(folder))) };
    }
    let read = Url::parse(url).ok().filter(|read| read.scheme() == "s3").ok_or_else(wrong)?;
    let name = read.host_str().filter(|name| !name.is_empty()).ok_or_else(wrong)?.to_owned();
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    if read.password().is_none() && !read.username().is_empty() {
        return Err(SettingError {
            name: "OBJECTS_URL",
            message: "has a key without its secret: s3://KEY:SECRET@bucket".to_owned(),
        });
    }
    let key = read.password().map(|secret| (decoded(read.username()), decoded(secret)));
    let value = |wanted: &str| read.query_pairs().find(|(name, _)| name == wanted).map(|(_, text)| text.into_owned());
    let prefix = decoded(read.path().trim_matches('/'));
    Ok(ObjectsPlace::Bucket(Bucket { name, prefix, key, endpoint: value("endpoint"), region: value("region") }))
}

/// Parses `OBJECTS_PUBLIC_URL`.
pub(super) fn objects_public_url(url: &str) -> Result<String, SettingError> {
    let wrong = || SettingError {
        name: "OBJECTS_PUBLIC_URL",
        message: format!("must be like https://pictures.example.org; it is {url:?}"),
    };
    let read = Url::parse(url.trim()).map_err(|_| wrong())?;
    if !matches!(read.scheme(), "http" | "https") || read.query().is_some() || read.fragment().is_some() {
        return Err(wrong());
    }
    Ok(url.trim().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_server_is_an_address_and_a_sender() {
        let read = mail;
        let from = Some("Old Harbour <passes@x.example>");
        let mail = read("smtps://me:pass%2Fword@mail.x.example", from).unwrap();
        assert_eq!(mail.sender.email, "passes@x.example");
        for (url, from, name) in [
            ("smtp://mail.x.example", None, "SMTP_FROM"),
            ("smtp://mail.x.example", Some("nobody"), "SMTP_FROM"),
            ("mail.x.example:25", from, "SMTP_URL"),
            ("https://mail.x.example", from, "SMTP_URL"),
            ("smtp://me:secret@mail.x.example", from, "SMTP_URL"),
            ("smtp://me:secret@mail.x.example?tls=opportunistic", from, "SMTP_URL"),
            ("smtp://mail.x.example?tls=yes", from, "SMTP_URL"),
        ] {
            let error = read(url, from).unwrap_err();
            assert_eq!(error.name, name, "{url}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(read("smtp://me:secret@127.0.0.1:2525", from).is_ok(), "nobody listens on the way to oneself");
        assert!(read("smtp://me:secret@mail.x.example:587?tls=required", from).is_ok());
    }

    #[test]
    fn objects_are_in_a_folder_or_a_bucket() {
        let read = objects;
        let folder = |path: &str| Ok(ObjectsPlace::Folder(PathBuf::from(path)));
        assert_eq!(read("file:/var/lib/objects"), folder("/var/lib/objects"));
        assert_eq!(read("file:///var/lib/objects"), folder("/var/lib/objects"));
        assert_eq!(read("file:data/objects"), folder("data/objects"));
        let bucket = Bucket {
            name: "tickets".into(),
            prefix: "event/a".into(),
            key: Some(("AK".into(), "s/e+c".into())),
            endpoint: Some("http://127.0.0.1:9000".into()),
            region: Some("eu-1".into()),
        };
        let url = "s3://AK:s%2Fe%2Bc@tickets/event/a/?endpoint=http%3A%2F%2F127.0.0.1%3A9000&region=eu-1";
        assert_eq!(read(url), Ok(ObjectsPlace::Bucket(bucket)));
        assert!(matches!(read("s3://tickets"), Ok(ObjectsPlace::Bucket(Bucket { key: None, endpoint: None, .. }))));
        for wrong in ["", "file:", "s3:", "http://x/y", "tickets"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
