//! The questions that a file leaves open. Each is asked once for the whole file, and never guessed.

use std::collections::BTreeMap;

/// A question about a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Some rows have no code, while others have one.
    MissingCodes,
    /// A status word, as in the file, has no known meaning.
    Status(String),
    /// A word in a name column, such as `NULL`, may be a database's word for an empty cell. The text is the word as in
    /// the file.
    EmptyWordInName(String),
    /// In the file's dates, either the day or the month could come first. The text is one of these dates.
    DateOrder(String),
}

impl Question {
    /// The question as a stable word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MissingCodes => "missing_codes",
            Self::Status(_) => "status",
            Self::EmptyWordInName(_) => "empty_words_in_names",
            Self::DateOrder(_) => "day_first",
        }
    }
    /// The text of the file that the question is about. `None` if it is about none.
    pub fn about(&self) -> Option<&str> {
        match self {
            Self::MissingCodes => None,
            Self::Status(text) | Self::EmptyWordInName(text) | Self::DateOrder(text) => Some(text),
        }
    }
    /// The question in plain words, with the possible answers.
    pub fn words(&self) -> String {
        match self {
            Self::MissingCodes => {
                "Some rows have no code. Set missing_codes to make (a code is made for each) or leave_out.".into()
            }
            Self::Status(word) => format!(
                "Does the status {word} let in? Set statuses for it to active, used, voided or refunded; the last two stay out."
            ),
            Self::EmptyWordInName(word) => format!(
                "Is {word} somebody's name? Set empty_words_in_names to name, or to empty where it means that there is none."
            ),
            Self::DateOrder(example) => {
                format!("Is the first number of {example} the day? Set day_first to true or false.")
            }
        }
    }
}

/// The questions, each with the lines that wait for its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions(BTreeMap<Question, (u64, usize)>);

impl Questions {
    /// Notes that a line waits for an answer.
    pub fn ask(&mut self, question: Question, line: u64) {
        self.0.entry(question).or_insert((line, 0)).1 += 1;
    }
    /// Each question with the first line that waits for it, and the number of such lines.
    pub fn all(&self) -> impl Iterator<Item = (&Question, u64, usize)> {
        self.0.iter().map(|(question, (line, rows))| (question, *line, *rows))
    }
}
