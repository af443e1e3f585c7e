//! Identifies the guest of a row: by what its ticket is found again, in this file and in the next.
//!
//! Two rows are one guest only where every identity field given is equal, or the source's own row id is (spec §5). A code, an
//! address or a company's id that several persons share never makes one of them.

use std::borrow::Cow;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::GuestListId;

use super::column::Column;
use crate::checks::Checks;
use crate::tickets::keys::{self, KeyScope};

/// The key by which a row names its ticket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// Its code.
    Code(BarcodeHash),
    /// Its import key: the source's row id, else order and position, else everything that names the person.
    Key(String),
}

/// Another key under which the ticket may be stored: of a file whose ids said more, or less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherKey {
    /// The key.
    pub key: String,
    /// It counts only where the guest found has the row's name.
    pub only_same_name: bool,
}

/// The parts of a row that name a person.
pub struct Named<'a> {
    /// Guest list.
    pub list: Option<&'a GuestListId>,
    /// The person's name; absent where the row has none.
    pub name: Option<&'a str>,
    /// E-mail, in lower case.
    pub email: Option<String>,
    /// The source's id of the row.
    pub id: Option<Cow<'a, str>>,
    /// Order number.
    pub order: Option<Cow<'a, str>>,
    /// Place within the order.
    pub position: Option<Cow<'a, str>>,
    /// The id stands for different persons in this file.
    pub id_is_shared: bool,
    /// Order and position stand for different persons in this file.
    pub position_is_shared: bool,
    /// The file is an export that is known: its ids are of rows.
    pub is_export: bool,
}

impl Named<'_> {
    /// Checks the parts of keys, also in rows without a guest: a text longer than an id may be fits no index of the
    /// database.
    pub fn check(&self, checks: &mut Checks) {
        for (column, text) in [(Column::ExternalId, &self.id), (Column::Position, &self.position)] {
            checks.external_id(column.name(), text.as_deref());
        }
    }

    /// The row's identity, and the other keys that its ticket may have.
    pub fn identity(
        &self,
        barcode: Option<&str>,
        scope: &KeyScope,
        checks: &mut Checks,
    ) -> Option<(Identity, Vec<OtherKey>)> {
        let by_id = self.id.as_deref().map(keys::of_external_id);
        let by_order = self.order.as_deref().zip(self.position.as_deref());
        let by_order = by_order.map(|(order, position)| format!("order:{order}/{position}"));
        let other = |key: &Option<String>, only_same_name: bool| {
            key.as_ref().map(|key| OtherKey { key: scope.key(key), only_same_name })
        };
        if let Some(text) = barcode {
            // An export may bring the codes of tickets that came without.
            let others = [other(&by_order, self.position_is_shared), other(&by_id, self.id_is_shared)];
            let others = others.into_iter().flatten().filter(|_| self.is_export).collect();
            return Some((Identity::Code(BarcodeHash::of(text)), others));
        }
        let person = self.person();
        let key = |key: &String| Identity::Key(scope.key(key));
        let plain = self.plain_person();
        match (&by_id, &by_order, &person) {
            (Some(id), ..) if !self.id_is_shared => {
                Some((key(id), [other(&by_order, true), other(&person, false)].into_iter().flatten().collect()))
            }
            (_, Some(order), _) if !self.position_is_shared => {
                Some((key(order), [other(&person, false)].into_iter().flatten().collect()))
            }
            (_, _, Some(one)) => {
                let others = [other(&by_id, true), other(&by_order, true), other(&plain, false)];
                let others = others.into_iter().flatten().filter(|other| other.key != scope.key(one)).collect();
                Some((key(one), others))
            }
            _ => {
                checks.fail("line", "needs a barcode, an external_id, an order_id with position, or a name");
                None
            }
        }
    }

    /// Everything that names the person: list, name and e-mail, and order and id where they are given.
    fn person(&self) -> Option<String> {
        let mut key = self.plain_person()?;
        for (word, part) in [("order", &self.order), ("position", &self.position), ("id", &self.id)] {
            if let Some(part) = part {
                key = keys::with_part(key, word, part);
            }
        }
        Some(key)
    }

    /// List, name and e-mail alone, as a file without ids has them.
    fn plain_person(&self) -> Option<String> {
        if self.name.is_none() && self.email.is_none() {
            return None;
        }
        Some(keys::of_name(self.list, self.name.unwrap_or_default(), self.email.as_deref().unwrap_or_default()))
    }
}
