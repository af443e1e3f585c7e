//! The outbox of `integrations/postgres/admit.sql` on a real PostgreSQL, as the relay reads it.

use admit_store_postgres::outbox::Outbox;
use admit_store_postgres::testing::{self, run_sql};

const FILE: &str = include_str!("../../../integrations/postgres/admit.sql");
const GUESTS: &str = include_str!("../../../integrations/postgres/tests/guests.sql");
const CHECKS: &str = include_str!("../../../integrations/postgres/tests/outbox.sql");

async fn run(address: &str, text: &str) {
    let (address, text) = (address.to_owned(), text.to_owned());
    let run = move || run_sql(&address, &text).map_err(|error| format!("{error:?}"));
    tokio::task::spawn_blocking(run).await.unwrap().unwrap();
}

async fn foreign() -> String {
    let address = tokio::task::spawn_blocking(|| testing::shared().database()).await.unwrap();
    for text in [GUESTS, FILE, CHECKS] {
        run(&address, text).await;
    }
    address
}

/// If `next_in` said "now" while nothing is due, a relay would ask a hundred times per second.
#[tokio::test(flavor = "multi_thread")]
async fn a_guests_later_lines_are_due_when_the_first_one_is() {
    let address = foreign().await;
    run(&address, "SELECT add_guest(1, 'Ana', 1), change_guest(1, 2)").await;
    let outbox = Outbox::open(&address).await.unwrap();
    let lines = outbox.due(10).await.unwrap();
    assert_eq!(lines.len(), 2);
    outbox.later(lines[0].sequence, "Admit is away", 60_000).await.unwrap();
    assert_eq!(outbox.due(10).await.unwrap(), []);
    let next = outbox.next_in().await.unwrap().unwrap();
    assert!(next > 30_000, "the second line waits for the first: {next}");
    // The line of another guest does not wait.
    run(&address, "SELECT add_guest(2, 'Bo', 1)").await;
    assert_eq!((outbox.due(10).await.unwrap().len(), outbox.next_in().await.unwrap()), (1, Some(0)));
}

/// If the outbox did not tell of such a row, Admit would keep the addresses of a guest who lost them, and of a guest
/// who is deleted after that.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_loses_its_addresses_is_told_of_and_so_is_its_end() {
    let address = foreign().await;
    for act in ["add_guest(1, 'Ana', 1)", "strip_guest(1)", "change_guest(1, 2)", "drop_guest(1)"] {
        run(&address, &format!("SELECT {act}")).await;
    }
    run(&address, "SELECT must_have_told(1, '{INSERT,UPDATE,DELETE}')").await;
    // A guest who never had an address is sent to Admit once they have one.
    run(&address, "SELECT add_nobody(2)").await;
    run(&address, "SELECT change_guest(2, 2)").await;
    run(&address, "SELECT must_have_told(2, NULL)").await;
    run(&address, "SELECT mend_guest(2)").await;
    run(&address, "SELECT must_have_told(2, '{UPDATE}')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_tells_what_changed_and_a_long_id_stops_no_row() {
    let address = foreign().await;
    run(&address, "SELECT add_guest(1, 'Ana', 1), change_guest(1, 2)").await;
    run(&address, "SELECT must_tell_what_changed(1)").await;
    run(&address, "SELECT add_long_id()").await;
    let outbox = Outbox::open(&address).await.unwrap();
    let lines = outbox.due(10).await.unwrap();
    assert_eq!((lines.len(), lines[2].guest_key.len()), (3, 500));
    assert!(lines[2].body.len() > 12_000, "the message has it whole");
    // The organiser can remove what the file added, and the table goes on without it.
    run(&address, "SELECT end_it()").await;
    run(&address, "SELECT add_guest(2, 'Bo', 1)").await;
}
