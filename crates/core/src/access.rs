//! Roles and rights: five roles and one table of what each may do (spec §3 "User").

use crate::words::words;

words! {
    /// A member's role in an organisation.
    Role {
        /// The owner may do everything.
        Owner = "owner",
        /// The manager runs events: guests, devices, review.
        Manager = "manager",
        /// The promoter keeps the guests of their own guest lists.
        Promoter = "promoter",
        /// The door member operates a scanner.
        Door = "door",
        /// The viewer may only look.
        Viewer = "viewer",
    }
    /// An action that a role may or may not allow.
    Action {
        /// Manage members, their roles and the organisation itself.
        ManageMembers = "manage_members",
        /// Manage API tokens of the organisation.
        ManageTokens = "manage_tokens",
        /// Create and change events, gates, entry types and guest lists.
        ManageEvents = "manage_events",
        /// Create, import, change and export any guest and ticket.
        ManageGuests = "manage_guests",
        /// Create and change guests and tickets of one's own guest lists.
        ManageOwnGuests = "manage_own_guests",
        /// Pair, revoke and move devices. Close their logs and import their files.
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

/// Whether a role allows an action. For a promoter, the use case then shows only the guests of the promoter's own
/// lists.
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

/// The role in which an API token acts. It is the token's role if the member may do everything that the token's role
/// allows. It is the member's role if the token's role allows everything that the member may do. `None` if each role
/// allows something that the other does not.
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
        // The columns are owner, manager, promoter, door, viewer.
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
