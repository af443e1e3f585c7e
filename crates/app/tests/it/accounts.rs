//! Organisations, sessions, members and API tokens: who gets access, and who loses it.

use admit_app::api_tokens::ApiTokenWish;
use admit_app::caller::UserCaller;
use admit_app::members::NewMember;
use admit_app::organizations::NewOrganization;
use admit_app::records::Role;
use admit_app::{api_tokens, audits, members, organizations, sessions};
use admit_core::ids::OrganizationId;

use crate::world::*;

const DAY: i64 = 24 * HOUR;

fn sign_in(world: &World, email: &str, password: &str) -> Result<sessions::NewSession, admit_app::error::Error> {
    let candidate = now(sessions::look_up(&world.app, email)).unwrap();
    sessions::check(&candidate, password)?;
    now(sessions::create(&world.app, candidate, None))
}

#[test]
fn an_organisation_has_an_owner_and_an_email_one_account() {
    let world = World::new();
    let again = NewOrganization {
        name: "Second".into(),
        email: "OWNER@home.example ".into(),
        owner_name: "X".into(),
        password: "correct horse battery".into(),
    };
    assert_eq!(code(now(organizations::create(&world.app, again.clone()))), "email_taken");
    let short = NewOrganization { email: "new@home.example".into(), password: "short".into(), ..again };
    assert_eq!(wrong_field(now(organizations::create(&world.app, short))), "password");
}

#[test]
fn a_session_opens_with_the_password_alone_and_ends_after_14_days_or_by_signing_out() {
    let world = World::new();
    let session = sign_in(&world, " Owner@Home.example", "correct horse battery").unwrap();
    assert!(session.token.starts_with("admit_ss_"));
    assert_eq!(session.expires_at, at(14 * DAY));
    assert_eq!(now(sessions::authenticate(&world.app, &session.token)).unwrap(), world.owner);
    assert_eq!(code(sign_in(&world, "owner@home.example", "wrong")), "wrong_credentials");
    assert_eq!(code(sign_in(&world, "nobody@home.example", "correct horse battery")), "wrong_credentials");
    now(sessions::delete(&world.app, &world.owner, &session.token)).unwrap();
    assert_eq!(code(now(sessions::authenticate(&world.app, &session.token))), "unknown_token");
    let session = sign_in(&world, "owner@home.example", "correct horse battery").unwrap();
    world.pass(14 * DAY - 1);
    assert!(now(sessions::authenticate(&world.app, &session.token)).is_ok());
    world.pass(1);
    assert_eq!(code(now(sessions::authenticate(&world.app, &session.token))), "unknown_token");
}

#[test]
fn a_password_opens_after_years_too() {
    let world = World::new();
    world.pass(3 * 365 * DAY);
    assert!(sign_in(&world, "owner@home.example", "correct horse battery").is_ok());
}

#[test]
fn a_new_password_is_the_only_one_and_ends_every_session() {
    let world = World::new();
    let session = sign_in(&world, "owner@home.example", "correct horse battery").unwrap();
    assert_eq!(wrong_field(now(members::set_password(&world.app, &world.owner, "short"))), "password");
    assert!(now(sessions::authenticate(&world.app, &session.token)).is_ok(), "a refused password changes nothing");
    now(members::set_password(&world.app, &world.owner, "another horse battery")).unwrap();
    assert_eq!(code(now(sessions::authenticate(&world.app, &session.token))), "unknown_token");
    assert_eq!(code(sign_in(&world, "owner@home.example", "correct horse battery")), "wrong_credentials");
    assert_eq!(sign_in(&world, "owner@home.example", "another horse battery").unwrap().caller, world.owner);
}

#[test]
fn a_sign_in_under_way_does_not_outlive_its_password() {
    let world = World::new();
    let candidate = now(sessions::look_up(&world.app, "owner@home.example")).unwrap();
    sessions::check(&candidate, "correct horse battery").unwrap();
    now(members::set_password(&world.app, &world.owner, "another horse battery")).unwrap();
    assert_eq!(code(now(sessions::create(&world.app, candidate, None))), "wrong_credentials");
    assert!(sign_in(&world, "owner@home.example", "another horse battery").is_ok());
}

#[test]
fn a_session_is_of_one_organisation_and_only_of_ones_own() {
    let world = World::new();
    let (other, _) = world.other();
    let asks = |id: &OrganizationId| {
        let candidate = now(sessions::look_up(&world.app, "owner@home.example")).unwrap();
        now(sessions::create(&world.app, candidate, Some(id.clone())))
    };
    assert_eq!(asks(&world.owner.organization_id).unwrap().caller, world.owner);
    assert_eq!(code(asks(&other.organization_id)), "wrong_credentials");
}

#[test]
fn a_members_role_counts_at_once_and_so_does_their_removal() {
    let world = World::new();
    let viewer = world.member(Role::Viewer);
    let session = sign_in(&world, "viewer@staff.example", "long enough").unwrap();
    let who = || now(sessions::authenticate(&world.app, &session.token));
    assert_eq!(who().unwrap().role, Role::Viewer);
    now(members::update(&world.app, &world.owner, viewer.user_id.clone(), Role::Manager)).unwrap();
    assert_eq!(who().unwrap().role, Role::Manager);
    now(members::delete(&world.app, &world.owner, viewer.user_id.clone())).unwrap();
    assert_eq!(code(who()), "unknown_token");
    assert_eq!(code(now(members::delete(&world.app, &world.owner, viewer.user_id))), "no member");
}

#[test]
fn the_last_owner_stays() {
    let world = World::new();
    let me = world.owner.user_id.clone();
    assert_eq!(code(now(members::delete(&world.app, &world.owner, me.clone()))), "last_owner");
    assert_eq!(code(now(members::update(&world.app, &world.owner, me.clone(), Role::Viewer))), "last_owner");
    let second = world.member(Role::Owner);
    assert_eq!(now(members::update(&world.app, &second, me, Role::Viewer)).unwrap().role, Role::Viewer);
    assert_eq!(now(members::list(&world.app, &second)).unwrap().len(), 2);
}

#[test]
fn only_an_owner_touches_members() {
    let world = World::new();
    for role in [Role::Manager, Role::Promoter, Role::Door, Role::Viewer] {
        let member = world.member(role);
        let new =
            NewMember { email: "x@y".into(), name: "X".into(), password: "long enough".into(), role: Role::Owner };
        assert_eq!(code(now(members::create(&world.app, &member, new))), "forbidden", "{role}");
        let up = members::update(&world.app, &member, member.user_id.clone(), Role::Owner);
        assert_eq!(code(now(up)), "forbidden", "{role}");
    }
}

#[test]
fn an_api_token_works_until_it_is_withdrawn_and_its_text_is_stored_nowhere() {
    let world = World::new();
    let made = now(api_tokens::create(&world.app, &world.owner, ApiTokenWish::named("Box office"))).unwrap();
    let caller = UserCaller { token_ends_at: Some(made.record.expires_at), ..world.owner.clone() };
    assert_eq!(now(sessions::authenticate(&world.app, &made.token)).unwrap(), caller);
    assert_eq!(now(api_tokens::list(&world.app, &world.owner)).unwrap(), std::slice::from_ref(&made.record));
    now(api_tokens::revoke(&world.app, &world.owner, &made.record.api_token_id)).unwrap();
    assert_eq!(code(now(sessions::authenticate(&world.app, &made.token))), "unknown_token");
    assert!(now(api_tokens::list(&world.app, &world.owner)).unwrap()[0].revoked_at.is_some());
    assert_eq!(code(now(api_tokens::revoke(&world.app, &world.owner, "none"))), "no api_token");
    let viewer = world.member(Role::Viewer);
    assert_eq!(code(now(api_tokens::create(&world.app, &viewer, ApiTokenWish::named("x")))), "forbidden");
    // An API token is no session, so signing out withdraws nothing. The token ends by itself, at its end date.
    world.pass(365 * 24 * HOUR);
    let ended = now(api_tokens::create(&world.app, &world.owner, ApiTokenWish::named("Ends"))).unwrap();
    world.pass(365 * 24 * HOUR - 1);
    assert!(now(sessions::authenticate(&world.app, &ended.token)).is_ok());
    world.pass(1);
    assert_eq!(code(now(sessions::authenticate(&world.app, &ended.token))), "unknown_token");
    let second = now(api_tokens::create(&world.app, &world.owner, ApiTokenWish::named("Second"))).unwrap();
    now(sessions::delete(&world.app, &world.owner, &second.token)).unwrap();
    assert!(now(sessions::authenticate(&world.app, &second.token)).is_ok());
}

#[test]
fn an_api_token_does_no_more_than_its_role_nor_than_its_member() {
    let world = World::new();
    let manager = world.member(Role::Manager);
    let of = |role: Role| ApiTokenWish { role: Some(role), ..ApiTokenWish::named("T") };
    assert_eq!(code(now(api_tokens::create(&world.app, &manager, of(Role::Owner)))), "invalid_request");
    let looks = now(api_tokens::create(&world.app, &manager, of(Role::Viewer))).unwrap().token;
    let manages = now(api_tokens::create(&world.app, &manager, of(Role::Manager))).unwrap().token;
    let scans = now(api_tokens::create(&world.app, &manager, of(Role::Door))).unwrap().token;
    let acts = |token: &str| now(sessions::authenticate(&world.app, token)).map(|caller| caller.role);
    assert_eq!(
        (acts(&looks).unwrap(), acts(&manages).unwrap(), acts(&scans).unwrap()),
        (Role::Viewer, Role::Manager, Role::Door)
    );
    now(members::update(&world.app, &world.owner, manager.user_id.clone(), Role::Viewer)).unwrap();
    assert_eq!((acts(&looks).unwrap(), acts(&manages).unwrap()), (Role::Viewer, Role::Viewer), "demoted, at once");
    assert_eq!(code(acts(&scans)), "unknown_token", "a viewer scans nothing");
    let never = ApiTokenWish { expires_at: Some(at(-1)), ..ApiTokenWish::named("T") };
    assert_eq!(code(now(api_tokens::create(&world.app, &world.owner, never))), "invalid_request");
}

#[test]
fn a_token_makes_none_that_outlives_it() {
    let world = World::new();
    let week = ApiTokenWish { expires_at: Some(at(7 * DAY)), ..ApiTokenWish::named("Week") };
    let week = now(api_tokens::create(&world.app, &world.owner, week)).unwrap().token;
    let caller = now(sessions::authenticate(&world.app, &week)).unwrap();
    let made = now(api_tokens::create(&world.app, &caller, ApiTokenWish::named("Usual"))).unwrap();
    assert_eq!(made.record.expires_at, at(7 * DAY));
    let longer = ApiTokenWish { expires_at: Some(at(7 * DAY + 1)), ..ApiTokenWish::named("Longer") };
    assert_eq!(code(now(api_tokens::create(&world.app, &caller, longer))), "invalid_request");
    let session = sign_in(&world, "owner@home.example", "correct horse battery").unwrap();
    let caller = now(sessions::authenticate(&world.app, &session.token)).unwrap();
    let made = now(api_tokens::create(&world.app, &caller, ApiTokenWish::named("Year"))).unwrap();
    assert_eq!(made.record.expires_at, at(365 * DAY), "a session's end is not its token's");
}

#[test]
fn every_act_has_a_line_in_the_organisations_ledger() {
    let world = World::new();
    let token = now(api_tokens::create(&world.app, &world.owner, ApiTokenWish::named("T"))).unwrap();
    now(api_tokens::revoke(&world.app, &world.owner, &token.record.api_token_id)).unwrap();
    let door = world.member(Role::Door);
    now(members::update(&world.app, &world.owner, door.user_id.clone(), Role::Viewer)).unwrap();
    now(members::update(&world.app, &world.owner, door.user_id.clone(), Role::Viewer)).unwrap();
    now(members::delete(&world.app, &world.owner, door.user_id)).unwrap();
    let page = now(audits::list(&world.app, &world.owner, None, None, whole_page())).unwrap();
    let actions: Vec<&str> = page.items.iter().rev().map(|line| line.line.action.as_str()).collect();
    let expected = [
        "organization_created",
        "api_token_created",
        "api_token_revoked",
        "member_created",
        "member_updated",
        "member_removed",
    ];
    assert_eq!(actions, expected, "the same role again leaves no trace");
    assert!(page.items.iter().all(|line| !line.line.changes.contains(&token.token)), "no secret in the ledger");
    let viewer = world.member(Role::Viewer);
    assert_eq!(code(now(audits::list(&world.app, &viewer, None, None, whole_page()))), "forbidden");
}
