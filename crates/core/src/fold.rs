//! Letters as people search for them: of one case, without accents, the same on the server and on a phone.
//!
//! "amelie" finds "Amélie", "lodz" finds "Łódź", "strasse" finds "Straße". Latin, Greek and Cyrillic letters lose their
//! marks; of every other script a letter stands for itself.

/// U+00C0 to U+024F: the letter without its mark; a dot where it stands for itself or for two.
const LATIN: &[u8; 400] =
    b"aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.yaaaaaaccccccccddddeeeeeeeeeegggg\
gggghhhhiiiiiiiiii..jjkkkllllll..llnnnnnn.nnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs\
bb.....cc..dd.ee.ff.....kkl...n.oo..pp.....ttt.uu..yyzz......................aaiioouuuuuuuuuueaa\
aa..ggggkkoooo..j...gg..nnaa..ooaaaaeeeeiiiioooorrrruuuusstt..hhnd..zzaaeeooooooooyylntj.q.ccl.s\
z..b..eejjqqrryy";
/// U+1E00 to U+1EFF, likewise.
const LATIN_MORE: &[u8; 256] =
    b"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrr\
ssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy.sss..aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee\
eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......";

/// The text as it is searched for: lower case, no accents, every run of white space one space, none at the ends.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            push(&mut out, c);
        }
    }
    if out.ends_with(' ') {
        out.pop();
    }
    out
}

fn push(out: &mut String, c: char) {
    match c {
        '\0'..='\u{7f}' => out.push(c),
        'ß' => out.push_str("ss"),
        'æ' | 'ǽ' | 'ǣ' => out.push_str("ae"),
        'œ' => out.push_str("oe"),
        'þ' => out.push_str("th"),
        'ĳ' => out.push_str("ij"),
        // Marks that stand behind their letter: text may come decomposed.
        '\u{300}'..='\u{36f}' => {}
        '\u{c0}'..='\u{24f}' => out.push(plain(c, LATIN, 0xc0)),
        '\u{1e00}'..='\u{1eff}' => out.push(plain(c, LATIN_MORE, 0x1e00)),
        _ => out.push(greek_or_cyrillic(c)),
    }
}

fn plain(c: char, table: &[u8], first: u32) -> char {
    let place = usize::try_from(u32::from(c) - first).unwrap_or(usize::MAX);
    table.get(place).filter(|letter| **letter != b'.').map_or(c, |letter| char::from(*letter))
}

fn greek_or_cyrillic(c: char) -> char {
    match c {
        '\u{390}'
        | '\u{3af}'
        | '\u{3ca}'
        | '\u{1f30}'..='\u{1f37}'
        | '\u{1f76}'..='\u{1f77}'
        | '\u{1fbe}'
        | '\u{1fd0}'..='\u{1fd3}'
        | '\u{1fd6}'..='\u{1fd7}' => 'ι',
        '\u{3ac}'
        | '\u{1f00}'..='\u{1f07}'
        | '\u{1f70}'..='\u{1f71}'
        | '\u{1f80}'..='\u{1f87}'
        | '\u{1fb0}'..='\u{1fb4}'
        | '\u{1fb6}'..='\u{1fb7}' => 'α',
        '\u{3ad}' | '\u{3f5}' | '\u{1f10}'..='\u{1f15}' | '\u{1f72}'..='\u{1f73}' => 'ε',
        '\u{3ae}'
        | '\u{1f20}'..='\u{1f27}'
        | '\u{1f74}'..='\u{1f75}'
        | '\u{1f90}'..='\u{1f97}'
        | '\u{1fc2}'..='\u{1fc4}'
        | '\u{1fc6}'..='\u{1fc7}' => 'η',
        '\u{3b0}'
        | '\u{3cb}'
        | '\u{3cd}'
        | '\u{1f50}'..='\u{1f57}'
        | '\u{1f7a}'..='\u{1f7b}'
        | '\u{1fe0}'..='\u{1fe3}'
        | '\u{1fe6}'..='\u{1fe7}' => 'υ',
        '\u{3c2}' | '\u{3f2}' => 'σ',
        '\u{3cc}' | '\u{1f40}'..='\u{1f45}' | '\u{1f78}'..='\u{1f79}' => 'ο',
        '\u{3ce}'
        | '\u{1f60}'..='\u{1f67}'
        | '\u{1f7c}'..='\u{1f7d}'
        | '\u{1fa0}'..='\u{1fa7}'
        | '\u{1ff2}'..='\u{1ff4}'
        | '\u{1ff6}'..='\u{1ff7}' => 'ω',
        '\u{3f1}' | '\u{1fe4}'..='\u{1fe5}' => 'ρ',
        '\u{439}' | '\u{45d}' | '\u{4e3}' | '\u{4e5}' => 'и',
        '\u{450}'..='\u{451}' | '\u{4d7}' => 'е',
        '\u{453}' => 'г',
        '\u{457}' => 'і',
        '\u{45c}' => 'к',
        '\u{45e}' | '\u{4ef}' | '\u{4f1}' | '\u{4f3}' => 'у',
        '\u{4c2}' | '\u{4dd}' => 'ж',
        '\u{4d1}' | '\u{4d3}' => 'а',
        '\u{4db}' => 'ә',
        '\u{4df}' => 'з',
        '\u{4eb}' => 'ө',
        '\u{4ed}' => 'э',
        '\u{4f5}' => 'ч',
        '\u{4f9}' => 'ы',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn accents_and_case_make_no_difference() {
        for (written, searched) in [
            ("Amélie Brânză", "amelie branza"),
            ("AMÉLIE", "amelie"),
            ("Ame\u{301}lie", "amelie"),
            ("Łódź", "lodz"),
            ("Straße", "strasse"),
            ("STRAẞE", "strasse"),
            ("Ægir Þór", "aegir thor"),
            ("Nguyễn Thị Ánh", "nguyen thi anh"),
            ("İpek Işık", "ipek isik"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("Алёна Йовчева", "алена иовчева"),
            ("  Two \t  words ", "two words"),
        ] {
            assert_eq!(fold(written), searched, "{written}");
        }
    }

    #[test]
    fn what_has_no_accents_stays_as_it_is() {
        for text in ["李小龙", "محمد", "o'neill-smith", "100% sure_thing!", "שרה", "ひらがな", ""] {
            assert_eq!(fold(text), text);
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for c in ('\0'..=char::MAX).filter(|c| !c.is_control()) {
            let once = fold(&c.to_string());
            assert_eq!(fold(&once), once, "{c} U+{:04X}", u32::from(c));
        }
    }
}
