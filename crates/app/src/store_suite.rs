//! The store contract: what every backend must do. Each store crate's tests run it (ARCHITECTURE.md §2).
//!
//! Each function takes an empty store, and its comment names the methods of [`Store`](crate::ports::Store) and
//! [`Tx`](crate::ports::Tx) under test. [`crate::store_suite!`] makes one test of each function.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a contract fails by panicking")]

pub mod fixture;
pub mod accounts;
pub mod incidents;
pub mod events;
pub mod gates;
pub mod rules;
pub mod states;
pub mod tickets;
pub mod guests;
pub mod scans;
pub mod devices;
pub mod jobs;
pub mod webhooks;
pub mod tenants;
pub mod transactions;
pub mod throughput;

/// Makes a test of every contract. `$run` is a function that opens an empty store and runs the contract on it: `fn
/// run(contract: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()>)`.
#[macro_export]
macro_rules! store_suite {
    ($run:path) => {
        $crate::store_suite! { @each $run;
            accounts: an_organization_begins_with_its_owner, an_email_signs_in_once_in_the_whole_server,
                a_member_who_leaves_leaves_no_key_behind, a_new_password_ends_its_users_sessions, a_secret_is_found_by_its_hash_alone,
                api_tokens_are_listed_and_withdrawn, a_pass_is_kept_once, a_letterhead_is_overwritten,
                mail_templates_are_overwritten;
            events: events_are_listed_newest_first, a_write_takes_one_place, a_write_without_a_change_takes_no_place,
                places_have_no_holes_and_time_never_goes_back, a_ledger_is_one_chain, the_organization_has_its_own_ledger,
                ledgers_tell_where_they_end,
                a_witness_is_checked_against_what_the_ledger_said, an_epoch_begins_once_and_notes_every_head,
                gates_and_lists_are_named_once, a_setting_is_settled_once;
            gates: a_gate_is_removed, what_uses_a_gate_is_counted;
            rules: rules_come_back_as_they_were_made, versions_follow_what_changed,
                each_write_reads_the_rules_of_those_before_it, rules_need_the_writes_own_place,
                a_devices_assignments_come_from_every_event;
            tickets: tickets_come_back_as_they_were_made, a_code_is_never_given_to_another_ticket,
                a_ticket_keeps_every_code_it_held, tickets_are_found_by_text_status_and_entry, tickets_are_paged_without_a_gap,
                an_import_key_is_unique, the_longest_import_keys_are_stored, guests_are_found_and_changed, names_are_found_as_at_the_door,
                a_promoters_guests_are_paged_as_if_there_were_no_others, names_are_told_by_their_last_change,
                a_manifest_is_in_order_of_hash;
            guests: guests_are_paged_in_each_order, guests_are_filtered_by_what_is_known_of_them,
                guests_are_counted_as_they_are_listed;
            scans: a_scan_comes_back_as_it_was_sent, a_scan_resolves_to_whoever_held_its_code,
                a_ticket_made_late_finds_its_scans, variants_come_along_wherever_they_resolve, deliveries_are_merged,
                ids_are_known_by_device, reviews_follow_their_scans, scans_are_listed_newest_first,
                scans_are_filtered_by_their_own_verdicts,
                scans_of_a_failed_write_are_not_found, scans_of_many_blocks_are_found_in_order,
                a_scan_stored_twice_is_a_conflict, a_pick_stands_whatever_code_was_read_beside_it;
            states: states_are_replaced_whole, the_newest_of_many_states_is_found, states_of_a_failed_write_are_not_found, counters_change_by_their_difference, flow_counts_by_minute_and_gate,
                people_without_a_ticket_are_counted_by_minute_too, recounts_are_replaced_by_subject,
                subjects_are_found_by_time, changed_tickets_are_paged_in_order_of_change, rules_a_device_has_are_no_change;
            incidents: an_incident_is_one_per_subject_and_kind, incidents_are_listed_by_status,
                decided_incidents_are_told_apart, decided_incidents_come_by_when_they_were_decided,
                figures_of_events_are_told_together;
            devices: a_device_and_its_keys_come_back, a_pairing_token_remembers_who_used_it, logs_are_overwritten,
                a_device_and_its_log_are_changed_by_one_at_a_time, a_device_is_listed_where_it_is_and_where_its_log_is,
                forks_are_places_with_two_contents, a_batch_is_stored_once, batches_come_in_the_events_order,
                quarantine_is_counted,
                scans_that_wait_are_told_by_device, a_pairing_request_is_found_by_its_token_and_forgotten,
                organizations_are_told_with_and_without_events;
            jobs: a_run_comes_with_its_transaction_or_not_at_all, a_run_is_taken_by_one_until_its_lease_ends,
                only_the_newest_fence_holds, takers_at_once_take_different_runs,
                a_process_that_starts_again_frees_what_it_had, a_lease_is_renewed_by_its_holder, a_run_let_go_waits,
                a_step_is_stored_once, runs_are_listed_newest_first, what_runs_were_about_is_told_once,
                the_newest_run_about_each_is_found,
                runs_of_two_organizations_do_not_meet, a_stopped_mail_lane_is_probed_by_one_at_a_time,
                a_parked_run_is_not_forgotten;
            webhooks: an_endpoint_comes_back_and_is_found_by_its_id, an_endpoints_health_is_its_own,
                a_message_is_remembered_until_it_is_forgotten, how_far_a_row_is_known_is_overwritten,
                another_endpoints_row_is_found, webhooks_of_two_organizations_do_not_meet;
            tenants: two_organizations_with_the_same_ids_do_not_meet, another_organizations_event_cannot_be_written;
            transactions: a_failed_operation_leaves_nothing, others_of_its_group_are_kept,
                an_operation_that_goes_on_after_a_failure_is_not_kept, a_panic_ends_only_its_operation,
                a_read_cannot_write, a_read_sees_one_moment, concurrent_writes_commit_in_order;
        }
    };
    (@each $run:path; $($noun:ident: $($name:ident),* $(,)?;)*) => {$(
        mod $noun {
            $(#[test]
            fn $name() {
                $run(|store| Box::pin($crate::store_suite::$noun::$name(store)));
            })*
        }
    )*};
}
