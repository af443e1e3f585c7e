//! Reads a row of the sender's table, by the columns that its endpoint names.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::UnknownWord;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use admit_core::wire::webhooks::{Cell, Cells, GuestMessage, RowChange, WebhookColumns};

use crate::checks::{Checks, path};
use crate::error::Result;
use crate::records::WebhookRowRecord;

/// The content of a message about one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The change of the row.
    pub change: RowChange,
    /// The row's id.
    pub external_id: String,
    /// The guest's fields in the row: Admit's name of the field, and its text. Fields whose column the row lacks are
    /// left out. An empty text means NULL.
    pub cells: Vec<(&'static str, String)>,
    /// The fields that the sender changed in the row. Absent unless the message says how the row was before.
    pub changed: Option<BTreeSet<&'static str>>,
    /// The number of the change in the sender's outbox. Absent if the sender has no outbox.
    pub sequence: Option<u64>,
    /// When the row was changed, in microseconds since 1970. Absent if the sender does not say.
    pub changed_us: Option<i64>,
}

impl Row {
    /// Reads a message. Every wrong field is named by the sender's own column: `record.e_mail`.
    pub fn read(message: &GuestMessage, columns: &WebhookColumns) -> Result<Self> {
        let mut checks = Checks::default();
        let change = message.change.as_deref().map_or(Ok(RowChange::Update), str::parse);
        let change = change.unwrap_or_else(|error: UnknownWord| {
            checks.fail("type", error.to_string());
            RowChange::Update
        });
        let (name, record) = match change {
            RowChange::Delete => ("old_record", &message.old_record),
            _ => ("record", &message.record),
        };
        let Some(record) = record else {
            checks.fail(name, "is required: the row as an object, column by column");
            checks.finish()?;
            return Err(crate::error::Error::Bug("a wrong field was let through".into()));
        };
        let external_id = text(&mut checks, name, record, &columns.external_id).unwrap_or_default();
        let external_id = checks.external_id(&path(name, &columns.external_id), Some(&external_id));
        if external_id.is_none() && checks.errors().is_empty() {
            let at = path(name, &columns.external_id);
            checks.fail(
                at,
                "is required: by it the guest is found again. Another column is named by columns.external_id",
            );
        }
        let mut cells = Vec::new();
        for (field, column) in fields(columns) {
            if let Some(text) = column.and_then(|column| text(&mut checks, name, record, column)) {
                cells.push((field, text.trim().to_owned()));
            }
        }
        let changed_us = columns.updated_at.as_deref().and_then(|column| {
            let text = text(&mut checks, name, record, column).filter(|text| !text.trim().is_empty())?;
            let at = microseconds(text.trim());
            if at.is_none() {
                let message =
                    "must be a time such as 2026-06-07T19:30:00Z; where it is none, set columns.updated_at to null";
                checks.fail(path(name, column), message);
            }
            at
        });
        checks.finish()?;
        let external_id = external_id.unwrap_or_default();
        let before = message.old_record.as_ref().filter(|_| change == RowChange::Update);
        let changed = before.map(|before| changed_fields(record, before, columns));
        Ok(Self { change, external_id, cells, changed, sequence: message.sequence, changed_us })
    }
    /// Removes the fields that the sender did not change. So an old value of the sender does not undo what a person has
    /// corrected in Admit. A field stays if its value differs from the last one that Admit took from the row, since
    /// Admit then missed a message about that field.
    pub fn without_the_old(mut self, said: &Said) -> Self {
        if let Some(changed) = self.changed.take() {
            let id = &self.external_id;
            let is_news = |field: &str, text: &str| said.get(field) != Some(&said_of(id, field, text));
            self.cells.retain(|(field, text)| changed.contains(field) || is_news(field, text));
        }
        self
    }
    /// The row's fields, in the form in which they are remembered.
    pub fn said(&self) -> Said {
        let one =
            |(field, text): &(&'static str, String)| ((*field).to_owned(), said_of(&self.external_id, field, text));
        self.cells.iter().map(one).collect()
    }
    /// Whether Admit knows a newer change of the row. The numbers of the two changes in the sender's outbox decide. If
    /// one of them has no number, the times by the sender's clock decide.
    pub fn is_older_than(&self, known: &WebhookRowRecord) -> bool {
        match ((known.sequence, self.sequence), (known.changed_us, self.changed_us)) {
            ((Some(known), Some(this)), _) => this <= known,
            (_, (Some(known), Some(this))) => this < known,
            _ => false,
        }
    }
    /// The text of a field. `None` if the row lacks its column.
    pub fn cell(&self, field: &str) -> Option<&str> {
        self.cells.iter().find(|(name, _)| *name == field).map(|(_, text)| text.as_str())
    }
    /// The text that stands in for a missing name: the e-mail or the phone number. `None` if the row has neither.
    pub fn stand_in(&self) -> Option<&str> {
        let said = |field| self.cell(field).filter(|text| !text.is_empty());
        said("email").or(said("phone"))
    }
    /// The cells in the form that an import takes, with the row's id and a name. `held` is the present name of a known
    /// guest. It is kept if the row has no column for a name.
    pub fn with_name(&self, held: Option<&str>) -> Vec<(&'static str, String)> {
        let said = self.cell("name").filter(|text| !text.is_empty());
        let held = held.filter(|_| self.cell("name").is_none());
        self.named(said.or(held).or(self.stand_in()).unwrap_or(&self.external_id))
    }
    /// The cells as an import takes them, with the id and this name.
    pub fn named(&self, name: &str) -> Vec<(&'static str, String)> {
        let mut cells = vec![("external_id", self.external_id.clone()), ("name", name.to_owned())];
        cells.extend(self.cells.iter().filter(|(field, _)| *field != "name").cloned());
        cells
    }
}

/// Reads a message as the first about its row, and then again as if all its values were known. Stores nothing.
#[cfg(feature = "fuzzing")]
pub fn try_reading(message: &GuestMessage, columns: &WebhookColumns) {
    let Ok(row) = Row::read(message, columns) else { return };
    let said = row.said();
    assert!(!row.with_name(None).iter().any(|(field, text)| *field == "name" && text.is_empty()), "all have a name");
    let again = row.clone().without_the_old(&said);
    assert!(again.cells.iter().all(|(field, _)| row.changed.as_ref().is_none_or(|changed| changed.contains(field))));
}

/// The last content of a sender's row that Admit took, by field. It holds no text, only as much of a hash as tells two
/// texts apart.
pub(super) type Said = BTreeMap<String, String>;

fn said_of(external_id: &str, field: &str, text: &str) -> String {
    let hash = token_hash(&format!("{external_id}\u{1f}{field}\u{1f}{text}"));
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The fields whose column has another value than before. A column that `before` lacks did not change, since a sender
/// may leave out unchanged ones.
fn changed_fields(record: &Cells, before: &Cells, columns: &WebhookColumns) -> BTreeSet<&'static str> {
    let named = fields(columns).into_iter().filter_map(|(field, column)| Some((field, column?)));
    named
        .filter(|(_, column)| before.get(*column).is_some_and(|was| Some(was) != record.get(*column)))
        .map(|(field, _)| field)
        .collect()
}

/// The path, in the sender's message, of a field of the guest.
pub(super) fn place(columns: &WebhookColumns, field: &str) -> String {
    let column = fields(columns).into_iter().find(|(name, _)| *name == field).and_then(|(_, column)| column);
    path("record", column.unwrap_or(&columns.external_id))
}

fn fields(columns: &WebhookColumns) -> [(&'static str, Option<&str>); 6] {
    [
        ("name", columns.name.as_deref()),
        ("email", columns.email.as_deref()),
        ("phone", columns.phone.as_deref()),
        ("party_size", columns.party_size.as_deref()),
        ("guest_list", columns.guest_list.as_deref()),
        ("entry_type", columns.entry_type.as_deref()),
    ]
}

/// The text of a column in a row. Empty if the column is NULL. `None` if the row lacks the column.
fn text(checks: &mut Checks, record: &str, row: &Cells, column: &str) -> Option<String> {
    match row.get(column)? {
        Cell::Null => Some(String::new()),
        Cell::Text(text) | Cell::Number(text) => Some(text.clone()),
        Cell::Other(_) => {
            checks.fail(path(record, column), "must be a text or a number");
            None
        }
    }
}

/// A time as RFC 3339 or a database writes it, in microseconds since 1970. A database writes a space for the `T`. The
/// offset is one such as `Z`, `+02:00`, `+0200`, `+02` or ` UTC`. Without an offset the time is read as UTC. `None` for
/// other texts.
fn microseconds(text: &str) -> Option<i64> {
    // `2026-06-07T19:30` is the shortest time. An offset begins after it.
    let end = text.get(16..)?.find(['+', '-', 'Z', 'z', ' ']).map_or(text.len(), |at| at + 16);
    let (clock, offset) = (&text[..end], text[end..].trim());
    let offset = match (offset, offset.len()) {
        ("" | "Z" | "z" | "UTC", _) => "Z".to_owned(),
        (hours, 3) => format!("{hours}:00"),
        (both, 5) => format!("{}:{}", both.get(..3)?, both.get(3..)?),
        (offset, _) => offset.to_owned(),
    };
    let at = Timestamp::parse(&format!("{clock}{offset}")).ok()?;
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let mut finer = fraction.bytes().take_while(u8::is_ascii_digit).skip(3);
    let mut digit = |worth: i64| finer.next().map_or(0, |byte| i64::from(byte - b'0') * worth);
    Some(at.ms() * 1_000 + digit(100) + digit(10) + digit(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use admit_core::wire::problem;
    use serde_json::{Value, json};

    fn message(value: Value) -> GuestMessage {
        problem::read(value.to_string().as_bytes()).unwrap()
    }
    fn read(value: Value) -> Result<Row> {
        Row::read(&message(value), &WebhookColumns::default())
    }
    fn wrong(value: Value) -> Vec<String> {
        match read(value) {
            Err(Error::Invalid { errors, .. }) => errors.into_iter().map(|error| error.path).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_row_is_read_by_the_columns_of_its_endpoint() {
        let columns = WebhookColumns {
            external_id: "guest_id".into(),
            name: Some("full name".into()),
            phone: None,
            ..WebhookColumns::default()
        };
        let record =
            json!({ "guest_id": 17, "full name": " Ana ", "email": null, "phone": "+1", "party_size": 3, "vip": {} });
        let row = Row::read(&message(json!({ "type": "INSERT", "record": record, "sequence": 4 })), &columns).unwrap();
        let cells = [("name", "Ana"), ("email", ""), ("party_size", "3")].map(|(field, text)| (field, text.to_owned()));
        assert_eq!((row.external_id.as_str(), row.cells, row.sequence), ("17", cells.to_vec(), Some(4)));
    }

    #[test]
    fn an_id_is_text_whatever_its_digits() {
        let id = |json: &str| {
            let body = format!(r#"{{"record":{{"id":{json},"phone":{json}}}}}"#);
            let row = Row::read(&problem::read(body.as_bytes()).unwrap(), &WebhookColumns::default()).unwrap();
            assert_eq!(row.cell("phone"), Some(row.external_id.as_str()));
            row.external_id
        };
        for digits in
            ["12345678901234567890", "9007199254740993", "1e21", "-7", "1.10", "99999999999999999999999999999999"]
        {
            assert_eq!(id(digits), digits);
        }
        assert_eq!(id(r#""0030611""#), "0030611", "zeros in front are part of it");
    }

    #[test]
    fn wrong_fields_are_named_by_the_senders_own_columns_all_at_once() {
        assert_eq!(wrong(json!({})), ["record"]);
        assert_eq!(wrong(json!({ "type": "DELETE", "record": { "id": 1 } })), ["old_record"]);
        assert_eq!(wrong(json!({ "type": "TRUNCATE", "record": {} })), ["type"]);
        assert_eq!(wrong(json!({ "record": {} })), ["record.id"]);
        assert_eq!(wrong(json!({ "record": { "id": null } })), ["record.id"]);
        assert_eq!(wrong(json!({ "record": { "id": "x".repeat(129) } })), ["record.id"]);
        assert_eq!(
            wrong(json!({ "record": { "id": 1, "name": ["Ana"], "party_size": true, "updated_at": "soon" } })),
            ["record.name", "record.party_size", "record.updated_at"]
        );
    }

    #[test]
    fn whoever_has_no_name_is_called_by_what_is_known_of_them() {
        let name = |record: Value, held| read(json!({ "record": record })).unwrap().with_name(held)[1].1.clone();
        assert_eq!(name(json!({ "id": 7, "name": "Ana", "email": "a@b.c" }), Some("Old")), "Ana");
        assert_eq!(name(json!({ "id": 7, "name": " ", "email": "a@b.c" }), Some("Old")), "a@b.c");
        assert_eq!(name(json!({ "id": 7, "email": "a@b.c" }), Some("Old")), "Old", "the row has no such column");
        assert_eq!(name(json!({ "id": 7, "email": null, "phone": "+491234" }), None), "+491234");
        assert_eq!(name(json!({ "id": 7 }), None), "7");
    }

    #[test]
    fn a_change_is_about_what_differs_from_before_and_from_what_was_taken_in() {
        let update = |email: &str, old: Value| {
            let record = json!({ "id": 7, "name": "Ana", "email": email, "party_size": 2, "last_login": 9 });
            read(json!({ "type": "UPDATE", "record": record, "old_record": old })).unwrap()
        };
        let fields = |row: Row, said: &Said| -> Vec<&str> {
            row.without_the_old(said).cells.into_iter().map(|(field, _)| field).collect()
        };
        let whole = |email: &str| json!({ "id": 7, "name": "Ana", "email": email, "party_size": 2, "last_login": 8 });
        let said = update("a@b.c", whole("a@b.c")).said();
        assert_eq!(fields(update("a@b.c", whole("a@b.c")), &said), Vec::<&str>::new());
        assert_eq!(fields(update("a@b.c", whole("old@b.c")), &said), ["email"], "said again, so meant");
        assert_eq!(fields(update("a@b.c", json!({ "email": null })), &said), ["email"]);
        assert_eq!(fields(update("a@b.c", json!({ "last_login": 8 })), &said), Vec::<&str>::new());
        assert_eq!(fields(update("new@b.c", whole("new@b.c")), &said), ["email"], "the message about it was lost");
        assert_eq!(fields(update("a@b.c", whole("a@b.c")), &Said::new()), ["name", "email", "party_size"]);
        let row = read(json!({ "record": { "id": 7, "name": "Ana", "email": "a@b.c" } })).unwrap();
        assert_eq!(fields(row, &said), ["name", "email"], "who does not say what was before means all of it");
    }

    #[test]
    fn the_senders_order_decides_before_its_clock() {
        let row = |sequence, changed_us| Row {
            change: RowChange::Update,
            external_id: "1".into(),
            cells: Vec::new(),
            changed: None,
            sequence,
            changed_us,
        };
        let known = |sequence, changed_us| WebhookRowRecord {
            endpoint_id: "e".into(),
            external_id: "1".into(),
            sequence,
            changed_us,
            deleted_at: None,
            said: Said::new(),
        };
        assert!(row(Some(4), Some(9)).is_older_than(&known(Some(5), Some(1))));
        assert!(row(Some(5), None).is_older_than(&known(Some(5), None)), "the same change under another id");
        assert!(!row(Some(6), Some(1)).is_older_than(&known(Some(5), Some(9))));
        assert!(row(None, Some(1)).is_older_than(&known(Some(5), Some(2))));
        assert!(!row(None, Some(2)).is_older_than(&known(None, Some(2))));
        assert!(!row(None, None).is_older_than(&known(Some(5), Some(2))), "what says nothing of its age is taken");
    }

    #[test]
    fn times_are_read_as_postgresql_writes_them() {
        let second = 1_780_860_600_000_000;
        for (text, us) in [
            ("2026-06-07T19:30:00Z", second),
            ("2026-06-07T21:30:00.123456+02:00", second + 123_456),
            ("2026-06-07T19:30:00.12345", second + 123_450),
            ("2026-06-07 19:30:00.5", second + 500_000),
            ("2026-06-07 19:30:00+00", second),
            ("2026-06-07 21:30:00.123456+02", second + 123_456),
            ("2026-06-07 16:00:00-03:30", second),
            ("2026-06-07T19:30:00+0000", second),
            ("2026-06-07T16:00:00-0330", second),
            ("2026-06-07 19:30:00 +0000", second),
            ("2026-06-07 19:30:00 UTC", second),
            ("2026-06-07t19:30:00z", second),
        ] {
            assert_eq!(microseconds(text), Some(us), "{text}");
        }
        for text in [
            "yesterday",
            "",
            "2026-06-07",
            "2026-06-07 19:30:00+2",
            "2026-06-07 19:30:00 CEST",
            "2026-06-07 19:30:00+é9",
        ] {
            assert_eq!(microseconds(text), None, "{text}");
        }
    }
}
