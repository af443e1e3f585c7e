//! The user's answers about a file: the meaning of each column, and answers to what the file leaves open.

use std::collections::BTreeMap;

use admit_core::limits::FIELD_NAME_CHARS;
use admit_core::ticket::TicketStatus;
use admit_table::{Encoding, Hints};
use serde::{Deserialize, Serialize};

use super::column::Column;
use super::status;
use super::times::DateOrder;
use crate::error::{Error, FieldError, Result};

/// The word for a column that is not read.
pub const IGNORE: &str = "ignore";
/// The prefix of a field's name that the user gives: `field:Table`.
const FIELD: &str = "field:";

/// The user's answers about a file. Every part may be absent. The import then guesses that part, or asks the user about
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mapping {
    /// The meanings of columns. The key is a header as in the file, or `#` and the column's number from 1. The value is
    /// `name`, `email`, … or `ignore`. The word `field` means a field of the guest that the header names, and
    /// `field:Table` one of that name. Columns that are not named are guessed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// The meaning of each status word of the file: `active`, `used`, `voided`, `refunded`. Rows that mean `voided` or
    /// `refunded` make no ticket.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, String>,
    /// Whether `11/12/2026` is the 11th of December. Absent means that the file's dates decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_first: Option<bool>,
    /// The treatment of rows without a code, in a file where other rows have codes. Absent means that the user is
    /// asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_codes: Option<MissingCodes>,
    /// The meaning of `NULL` or `None` in a name column. Absent means that the user is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_words_in_names: Option<EmptyWords>,
    /// The treatment of entry types that the event lacks. Absent means that they are created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_entry_types: Option<NewTypes>,
    /// The file's encoding, such as `Windows-1252`. Absent means that it is detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The sheet of a workbook. Absent means the first sheet with rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
}

/// The treatment of rows that have no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingCodes {
    /// Make a code for each row.
    Make,
    /// Leave the rows out.
    LeaveOut,
}

/// The meaning of `NULL` in a name column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyWords {
    /// The cell is empty.
    Empty,
    /// The cell is somebody's name.
    Name,
}

/// The treatment of an entry type that the event lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewTypes {
    /// Create the entry type.
    #[default]
    Create,
    /// Give its rows the event's first type.
    First,
    /// Leave the type's rows out, since the product may be something else, such as a T-shirt.
    LeaveOut,
}

impl Mapping {
    /// Reads a mapping from JSON. Every wrong field is named under `mapping`.
    pub fn parse(text: &str) -> Result<Self> {
        let read: Self = serde_json::from_str(text)
            .map_err(|error| Error::invalid("mapping", format!("is not as it should be: {error}")))?;
        let mut errors = Vec::new();
        let mut fail = |path: String, message: String| errors.push(FieldError { path, message });
        for (header, becomes) in &read.columns {
            let label = becomes.strip_prefix(FIELD);
            if label.is_some_and(|label| !(1..=FIELD_NAME_CHARS).contains(&label.trim().chars().count())) {
                let message = format!("names a field by 1 to {FIELD_NAME_CHARS} characters, such as field:Table");
                fail(format!("mapping.columns.{header}"), message);
            } else if becomes != IGNORE && label.is_none() && Column::of_name(becomes).is_none() {
                let names: Vec<&str> = Column::ALL.iter().map(|(_, name)| *name).collect();
                fail(format!("mapping.columns.{header}"), format!("must be {IGNORE} or one of: {}", names.join(", ")));
            }
        }
        for (word, meaning) in &read.statuses {
            if let Err(error) = meaning.parse::<TicketStatus>() {
                fail(format!("mapping.statuses.{word}"), error.to_string());
            }
        }
        if let Some(name) = read.encoding.as_deref().filter(|name| Encoding::of_name(name).is_none()) {
            let names: Vec<&str> = Encoding::ALL.iter().map(|one| one.name()).collect();
            fail("mapping.encoding".into(), format!("{name} is not one of: {}", names.join(", ")));
        }
        if errors.is_empty() { Ok(read) } else { Err(Error::Invalid { code: "invalid_request", errors }) }
    }
    /// The hints for reading the file's bytes.
    pub fn hints(&self) -> Hints {
        Hints { encoding: self.encoding.as_deref().and_then(Encoding::of_name), sheet: self.sheet.clone() }
    }
    /// The order of dates that the mapping names. `None` if it names none.
    pub fn date_order(&self) -> Option<DateOrder> {
        self.day_first.map(|day_first| if day_first { DateOrder::DayFirst } else { DateOrder::MonthFirst })
    }
    /// The meaning of a status word (as [`status::folded`] writes it). `None` if the mapping does not have it.
    pub fn status(&self, word: &str) -> Option<TicketStatus> {
        self.statuses.iter().find(|(one, _)| status::folded(one) == word)?.1.parse().ok()
    }
    /// The meaning of the column with the index `place`, from 0. `None` if the mapping does not have it. `Some(None)`
    /// means that the column is not read.
    pub fn column(&self, place: usize, header: &str) -> Option<Option<Column>> {
        let word = self.word(place, header)?;
        Some(if word.starts_with(FIELD) { Some(Column::Field) } else { Column::of_name(word) })
    }
    /// The user's word for a column. In a file that Admit exported, the header itself is the word. `None` if there is
    /// neither.
    fn word<'a>(&'a self, place: usize, header: &'a str) -> Option<&'a str> {
        let said = self.columns.get(&format!("#{}", place + 1)).or_else(|| self.columns.get(header));
        let own = || header.strip_prefix(FIELD).filter(|label| !label.trim().is_empty()).map(|_| header);
        said.map(String::as_str).or_else(own)
    }
    /// The name of the guest's own field in a column: as the user said, otherwise the header.
    pub fn label(&self, place: usize, header: &str) -> String {
        let said = self.word(place, header).and_then(|word| word.strip_prefix(FIELD));
        let words: Vec<&str> = said.unwrap_or(header).split_whitespace().collect();
        let label: String = words.join(" ").chars().take(FIELD_NAME_CHARS).collect();
        if label.trim().is_empty() { format!("Column {}", place + 1) } else { label.trim().to_owned() }
    }
    /// The mapping in the form in which it is remembered for this header, with columns by their number.
    pub fn remembered(&self, header: &[String]) -> Self {
        let word = |(place, header): (usize, &String)| {
            let word = match self.column(place, header)? {
                Some(Column::Field) => field_word(&self.label(place, header)),
                said => said.map_or(IGNORE, Column::name).to_owned(),
            };
            Some((format!("#{}", place + 1), word))
        };
        Self {
            columns: header.iter().enumerate().filter_map(word).collect(),
            sheet: None,
            encoding: None,
            ..self.clone()
        }
    }
}

/// The word for a field with this name.
pub fn field_word(label: &str) -> String {
    format!("{FIELD}{label}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_names_what_is_wrong_with_it() {
        let wrong = |text: &str| match Mapping::parse(text).unwrap_err() {
            Error::Invalid { errors, .. } => errors.into_iter().map(|error| error.path).collect::<Vec<_>>(),
            other => panic!("{other}"),
        };
        assert_eq!(wrong("{"), ["mapping"]);
        assert_eq!(wrong(r#"{"column":{}}"#), ["mapping"]);
        assert_eq!(
            wrong(r##"{"columns":{"Nom":"surname","#2":"ignore"},"statuses":{"x":"good"},"encoding":"EBCDIC"}"##),
            ["mapping.columns.Nom", "mapping.statuses.x", "mapping.encoding"]
        );
        assert_eq!(Mapping::parse("{}").unwrap(), Mapping::default());
    }

    #[test]
    fn a_field_is_named_by_a_person_or_by_its_header() {
        let mapping = Mapping::parse(
            r##"{"columns":{"Firma":"field","#2":"field: Table ","What do you want to eat with us?":"field","":"field"}}"##,
        )
        .unwrap();
        let label = |place, header| {
            assert_eq!(mapping.column(place, header), Some(Some(Column::Field)));
            mapping.label(place, header)
        };
        assert_eq!(label(0, "Firma"), "Firma");
        assert_eq!(label(1, "Tisch"), "Table");
        assert_eq!(label(2, "What do you want to eat with us?"), "What do you want to eat");
        assert_eq!(label(3, ""), "Column 4");
        let again = mapping.remembered(&["Firma".to_owned(), "Tisch".to_owned()]);
        assert_eq!(
            again.columns,
            BTreeMap::from([("#1".into(), "field:Firma".into()), ("#2".into(), "field:Table".into())])
        );
        for wrong in ["field:", "field: ", "field:a name of more than twenty-four characters", "fields"] {
            assert!(Mapping::parse(&format!(r#"{{"columns":{{"x":"{wrong}"}}}}"#)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_column_is_named_by_its_header_or_by_its_number() {
        let mapping =
            Mapping::parse(r##"{"columns":{"Nom":"last_name","#3":"ignore"},"statuses":{"Là-bas":"voided"}}"##)
                .unwrap();
        assert_eq!(mapping.column(0, "Nom"), Some(Some(Column::LastName)));
        assert_eq!(mapping.column(2, "Nom"), Some(None), "the number is more exact than the header");
        assert_eq!(mapping.column(1, "Other"), None);
        assert_eq!(mapping.status("la bas"), Some(TicketStatus::Voided));
        let header = ["Nom", "x", "y"].map(str::to_owned);
        let again = mapping.remembered(&header);
        assert_eq!(again.columns, BTreeMap::from([("#1".into(), "last_name".into()), ("#3".into(), IGNORE.into())]));
    }
}
