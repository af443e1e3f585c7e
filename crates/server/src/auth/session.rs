//! The browser's session cookie: `HttpOnly`, `SameSite=Lax`, and under TLS `Secure` with the `__Host-` prefix.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::config::Settings;

const PLAIN: &str = "admit_session";
const SECURE: &str = "__Host-admit_session";

fn name(settings: &Settings) -> &'static str {
    if settings.is_https() { SECURE } else { PLAIN }
}

/// The secret in the session cookie; `None` if the request brings none.
pub fn read(settings: &Settings, headers: &HeaderMap) -> Option<String> {
    let name = name(settings);
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).filter(|value| !value.is_empty())
}

/// The `Set-Cookie` header that gives a browser its session for `seconds`.
pub fn set(settings: &Settings, secret: &str, seconds: i64) -> HeaderValue {
    cookie(settings, secret, seconds)
}

/// The `Set-Cookie` header that removes the session.
pub fn clear(settings: &Settings) -> HeaderValue {
    cookie(settings, "", 0)
}

fn cookie(settings: &Settings, secret: &str, seconds: i64) -> HeaderValue {
    let secure = if settings.is_https() { "; Secure" } else { "" };
    let text = format!("{}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}", name(settings));
    // A secret is printable ASCII. If it ever were not, the cookie is removed instead of being broken.
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("admit_session=; Path=/; Max-Age=0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_reads_back_among_others() {
        let settings = Settings::default();
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "theme=dark; admit_session=abc; x=y".parse().unwrap());
        assert_eq!(read(&settings, &headers).as_deref(), Some("abc"));
    }

    #[test]
    fn under_tls_only_the_host_bound_cookie_counts() {
        let settings = Settings::default().with_public_url("https://a.example").unwrap();
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "admit_session=planted".parse().unwrap());
        assert_eq!(read(&settings, &headers), None);
        headers.append(COOKIE, "__Host-admit_session=mine".parse().unwrap());
        assert_eq!(read(&settings, &headers).as_deref(), Some("mine"));
        let set = set(&settings, "mine", 60);
        let text = set.to_str().unwrap();
        for part in ["__Host-admit_session=mine", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
