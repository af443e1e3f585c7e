//! The input and the output of the checks.

/// A file of the repository.
pub struct File {
    /// The path from the repository's root, with forward slashes.
    pub path: String,
    /// The file's text.
    pub text: String,
}

/// One fault that a check found, and its place.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The path of the file.
    pub path: String,
    /// The line, counted from 1; 0 means the whole file.
    pub line: usize,
    /// How to fix the fault.
    pub message: String,
}

impl Complaint {
    /// A complaint about one line of a file.
    pub fn new(file: &File, line: usize, message: impl Into<String>) -> Complaint {
        Complaint { path: file.path.clone(), line, message: message.into() }
    }
}
