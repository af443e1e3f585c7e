//! Names of guests whom staff added at a door. They are stored apart from the scans, so that they can be erased.

use admit_app::error::{Error, Result};
use admit_app::ports::TxWalkIns;
use admit_core::ids::{EventId, TicketId};
use admit_core::wire::scanning::Named;

use crate::driver::{Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::Value;

statements! {
    /// The name that came with the scan that made a ticket.
    WALK_IN_NAME = "SELECT name, salt FROM walk_in_names WHERE organization_id = $1 AND event_id = $2 AND ticket_id = $3";
}
bulks! {
    /// Stores names; the first name for a ticket stays.
    PUT_WALK_IN_NAMES = "walk_in_names" { organization_id: Text, event_id: Text, ticket_id: Text, name: Text, salt: Blob },
        "ON CONFLICT (organization_id, event_id, ticket_id) DO NOTHING";
}

impl<D: Driver> TxWalkIns for SqlTx<'_, D> {
    fn put_walk_in_names(&mut self, event_id: &EventId, names: &[(TicketId, Named)]) -> Result<()> {
        let id = self.organization_id.clone();
        let row = |(ticket_id, named): &'_ (TicketId, Named)| -> [Value<'static>; 3] {
            [ticket_id.as_str().to_owned().into(), named.name.clone().into(), named.salt.to_vec().into()]
        };
        let mut values: Vec<Value<'_>> = Vec::with_capacity(names.len() * 5);
        for name in names {
            values.extend([(&id).into(), event_id.into()]);
            values.extend(row(name));
        }
        self.execute_many(&PUT_WALK_IN_NAMES, &values)
    }
    fn walk_in_name(&mut self, event_id: &EventId, ticket_id: &TicketId) -> Result<Option<Named>> {
        let id = self.organization_id.clone();
        self.one(&WALK_IN_NAME, &[(&id).into(), event_id.into(), ticket_id.into()], |row| {
            let (name, salt) = (row.text()?, row.blob()?);
            let salt = salt.try_into().map_err(|_| Error::Bug("a stored salt has a wrong length".into()))?;
            Ok(Named { name, salt })
        })
    }
}
