//! What the checks read, and what they answer.

/// A file of the repository.
pub struct File {
    /// From the root, with forward slashes.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The file.
    pub path: String,
    /// Counted from 1; 0 speaks of the whole file.
    pub line: usize,
    /// What to do about it.
    pub message: String,
}

impl Complaint {
    /// About one line of a file.
    pub fn new(file: &File, line: usize, message: impl Into<String>) -> Complaint {
        Complaint { path: file.path.clone(), line, message: message.into() }
    }
}
