//! Who may do what: five roles, one table (spec §3 "User").

use crate::words::words;

words! {
    /// A member's role in an organisation.
    Role {
        /// Everything.
        Owner = "owner",
        /// Events, guests, devices, review.
        Manager = "manager",
        /// Guests of their own guest lists.
        Promoter = "promoter",
        /// Operates a scanner.
        Door = "door",
        /// Looks.
        Viewer = "viewer",
    }
    /// What somebody wants to do.
    Action {
        /// Members, their roles, the organisation itself.
        ManageMembers = "manage_members",
        /// API tokens of the organisation.
        ManageTokens = "manage_tokens",
        /// Make and change events, gates, entry types, guest lists.
        ManageEvents = "manage_events",
        /// Make, import, change and export any guest and ticket.
        ManageGuests = "manage_guests",
        /// Make and change guests and tickets of one's own guest lists.
        ManageOwnGuests = "manage_own_guests",
        /// Pair, revoke, move devices; close logs; import their files.
        ManageDevices = "manage_devices",
        /// Resolve incidents: accept, exclude, restore, note.
        Review = "review",
        /// See events, gates, occupancy, statistics, the live page.
        ReadEvents = "read_events",
        /// See guests and tickets with their names.
        ReadGuests = "read_guests",
        /// See scans, incidents and devices.
        ReadScans = "read_scans",
        /// See the audit ledger.
        ReadAudit = "read_audit",
        /// Scan.
        Scan = "scan",
    }
}

/// Whether a role may do this. A promoter's view of guests is narrowed to their own lists by the use case.
pub const fn can(role: Role, action: Action) -> bool {
    match role {
        Role::Owner => true,
        Role::Manager => !matches!(action, Action::ManageMembers),
        Role::Promoter => matches!(action, Action::ManageOwnGuests | Action::ReadEvents),
        Role::Door => matches!(action, Action::Scan | Action::ReadEvents),
        Role::Viewer => matches!(action, Action::ReadEvents | Action::ReadGuests | Action::ReadScans),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_roles() {
        // owner, manager, promoter, door, viewer
        let table = [
            (Action::ManageMembers, "+----"),
            (Action::ManageTokens, "++---"),
            (Action::ManageEvents, "++---"),
            (Action::ManageGuests, "++---"),
            (Action::ManageOwnGuests, "+++--"),
            (Action::ManageDevices, "++---"),
            (Action::Review, "++---"),
            (Action::ReadEvents, "+++++"),
            (Action::ReadGuests, "++--+"),
            (Action::ReadScans, "++--+"),
            (Action::ReadAudit, "++---"),
            (Action::Scan, "++-+-"),
        ];
        assert_eq!(table.map(|(action, _)| action), Action::ALL, "every action has its row");
        for (action, row) in table {
            let said: String = Role::ALL.iter().map(|role| if can(*role, action) { '+' } else { '-' }).collect();
            assert_eq!(said, row, "{action}");
        }
    }
}
