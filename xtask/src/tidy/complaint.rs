//! The input and output of the checks.

/// A file of the repository.
pub struct File {
    /// From the root, with forward slashes.
    pub path: String,
    /// The file's text.
    pub text: String,
}

/// A fault and its place.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The file.
    pub path: String,
    /// Counted from 1; 0 speaks of the whole file.
    pub line: usize,
    /// The action that mends the fault.
    pub message: String,
}

impl Complaint {
    /// About one line of a file.
    pub fn new(file: &File, line: usize, message: impl Into<String>) -> Complaint {
        Complaint { path: file.path.clone(), line, message: message.into() }
    }
}
