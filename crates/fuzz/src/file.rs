//! Fuzz targets: files that people choose, such as tables of guests, exported logs and settings.

use std::io::Write as _;

use admit_app::{devices, tickets};
use admit_core::ids::EventId;
use admit_table::{Encoding, Hints, Limits, Line, Writer, unguarded};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::bytes::Bytes;
use crate::phone::Phone;
use crate::server::Server;
use crate::settings_text;

/// The largest number of rows per input.
const ROWS: usize = 200;

/// The limits per input. They are small, so that a hostile file reaches them early.
const LIMITS: Limits = Limits { rows: ROWS, columns: 512, cells: 20_000, bytes: 1_000_000 };

/// Reads a text file as a table. The first byte chooses the encoding that a person names, and whether the rules for
/// promoters apply.
pub fn sheet(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let choice = bytes.byte();
    let file = bytes.rest();
    let hints = Hints { encoding: Encoding::ALL.get(usize::from(choice / 2)).copied(), sheet: None };
    let Ok(read) = admit_table::read(file, &LIMITS, &hints) else { return };
    assert!(read.lines.len() <= ROWS && read.lines.is_sorted_by(|a, b| a.number < b.number));
    assert!(read.lines.iter().all(|line| !line.is_blank() && line.cells.iter().all(|cell| !cell.contains('\0'))));
    let _ = tickets::try_reading(file, "{}", choice % 2 == 1);
    // A table that we write reads back unchanged, and no spreadsheet takes one of its cells for a formula.
    let width = read.lines.iter().map(|line| line.cells.len()).max().unwrap_or_default().max(2);
    let header: Vec<String> = (0..width).map(|place| format!("column {place}")).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut writer = Writer::new(&header).expect("memory takes all");
    let mut rows: Vec<Vec<String>> = read.lines.into_iter().map(|line| line.cells).collect();
    for cells in &mut rows {
        cells.resize(width, String::new());
        writer.row(cells).expect("memory takes all");
    }
    let written = writer.finish().expect("memory takes all");
    let limits = Limits { rows: ROWS + 1, cells: 200_000, bytes: 10_000_000, ..LIMITS };
    let again = admit_table::read(&written, &limits, &Hints::default()).expect("what was written reads");
    let plain = |line: Line| line.cells.iter().map(|cell| unguarded(cell).to_owned()).collect::<Vec<_>>();
    assert_eq!(again.lines.into_iter().skip(1).map(plain).collect::<Vec<_>>(), rows);
}

/// Reads a workbook. The bytes are its ZIP archive, or the XML of its sheet, its texts and its styles.
pub fn workbook(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let choice = bytes.byte();
    let rest = bytes.rest();
    let file = if choice == 0 { rest.to_vec() } else { book(rest) };
    if !file.starts_with(b"PK") {
        return;
    }
    let Ok(read) = admit_table::read(&file, &LIMITS, &Hints::default()) else { return };
    assert!(read.lines.len() <= ROWS && read.lines.is_sorted_by(|a, b| a.number < b.number));
    let text: usize = read.lines.iter().flat_map(|line| &line.cells).map(String::len).sum();
    assert!(text <= LIMITS.bytes && read.lines.iter().all(|line| line.cells.len() <= LIMITS.columns));
    let _ = tickets::try_reading(&file, "{}", false);
}

/// A workbook with this sheet, these texts and these styles. `parts` has them one after the other, separated by a NUL.
fn book(parts: &[u8]) -> Vec<u8> {
    let mut parts = parts.split(|byte| *byte == 0);
    let mut part = |usual: &'static [u8]| parts.next().filter(|part| !part.is_empty()).unwrap_or(usual);
    let (sheet, texts) = (part(b"<worksheet/>"), part(b"<sst/>"));
    let styles = part(b"<styleSheet><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>");
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument";
    let first =
        format!("<Relationships><Relationship Id=\"r\" Type=\"{office}\" Target=\"xl/workbook.xml\"/></Relationships>");
    let mut out = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [
        ("[Content_Types].xml", &b"<Types/>"[..]),
        ("_rels/.rels", first.as_bytes()),
        ("xl/workbook.xml", b"<workbook xmlns:r=\"r\"><sheets><sheet name=\"Guests\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"),
        (
            "xl/_rels/workbook.xml.rels",
            b"<Relationships><Relationship Id=\"rId1\" Type=\"worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>",
        ),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/sharedStrings.xml", texts),
        ("xl/styles.xml", styles),
    ] {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        out.start_file(name, stored).expect("memory takes all");
        out.write_all(text).expect("memory takes all");
    }
    out.finish().expect("memory takes all").into_inner()
}

/// Workbooks as spreadsheets write them.
pub fn workbook_seeds() -> Vec<Vec<u8>> {
    let sheet = "<worksheet><dimension ref=\"A1:C3\"/><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"inlineStr\"><is><t>email</t></is></c>\
        <c t=\"s\"><v>1</v></c></row><row r=\"2\"><c r=\"A2\" t=\"str\"><f>1+1</f><v>Ana &amp; Bo</v></c><c r=\"C2\" s=\"1\"><v>46354.5</v></c></row>\
        <row r=\"4\"><c r=\"A4\" t=\"e\"><v>#REF!</v></c><c r=\"C4\"><v>1.5E+300</v></c></row></sheetData></worksheet>";
    let texts =
        "<sst count=\"2\" uniqueCount=\"2\"><si><t>name</t></si><si><r><t>valid</t></r><r><t>_from</t></r></si></sst>";
    let parts = format!("\u{1}{sheet}\0{texts}");
    let whole = [&b"\0"[..], &book(&parts.as_bytes()[1..])].concat();
    vec![parts.into_bytes(), whole, b"\x01<worksheet/>".to_vec()]
}

/// Reads a person's mapping of columns: JSON in the first line, then the file.
pub fn mapping(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (said, file) = text.split_once('\n').unwrap_or((&text, "name\nAna\n"));
    let _ = tickets::Mapping::parse(said);
    let _ = tickets::try_reading(file.as_bytes(), said, false);
}

/// Mappings as the web app sends them.
pub fn mapping_seeds() -> Vec<Vec<u8>> {
    [
        "{}\nname,email\nAna,a@b.c\n",
        r##"{"columns":{"Nom":"last_name","#2":"first_name","x":"ignore"},"day_first":true,"missing_codes":"make"}"##,
        "{\"statuses\":{\"Là-bas\":\"voided\"},\"empty_words_in_names\":\"name\"}\nname;status;valid_from\nNULL;Là-bas;11/12/2026\n",
        "{\"encoding\":\"Mac Roman\",\"sheet\":\"Guests\",\"new_entry_types\":\"leave_out\"}\ncode,name,type\n2.3E+13,A,VIP\n,Total,\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
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

/// Reads an exported log in JSON lines.
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

/// Reads a settings file.
pub fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(settings) = settings_text::parse(&text) else { return };
    assert!(settings.len() <= text.lines().count());
    let argument = clap::Arg::new("listen").long("listen").env("ADMIT_LISTEN").required(true);
    let known = settings.keys().all(|name| ["ADMIT_LISTEN", "ADMIT_LOG"].contains(&name.as_str()));
    let applied = settings_text::apply(clap::Command::new("admit").arg(argument), &settings);
    assert_eq!(applied.is_ok(), known, "a name that is no setting is told, and no other");
    if let Ok(command) = applied
        && let Some(value) = settings.get("ADMIT_LISTEN")
    {
        let given = command.try_get_matches_from(["admit"]).expect("a default is as good as an argument");
        assert_eq!(given.get_one::<String>("listen"), Some(value));
    }
}

/// Settings files as people write them.
pub fn settings_seeds() -> Vec<Vec<u8>> {
    ["# doors\n\nADMIT_LISTEN = 0.0.0.0:80\nADMIT_LOG=\"info\"\n", "ADMIT_LISTEN='[::]:80'\r\n", "A=1\nA=2", "B"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}
