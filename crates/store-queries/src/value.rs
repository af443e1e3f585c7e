//! The values of parameters and columns: NULL, and the four kinds that both backends have in common ([`Kind`]).

use std::borrow::Cow;

use admit_app::error::{Error, Result};
use admit_core::barcode::BarcodeHash;
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

/// The value of a parameter or of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// An integer: `INTEGER` in SQLite, `BIGINT` in PostgreSQL.
    Int(i64),
    /// A text: `TEXT` in both databases.
    Text(Cow<'a, str>),
    /// Bytes: `BLOB` in SQLite, `BYTEA` in PostgreSQL.
    Blob(Cow<'a, [u8]>),
    /// A truth value: `BOOLEAN` in PostgreSQL, 0 or 1 in SQLite.
    Bool(bool),
}

/// The kind of a column, for statements that send whole columns at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The column has values of [`Value::Int`].
    Int,
    /// The column has values of [`Value::Text`].
    Text,
    /// The column has values of [`Value::Blob`].
    Blob,
    /// The column has values of [`Value::Bool`].
    Bool,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}
impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}
impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}
impl<'a> From<&'a [u8; 32]> for Value<'a> {
    fn from(bytes: &'a [u8; 32]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }
}
impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }
}
impl<'a> From<&'a BarcodeHash> for Value<'a> {
    fn from(hash: &'a BarcodeHash) -> Self {
        Self::Blob(Cow::Borrowed(&hash.0))
    }
}
impl<'a> From<&'a Digest> for Value<'a> {
    fn from(digest: &'a Digest) -> Self {
        Self::Blob(Cow::Borrowed(&digest.0))
    }
}
impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(Cow::Owned(bytes))
    }
}
impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}
impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}
impl From<u8> for Value<'_> {
    fn from(number: u8) -> Self {
        Self::Int(i64::from(number))
    }
}
impl From<u64> for Value<'_> {
    /// A number above `i64::MAX` is stored as `i64::MAX`. Such a number may come in a request, because a device may
    /// claim any number.
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}
impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Int(at.ms())
    }
}
impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from_ids {
    ($($id:ident),*) => {$(
        impl<'a> From<&'a admit_core::ids::$id> for Value<'a> {
            fn from(id: &'a admit_core::ids::$id) -> Self {
                Self::Text(Cow::Borrowed(id.as_str()))
            }
        }
    )*};
}
from_ids!(
    OrganizationId,
    UserId,
    EventId,
    GateId,
    TicketId,
    GuestId,
    GuestListId,
    EntryTypeId,
    DeviceId,
    ScanId,
    BatchId,
    LogId,
    KeyId,
    IncidentId
);

/// A row, which is read column by column in the order of the statement.
#[derive(Debug)]
pub struct Row {
    columns: std::vec::IntoIter<Value<'static>>,
}

fn damaged(what: &str, found: Option<&Value<'_>>) -> Error {
    Error::Bug(format!("a stored row is damaged: expected {what}, found {found:?}"))
}

impl Row {
    /// Makes a row of these columns.
    pub fn new(columns: Vec<Value<'static>>) -> Self {
        Self { columns: columns.into_iter() }
    }
    /// The columns that are not read yet.
    pub fn into_values(self) -> impl Iterator<Item = Value<'static>> {
        self.columns
    }
    /// The next column as a whole number.
    pub fn int(&mut self) -> Result<i64> {
        match self.columns.next() {
            Some(Value::Int(number)) => Ok(number),
            other => Err(damaged("a number", other.as_ref())),
        }
    }
    /// The next column as a whole number that is not negative.
    pub fn count<N: TryFrom<i64>>(&mut self) -> Result<N> {
        let number = self.int()?;
        N::try_from(number).map_err(|_| damaged("a number in its range", Some(&Value::Int(number))))
    }
    /// The next column as a time.
    pub fn at(&mut self) -> Result<Timestamp> {
        self.int().map(Timestamp::clamped)
    }
    /// The next column as a boolean.
    pub fn bool(&mut self) -> Result<bool> {
        match self.columns.next() {
            Some(Value::Bool(truth)) => Ok(truth),
            Some(Value::Int(number @ (0 | 1))) => Ok(number == 1),
            other => Err(damaged("a truth value", other.as_ref())),
        }
    }
    /// The next column as text.
    pub fn text(&mut self) -> Result<String> {
        match self.columns.next() {
            Some(Value::Text(text)) => Ok(text.into_owned()),
            other => Err(damaged("text", other.as_ref())),
        }
    }
    /// The next column as bytes.
    pub fn blob(&mut self) -> Result<Vec<u8>> {
        match self.columns.next() {
            Some(Value::Blob(bytes)) => Ok(bytes.into_owned()),
            other => Err(damaged("bytes", other.as_ref())),
        }
    }
    /// The next column as 32 bytes.
    pub fn hash(&mut self) -> Result<[u8; 32]> {
        let bytes = self.blob()?;
        <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| damaged("32 bytes", Some(&Value::Blob(Cow::Owned(bytes)))))
    }
    /// The next column as text, parsed as an identifier, a word of a vocabulary, or another type.
    pub fn parsed<T: std::str::FromStr>(&mut self) -> Result<T> {
        let text = self.text()?;
        text.parse().map_err(|_| damaged(std::any::type_name::<T>(), Some(&Value::Text(text.into()))))
    }
    /// The next column as JSON text.
    pub fn json<T: serde::de::DeserializeOwned>(&mut self, what: &'static str) -> Result<T> {
        let text = self.text()?;
        admit_core::wire::stored::from_text(what, &text).map_err(|error| Error::Bug(error.to_string()))
    }
    /// The next `columns` columns, read by `read`. `None`: the first of them is NULL, because an outer join found no
    /// row.
    pub fn joined<T>(&mut self, columns: usize, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        match self.columns.as_slice().first() {
            Some(Value::Null) => {
                self.columns.by_ref().take(columns).for_each(drop);
                Ok(None)
            }
            _ => read(self).map(Some),
        }
    }
    /// The next column, read by `read`; `None` if it is NULL.
    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        match self.columns.as_slice().first() {
            Some(Value::Null) => {
                self.columns.next();
                Ok(None)
            }
            _ => read(self).map(Some),
        }
    }
}

/// Refuses text that a database cannot store. PostgreSQL has no NUL character in text, so neither backend accepts one.
pub fn check_text(text: &str) -> Result<()> {
    if text.as_bytes().contains(&0) {
        return Err(Error::invalid("", "text must not hold the NUL character"));
    }
    Ok(())
}
