//! The texts of mails, as templates that an organisation may replace.
//!
//! The default templates are files of `mail_templates/templates`, a folder for each kind of mail. The server checks a
//! template when an organisation saves it. If the template still fails for a mail, the default template takes its
//! place, so no mail is lost.

mod values;
mod render;
mod check;
mod list;
mod update;
mod preview;

pub use list::{MailTemplate, list};
pub use preview::{Draft, preview};
pub use render::{Problem, RenderedMail};
pub use update::{MailTemplatePatch, update};
pub use values::{Variable, default_template, variables};

pub(crate) use render::render_mail;
pub(crate) use values::MailValues;
