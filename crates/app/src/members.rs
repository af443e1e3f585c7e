//! Members: users with a role in the organisation.

pub mod find;
pub mod create;
pub mod delete;
pub mod list;
pub mod set_password;
pub mod update;

pub use create::{NewMember, create};
pub use delete::delete;
pub use list::list;
pub use set_password::set_password;
pub use update::update;
