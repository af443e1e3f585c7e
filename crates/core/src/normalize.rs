//! Puts text into the form in which it is compared. There are two uses: finding a name as people type it, and telling
//! whether two texts name the same thing.
//!
//! Unicode's own forms come from ICU4X (`icu_normalizer`). The tables here hold only what Unicode leaves to each
//! application: letters without a decomposition, and the marks that people leave out when they type.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
const NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();

/// The character that [`letters`] writes for an apostrophe. It may stand inside a word, or be left out.
pub(crate) const APOSTROPHE: char = '\'';
/// The character that [`letters`] writes for a hyphen, a dot, a slash or any other punctuation. It may separate
/// words, or be left out.
pub(crate) const HYPHEN: char = '-';

/// The text in Unicode's composed form (NFC): "e" and a combining accent become "é".
pub fn composed(text: &str) -> String {
    NFC.normalize(text).into_owned()
}

/// The words of a name in the form in which names are searched and sorted. They are in lower case, without accents,
/// apostrophes and punctuation, and one space separates two words.
///
/// "Seán O’Brien" gives "sean obrien", "Jean‑Luc" gives "jean luc". Normalizing twice changes nothing.
pub fn for_search(text: &str) -> String {
    words_in_order(&letters(text).plain)
}

/// Like [`for_search`], for a caller that already has the text's [`Letters::plain`].
pub(crate) fn words_in_order(letters: &str) -> String {
    let mut out = String::with_capacity(letters.len());
    for c in letters.chars() {
        match c {
            APOSTROPHE => {}
            ' ' | HYPHEN => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    in_order(out)
}

/// The form in which two rows are compared that may mean the same guest, list or entry type.
///
/// Case, white space, invisible characters, compatibility forms, and the kinds of apostrophes and dashes make no
/// difference. Accents do: Jose and José are two people. Normalizing twice changes nothing.
pub fn for_identity(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).map(known_apostrophe).collect();
    let mut out = String::with_capacity(visible.len());
    for c in NFKC.normalize(&visible).chars().flat_map(char::to_lowercase) {
        match c {
            'ß' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ı' => out.push('i'),
            // Unicode writes a Turkish capital İ in lower case as an i and a combining dot. The dot is left out.
            '\u{307}' if out.ends_with('i') => {}
            '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
            c if is_apostrophe(c) => out.push(APOSTROPHE),
            c => out.push(c),
        }
    }
    let composed = NFKC.normalize(&out);
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The letters of a text in lower case without accents. White space is a space, other separators are [`APOSTROPHE`] or
/// [`HYPHEN`]. Several separators may follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letters {
    /// The letters with ä, ö, ü, å and ø written as a, o, u, a and o.
    pub plain: String,
    /// The letters with ä, ö, ü, å and ø written as ae, oe, ue, aa and oe. German, Danish and Norwegian are written so
    /// where a keyboard lacks the letter. `None` if the text has none of these letters.
    pub written_out: Option<String>,
}

impl Letters {
    fn push(&mut self, c: char) {
        if c == 'ø' {
            self.write_out("oe");
            self.plain.push('o');
            return;
        }
        push(&mut self.plain, c);
        if let Some(long) = &mut self.written_out {
            push(long, c);
        }
    }
    fn write_out(&mut self, letters: &str) {
        let plain = &self.plain;
        self.written_out.get_or_insert_with(|| plain.clone()).push_str(letters);
    }
}

/// Reads the letters of a text.
pub(crate) fn letters(text: &str) -> Letters {
    let mut out = Letters { plain: String::with_capacity(text.len()), written_out: None };
    if text.is_ascii() {
        text.chars().for_each(|c| push(&mut out.plain, c.to_ascii_lowercase()));
        return out;
    }
    let visible = text.chars().filter(|c| !is_invisible(*c)).map(known_apostrophe);
    let mut base = ' ';
    for c in NFKD.normalize_iter(visible) {
        if is_left_out(c) {
            match (base, c) {
                ('a' | 'o' | 'u', '\u{308}') => out.write_out("e"),
                ('a', '\u{30a}') => out.write_out("a"),
                _ => {}
            }
            continue;
        }
        // Nobody types a voicing mark without a letter before it, so such a mark is left out. Once a search leaves the
        // separator out, the mark would join the letter before the separator. Then two spellings of one name would
        // differ.
        if is_voicing_mark(c) && ends_no_letter(&out.plain) {
            continue;
        }
        for c in c.to_lowercase() {
            base = c;
            out.push(c);
        }
    }
    Letters { plain: in_order(out.plain), written_out: out.written_out.map(in_order) }
}

/// Restores Unicode's composed form (NFC) of letters from which marks were removed. Removing a mark can leave other
/// marks in an order that Unicode does not allow, or a kana apart from its voicing mark.
fn in_order(letters: String) -> String {
    if letters.is_ascii() {
        return letters;
    }
    let mut out = String::with_capacity(letters.len());
    for c in NFKD.normalize_iter(letters.chars()) {
        match out.chars().next_back().and_then(|kana| voiced(kana, c)) {
            Some(one) => {
                out.pop();
                out.push(one);
            }
            None => out.push(c),
        }
    }
    out
}

fn push(out: &mut String, c: char) {
    match c {
        'a'..='z' | '0'..='9' => out.push(c),
        c if is_apostrophe(c) => out.push(APOSTROPHE),
        c if c.is_whitespace() || c.is_control() => out.push(' '),
        c if is_punctuation(c) => out.push(HYPHEN),
        // Katakana becomes hiragana.
        '\u{30a1}'..='\u{30f6}' | '\u{30fd}' | '\u{30fe}' => {
            out.push(char::from_u32(u32::from(c) - 0x60).unwrap_or(c));
        }
        // Arabic and Persian digits become ASCII digits.
        '\u{660}'..='\u{669}' => out.push(char::from(b'0' + (u32::from(c) - 0x660) as u8)),
        '\u{6f0}'..='\u{6f9}' => out.push(char::from(b'0' + (u32::from(c) - 0x6f0) as u8)),
        c => match other_letter(c) {
            Some(letters) => out.push_str(letters),
            None => out.push(c),
        },
    }
}

/// The spelling of a letter that Unicode doesn't decompose, as people write it whose keyboard lacks the letter. Also
/// one spelling for letters that the keyboards of two languages write with different characters. `None` for other
/// letters.
fn other_letter(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ə' => "a",
        'ƀ' | 'ɓ' | 'ƃ' => "b",
        'ƈ' | 'ȼ' => "c",
        'đ' | 'ð' | 'ɖ' | 'ɗ' | 'ƌ' => "d",
        'ɛ' | 'ɇ' | 'ǝ' => "e",
        'ƒ' => "f",
        'ǥ' | 'ɠ' | 'ɣ' => "g",
        'ħ' => "h",
        'ı' | 'ɨ' => "i",
        'ɉ' => "j",
        'ĸ' | 'ƙ' => "k",
        'ł' | 'ƚ' | 'ɫ' => "l",
        'ŋ' | 'ɲ' | 'ƞ' => "n",
        'ɔ' | 'ɵ' => "o",
        'ƥ' => "p",
        'ɍ' => "r",
        'ȿ' => "s",
        'ŧ' | 'ƭ' | 'ʈ' | 'ⱦ' => "t",
        'ʉ' => "u",
        'ʋ' => "v",
        'ƴ' | 'ɏ' => "y",
        'ƶ' | 'ȥ' => "z",
        'ς' => "σ",
        // Arabic and Persian keyboards have different keys for alef, yeh, kaf and heh. Teh marbuta is typed as heh.
        '\u{671}' => "\u{627}",
        '\u{649}' | '\u{6cc}' => "\u{64a}",
        '\u{6a9}' => "\u{643}",
        '\u{629}' | '\u{6be}' | '\u{6c1}' | '\u{6c3}' | '\u{6d5}' => "\u{647}",
        _ => return None,
    })
}

/// Composes a kana and its voicing mark (U+3099 or U+309A) into one letter, since が is not か. `None` if the kana takes
/// no such mark.
fn voiced(kana: char, mark: char) -> Option<char> {
    let (of, by) = (u32::from(kana), u32::from(mark).checked_sub(0x3098)?);
    let pairs = match of {
        0x3046 if by == 1 => return Some('\u{3094}'),
        0x304b..=0x3062 => by == 1 && of % 2 == 1,
        0x3064..=0x3069 => by == 1 && of % 2 == 0,
        0x306f..=0x307d => by <= 2 && (of - 0x306f) % 3 == 0,
        0x309d => by == 1,
        _ => false,
    };
    if pairs { char::from_u32(of + by) } else { None }
}

fn ends_no_letter(letters: &str) -> bool {
    letters.is_empty() || letters.ends_with([' ', APOSTROPHE, HYPHEN])
}

/// Whether the character is a voicing mark, which [`voiced`] joins with the kana before it.
fn is_voicing_mark(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309a}')
}

/// Whether a character is a mark that people leave out when they type. These are accents of Latin, Greek and Cyrillic
/// letters, Hebrew points, Arabic and Syriac vowel marks, and the stroke that lengthens an Arabic word. Vowel signs of
/// Indic scripts are letters.
fn is_left_out(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{2de0}'..='\u{2dff}' | '\u{a66f}'..='\u{a672}' | '\u{a674}'..='\u{a67d}'
        | '\u{a69e}' | '\u{a69f}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{fb1e}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}' | '\u{8ca}'..='\u{8e1}'
        | '\u{8e3}'..='\u{8ff}' | '\u{711}' | '\u{730}'..='\u{74a}')
}

/// Whether a character is drawn as nothing: soft hyphens, joiners, direction marks, variation selectors, tags and
/// fillers.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Makes an apostrophe of an accent that stands alone, because people type such accents for apostrophes. Unicode's
/// compatibility forms would make a space of it.
fn known_apostrophe(c: char) -> char {
    if matches!(c, '\u{b4}' | '\u{384}' | '\u{1fbd}' | '\u{1fbf}' | '\u{1ffd}' | '\u{1ffe}') { APOSTROPHE } else { c }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c,
        '\'' | '`' | '\u{2b9}'..='\u{2bf}' | '\u{2c8}' | '\u{2ca}' | '\u{2cb}' | '\u{55a}' | '\u{5f3}'
        | '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' | '\u{a78b}' | '\u{a78c}')
}

/// Whether a character stands between words: hyphens, dots, slashes, quotation marks and brackets of all scripts.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{a1}' | '\u{a6}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{55b}'..='\u{55f}'
            | '\u{589}' | '\u{58a}' | '\u{5be}' | '\u{5c0}' | '\u{5c3}' | '\u{5c6}' | '\u{5f4}' | '\u{60c}' | '\u{60d}'
            | '\u{61b}' | '\u{61d}'..='\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}' | '\u{700}'..='\u{70d}'
            | '\u{964}' | '\u{965}' | '\u{970}' | '\u{e4f}' | '\u{e5a}' | '\u{e5b}' | '\u{f04}'..='\u{f14}' | '\u{10fb}'
            | '\u{1361}'..='\u{1368}' | '\u{1400}' | '\u{2010}'..='\u{205e}' | '\u{2212}' | '\u{2e00}'..='\u{2e5d}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{3030}' | '\u{30a0}'
            | '\u{30fb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_case_and_forms_make_no_difference() {
        for (written, searched) in [
            ("Amélie Brânză", "amelie branza"),
            ("AMÉLIE", "amelie"),
            ("Ame\u{301}lie", "amelie"),
            ("Łódź", "lodz"),
            ("STRAẞE Straße", "strasse strasse"),
            ("Ægir Þór", "aegir thor"),
            ("Nguyễn Thị Ánh Đức", "nguyen thi anh duc"),
            ("İpek IŞIK Işık", "ipek isik isik"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("Алёна Йовчева", "алена иовчева"),
            ("  Two \t  words\u{a0}", "two words"),
            ("Ａｎａ ﬁne Ⅳ M.ª", "ana fine iv m a"),
            ("サクラ ｶﾞﾙｼｱ さくら", "さくら がるしあ さくら"),
            ("مُحَمَّـد أحمد کاظم علی", "محمد احمد كاظم علي"),
            ("שָׂרָה", "שרה"),
            ("हिन्दी क्षेत्र", "हिन्दी क्षेत्र"),
            ("zero\u{200b}width soft\u{ad}hyphen", "zerowidth softhyphen"),
            ("Guest ٣ ۷", "guest 3 7"),
            ("李小龙 🎉", "李小龙 🎉"),
        ] {
            assert_eq!(for_search(written), searched, "{written}");
        }
    }

    #[test]
    fn apostrophes_go_and_other_punctuation_separates() {
        for (written, searched) in [
            ("Seán O’Brien", "sean obrien"),
            ("O´Brien O`Brien OʼBrien O'Brien", "obrien obrien obrien obrien"),
            ("Jean‑Luc D'Angelo", "jean luc dangelo"),
            ("Smith, J.R. (guest)/2", "smith j r guest 2"),
            ("Gal·la レオナルド・ダ・ヴィンチ", "gal la れおなるど だ ゔぃんち"),
            ("100% sure_thing!", "100 sure thing"),
            ("-- ’ ...", ""),
            ("", ""),
        ] {
            assert_eq!(for_search(written), searched, "{written}");
        }
    }

    #[test]
    fn voiced_kana_are_letters_of_their_own() {
        for c in '\u{3041}'..='\u{30ff}' {
            let searched = for_search(&c.to_string());
            assert_eq!(composed(&searched), searched, "{c}");
        }
        assert_ne!(for_search("が"), for_search("か"));
        assert_ne!(for_search("ぱ"), for_search("ば"));
    }

    #[test]
    fn umlauts_are_spelt_in_two_ways() {
        for (written, plain, long) in [
            ("Müller", "muller", Some("mueller")),
            ("MU\u{308}LLER", "muller", Some("mueller")),
            ("Ødegård", "odegard", Some("oedegaard")),
            ("Zoë Mueller", "zoe mueller", None),
        ] {
            let found = letters(written);
            assert_eq!((found.plain.as_str(), found.written_out.as_deref()), (plain, long), "{written}");
        }
    }

    #[test]
    fn identity_keeps_accents_and_nothing_else_that_is_typed_differently() {
        for (one, other) in [
            ("Ana  Botha", " ana\u{a0}botha "),
            ("José", "JOSE\u{301}"),
            ("Ａｎａ", "ana"),
            ("Seán O’Brien", "seán o'brien"),
            ("Jean‑Luc", "jean-luc"),
            ("STRASSE", "Straße"),
            ("İBRAHİM IŞIK", "ibrahim işık"),
            ("Ana\u{200b}", "ana"),
        ] {
            assert_eq!(for_identity(one), for_identity(other), "{one}");
        }
        for (one, other) in
            [("Jose", "José"), ("Ана", "Ana"), ("Ana Botha", "Anabotha"), ("O'Brien", "Obrien"), ("か", "が")]
        {
            assert_ne!(for_identity(one), for_identity(other), "{one}");
        }
    }

    #[test]
    fn doing_it_twice_changes_nothing() {
        let all = ('\0'..=char::MAX).map(String::from);
        let more = [
            "\u{e48}'\u{e38}",
            "か\u{200b}\u{3099}",
            "i\u{301}\u{307}",
            "\u{1100}'\u{1161}",
            "S\u{323}\u{307}",
            "e\u{34f}\u{301}",
        ];
        for text in all.chain(more.map(String::from)) {
            let once = for_search(&text);
            assert_eq!(for_search(&once), once, "{text} {:?}", text.escape_unicode().to_string());
            let once = for_identity(&text);
            assert_eq!(for_identity(&once), once, "{text} {:?}", text.escape_unicode().to_string());
        }
    }
}
