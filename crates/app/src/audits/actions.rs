//! The actions that lines of a ledger name.

/// Every action that this version writes, in order of the alphabet. A ledger may hold words of earlier versions.
pub const ACTIONS: &[&str] = &[
    "api_token_created",
    "api_token_revoked",
    "batch_id_reused",
    "batch_quarantined",
    "batch_sync_completed",
    "check_in_undone",
    "device_found",
    "device_lost",
    "device_mismatch",
    "device_moved_itself",
    "device_paired",
    "device_resumed",
    "device_returned",
    "device_revoked",
    "device_rung",
    "device_suspended",
    "device_updated",
    "entry_type_created",
    "entry_type_updated",
    "epoch_judged",
    "event_created",
    "event_ledgers_anchored",
    "event_rebuilt",
    "event_updated",
    "gate_created",
    "gate_removed",
    "gate_updated",
    "guest_checked_in",
    "guest_data_copied",
    "guest_erased",
    "guest_list_created",
    "guest_list_updated",
    "guest_received",
    "guest_row_deleted",
    "guest_updated",
    "guests_erased",
    "import_undone",
    "incident_resolved",
    "key_rotated",
    "key_rotation_begun",
    "letterhead_updated",
    "log_closed",
    "log_imported",
    "mail_template_updated",
    "member_created",
    "member_removed",
    "member_updated",
    "organization_created",
    "pairing_approved",
    "pairing_refused",
    "pairing_token_created",
    "pass_opened",
    "pass_resent",
    "passes_resent",
    "password_changed",
    "run_retried",
    "scan_judged",
    "scans_accepted",
    "scans_taken_back",
    "signed_in",
    "signed_out",
    "ticket_code_shown",
    "ticket_created",
    "ticket_updated",
    "tickets_created",
    "tickets_exported",
    "tickets_imported",
    "webhook_endpoint_created",
    "webhook_endpoint_updated",
    "webhook_id_reused",
    "webhook_secret_rotated",
];

/// The action of this name. `None` if there is none.
pub fn action(name: &str) -> Option<&'static str> {
    ACTIONS.iter().copied().find(|action| *action == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::ACTIONS;

    /// Adds to `found` the text of every source file of this crate, except this file and the store suite.
    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("store_suite") {
                sources(&path, found);
            } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("audits/actions.rs") {
                found.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// The string literals that follow `marker` in a text: the first one after each place of `marker`, unless `end`
    /// comes before it.
    fn named<'a>(text: &'a str, marker: &str, end: &str) -> Vec<&'a str> {
        let after = text.match_indices(marker).map(|(at, _)| &text[at + marker.len()..]);
        after.filter_map(|rest| rest.split(end).next()?.split('"').nth(1)).collect()
    }

    #[test]
    fn the_list_has_every_action_that_the_code_writes_and_no_other() {
        let mut texts = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
        let mut written = BTreeSet::new();
        for text in &texts {
            written.extend(named(text, "line::of(", ";").into_iter().filter(|word| word.contains('_')));
            written.extend(named(text, "action: ", "\n"));
            written.extend(named(text, " audit(tx, ", ";"));
        }
        assert!(written.len() > 50, "{written:?}");
        let listed: BTreeSet<&str> = ACTIONS.iter().copied().collect();
        assert_eq!(written.difference(&listed).collect::<Vec<_>>(), [&""; 0], "written and not listed");
        let is_written = |action: &str| texts.iter().any(|text| text.contains(&format!("\"{action}\"")));
        assert_eq!(ACTIONS.iter().filter(|action| !is_written(action)).collect::<Vec<_>>(), [&""; 0], "never written");
        assert!(ACTIONS.is_sorted());
    }
}
