//! The files of a data folder and its copies: who may read them, and that no command uses the wrong folder.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Output;

use crate::{Folder, complaint, run, said, text};

/// Runs a command on a folder with the given secret.
fn with_secret(secret: &str, arguments: &[&str], folder: &Path) -> Output {
    run(&[arguments, &["--secret", secret]].concat(), folder)
}

/// The error message of such a command, which must fail.
fn complaint_with(secret: &str, arguments: &[&str], folder: &Path) -> String {
    complaint(&[arguments, &["--secret", secret]].concat(), folder)
}

/// The command that makes an organisation with an owner, so that the database is in use.
const ORGANISATION: [&str; 6] = ["user", "add", "--organization", "Old Harbour", "--email", "ana@harbour.example"];

/// The permissions of the file at a path.
fn rights(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Damages some pages in the middle of a database.
fn spoil(database: &Path) {
    let file = fs::File::options().write(true).open(database).unwrap();
    let length = file.metadata().unwrap().len();
    for page in (length / 4_096 / 4)..(length / 4_096 / 2) {
        file.write_all_at(&[0xa5; 4_096], page * 4_096).unwrap();
    }
}

#[test]
fn a_command_that_looks_after_data_never_makes_an_empty_database_and_calls_it_good() {
    let folder = Folder::new("keeping-none");
    for arguments in [
        &["rebuild", "--check"][..],
        &["rebuild"],
        &["audit", "verify"],
        &["restore", "--in-place"],
        &["user", "password", "--email", "ana@harbour.example"],
        &["user", "add", "--organization-id", "x", "--email", "ana@harbour.example"],
        &["token", "create", "--email", "ana@harbour.example", "--name", "x"],
        &["export", "--event", "x"],
    ] {
        let told = complaint(arguments, &folder.0);
        assert!(told.contains("there is no ") && told.contains("--data-dir"), "{arguments:?}: {told}");
        assert!(!folder.0.exists(), "{arguments:?} made something");
    }
}

#[test]
fn a_new_epoch_is_not_begun_in_a_database_that_holds_nobody() {
    let folder = Folder::new("keeping-empty");
    said(&ORGANISATION, &folder.0);
    let database = rusqlite::Connection::open(folder.0.join("admit.db")).unwrap();
    // tidy-allow: an empty database as nobody but its file's owner makes one
    database.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM organizations").unwrap();
    drop(database);
    let told = complaint(&["restore", "--in-place"], &folder.0);
    assert!(told.contains("holds no organisation"), "{told}");
}

#[test]
fn a_damaged_copy_is_refused_before_the_present_data_are_touched_and_damage_is_found() {
    let (folder, copy) = (Folder::new("keeping-damage"), Folder::new("keeping-damage-copy"));
    said(&ORGANISATION, &folder.0);
    said(&["backup", "--to", copy.0.to_str().unwrap()], &folder.0);
    let before = fs::read(folder.0.join("admit.db")).unwrap();
    spoil(&copy.0.join("admit.db"));
    let told = complaint(&["restore", "--from", copy.0.to_str().unwrap()], &folder.0);
    assert!(told.contains("damaged") || told.contains("malformed"), "{told}");
    assert!(fs::read(folder.0.join("admit.db")).unwrap() == before, "the database is another one");
    let run = run(&["rebuild", "--check"], &copy.0);
    let told = format!("{}{}", text(&run.stdout), text(&run.stderr));
    assert!(!run.status.success() && (told.contains("damaged: ") || told.contains("malformed")), "{told}");
    said(&["rebuild", "--check"], &folder.0);
}

#[test]
fn a_copy_holds_the_secret_that_opens_it_or_is_not_made() {
    let (folder, copies) = (Folder::new("keeping-secret"), Folder::new("keeping-secret-copies"));
    fs::create_dir_all(&copies.0).unwrap();
    let to = |name: &str| copies.0.join(name).to_str().unwrap().to_owned();
    let secret = "s".repeat(40);
    assert!(with_secret(&secret, &ORGANISATION, &folder.0).status.success());
    let told = complaint(&["backup", "--to", &to("none")], &folder.0);
    assert!(told.contains("give ADMIT_SECRET") && told.contains("--without-secret"), "{told}");
    let told = complaint_with(&"x".repeat(40), &["backup", "--to", &to("wrong")], &folder.0);
    assert!(told.contains("ADMIT_SECRET is not the one"), "{told}");
    let told = complaint(&["rebuild", "--check"], &folder.0);
    assert!(told.contains("give it as ADMIT_SECRET"), "{told}");
    assert!(!folder.0.join("secret").exists(), "no other secret is made beside it");
    assert_eq!(fs::read_dir(&copies.0).unwrap().count(), 0, "nothing is left of what failed");
    said(&["backup", "--without-secret", "--to", &to("apart")], &folder.0);
    assert!(!copies.0.join("apart/secret").exists());
    assert!(with_secret(&secret, &["backup", "--to", &to("whole")], &folder.0).status.success());
    said(&["rebuild", "--check"], &copies.0.join("whole"));
}

#[test]
fn a_restore_under_another_secret_names_both() {
    let (folder, other, copy) = (Folder::new("keeping-a"), Folder::new("keeping-b"), Folder::new("keeping-b-copy"));
    said(&ORGANISATION, &folder.0);
    said(&ORGANISATION, &other.0);
    said(&["backup", "--to", copy.0.to_str().unwrap()], &other.0);
    let told = complaint(&["restore", "--from", copy.0.to_str().unwrap()], &folder.0);
    for named in [folder.0.join("secret"), copy.0.join("secret")] {
        assert!(told.contains(named.to_str().unwrap()), "{told}");
    }
}

#[test]
fn only_their_owner_reads_a_database_and_its_copies() {
    let (folder, copy) = (Folder::new("keeping-rights"), Folder::new("keeping-rights-copy"));
    said(&ORGANISATION, &folder.0);
    said(&["backup", "--to", copy.0.to_str().unwrap()], &folder.0);
    for folder in [&folder.0, &copy.0] {
        assert_eq!(rights(folder), 0o700);
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let private = rights(&file) == 0o600 || file.ends_with("serving.lock");
            assert!(private, "{}: {:o}", file.display(), rights(&file));
        }
    }
}

#[test]
fn what_root_makes_in_a_folder_belongs_to_whom_the_folder_does() {
    const NOBODY: u32 = 65_534;
    let (folder, copy) = (Folder::new("keeping-owner"), Folder::new("keeping-owner-copy"));
    fs::create_dir_all(&folder.0).unwrap();
    if std::os::unix::fs::chown(&folder.0, Some(NOBODY), Some(NOBODY)).is_err() {
        println!("skipped: only root may give a folder away");
        return;
    }
    let all_theirs = || {
        for file in fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            assert_eq!(fs::metadata(&file).unwrap().uid(), NOBODY, "{}", file.display());
        }
    };
    said(&ORGANISATION, &folder.0);
    all_theirs();
    said(&["backup", "--to", copy.0.to_str().unwrap()], &folder.0);
    said(&["restore", "--from", copy.0.to_str().unwrap()], &folder.0);
    all_theirs();
}

/// The case of a volume that belongs to root and that a server may write to by its group.
#[test]
fn what_is_a_servers_in_a_folder_of_roots_stays_the_servers() {
    const NOBODY: u32 = 65_534;
    let folder = Folder::new("keeping-volume");
    said(&ORGANISATION, &folder.0);
    let database = folder.0.join("admit.db");
    if std::os::unix::fs::chown(&database, Some(NOBODY), Some(NOBODY)).is_err() {
        println!("skipped: only root may give a file away");
        return;
    }
    said(&["rebuild", "--check"], &folder.0);
    assert_eq!(fs::metadata(&database).unwrap().uid(), NOBODY);
}

#[test]
fn the_demo_does_not_move_in_with_somebodys_data() {
    let folder = Folder::new("keeping-demo");
    said(&ORGANISATION, &folder.0);
    let told = complaint(&["demo", "--json", "--port", "0"], &folder.0);
    assert!(told.contains("not the demo's"), "{told}");
}

#[test]
fn help_does_not_print_the_secrets_of_the_settings_file() {
    let folder = Folder::new("keeping-help");
    fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("admit.conf");
    let secret = "q".repeat(40);
    let settings = format!(
        "ADMIT_SECRET={secret}\nDATABASE_URL=postgres://u:{secret}@h/d\nSMTP_URL=smtps://u:{secret}@h\nADMIT_NODE=left\n"
    );
    fs::write(&file, settings).unwrap();
    let run = run(&["serve", "--config", file.to_str().unwrap(), "--help"], &folder.0);
    let told = text(&run.stdout);
    assert!(told.contains("[default: left]"), "the file is read: {told}");
    assert!(!told.contains(&secret), "{told}");
}

#[test]
fn a_program_reads_one_object_of_each_command_that_ends() {
    let (folder, copy) = (Folder::new("keeping-json"), Folder::new("keeping-json-copy"));
    let object = |arguments: &[&str]| {
        let printed = said(&[arguments, &["--json"]].concat(), &folder.0);
        assert_eq!(printed.lines().count(), 1, "{arguments:?}: {printed}");
        serde_json::from_str::<serde_json::Value>(&printed).unwrap()
    };
    let made = object(&ORGANISATION);
    assert!(made["organization_id"].is_string() && made["password"].is_string(), "{made}");
    let token = object(&["token", "create", "--email", "ana@harbour.example", "--days", "3"]);
    assert!(token["token"].as_str().unwrap().starts_with("admit_at_"), "{token}");
    assert!(object(&["user", "password", "--email", "ana@harbour.example"])["password"].is_string());
    let verified = object(&["audit", "verify"]);
    assert_eq!((&verified["ledgers"], &verified["broken"]), (&1.into(), &serde_json::json!([])));
    let checked = object(&["rebuild", "--check"]);
    assert_eq!((&checked["checked"], &checked["differences"]), (&true.into(), &0.into()));
    let copied = object(&["backup", "--to", copy.0.to_str().unwrap()]);
    assert_eq!(copied["to"], copy.0.to_str().unwrap());
    let restored = object(&["restore", "--from", copy.0.to_str().unwrap()]);
    assert!(Path::new(restored["aside"].as_str().unwrap()).is_dir(), "{restored}");
}
