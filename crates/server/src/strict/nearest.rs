//! Finds the known name that the writer of an unknown one most likely meant.

/// Names that other programs use, each with this API's name for the same thing. This API's name is suggested only where
/// the operation knows it.
const SYNONYMS: [(&str, &str); 21] = [
    ("query", "q"),
    ("search", "q"),
    ("text", "q"),
    ("filter", "q"),
    ("term", "q"),
    ("page", "cursor"),
    ("after", "cursor"),
    ("pagetoken", "cursor"),
    ("perpage", "limit"),
    ("pagesize", "limit"),
    ("count", "limit"),
    ("first", "limit"),
    ("tz", "time_zone"),
    ("mail", "email"),
    ("mobile", "phone"),
    ("persons", "party_size"),
    ("guests", "party_size"),
    ("count", "party_size"),
    ("code", "barcode"),
    ("location", "venue"),
    ("title", "name"),
];
/// The most known names that an answer lists if none is near.
const LISTED: usize = 12;
/// The similarity, from 0 to 1, from which a name is offered for another.
const ALIKE: f64 = 0.75;

/// Advice about the unknown `name`: the near known name, else a list of the known ones.
pub fn advice(name: &str, kind: &str, known: &[&str]) -> String {
    if let Some(near) = nearest(name, known) {
        return format!("Did you mean `{near}`?");
    }
    if known.is_empty() {
        return format!("No {kind}s are known here: leave it out.");
    }
    if known.len() > LISTED {
        return format!("/openapi.json lists the {kind}s that are known.");
    }
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("Known {kind}s: {}.", names.join(", "))
}

/// The known name that was probably meant; `None` if there is none. The same name in other case or separators comes
/// first, then a usual synonym, then a name that differs by a typing slip. Last comes a known name that contains `name`
/// or is contained in it.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let folded = fold(name);
    if folded.is_empty() {
        return None;
    }
    let same = known.iter().copied().find(|one| fold(one) == folded);
    let synonyms = SYNONYMS.iter().filter(|(word, _)| *word == folded);
    let synonym = || synonyms.filter_map(|(_, ours)| known.iter().copied().find(|one| one == ours)).next();
    let alike = |one: &&'a str| strsim::normalized_damerau_levenshtein(&folded, &fold(one));
    let slip = || {
        let best = known.iter().copied().max_by(|a, b| alike(a).total_cmp(&alike(b)));
        best.filter(|one| alike(one) >= ALIKE)
    };
    let contained = || {
        let holds = |one: &&'a str| {
            let one = fold(one);
            let shorter = one.len().min(folded.len());
            shorter >= 3 && (one.contains(&folded) || folded.contains(&one))
        };
        known.iter().copied().filter(holds).max_by(|a, b| alike(a).total_cmp(&alike(b)))
    };
    same.or_else(synonym).or_else(slip).or_else(contained)
}

/// A name without case and separators, for comparing.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: [&str; 8] =
        ["name", "email", "phone", "party_size", "note", "external_id", "guest_list_id", "entry_type_id"];
    const EVENT: [&str; 6] = ["name", "venue", "time_zone", "starts_at", "ends_at", "staff_pin"];
    const LIST: [&str; 4] = ["limit", "cursor", "q", "entered"];

    #[test]
    fn the_name_that_is_meant_is_offered() {
        let cases: [(&str, &[&str], &str); 18] = [
            ("partysize", &GUEST, "party_size"),
            ("partySize", &GUEST, "party_size"),
            ("party-size", &GUEST, "party_size"),
            ("party_siez", &GUEST, "party_size"),
            ("nmae", &GUEST, "name"),
            ("e_mail", &GUEST, "email"),
            ("mail", &GUEST, "email"),
            ("guest_list", &GUEST, "guest_list_id"),
            ("telephone", &GUEST, "phone"),
            ("size", &GUEST, "party_size"),
            ("timezone", &EVENT, "time_zone"),
            ("TimeZone", &EVENT, "time_zone"),
            ("tz", &EVENT, "time_zone"),
            ("pin", &EVENT, "staff_pin"),
            ("start", &EVENT, "starts_at"),
            ("query", &LIST, "q"),
            ("search", &LIST, "q"),
            ("per_page", &LIST, "limit"),
        ];
        for (name, known, meant) in cases {
            assert_eq!(nearest(name, known), Some(meant), "{name}");
        }
    }

    #[test]
    fn where_none_is_near_the_known_ones_are_listed_if_they_are_few() {
        assert_eq!(advice("shoe", "parameter", &LIST), "Known parameters: `limit`, `cursor`, `q`, `entered`.");
        assert_eq!(advice("shoe", "parameter", &[]), "No parameters are known here: leave it out.");
        let many: Vec<String> = (0..30).map(|number| format!("member_{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(advice("shoe", "field", &many), "/openapi.json lists the fields that are known.");
        assert_eq!(nearest("_", &LIST), None);
    }

    #[test]
    fn a_synonym_is_offered_only_where_it_is_known() {
        assert_eq!(nearest("count", &LIST), Some("limit"));
        assert_eq!(nearest("count", &GUEST), Some("party_size"));
        assert_eq!(nearest("query", &GUEST), None);
    }
}
