//! Finds which guest a row is about: the key by which its ticket is found again, in this file and in the next.
//!
//! Two rows are one guest only if all given identity fields are equal, or if the source's own row id is equal (spec
//! §5). A code, an address or a company's id that several persons share never joins them.

use std::borrow::Cow;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::GuestListId;

use super::column::Column;
use crate::checks::Checks;
use crate::tickets::keys::{self, KeyScope};

/// The key by which a row names its ticket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// The ticket's code, by its hash.
    Code(BarcodeHash),
    /// The import key: the source's row id, otherwise order and position, otherwise everything that names the person.
    Key(String),
}

/// Another import key under which the row's ticket may be stored, because an earlier file had more ids or fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherKey {
    /// The key.
    pub key: String,
    /// Whether the key counts only if the guest found has the row's name.
    pub only_same_name: bool,
}

/// The parts of a row that name a person.
pub struct Named<'a> {
    /// The guest list. Absent if the row goes on none.
    pub list: Option<&'a GuestListId>,
    /// The person's name. Absent if the row has none.
    pub name: Option<&'a str>,
    /// The e-mail, in lower case. Absent if the row has none.
    pub email: Option<String>,
    /// The id that the source gives the row. Absent if it gives none.
    pub id: Option<Cow<'a, str>>,
    /// The number of the order. Absent if there is none.
    pub order: Option<Cow<'a, str>>,
    /// The place within the order. Absent if there is none.
    pub position: Option<Cow<'a, str>>,
    /// Whether different persons share the id in this file.
    pub id_is_shared: bool,
    /// Whether different persons share order and position in this file.
    pub position_is_shared: bool,
    /// Whether the file is a known export, in which ids belong to rows.
    pub is_export: bool,
}

impl Named<'_> {
    /// Checks that the row's id and position are not longer than ids may be, also for rows without a guest. Import keys
    /// are made of them, and a longer key would not fit an index of the database.
    pub fn check(&self, checks: &mut Checks) {
        for (column, text) in [(Column::ExternalId, &self.id), (Column::Position, &self.position)] {
            checks.external_id(column.name(), text.as_deref());
        }
    }

    /// The row's identity, and the other keys that its ticket may have. `None` if the row names nobody.
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
            // An export may bring the codes of tickets that an earlier file brought without codes.
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

    /// The key made of everything that names the person: list, name and e-mail, and order, position and id if given.
    /// `None` if the row has neither name nor e-mail.
    fn person(&self) -> Option<String> {
        let mut key = self.plain_person()?;
        for (word, part) in [("order", &self.order), ("position", &self.position), ("id", &self.id)] {
            if let Some(part) = part {
                key = keys::with_part(key, word, part);
            }
        }
        Some(key)
    }

    /// The key made of list, name and e-mail alone, as in a file without ids. `None` if the row has neither name nor
    /// e-mail.
    fn plain_person(&self) -> Option<String> {
        if self.name.is_none() && self.email.is_none() {
            return None;
        }
        Some(keys::of_name(self.list, self.name.unwrap_or_default(), self.email.as_deref().unwrap_or_default()))
    }
}
