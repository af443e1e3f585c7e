//! Statements about organisations, users, members, and credentials such as sessions and API tokens.

use admit_app::error::{Error, Result};
use admit_app::ports::TxAccounts;
use admit_app::records::{
    ApiTokenRecord, CredentialKind, CredentialRecord, LetterheadRecord, MailKind, MailTemplateRecord, MemberRecord,
    OrganizationRecord, Role, UserRecord,
};
use admit_core::ids::UserId;
use admit_core::time::Timestamp;

use crate::driver::{Driver, RunFor, Stmt, statements};
use crate::heads;
use crate::tx::SqlTx;
use crate::value::{Row, Value};

statements! {
    /// The row of the organisation $1.
    ORGANIZATION = "SELECT organization_id, name, created_at FROM organizations WHERE organization_id = $1";
    /// How the mails of the organisation $1 look: colour, subject and address for answers. No row: the standard look.
    LETTERHEAD = "SELECT color, subject, reply_to FROM letterheads WHERE organization_id = $1";
    /// Stores how an organisation's mails look, and overwrites the former look.
    PUT_LETTERHEAD = "INSERT INTO letterheads (organization_id, color, subject, reply_to) VALUES ($1, $2, $3, $4)
        ON CONFLICT (organization_id) DO UPDATE SET color = excluded.color, subject = excluded.subject, reply_to = excluded.reply_to";
    /// An organisation's own templates of one kind of mail.
    MAIL_TEMPLATE = "SELECT subject, body_text, body_html FROM mail_templates WHERE organization_id = $1 AND kind = $2";
    /// Stores an organisation's own templates of one kind of mail, and overwrites the former ones.
    PUT_MAIL_TEMPLATE = "INSERT INTO mail_templates (organization_id, kind, subject, body_text, body_html) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (organization_id, kind) DO UPDATE SET subject = excluded.subject, body_text = excluded.body_text,
        body_html = excluded.body_html";
    /// Makes an organisation.
    INSERT_ORGANIZATION = "INSERT INTO organizations (organization_id, name, created_at) VALUES ($1, $2, $3)";
    /// Makes a user.
    INSERT_USER = "INSERT INTO users (user_id, email, name, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)";
    /// Deletes a user who belongs to no organisation any more, so that the e-mail address may sign up again.
    DELETE_USER = "DELETE FROM users WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM members WHERE members.user_id = users.user_id)";
    /// Sets a user's password.
    SET_PASSWORD = "UPDATE users SET password_hash = $2 WHERE user_id = $1";
    /// The hash of a member's password.
    PASSWORD_HASH = "SELECT u.password_hash FROM members m JOIN users u ON u.user_id = m.user_id
        WHERE m.organization_id = $1 AND m.user_id = $2";
    /// Deletes all sessions of a user, in every organisation.
    DELETE_SESSIONS = "DELETE FROM credentials WHERE organization_id IN (SELECT organization_id FROM members WHERE user_id = $1)
        AND kind = 'session' AND holder = $1";
    /// Finds a user of any organisation by the e-mail address that they sign in with.
    USER_BY_EMAIL = "SELECT user_id, email, name, password_hash, created_at FROM users WHERE email = $1";
    /// Makes a membership.
    INSERT_MEMBER = "INSERT INTO members (organization_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)";
    /// Members, oldest first.
    MEMBERS = "SELECT m.user_id, u.email, u.name, m.role, m.created_at FROM members m JOIN users u ON u.user_id = m.user_id
        WHERE m.organization_id = $1 ORDER BY m.created_at, m.user_id";
    /// One member.
    MEMBER = "SELECT m.user_id, u.email, u.name, m.role, m.created_at FROM members m JOIN users u ON u.user_id = m.user_id
        WHERE m.organization_id = $1 AND m.user_id = $2";
    /// Organisations of a user, oldest membership first.
    MEMBERSHIPS = "SELECT organization_id FROM members WHERE user_id = $1 ORDER BY created_at, organization_id";
    /// Sets a role.
    SET_ROLE = "UPDATE members SET role = $3 WHERE organization_id = $1 AND user_id = $2";
    /// Ends a membership.
    DELETE_MEMBER = "DELETE FROM members WHERE organization_id = $1 AND user_id = $2";
    /// Deletes a user's sessions and API tokens in this organisation.
    DELETE_USER_CREDENTIALS = "DELETE FROM credentials WHERE organization_id = $1 AND kind IN ('session', 'api_token') AND holder = $2";
    /// Marks all API tokens of a user as withdrawn.
    REVOKE_USER_API_TOKENS = "UPDATE api_tokens SET revoked_at = $3 WHERE organization_id = $1 AND user_id = $2 AND revoked_at IS NULL";
    /// Finds the credential with the SHA-256 of a secret, in any organisation: a session, an API token or a device's
    /// key.
    CREDENTIAL = "SELECT token_hash, organization_id, kind, holder, expires_at, created_at FROM credentials WHERE token_hash IN ($1)", by 0 of [];
    /// Stores a credential. A second row with the same hash breaks the unique key.
    INSERT_CREDENTIAL = "INSERT INTO credentials (token_hash, organization_id, kind, holder, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
    /// Stores a credential, unless one with the same hash is stored already.
    KEEP_CREDENTIAL = "INSERT INTO credentials (token_hash, organization_id, kind, holder, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (token_hash) DO NOTHING";
    /// Deletes a credential of this organisation by the hash of its secret.
    DELETE_CREDENTIAL = "DELETE FROM credentials WHERE organization_id = $1 AND token_hash = $2";
    /// Stores an API token's description.
    INSERT_API_TOKEN = "INSERT INTO api_tokens (organization_id, api_token_id, name, user_id, role, token_hash, created_at, expires_at, revoked_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    /// API tokens, newest first.
    API_TOKENS = "SELECT api_token_id, name, user_id, role, token_hash, created_at, expires_at, revoked_at FROM api_tokens
        WHERE organization_id = $1 ORDER BY created_at DESC, api_token_id DESC";
    /// One API token, by the hash of its text.
    API_TOKEN = "SELECT api_token_id, name, user_id, role, token_hash, created_at, expires_at, revoked_at FROM api_tokens
        WHERE organization_id = $1 AND token_hash = $2";
    /// Marks an API token as withdrawn, if it is not withdrawn yet.
    REVOKE_API_TOKEN = "UPDATE api_tokens SET revoked_at = $3 WHERE organization_id = $1 AND api_token_id = $2 AND revoked_at IS NULL";
    /// Deletes the credential of an API token, so that its secret no longer opens anything.
    DELETE_API_TOKEN_CREDENTIAL = "DELETE FROM credentials WHERE organization_id = $1
        AND token_hash = (SELECT token_hash FROM api_tokens WHERE organization_id = $1 AND api_token_id = $2)";
}

pub(crate) fn read_organization(row: &mut Row) -> Result<OrganizationRecord> {
    Ok(OrganizationRecord { organization_id: row.parsed()?, name: row.text()?, created_at: row.at()? })
}
fn read_letterhead(row: &mut Row) -> Result<LetterheadRecord> {
    Ok(LetterheadRecord {
        color: row.option(Row::text)?,
        subject: row.option(Row::text)?,
        reply_to: row.option(Row::text)?,
    })
}
fn read_mail_template(row: &mut Row) -> Result<MailTemplateRecord> {
    Ok(MailTemplateRecord {
        subject: row.option(Row::text)?,
        text: row.option(Row::text)?,
        html: row.option(Row::text)?,
    })
}
pub(crate) fn read_user(row: &mut Row) -> Result<UserRecord> {
    Ok(UserRecord {
        user_id: row.parsed()?,
        email: row.text()?,
        name: row.text()?,
        password_hash: row.text()?,
        created_at: row.at()?,
    })
}
fn read_member(row: &mut Row) -> Result<MemberRecord> {
    Ok(MemberRecord {
        user_id: row.parsed()?,
        email: row.text()?,
        name: row.text()?,
        role: row.parsed()?,
        created_at: row.at()?,
    })
}
pub(crate) fn read_credential(row: &mut Row) -> Result<CredentialRecord> {
    let token_hash = row.hash()?;
    let organization_id = row.parsed()?;
    let kind = row.text()?;
    let kind = CredentialKind::parse(&kind).ok_or_else(|| Error::Bug(format!("unknown kind of secret: {kind}")))?;
    Ok(CredentialRecord {
        token_hash,
        organization_id,
        kind,
        holder: row.text()?,
        expires_at: row.option(Row::at)?,
        created_at: row.at()?,
    })
}
fn read_api_token(row: &mut Row) -> Result<ApiTokenRecord> {
    Ok(ApiTokenRecord {
        api_token_id: row.text()?,
        name: row.text()?,
        user_id: row.parsed()?,
        role: row.parsed()?,
        token_hash: row.hash()?,
        created_at: row.at()?,
        expires_at: row.at()?,
        revoked_at: row.option(Row::at)?,
    })
}
pub(crate) fn user_values(user: &UserRecord) -> [Value<'_>; 5] {
    [
        (&user.user_id).into(),
        (&user.email).into(),
        (&user.name).into(),
        (&user.password_hash).into(),
        user.created_at.into(),
    ]
}

impl<D: Driver> SqlTx<'_, D> {
    pub(crate) fn put_credential(&mut self, credential: &CredentialRecord) -> Result<()> {
        self.store_credential(&INSERT_CREDENTIAL, credential)
    }
    fn store_credential(&mut self, statement: &'static Stmt, credential: &CredentialRecord) -> Result<()> {
        if credential.organization_id != self.organization_id {
            return Err(Error::Bug("a secret of another organisation".into()));
        }
        let values = [
            (&credential.token_hash).into(),
            (&credential.organization_id).into(),
            credential.kind.as_str().into(),
            (&credential.holder).into(),
            credential.expires_at.into(),
            credential.created_at.into(),
        ];
        self.execute(statement, &values).map(|_| ())
    }
}

impl<D: Driver> TxAccounts for SqlTx<'_, D> {
    fn organization(&mut self) -> Result<OrganizationRecord> {
        let id = self.organization_id.clone();
        self.one(&ORGANIZATION, &[(&id).into()], read_organization)?.ok_or(Error::NotFound { what: "organization" })
    }
    fn letterhead(&mut self) -> Result<LetterheadRecord> {
        let id = self.organization_id.clone();
        Ok(self.one(&LETTERHEAD, &[(&id).into()], read_letterhead)?.unwrap_or_default())
    }
    fn put_letterhead(&mut self, letterhead: &LetterheadRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let LetterheadRecord { color, subject, reply_to } = letterhead;
        let values = [(&id).into(), color.as_ref().into(), subject.as_ref().into(), reply_to.as_ref().into()];
        self.execute(&PUT_LETTERHEAD, &values).map(|_| ())
    }
    fn mail_template(&mut self, kind: MailKind) -> Result<MailTemplateRecord> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), kind.as_str().into()];
        Ok(self.one(&MAIL_TEMPLATE, &values, read_mail_template)?.unwrap_or_default())
    }
    fn put_mail_template(&mut self, kind: MailKind, template: &MailTemplateRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let MailTemplateRecord { subject, text, html } = template;
        let texts = [subject.as_ref().into(), text.as_ref().into(), html.as_ref().into()];
        let [subject, text, html] = texts;
        self.execute(&PUT_MAIL_TEMPLATE, &[(&id).into(), kind.as_str().into(), subject, text, html]).map(|_| ())
    }
    fn hold_organization(&mut self) -> Result<()> {
        self.change(heads::lock_organization).map(|_| ())
    }
    fn insert_member(&mut self, user: &UserRecord, role: Role) -> Result<()> {
        self.execute(&INSERT_USER, &user_values(user))?;
        let id = self.organization_id.clone();
        let values = [(&id).into(), (&user.user_id).into(), role.as_str().into(), user.created_at.into()];
        self.execute(&INSERT_MEMBER, &values).map(|_| ())
    }
    fn set_password(&mut self, user_id: &UserId, password_hash: &str) -> Result<()> {
        let changed = self.execute(&SET_PASSWORD, &[user_id.into(), password_hash.into()])?;
        if changed == 0 {
            return Err(Error::NotFound { what: "user" });
        }
        // Other organisations' memberships are visible only while the statement runs for the user.
        self.with(|driver, _| driver.run_for(RunFor::User(user_id)))?;
        self.execute(&DELETE_SESSIONS, &[user_id.into()])?;
        self.with(|driver, organization_id| driver.run_for(RunFor::Organization(organization_id)))
    }
    fn password_hash(&mut self, user_id: &UserId) -> Result<Option<String>> {
        let id = self.organization_id.clone();
        self.one(&PASSWORD_HASH, &[(&id).into(), user_id.into()], Row::text)
    }
    fn members(&mut self) -> Result<Vec<MemberRecord>> {
        let id = self.organization_id.clone();
        self.all(&MEMBERS, &[(&id).into()], read_member)
    }
    fn member(&mut self, user_id: &UserId) -> Result<Option<MemberRecord>> {
        let id = self.organization_id.clone();
        self.one(&MEMBER, &[(&id).into(), user_id.into()], read_member)
    }
    fn set_member_role(&mut self, user_id: &UserId, role: Role) -> Result<()> {
        let id = self.organization_id.clone();
        let changed = self.execute(&SET_ROLE, &[(&id).into(), user_id.into(), role.as_str().into()])?;
        if changed == 1 { Ok(()) } else { Err(Error::NotFound { what: "member" }) }
    }
    fn remove_member(&mut self, user_id: &UserId) -> Result<()> {
        let id = self.organization_id.clone();
        let at = self.with(|driver, _| driver.now())?;
        if self.execute(&DELETE_MEMBER, &[(&id).into(), user_id.into()])? == 0 {
            return Err(Error::NotFound { what: "member" });
        }
        self.execute(&DELETE_USER_CREDENTIALS, &[(&id).into(), user_id.into()])?;
        self.execute(&REVOKE_USER_API_TOKENS, &[(&id).into(), user_id.into(), at.into()])?;
        // Other organisations' memberships are visible only while the statement runs for the user.
        self.with(|driver, _| driver.run_for(RunFor::User(user_id)))?;
        self.execute(&DELETE_USER, &[user_id.into()])?;
        self.with(|driver, organization_id| driver.run_for(RunFor::Organization(organization_id)))
    }
    fn insert_credential(&mut self, credential: &CredentialRecord) -> Result<()> {
        self.put_credential(credential)
    }
    fn keep_pass(&mut self, credential: &CredentialRecord) -> Result<bool> {
        self.store_credential(&KEEP_CREDENTIAL, credential)?;
        let mut held = self.each(&CREDENTIAL, &[], &[(&credential.token_hash).into()], read_credential)?;
        let same = |held: &CredentialRecord| {
            let of = |one: &CredentialRecord| (one.organization_id.clone(), one.kind, one.holder.clone());
            of(held) == of(credential)
        };
        Ok(held.pop().is_some_and(|held| same(&held)))
    }
    fn delete_credential(&mut self, token_hash: &[u8; 32]) -> Result<()> {
        let id = self.organization_id.clone();
        self.execute(&DELETE_CREDENTIAL, &[(&id).into(), token_hash.into()]).map(|_| ())
    }
    fn insert_api_token(&mut self, token: &ApiTokenRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&token.api_token_id).into(),
            (&token.name).into(),
            (&token.user_id).into(),
            token.role.as_str().into(),
            (&token.token_hash).into(),
            token.created_at.into(),
            token.expires_at.into(),
            token.revoked_at.into(),
        ];
        self.execute(&INSERT_API_TOKEN, &values).map(|_| ())
    }
    fn api_tokens(&mut self) -> Result<Vec<ApiTokenRecord>> {
        let id = self.organization_id.clone();
        self.all(&API_TOKENS, &[(&id).into()], read_api_token)
    }
    fn api_token(&mut self, token_hash: &[u8; 32]) -> Result<Option<ApiTokenRecord>> {
        let id = self.organization_id.clone();
        Ok(self.all(&API_TOKEN, &[(&id).into(), token_hash.into()], read_api_token)?.pop())
    }
    fn revoke_api_token(&mut self, api_token_id: &str, at: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        self.execute(&REVOKE_API_TOKEN, &[(&id).into(), api_token_id.into(), at.into()])?;
        self.execute(&DELETE_API_TOKEN_CREDENTIAL, &[(&id).into(), api_token_id.into()]).map(|_| ())
    }
}
