//! Two managers act on two nodes at once.

use admit_app::members::{self, NewMember};
use admit_app::records::Role;

use crate::pair::{NOBODY, Pair};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_owners_who_remove_each_other_at_once_leave_one() {
    let nodes = Pair::with(NOBODY).await;
    let (first, second) = (&nodes.first.state.app, &nodes.second.app);
    let mut owner = nodes.first.home.owner.clone();
    for round in 0..15 {
        let new = NewMember {
            email: format!("owner-{round}@home.example"),
            name: "Owner".into(),
            password: crate::server::PASSWORD.into(),
            role: Role::Owner,
        };
        let other = members::create(first, &owner, new).await.unwrap().user_id;
        let mut foreign = owner.clone();
        foreign.user_id = other.clone();
        let (one, two) = tokio::join!(
            members::delete(first, &owner, other.clone()),
            members::delete(second, &foreign, owner.user_id.clone())
        );
        assert!(one.is_ok() != two.is_ok(), "round {round}: {one:?} {two:?}");
        let left = members::list(first, if one.is_ok() { &owner } else { &foreign }).await.unwrap();
        assert_eq!(left.iter().filter(|member| member.role == Role::Owner).count(), 1, "round {round}");
        if two.is_ok() {
            owner = foreign;
        }
    }
}
