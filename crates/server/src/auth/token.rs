//! The `Authorization: Bearer …` header.

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The bearer of a request. `None` for two headers, or another scheme.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(first), None) = (given.next(), given.next()) else { return None };
    let (scheme, token) = first.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bearer_and_nothing_else_is_a_bearer() {
        let of = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(AUTHORIZATION, line.parse().unwrap());
            }
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer  abc "]).as_deref(), Some("abc"));
        assert_eq!(of(&["Basic abc"]), None);
        assert_eq!(of(&["Bearer "]), None);
        assert_eq!(of(&["Bearer a", "Bearer b"]), None);
        assert_eq!(of(&[]), None);
    }
}
