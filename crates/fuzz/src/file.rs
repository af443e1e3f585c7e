//! Files that people choose: tables of guests, exported logs, settings.

use admit_app::{devices, sheet, tickets};
use admit_core::ids::EventId;

use crate::bytes::Bytes;
use crate::phone::Phone;
use crate::server::Server;
use crate::settings_file;

/// Rows that one try may have.
const ROWS: usize = 200;

/// A CSV file; the first byte says whose rules apply.
pub fn sheet(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let promoters = bytes.byte() % 2 == 1;
    let file = bytes.rest();
    let Ok(read) = sheet::read(file, ROWS) else { return };
    assert!(read.lines.len() <= ROWS && read.lines.is_sorted_by(|a, b| a.number < b.number));
    let _ = tickets::try_reading(&read, promoters);
    // What we write is read back as it was, and no cell of it is a formula to a spreadsheet.
    let width = read.lines.iter().map(|line| line.cells.len()).max().unwrap_or_default().max(2);
    let header: Vec<String> = (0..width).map(|place| format!("column {place}")).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut writer = sheet::Writer::new(&header).expect("memory takes all");
    let mut rows: Vec<Vec<String>> = read.lines.into_iter().map(|line| line.cells).collect();
    for cells in &mut rows {
        cells.resize(width, String::new());
        writer.row(cells).expect("memory takes all");
    }
    let written = writer.finish().expect("memory takes all");
    let again = sheet::read(&written, ROWS).expect("what was written reads");
    assert_eq!(again.lines.into_iter().map(|line| line.cells).collect::<Vec<_>>(), rows);
}

/// Files as people have them.
pub fn sheet_seeds() -> Vec<Vec<u8>> {
    [
        "name,email,phone,party_size,guest_list,entry_type,zone\r\nZoë Ámel,z@x.org,+49 1,2,Friends,VIP,vip\r\n",
        "\u{feff}barcode;status;entry_limit;gates;valid_from;expires_at\nA-1;active;2;north|vip;2026-06-07 19:30;\n'=x;voided;1;;;\n",
        "Order code\tPosition\tAttendee name\tSecret\tProduct\n\"Q1\nW\"\t1\t\"O'Neil, \"\"X\"\"\"\tabc\tT-Shirt\n",
        "Order #,Attendee #,First Name,Last Name,Email,Ticket Type,Barcode\n1,2,A,B,a@b.c,General,123\n",
        "external_id,first_name,last_name,note,flag\n7,A,B,+1,\n7,A,B,=cmd(),blue\n,,,,\n8,'@x,C\n",
    ]
    .map(|text| [b"\0", text.as_bytes()].concat())
    .to_vec()
}

/// An exported log: JSON lines.
pub fn log(bytes: &[u8]) {
    let event_id = EventId::new("event").expect("an id");
    let Ok((scans, wrong)) = devices::try_reading_log(bytes, &event_id) else { return };
    let lines = String::from_utf8_lossy(bytes).lines().filter(|line| !line.trim().is_empty()).count();
    assert!(scans + wrong > 0 && scans + wrong <= lines, "each line is a scan or is named as wrong");
}

/// A log as a phone exports it.
pub fn log_seeds() -> Vec<Vec<u8>> {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    for code in ["A-1", "A-2", "P-4"] {
        phone.scan(code);
    }
    phone.input(admit_core::wire::engine::Input::Export);
    let text = phone.effects.iter().find_map(|effect| match effect {
        admit_core::wire::engine::Effect::Export { text, .. } => Some(text.clone()),
        _ => None,
    });
    let text = text.expect("the phone exports");
    vec![text.clone().into_bytes(), format!("\u{feff}{text}\n\n{{}}\r\n").into_bytes()]
}

/// The file of settings.
pub fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(settings) = settings_file::parse(&text) else { return };
    assert!(settings.len() <= text.lines().count());
    let argument = clap::Arg::new("listen").long("listen").env("ADMIT_LISTEN").required(true);
    let known = settings.keys().all(|name| ["ADMIT_LISTEN", "ADMIT_LOG"].contains(&name.as_str()));
    let applied = settings_file::apply(clap::Command::new("admit").arg(argument), &settings);
    assert_eq!(applied.is_ok(), known, "a name that is no setting is told, and no other");
    if let Ok(command) = applied
        && let Some(value) = settings.get("ADMIT_LISTEN")
    {
        let given = command.try_get_matches_from(["admit"]).expect("a default is as good as an argument");
        assert_eq!(given.get_one::<String>("listen"), Some(value));
    }
}

/// Files as people write them.
pub fn settings_seeds() -> Vec<Vec<u8>> {
    ["# doors\n\nADMIT_LISTEN = 0.0.0.0:80\nADMIT_LOG=\"info\"\n", "ADMIT_LISTEN='[::]:80'\r\n", "A=1\nA=2", "B"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}
