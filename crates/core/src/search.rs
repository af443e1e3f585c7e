//! Finds guests by name, by the same rule at the door and in the organiser's app.
//!
//! A guest is found if every word of the query begins a word of the name. Order, case and accents don't matter. Three
//! other things make no difference:
//!
//! - Apostrophes, hyphens and spaces: "obrien", "o'brien" and "o brien" find O’Brien and Obrien; "jeanluc" and "jean
//!   luc" find Jean-Luc and Jeanluc.
//! - How an umlaut is written: Müller, Mueller and Muller find each other. A plain letter finds a written-out one as
//!   the beginning of a word. A written-out one finds a plain letter only as a whole word, so that "sue" doesn't find
//!   Susan.
//! - Spaces, in scripts that write none: さくら finds 田中さくら, and 민수 finds 김민수.

use crate::limits;
use crate::normalize::{APOSTROPHE, HYPHEN, Letters, letters, words_in_order};

/// The form of a name that a search compares, computed once and stored with the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchName {
    /// The text that names are sorted by, as `normalize::for_search` writes it. It has at most [`limits::NAME_CHARS`]
    /// characters.
    pub sort: String,
    /// The text in which queries are looked up. Stores keep and compare it.
    ///
    /// A space stands before and after each word. Two spaces stand before the first word of each spelling of the name.
    /// Each word is also joined with the words after it: "Seán O’Brien" gives "  seanobrien sean o obrien brien ". No
    /// character of the text has a meaning in a LIKE pattern.
    pub words: String,
}

impl SearchName {
    /// Computes the search texts of a name.
    pub fn new(name: &str) -> Self {
        let letters = letters(name);
        let mut sort = words_in_order(&letters.plain);
        if let Some((end, _)) = sort.char_indices().nth(limits::NAME_CHARS) {
            sort.truncate(end);
        }
        Self { sort, words: search_words(letters) }
    }
}

fn search_words(letters: Letters) -> String {
    let short = shortened(letters.written_out.as_ref().unwrap_or(&letters.plain));
    let mut spellings = vec![letters.plain];
    spellings.extend(letters.written_out);
    if !spellings.contains(&short) {
        spellings.push(short);
    }
    let mut out = String::new();
    for spelling in &spellings {
        let words = words_of(spelling);
        if words.is_empty() {
            continue;
        }
        out.push(' ');
        let joined = |from: usize| words[from..].iter().flat_map(|word| word.chars()).take(limits::SEARCH_WORD_CHARS);
        if words.len() > 1 {
            out.push(' ');
            out.extend(joined(0));
        }
        for (place, word) in words.iter().enumerate() {
            out.push(' ');
            out.push_str(cut(word));
            if place > 0 && place + 1 < words.len() {
                out.push(' ');
                out.extend(joined(place));
            }
        }
    }
    if !out.is_empty() {
        out.push(' ');
    }
    out
}

/// Where the first word of a query stands in a name. Names that begin with it are shown first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// The first word of the query begins the name.
    AtBeginning,
    /// The first word of the query begins a later word of the name.
    Within,
}

/// A query for a name, as a person typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameQuery {
    terms: Vec<Term>,
    letters: usize,
}

/// A word of a query in up to three spellings. A name matches the word if one of the spellings occurs in its
/// [`SearchName::words`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The word as the beginning of a word of the name: `% word%` as a LIKE pattern.
    pub word: String,
    /// The word with plain letters for written-out umlauts, as a whole word of the name: `% plain %`. `None` if the
    /// query's word has no written-out umlaut.
    pub plain: Option<String>,
    /// This word and the words beside it in the query, written as one word, as the beginning of a word of the name.
    /// `None` if the query has only one word.
    pub joined: Option<String>,
}

impl NameQuery {
    /// Reads a query. A query without a letter has no terms and finds nobody.
    pub fn new(text: &str) -> Self {
        let typed = letters(text).plain;
        let mut groups: Vec<Vec<String>> = Vec::new();
        for parts in typed.split(' ').map(parts_of).filter(|parts| !parts.is_empty()) {
            match groups.last_mut() {
                // A letter that stands alone belongs to the word after it: "o brien sean" finds Sean Obrien.
                Some(before) if before.last().is_some_and(|part| part.chars().count() == 1) => before.extend(parts),
                _ => groups.push(parts),
            }
        }
        let whole: String = groups.iter().flatten().map(String::as_str).collect();
        let words = groups.iter().map(Vec::len).sum::<usize>();
        let mut terms = Vec::new();
        for parts in &groups {
            let joined = match (parts.len(), words) {
                (_, 1) => None,
                (1, _) => Some(cut(&whole).to_owned()),
                _ => Some(cut(&parts.concat()).to_owned()),
            };
            for part in parts {
                let (word, short) = (cut(part).to_owned(), shortened(part));
                let plain = (short != *part).then(|| cut(&short).to_owned());
                terms.push(Term { word, plain, joined: joined.clone() });
            }
        }
        terms.truncate(limits::SEARCH_WORDS);
        Self { terms, letters: whole.chars().map(weight).sum() }
    }
    /// The words of the query, at most [`limits::SEARCH_WORDS`]. A name must match all of them.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
    /// Whether the query has too few letters to search a list at each keystroke.
    pub fn is_short(&self) -> bool {
        self.letters < limits::SEARCH_CHARS
    }
    /// Looks for the query in the [`SearchName::words`] of a name. `None` if the name does not match.
    pub fn find(&self, words: &str) -> Option<Found> {
        let (first, others) = self.terms.split_first()?;
        let found = first.find(words)?;
        others.iter().all(|term| term.find(words).is_some()).then_some(found)
    }
}

impl Term {
    fn find(&self, words: &str) -> Option<Found> {
        let begins = |text: &String| place(words.as_bytes(), text.as_bytes(), false);
        let whole = |text: &String| place(words.as_bytes(), text.as_bytes(), true);
        let found = [begins(&self.word), self.joined.as_ref().and_then(begins), self.plain.as_ref().and_then(whole)];
        found.into_iter().flatten().min()
    }
}

/// Finds a word that begins with `text`. If `whole` is set, finds a word that equals `text`.
fn place(words: &[u8], text: &[u8], whole: bool) -> Option<Found> {
    let (first, mut found) = (text.first()?, None);
    for (at, _) in words.iter().enumerate().filter(|(_, byte)| **byte == b' ') {
        let rest = &words[at + 1..];
        if rest.first() != Some(first) || !rest.starts_with(text) || whole && rest.get(text.len()) != Some(&b' ') {
            continue;
        }
        if at > 0 && words[at - 1] == b' ' {
            return Some(Found::AtBeginning);
        }
        found = Some(Found::Within);
    }
    found
}

/// Splits text into words: at separators of any kind, and in scripts without separators wherever a word begins.
fn words_of(letters: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for text in letters.split([' ', APOSTROPHE, HYPHEN]) {
        let (mut from, mut before) = (0, None);
        for (at, c) in text.char_indices() {
            if before.is_some_and(|before| begins_word(before, c)) {
                words.push(&text[from..at]);
                from = at;
            }
            before = Some(c);
        }
        if from < text.len() {
            words.push(&text[from..]);
        }
    }
    words
}

/// The parts of one typed word. Hyphens separate parts, and apostrophes are left out.
fn parts_of(typed: &str) -> Vec<String> {
    let whole = |part: &str| part.chars().filter(|c| *c != APOSTROPHE).collect::<String>();
    typed.split(HYPHEN).map(whole).filter(|part| !part.is_empty()).collect()
}

/// Replaces written-out umlauts by plain letters: "mueller" becomes "muller". As in Lucene's German filter, the e of
/// "ue" stays after a vowel and after q: Bauer, Raquel.
fn shortened(letters: &str) -> String {
    let mut out = String::with_capacity(letters.len());
    let (mut two_before, mut before) = (' ', ' ');
    for c in letters.chars() {
        let written_out = match (before, c) {
            ('a' | 'o', 'e') | ('a', 'a') => true,
            ('u', 'e') => !matches!(two_before, 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | 'q'),
            _ => false,
        };
        if !written_out {
            out.push(c);
        }
        (two_before, before) = (before, if written_out { ' ' } else { c });
    }
    out
}

fn cut(word: &str) -> &str {
    word.char_indices().nth(limits::SEARCH_WORD_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// The number of letters that a character counts for in a search: 1 for a letter of an alphabet, 2 in other scripts.
fn weight(c: char) -> usize {
    if matches!(Script::of(c), Script::Other) { 1 } else { 2 }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Han,
    Kana,
    /// The first consonant of a Korean syllable.
    Syllable,
    /// A later letter of a Korean syllable.
    InSyllable,
    Other,
}

impl Script {
    fn of(c: char) -> Self {
        match c {
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => Self::Han,
            '\u{3005}' | '\u{3041}'..='\u{30ff}' => Self::Kana,
            '\u{1100}'..='\u{115e}' => Self::Syllable,
            '\u{1161}'..='\u{11ff}' => Self::InSyllable,
            _ => Self::Other,
        }
    }
}

/// Whether a word begins between two letters: at each Han character, each Korean syllable, and where scripts meet.
fn begins_word(before: char, c: char) -> bool {
    match (Script::of(before), Script::of(c)) {
        (_, Script::Han | Script::Syllable) => true,
        (_, Script::InSyllable) | (Script::Other, Script::Other) | (Script::Kana, Script::Kana) => false,
        (Script::Han, Script::Kana) => c != '\u{3005}',
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::normalize::for_search;

    fn words(name: &str) -> String {
        SearchName::new(name).words
    }
    fn find(name: &str, text: &str) -> Option<Found> {
        NameQuery::new(text).find(&words(name))
    }

    #[test]
    fn search_words_are_the_words_and_what_follows_each_as_one() {
        for (name, found_by) in [
            ("Ana", "  ana "),
            ("Seán O’Brien", "  seanobrien sean o obrien brien "),
            ("Müller", "  muller  mueller "),
            ("Mueller", "  mueller  muller "),
            ("田中 さくら", "  田中さくら 田 中 中さくら さくら "),
            ("'- .", ""),
        ] {
            assert_eq!(words(name), found_by, "{name}");
        }
    }

    #[test]
    fn a_name_is_sorted_by_its_words() {
        assert_eq!(SearchName::new(" Seán O’Brien").sort, "sean obrien");
        assert_eq!(SearchName::new(&"ﷺ".repeat(limits::NAME_CHARS)).sort.chars().count(), limits::NAME_CHARS);
    }

    #[test]
    fn every_word_begins_a_word_in_any_order() {
        for text in ["ana", "ana botha", "botha an", "bot", "  BOTHA,ana ", "b a"] {
            assert!(find("Ana Botha", text).is_some(), "{text}");
        }
        for text in ["bota", "tha", "ana bota", "anna", "ana botha maria", "ана"] {
            assert_eq!(find("Ana Botha", text), None, "{text}");
        }
    }

    #[test]
    fn separators_make_no_difference() {
        let same = [
            (["Seán O’Brien", "Sean OBrien", "SEAN O BRIEN"], ["o'brien", "obrien", "o brien"]),
            (["Jean‑Luc", "Jean Luc", "Jeanluc"], ["jean-luc", "jean luc", "jeanluc"]),
            (["Anna de la Cruz", "Anna Delacruz", "Anna De-la-Cruz"], ["delacruz", "de la cruz", "annadela cruz"]),
            (["J.R. Smith", "JR Smith", "J. R. Smith"], ["jr smith", "j.r. smith", "j r smith"]),
        ];
        for (names, texts) in same {
            for (name, text) in names.iter().flat_map(|name| texts.map(|text| (name, text))) {
                assert!(find(name, text).is_some(), "{name}: {text}");
            }
        }
        for (name, text) in [("Picard Jeanluc", "jean-luc picard"), ("Sean Obrien", "o brien sean")] {
            assert!(find(name, text).is_some(), "{name}: {text}");
        }
    }

    #[test]
    fn umlauts_are_found_however_they_are_written() {
        let names = ["Hans Müller", "Hans Mueller", "Hans Muller"];
        for (name, text) in
            names.iter().flat_map(|name| ["müller", "mueller", "muller", "mull", "müll"].map(|t| (name, t)))
        {
            assert!(find(name, text).is_some(), "{name}: {text}");
        }
        assert!(find("Ödön Ødegård", "oedegaard oedoen").is_some());
        assert!(find("Rosa Bauer", "bauer").is_some() && find("Rosa Bauer", "baur").is_none());
        for (name, text) in [("Susan Muster", "sue"), ("Hans Muller", "muel"), ("Noah", "noe"), ("Raquel", "raql")] {
            assert_eq!(find(name, text), None, "{name}: {text}");
        }
    }

    #[test]
    fn scripts_without_spaces_are_found_by_their_words() {
        for (name, text) in [
            ("田中さくら", "さくら"),
            ("田中 さくら", "田中サクラ"),
            ("田中太郎", "太郎"),
            ("佐々木", "佐々木"),
            ("김민수", "민수"),
            ("김민수", "김ㅁ"),
            ("ｻｸﾗ", "さくら"),
        ] {
            assert!(find(name, text).is_some(), "{name}: {text}");
        }
        assert_eq!(find("がく", "か"), None);
        // A voicing mark that follows no letter changes nothing.
        for name in ["さ’\u{3099}く", "さ-\u{3099}く", "\u{309a}さく"] {
            assert!(find(name, name).is_some() && find(name, &for_search(name)).is_some(), "{name}");
        }
        assert!(!NameQuery::new("李").is_short() && !NameQuery::new("김").is_short() && NameQuery::new("z").is_short());
    }

    #[test]
    fn the_beginning_of_the_name_comes_first() {
        use Found::{AtBeginning, Within};
        for (name, text, found) in [
            ("Amélie Brânză", "ame", AtBeginning),
            ("Zoë Amell", "ame", Within),
            ("Zoë Amell", "amell zo", Within),
            ("Jean-Luc", "jeanluc", AtBeginning),
            ("Müller Hans", "mueller", AtBeginning),
            ("田中太郎", "田中", AtBeginning),
        ] {
            assert_eq!(find(name, text), Some(found), "{name}: {text}");
        }
    }

    #[test]
    fn a_query_without_letters_finds_nobody() {
        for text in ["", "  ", "'", "--", "…", "\u{200b}", "\u{301}", "%", "\0"] {
            let query = NameQuery::new(text);
            assert!(query.terms().is_empty() && query.is_short(), "{text}");
            assert_eq!([query.find(&words("Ana")), query.find("")], [None, None], "{text}");
        }
    }

    /// Letters of many scripts, marks, separators, and invisible characters.
    fn written() -> impl Strategy<Value = String> {
        let odd = "['’´ʼ\u{2011}./·・\u{200b}\u{ad}\u{300}-\u{30a}\u{3099}\u{5b0}\u{651}]";
        let letters = "[a-zA-ZÀ-žƀ-ɏα-ωА-яא-תء-يक-ह가-힣ぁ-んァ-ヶ一-丁ﬀ-ﬆＡ-Ｚ]";
        let syllable = prop_oneof![4 => letters, 1 => odd, 1 => "(ae|oe|ue|aa|ß|æ|ø|å|ü)"];
        prop::collection::vec(syllable, 1..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn a_name_is_found_by_itself_by_each_word_and_in_any_order(mut words in prop::collection::vec(written(), 1..5), turn in 0..4_usize) {
            let name = words.join(" ");
            let stored = self::words(&name);
            for text in words.iter().chain([&name, &for_search(&name)]) {
                let query = NameQuery::new(text);
                prop_assert!(query.terms().is_empty() || query.find(&stored).is_some(), "{text:?} in {stored:?}");
            }
            let places = words.len();
            words.rotate_left(turn % places);
            let query = NameQuery::new(&words.join(" "));
            prop_assert!(query.terms().is_empty() || query.find(&stored).is_some(), "{words:?} in {stored:?}");
        }

        #[test]
        fn any_text_is_read(name in any::<String>(), text in any::<String>()) {
            let stored = words(&name);
            let _ = NameQuery::new(&text).find(&stored);
            let query = NameQuery::new(&name);
            prop_assert!(query.terms().is_empty() || query.find(&stored).is_some());
            prop_assert!(!stored.contains(['%', '_', '!', '\\']));
        }
    }
}
