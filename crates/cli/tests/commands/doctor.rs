//! `admit doctor`, and settings as an operations team gives them.

use super::*;
use crate::private_redis::Redis;

fn doctor(folder: &Path, environment: &[(&str, &str)]) -> (bool, Value) {
    let mut command = admit(&["doctor", "--json", "--listen", "127.0.0.1:9"]);
    command.arg("--data-dir").arg(folder).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let told = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (output.status.success(), told)
}
fn check<'a>(told: &'a Value, name: &str) -> &'a Value {
    let found = told["checks"].as_array().unwrap().iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {told}"))
}
/// A data folder that a server has served.
fn served(name: &str) -> Folder {
    let folder = Folder::new(name);
    said(&["user", "add", "--organization", "Club", "--email", "a@b.example"], &folder.0);
    folder
}

#[test]
fn the_doctor_is_green_where_nothing_is_wrong() {
    let folder = served("doctor-green");
    let (fine, told) = doctor(&folder.0, &[("PUBLIC_URL", "https://club.example")]);
    assert!(fine && told["ok"] == true, "{told}");
    for name in ["settings", "tls", "secret", "database", "clock", "disk", "objects", "organisation"] {
        assert_eq!(check(&told, name)["condition"], "ok", "{told}");
    }
    for name in ["redis", "mail", "server"] {
        assert_eq!(check(&told, name)["condition"], "off", "{told}");
    }
}

#[test]
fn a_wrong_secret_is_told_with_its_fix() {
    let folder = served("doctor-secret");
    let (fine, told) = doctor(&folder.0, &[("ADMIT_SECRET", &"x".repeat(40))]);
    let secret = check(&told, "secret");
    assert!(!fine && secret["condition"] == "failed", "{told}");
    assert!(secret["fix"].as_str().unwrap().contains("ADMIT_SECRET"), "{told}");
}

#[test]
fn a_database_that_nobody_serves_is_told_with_its_fix() {
    let folder = served("doctor-database");
    let secret = "x".repeat(40);
    let address = "postgres://admit:wrong@127.0.0.1:9/admit";
    let (fine, told) = doctor(&folder.0, &[("ADMIT_SECRET", &secret), ("DATABASE_URL", address)]);
    let database = check(&told, "database");
    assert!(!fine && database["condition"] == "failed", "{told}");
    assert!(database["fix"].as_str().unwrap().contains("DATABASE_URL"), "{told}");
    assert!(!told.to_string().contains("wrong"), "no password is repeated: {told}");
}

#[test]
fn looking_makes_nothing_that_the_server_could_not_read() {
    let folder = served("doctor-tls");
    let (fine, told) = doctor(&folder.0, &[("ADMIT_TLS_SELF_SIGNED", "true")]);
    assert!(fine && check(&told, "tls")["condition"] == "ok", "{told}");
    assert!(!folder.0.join("tls").exists(), "an authority of whoever looked");
    let file = folder.0.join("admit.conf");
    std::fs::write(&file, "ADMIT_TLS_SELF_SIGNED=true\n").unwrap();
    let (_, from_file) = doctor(&folder.0, &[("ADMIT_CONFIG", file.to_str().unwrap())]);
    assert_eq!(check(&from_file, "tls"), check(&told, "tls"), "the same from a file");
}

#[test]
fn a_mail_server_that_is_away_is_a_failure_with_its_fix() {
    let folder = served("doctor-mail");
    let (fine, told) = doctor(&folder.0, &[("SMTP_URL", "smtp://127.0.0.1:9"), ("SMTP_FROM", "a@b.example")]);
    let mail = check(&told, "mail");
    assert!(!fine && mail["condition"] == "failed", "it is set up, and no pass would be mailed: {told}");
    assert!(mail["fix"].as_str().unwrap().contains("SMTP_URL"), "{told}");
}

#[test]
fn a_redis_by_tls_is_green_where_its_authority_is_trusted() {
    let (folder, redis) = (served("doctor-redis"), Redis::start_with_tls());
    let (url, authority) = (redis.tls_url(), redis.authority().display().to_string());
    let (fine, told) = doctor(&folder.0, &[("REDIS_URL", &url), ("SSL_CERT_FILE", &authority)]);
    assert!(fine && check(&told, "redis")["condition"] == "ok", "{told}");
    let (fine, told) = doctor(&folder.0, &[("REDIS_URL", &url)]);
    let found = check(&told, "redis");
    assert!(!fine && found["condition"] == "failed", "{told}");
    assert!(found["says"].as_str().unwrap().contains("UnknownIssuer"), "it says why: {told}");
    assert!(found["fix"].as_str().unwrap().contains("SSL_CERT_FILE"), "{told}");
}

#[tokio::test]
async fn the_doctor_asks_a_running_server() {
    let folder = Folder::new("doctor-url");
    let (child, told) = demo(&folder.0);
    let url = told["url"].as_str().unwrap().to_owned();
    let output = admit(&["doctor", "--url", &url]).output().unwrap();
    assert!(output.status.success() && text(&output.stdout).contains("database"), "{}", text(&output.stdout));
    stop(child);
    let output = admit(&["doctor", "--url", &url]).output().unwrap();
    assert!(!output.status.success() && text(&output.stderr).contains("/readyz"));
}

#[test]
fn a_secret_may_lie_in_a_file_of_its_own() {
    let folder = served("doctor-file");
    let kept = folder.0.join("elsewhere");
    std::fs::rename(folder.0.join("secret"), &kept).unwrap();
    let (fine, told) = doctor(&folder.0, &[]);
    assert!(!fine && check(&told, "secret")["condition"] == "failed", "{told}");
    let path = kept.to_str().unwrap();
    let (fine, told) = doctor(&folder.0, &[("ADMIT_SECRET_FILE", path)]);
    assert!(fine && check(&told, "secret")["condition"] == "ok", "{told}");
    let mut both = admit(&["doctor"]);
    both.arg("--data-dir").arg(&folder.0).env("ADMIT_SECRET", "x".repeat(40)).env("ADMIT_SECRET_FILE", path);
    let output = both.output().unwrap();
    assert!(text(&output.stderr).contains("ADMIT_SECRET and ADMIT_SECRET_FILE are both set"));
}

#[test]
fn a_mistyped_variable_is_told_with_the_one_that_is_meant() {
    let folder = served("doctor-typo");
    let mut command = admit(&["doctor"]);
    let output = command.arg("--data-dir").arg(&folder.0).env("ADMIT_LISTN", "0.0.0.0:80").output().unwrap();
    assert!(text(&output.stderr).contains("perhaps ADMIT_LISTEN is meant"), "{}", text(&output.stderr));
}

#[test]
fn a_demo_does_not_pretend_to_use_another_database() {
    let folder = Folder::new("demo-database");
    let mut command = admit(&["demo", "--json", "--port", "0"]);
    command.arg("--data-dir").arg(&folder.0).env("DATABASE_URL", "postgres://127.0.0.1:9/x");
    let output = command.output().unwrap();
    assert!(!output.status.success() && text(&output.stderr).contains("DATABASE_URL is set"));
    assert!(!folder.0.exists(), "nothing was made");
}

#[test]
fn every_command_has_a_page_and_shells_complete_them() {
    let folder = Folder::new("manual");
    let output = admit(&["manual", "pages"]).arg(&folder.0).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    for page in ["admit.1", "admit-serve.1", "admit-doctor.1"] {
        assert!(folder.0.join(page).exists(), "{page}");
    }
    let output = admit(&["manual", "completions", "bash"]).output().unwrap();
    assert!(text(&output.stdout).contains("--trusted-proxies"));
}

#[test]
fn the_page_of_settings_is_what_the_commands_say() {
    let output = admit(&["manual", "settings"]).output().unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    assert_eq!(
        std::fs::read_to_string(page).unwrap(),
        text(&output.stdout),
        "`admit manual settings > docs/settings.md` writes it anew"
    );
}
