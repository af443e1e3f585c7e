//! `POST /api/webhooks/guests/{endpoint}`: a changed row of an organiser's own table of guests (spec §5).

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::words::words;

words! {
    /// The change of a row.
    RowChange {
        /// The row is new.
        Insert = "INSERT",
        /// The row has new values.
        Update = "UPDATE",
        /// The row was deleted.
        Delete = "DELETE",
    }
    /// The result of a message.
    WebhookStatus {
        /// A guest was created, with a ticket.
        Created = "created",
        /// The guest was changed.
        Updated = "updated",
        /// The guest already has the row's values.
        Unchanged = "unchanged",
        /// A newer change of the row arrived before this one.
        Ignored = "ignored",
        /// The row was deleted. The deletion is on record, and the ticket still admits.
        Recorded = "recorded",
    }
}

/// A column's value as it came. Numbers are kept digit by digit, since an id of twenty digits fits no number type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// The SQL value NULL.
    Null,
    /// A text.
    Text(String),
    /// A number, in the digits that the sender wrote.
    Number(String),
    /// Any other value, as JSON.
    Other(String),
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(source)?;
        let json = raw.get();
        Ok(match json.as_bytes().first() {
            Some(b'"') => Self::Text(serde_json::from_str(json).map_err(D::Error::custom)?),
            Some(b'-' | b'0'..=b'9') => Self::Number(json.to_owned()),
            Some(b'n') => Self::Null,
            _ => Self::Other(json.to_owned()),
        })
    }
}

/// A row of the sender's table: its values by column name.
pub type Cells = BTreeMap<String, Cell>;

/// A message: the body of Supabase's database webhooks. `{"record": {…}}` alone is enough.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct GuestMessage {
    /// The change of the row. Absent means an update. New and changed rows are handled alike.
    #[serde(rename = "type", default)]
    pub change: Option<String>,
    /// The row as it is now. Null or absent for a deleted row.
    #[serde(default)]
    pub record: Option<Cells>,
    /// The row as it was. It is read only for a deleted row.
    #[serde(default)]
    pub old_record: Option<Cells>,
    /// The number of this change in the sender's outbox. A later change has a higher number. Absent if the sender has
    /// none.
    #[serde(default)]
    pub sequence: Option<u64>,
}

/// Which column of the sender's table holds which value. A value whose column is `None` is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookColumns {
    /// The column of the row's id, by which the guest is found again.
    #[serde(default = "external_id")]
    pub external_id: String,
    /// The column of the guest's name.
    #[serde(default = "name")]
    pub name: Option<String>,
    /// The column of the e-mail address.
    #[serde(default = "email")]
    pub email: Option<String>,
    /// The column of the phone number.
    #[serde(default = "phone")]
    pub phone: Option<String>,
    /// The column of the number of persons.
    #[serde(default = "party_size")]
    pub party_size: Option<String>,
    /// The column with the name of the row's guest list. The server creates a list that does not exist yet.
    #[serde(default = "guest_list")]
    pub guest_list: Option<String>,
    /// The column of the entry type's name or id.
    #[serde(default = "entry_type")]
    pub entry_type: Option<String>,
    /// The column with the time of the row's last change, in RFC 3339. The server ignores a change that is older than
    /// the row's newest known change.
    #[serde(default = "updated_at")]
    pub updated_at: Option<String>,
}

fn external_id() -> String {
    "id".to_owned()
}
fn name() -> Option<String> {
    Some("name".to_owned())
}
fn email() -> Option<String> {
    Some("email".to_owned())
}
fn phone() -> Option<String> {
    Some("phone".to_owned())
}
fn party_size() -> Option<String> {
    Some("party_size".to_owned())
}
fn guest_list() -> Option<String> {
    Some("guest_list".to_owned())
}
fn entry_type() -> Option<String> {
    Some("entry_type".to_owned())
}
fn updated_at() -> Option<String> {
    Some("updated_at".to_owned())
}

impl Default for WebhookColumns {
    fn default() -> Self {
        Self {
            external_id: external_id(),
            name: name(),
            email: email(),
            phone: phone(),
            party_size: party_size(),
            guest_list: guest_list(),
            entry_type: entry_type(),
            updated_at: updated_at(),
        }
    }
}

/// The answer to a message. A repeated message gets the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAnswer {
    /// The result, a word of [`WebhookStatus`].
    pub status: String,
    /// The row's id.
    pub external_id: String,
    /// The guest's id. Absent if the row has no guest.
    pub guest_id: Option<String>,
    /// The id of the guest's ticket. Absent if there is none.
    pub ticket_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::problem::read;

    #[test]
    fn supabases_body_and_the_least_one_are_read() {
        let whole = r#"{"type":"DELETE","table":"guests","schema":"public","record":null,"old_record":{"id":7}}"#;
        let whole: GuestMessage = read(whole.as_bytes()).unwrap();
        assert_eq!((whole.change.as_deref(), whole.record, whole.sequence), (Some("DELETE"), None, None));
        assert_eq!(whole.old_record.unwrap()["id"], Cell::Number("7".into()));
        let least: GuestMessage = read(br#"{"record":{"id":"7","name":"Ana"}}"#).unwrap();
        assert_eq!((least.change, &least.record.unwrap()["name"]), (None, &Cell::Text("Ana".into())));
        assert_eq!(read::<GuestMessage>(br#"{"record":[]}"#).unwrap_err().path, "record");
    }

    #[test]
    fn a_number_keeps_every_digit_and_a_text_is_unescaped() {
        let body = r#"{"record":{"a":12345678901234567890123,"b":1e21,"c":-0.10,"d":"\u005a\"00","e":null,"f":[1, 2],"g":true}}"#;
        let row = read::<GuestMessage>(body.as_bytes()).unwrap().record.unwrap();
        let number = |digits: &str| Cell::Number(digits.into());
        assert_eq!(row["a"], number("12345678901234567890123"));
        assert_eq!((&row["b"], &row["c"]), (&number("1e21"), &number("-0.10")));
        assert_eq!((&row["d"], &row["e"]), (&Cell::Text("Z\"00".into()), &Cell::Null));
        assert_eq!((&row["f"], &row["g"]), (&Cell::Other("[1, 2]".into()), &Cell::Other("true".into())));
        let huge = format!(r#"{{"record":{{"id":{}}}}}"#, "9".repeat(400));
        assert_eq!(read::<GuestMessage>(huge.as_bytes()).unwrap().record.unwrap()["id"], number(&"9".repeat(400)));
    }

    #[test]
    fn a_column_left_out_has_its_usual_name_and_null_is_not_read() {
        let columns: WebhookColumns = read(br#"{"name":"full_name","phone":null}"#).unwrap();
        assert_eq!(
            columns,
            WebhookColumns { name: Some("full_name".into()), phone: None, ..WebhookColumns::default() }
        );
        assert_eq!(read::<WebhookColumns>(b"{}").unwrap(), WebhookColumns::default());
        assert_eq!(read::<WebhookColumns>(br#"{"external_id":null}"#).unwrap_err().path, "external_id");
    }
}
