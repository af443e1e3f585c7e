//! Roles and rights: five roles, one table (spec §3 "User").

use crate::words::words;

words! {
    /// A member's role in an organisation.
    Role {
        /// The owner may do everything.
        Owner = "owner",
        /// Events, guests, devices, review.
        Manager = "manager",
        /// Guests of their own guest lists.
        Promoter = "promoter",
        /// Operates a scanner.
        Door = "door",
        /// The viewer only looks.
        Viewer = "viewer",
    }
    /// An action that a role may or may not allow.
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
        /// Read codes and record scans.
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

/// Whether a role may do nothing that the other may not.
pub fn is_within(role: Role, other: Role) -> bool {
    Action::ALL.iter().all(|action| !can(role, *action) || can(other, *action))
}

/// The role in which an API token acts. It is the token's own where the member may do all that this role may. It is the
/// member's where the token's role may do all of that and more. `None` where each may do something that the other
/// may not.
pub fn narrowed(token: Role, member: Role) -> Option<Role> {
    if is_within(token, member) { Some(token) } else { Some(member).filter(|member| is_within(*member, token)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_does_what_its_member_may_not() {
        for token in Role::ALL {
            for member in Role::ALL {
                let acts = narrowed(*token, *member);
                assert!(
                    acts.is_none_or(|role| is_within(role, *token) && is_within(role, *member)),
                    "{token} of {member}"
                );
            }
        }
        assert_eq!(narrowed(Role::Viewer, Role::Owner), Some(Role::Viewer));
        assert_eq!(narrowed(Role::Manager, Role::Viewer), Some(Role::Viewer), "the member was demoted");
        assert_eq!(narrowed(Role::Door, Role::Viewer), None, "neither holds the other");
    }

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
