//! The contracts about organisations, users, members and secrets.

use admit_core::ids::UserId;

use super::fixture::{TestStore, at, conflict, hash, id, look, organization, user, with_organization};
use crate::error::Error;
use crate::ports::{Scope, Tx, read, write};
use crate::records::{
    ApiTokenRecord, CredentialKind, CredentialRecord, LetterheadRecord, MailKind, MailTemplateRecord, Role, UserRecord,
};

fn credential(kind: CredentialKind, holder: &str, byte: u8) -> CredentialRecord {
    CredentialRecord {
        token_hash: hash(byte),
        organization_id: id("o"),
        kind,
        holder: holder.into(),
        expires_at: Some(at(9_000)),
        created_at: at(8_000),
    }
}

/// `create_organization` stores an organisation with its owner as the only member. `sign_in` then returns the owner and
/// their organisations for the owner's e-mail, and `None` for an unknown e-mail. A second organisation with the same id
/// fails with `organization_exists` and stores nothing.
pub async fn an_organization_begins_with_its_owner(store: TestStore) {
    with_organization(&store, "o").await;
    assert_eq!(look(&store, |tx| tx.organization()).await, organization("o"));
    let members = look(&store, |tx| tx.members()).await;
    assert_eq!(members.len(), 1);
    assert_eq!((members[0].user_id.as_str(), members[0].role), ("o-owner", Role::Owner));
    let (owner, organizations) = store.sign_in("o-owner@example.org".into()).await.unwrap().unwrap();
    assert_eq!((owner, organizations), (user("o-owner"), vec![id("o")]));
    assert_eq!(store.sign_in("nobody@example.org".into()).await.unwrap(), None);
    let again = store.create_organization(organization("o"), user("another")).await;
    assert_eq!(conflict(again), "organization_exists");
    assert_eq!(store.sign_in("another@example.org".into()).await.unwrap(), None, "nothing of it was kept");
}

/// `insert_member` and `create_organization` fail with `email_taken` if any user of the server has the e-mail, also a
/// user of another organisation.
pub async fn an_email_signs_in_once_in_the_whole_server(store: TestStore) {
    with_organization(&store, "o").await;
    with_organization(&store, "p").await;
    let taken = UserRecord { email: "p-owner@example.org".into(), ..user("new") };
    let result = write(&*store, Scope::organization(&id("o")), move |tx| tx.insert_member(&taken, Role::Door)).await;
    assert_eq!(conflict(result), "email_taken");
    assert_eq!(look(&store, |tx| tx.members()).await.len(), 1);
    let taken = UserRecord { email: "p-owner@example.org".into(), ..user("new") };
    assert_eq!(conflict(store.create_organization(organization("q"), taken).await), "email_taken");
}

/// `remove_member` deletes the sessions and API tokens of that member, and no device key. Another user may then take
/// the e-mail. For an unknown user it fails with `NotFound`. `set_member_role` changes the role that `member` returns.
pub async fn a_member_who_leaves_leaves_no_key_behind(store: TestStore) {
    with_organization(&store, "o").await;
    write(&*store, Scope::organization(&id("o")), |tx| {
        tx.insert_member(&user("door"), Role::Door)?;
        tx.insert_credential(&credential(CredentialKind::Session, "door", 1))?;
        tx.insert_credential(&credential(CredentialKind::ApiToken, "door", 2))?;
        tx.insert_credential(&credential(CredentialKind::DeviceKey, "door", 3))?;
        tx.insert_credential(&credential(CredentialKind::Session, "o-owner", 4))?;
        tx.set_member_role(&id("door"), Role::Viewer)
    })
    .await
    .unwrap();
    assert_eq!(look(&store, |tx| tx.member(&id("door"))).await.unwrap().role, Role::Viewer);
    write(&*store, Scope::organization(&id("o")), |tx| tx.remove_member(&id("door"))).await.unwrap();
    assert_eq!(look(&store, |tx| tx.member(&id("door"))).await, None);
    for (byte, stays) in [(1, false), (2, false), (3, true), (4, true)] {
        assert_eq!(store.credential(hash(byte)).await.unwrap().is_some(), stays, "secret {byte}");
    }
    assert_eq!(store.sign_in("door@example.org".into()).await.unwrap(), None);
    let again = |tx: &mut dyn crate::ports::Tx| tx.insert_member(&user("door"), Role::Manager);
    write(&*store, Scope::organization(&id("o")), again).await.unwrap();
    let nobody: UserId = id("nobody");
    let result = write(&*store, Scope::organization(&id("o")), move |tx| tx.remove_member(&nobody)).await;
    assert_eq!(result, Err(Error::NotFound { what: "member" }));
}

/// `set_password` deletes the sessions of that user, and nothing else of that user or of others. `password_hash`
/// returns the new hash for a member of the own organisation, and `None` for any other user.
pub async fn a_new_password_ends_its_users_sessions(store: TestStore) {
    with_organization(&store, "o").await;
    with_organization(&store, "p").await;
    for (organization, kind, holder, byte) in [
        ("o", CredentialKind::Session, "o-owner", 1),
        ("o", CredentialKind::ApiToken, "o-owner", 2),
        ("o", CredentialKind::Session, "o-owner", 3),
        ("p", CredentialKind::Session, "p-owner", 4),
    ] {
        let stored = CredentialRecord { organization_id: id(organization), ..credential(kind, holder, byte) };
        write(&*store, Scope::organization(&id(organization)), move |tx| tx.insert_credential(&stored)).await.unwrap();
    }
    write(&*store, Scope::organization(&id("o")), |tx| tx.set_password(&id("o-owner"), "new")).await.unwrap();
    for (byte, stays) in [(1, false), (2, true), (3, false), (4, true)] {
        assert_eq!(store.credential(hash(byte)).await.unwrap().is_some(), stays, "secret {byte}");
    }
    let password =
        async |user: &str| store.sign_in(format!("{user}@example.org")).await.unwrap().unwrap().0.password_hash;
    assert_eq!(password("o-owner").await, "new");
    let held = look(&store, |tx| Ok((tx.password_hash(&id("o-owner"))?, tx.password_hash(&id("p-owner"))?))).await;
    assert_eq!(held, (Some("new".to_owned()), None), "as it is now, of a member of one's own");
    assert_ne!(password("p-owner").await, "new");
    let result = write(&*store, Scope::organization(&id("o")), |tx| tx.set_password(&id("nobody"), "new")).await;
    assert_eq!(result, Err(Error::NotFound { what: "user" }));
}

/// `credential` finds a secret by its hash, without an organisation. `delete_credential` deletes it only for its own
/// organisation. For another organisation it changes nothing.
pub async fn a_secret_is_found_by_its_hash_alone(store: TestStore) {
    with_organization(&store, "o").await;
    with_organization(&store, "p").await;
    let session = credential(CredentialKind::Session, "o-owner", 1);
    let stored = session.clone();
    write(&*store, Scope::organization(&id("o")), move |tx| tx.insert_credential(&stored)).await.unwrap();
    assert_eq!(store.credential(hash(1)).await.unwrap(), Some(session));
    assert_eq!(store.credential(hash(2)).await.unwrap(), None);
    write(&*store, Scope::organization(&id("p")), |tx| tx.delete_credential(&hash(1))).await.unwrap();
    assert!(store.credential(hash(1)).await.unwrap().is_some(), "another organisation cannot forget it");
    write(&*store, Scope::organization(&id("o")), |tx| tx.delete_credential(&hash(1))).await.unwrap();
    assert_eq!(store.credential(hash(1)).await.unwrap(), None);
}

/// `api_tokens` returns the tokens newest first, and `api_token` the one with a hash. `revoke_api_token` notes the time
/// of the first call only, and deletes the token's credential.
pub async fn api_tokens_are_listed_and_withdrawn(store: TestStore) {
    with_organization(&store, "o").await;
    let token = |name: &str, byte: u8| ApiTokenRecord {
        api_token_id: name.into(),
        name: name.to_uppercase(),
        user_id: id("o-owner"),
        role: Role::Manager,
        token_hash: hash(byte),
        created_at: at(i64::from(byte)),
        expires_at: at(1_000),
        revoked_at: None,
    };
    let (old, new) = (token("old", 1), token("new", 2));
    let both = [old.clone(), new.clone()];
    write(&*store, Scope::organization(&id("o")), move |tx| {
        for token in &both {
            tx.insert_api_token(token)?;
            tx.insert_credential(&CredentialRecord {
                token_hash: token.token_hash,
                ..credential(CredentialKind::ApiToken, "o-owner", 0)
            })?;
        }
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(look(&store, |tx| tx.api_tokens()).await, [new.clone(), old.clone()]);
    assert_eq!(look(&store, |tx| tx.api_token(&hash(1))).await, Some(old.clone()));
    assert_eq!(look(&store, |tx| tx.api_token(&hash(3))).await, None);
    for moment in [50, 60] {
        let at = at(moment);
        write(&*store, Scope::organization(&id("o")), move |tx| tx.revoke_api_token("old", at)).await.unwrap();
    }
    let tokens = read(&*store, &id("o"), |tx| tx.api_tokens()).await.unwrap();
    assert_eq!(tokens, [new, ApiTokenRecord { revoked_at: Some(at(50)), ..old }]);
    assert_eq!(store.credential(hash(1)).await.unwrap(), None);
    assert!(store.credential(hash(2)).await.unwrap().is_some());
}

/// `keep_pass` stores a pass's token for its first holder. It returns whether the token belongs to the given holder
/// now. A later call for another holder, or from another organisation, returns `false` and changes nothing.
pub async fn a_pass_is_kept_once(store: TestStore) {
    with_organization(&store, "o").await;
    with_organization(&store, "p").await;
    let pass = credential(CredentialKind::Pass, "ticket-1", 1);
    for (holder, kept) in [("ticket-1", true), ("ticket-1", true), ("ticket-2", false)] {
        let again = CredentialRecord { holder: holder.into(), ..pass.clone() };
        let told = write(&*store, Scope::organization(&id("o")), move |tx| tx.keep_pass(&again)).await.unwrap();
        assert_eq!(told, kept, "{holder}");
    }
    let foreign = CredentialRecord { organization_id: id("p"), ..pass.clone() };
    assert!(!write(&*store, Scope::organization(&id("p")), move |tx| tx.keep_pass(&foreign)).await.unwrap());
    assert_eq!(store.credential(hash(1)).await.unwrap(), Some(pass));
}

/// `letterhead` returns the default until `put_letterhead` stores one, and then the newest. Another organisation still
/// gets the default.
pub async fn a_letterhead_is_overwritten(store: TestStore) {
    with_organization(&store, "o").await;
    with_organization(&store, "p").await;
    assert_eq!(look(&store, |tx| tx.letterhead()).await, LetterheadRecord::default());
    let own = |color: &str| LetterheadRecord {
        color: Some(color.into()),
        subject: None,
        reply_to: Some("office@o.example".into()),
    };
    for color in ["#111111", "#222222"] {
        let own = own(color);
        write(&*store, Scope::organization(&id("o")), move |tx| tx.put_letterhead(&own)).await.unwrap();
    }
    assert_eq!(look(&store, |tx| tx.letterhead()).await, own("#222222"));
    assert_eq!(read(&*store, &id("p"), |tx| tx.letterhead()).await.unwrap(), LetterheadRecord::default());
}

/// `mail_template` returns no text until the organisation stores one by `put_mail_template`, and then the newest. No
/// other organisation gets that text.
pub async fn mail_templates_are_overwritten(store: TestStore) {
    with_organization(&store, "o").await;
    with_organization(&store, "p").await;
    let none = MailTemplateRecord::default();
    assert_eq!(look(&store, |tx| tx.mail_template(MailKind::Pass)).await, none);
    let first =
        MailTemplateRecord { subject: Some("{{ event }}".into()), html: Some("<b>ü</b>\n".into()), ..none.clone() };
    let second = MailTemplateRecord { subject: None, text: Some("{{ pass_url }}".into()), ..first.clone() };
    for own in [&first, &second, &none, &second] {
        let own = own.clone();
        let put = move |tx: &mut dyn Tx| tx.put_mail_template(MailKind::Pass, &own);
        write(&*store, Scope::organization(&id("o")), put).await.unwrap();
    }
    assert_eq!(look(&store, |tx| tx.mail_template(MailKind::Pass)).await, second);
    assert_eq!(read(&*store, &id("p"), |tx| tx.mail_template(MailKind::Pass)).await.unwrap(), none);
}
