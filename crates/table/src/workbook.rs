//! Reads XLSX workbooks: one sheet, as text, with everything bounded before it is read.
//!
//! The parts of the archive that matter are inflated under a bound and packed again, uncompressed, for the reader. So
//! no size that the archive claims is trusted, and no count in its XML makes the reader reserve memory.

use std::io::{Cursor, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{DataRef, ExcelDateTime, Reader as _, SheetType, SheetVisible, Xlsx, XlsxError};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::limits::{Limits, Meter, Refused};
use crate::rows::{Format, Line, Rows};

/// Most entries of an archive that are read.
const ENTRIES: usize = 2_000;
/// Integers from here on have lost digits, since a spreadsheet keeps only fifteen.
const EXACT_BELOW: f64 = 1e15;

/// Whether the bytes are an archive, as an XLSX file is.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Fails for files that people take for tables and that cannot be read. The error says what to do with them.
pub(crate) fn refuse_others(bytes: &[u8]) -> Result<(), Refused> {
    let is_xml = |bytes: &[u8]| {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1_000)]).to_ascii_lowercase();
        let head = head.trim_start_matches(['\u{feff}', ' ', '\r', '\n', '\t']);
        ["<!doctype html", "<html", "<table", "<?xml"].iter().any(|mark| head.starts_with(mark))
    };
    if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return Err(Refused::new("is an old Excel file (XLS): save it as XLSX or CSV"));
    }
    if bytes.starts_with(b"%PDF") {
        return Err(Refused::new("is a PDF: export the list as CSV or XLSX"));
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return Err(Refused::new("is compressed (gzip): unpack it first"));
    }
    if is_xml(bytes) {
        return Err(Refused::new("is a web page or XML: save it as CSV or XLSX"));
    }
    Ok(())
}

/// Reads one sheet of a workbook: the named one, otherwise the first visible one with a header and a row.
pub(crate) fn read(bytes: &[u8], limits: &Limits, sheet: Option<&str>) -> Result<Rows, Refused> {
    let packed = repacked(bytes, limits)?;
    // If a hostile file makes the reader panic, the process must not end.
    let read = catch_unwind(AssertUnwindSafe(|| read_sheets(packed, limits, sheet)));
    read.unwrap_or_else(|_| Err(unreadable("its XML makes no sense")))
}

fn unreadable(why: impl std::fmt::Display) -> Refused {
    Refused::new(format!("is no XLSX workbook that can be read ({why}): open it in a spreadsheet and save it again"))
}

/// The archive's parts that hold the tables, inflated and packed without compression.
fn repacked(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, Refused> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
    if archive.len() > ENTRIES {
        return Err(Refused::new(format!("has more than {ENTRIES} parts inside: it is no ordinary XLSX workbook")));
    }
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut room = limits.bytes as u64;
    for place in 0..archive.len() {
        let mut entry = archive.by_index(place).map_err(unreadable)?;
        let name = entry.name().map_err(unreadable)?.into_owned();
        if !is_needed(&name) {
            continue;
        }
        if entry.encrypted() {
            return Err(Refused::new("is protected by a password: save it without one"));
        }
        let mut part = Vec::new();
        entry.by_ref().take(room + 1).read_to_end(&mut part).map_err(unreadable)?;
        room = room.checked_sub(part.len() as u64).ok_or_else(|| {
            Refused::new(format!("unpacks to more than {} MB: split it, or save it as CSV", limits.bytes / 1_000_000))
        })?;
        disarm(&mut part);
        out.start_file(&name, options).map_err(unreadable)?;
        out.write_all(&part).map_err(unreadable)?;
    }
    Ok(out.finish().map_err(unreadable)?.into_inner())
}

fn is_needed(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_xml = name.ends_with(".xml") || name.ends_with(".rels");
    let is_decoration = [
        "media/",
        "drawings/",
        "theme/",
        "charts/",
        "embeddings/",
        "docprops/",
        "customxml/",
        "pivot",
        "comments",
        "printersettings",
    ];
    is_xml && !is_decoration.iter().any(|part| name.contains(part))
}

/// Overwrites two claims in a part of a workbook that the XLSX reader would trust: the size of a sheet, and the number
/// of texts in a table.
fn disarm(part: &mut [u8]) {
    let head = part.len().min(16 * 1024);
    for name in [&b"uniqueCount"[..], b"dimension"] {
        let mut from = 0;
        while let Some(found) = part[from..head].windows(name.len()).position(|window| window == name) {
            let at = from + found;
            if name == b"dimension" {
                // `<dimension ref="A1:C9"/>` gets another name, which readers ignore together with its attributes.
                part[at..at + name.len()].copy_from_slice(b"dimensios");
            } else {
                part[at..at + name.len()].copy_from_slice(b"uniqueCoun_");
            }
            from = at + name.len();
        }
    }
}

fn read_sheets(packed: Vec<u8>, limits: &Limits, wanted: Option<&str>) -> Result<Rows, Refused> {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(packed)).map_err(unreadable)?;
    let sheets = book.sheets_metadata().iter();
    let visible = sheets.filter(|one| one.visible == SheetVisible::Visible && one.typ == SheetType::WorkSheet);
    let names: Vec<String> = visible.map(|one| one.name.clone()).collect();
    let tried: Vec<&String> = match wanted {
        Some(wanted) => names.iter().filter(|name| name.as_str() == wanted).collect(),
        None => names.iter().collect(),
    };
    if tried.is_empty() {
        let message = match wanted {
            Some(wanted) => format!("has no sheet {wanted}: it has {}", names.join(", ")),
            None => "has no sheet that is shown".to_owned(),
        };
        return Err(Refused::new(message));
    }
    let mut meter = Meter::new(limits);
    let mut best: Option<Rows> = None;
    for name in tried {
        let lines = read_sheet(&mut book, name, &mut meter)?;
        let is_table = lines.len() > 1;
        if is_table || best.is_none() && !lines.is_empty() {
            let others = names.iter().filter(|one| *one != name).cloned().collect();
            best = Some(Rows { format: Format::Workbook { sheet: name.clone(), others }, directive: None, lines });
        }
        if is_table {
            break;
        }
    }
    best.ok_or_else(|| Refused::new("is empty: its first row must name the columns"))
}

fn read_sheet(book: &mut Xlsx<Cursor<Vec<u8>>>, name: &str, meter: &mut Meter<'_>) -> Result<Vec<Line>, Refused> {
    let mut reader = match book.worksheet_cells_reader(name) {
        Ok(reader) => reader,
        // A sheet without rows may lack the element that would hold them.
        Err(XlsxError::NotAWorksheet(kind)) if kind == "worksheet" => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut lines: Vec<Line> = Vec::new();
    while let Some(cell) = reader.next_cell().map_err(unreadable)? {
        let (row, column) = cell.get_position();
        let text = text(cell.get_value());
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let number = u64::from(row) + 1;
        let column = column as usize;
        // Cells come in order. A file with rows out of order is refused.
        if lines.last().is_none_or(|line| line.number != number) {
            if lines.last().is_some_and(|line| line.number > number) {
                return Err(unreadable(format!("row {number} stands below a later one")));
            }
            meter.row()?;
            lines.push(Line { number, cells: Vec::new() });
        }
        let Some(line) = lines.last_mut() else { continue };
        if column >= line.cells.len() {
            meter.width(number, column + 1)?;
            meter.cells(column + 1 - line.cells.len(), 0)?;
            line.cells.resize(column + 1, String::new());
        }
        meter.cells(0, text.len())?;
        line.cells[column] = text.to_owned();
    }
    Ok(lines)
}

/// The text of a cell as a person reads it in the spreadsheet, but with dates as ISO 8601 and numbers without grouping.
fn text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number_text(*number),
        DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTime(at) => date_text(at),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

fn number_text(number: f64) -> String {
    if number.fract() != 0.0 || !number.is_finite() {
        number.to_string()
    } else if number.abs() < EXACT_BELOW {
        format!("{number:.0}")
    } else {
        // The number is written as spreadsheets show it, so that nobody takes it for the digits that were typed.
        format!("{number:E}").replace('E', "E+")
    }
}

fn date_text(at: &ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
    if at.is_duration() || at.as_f64() < 1.0 {
        format!("{hour:02}:{minute:02}:{second:02}")
    } else if (hour, minute, second) == (0, 0, 0) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, read as read_any};

    const LIMITS: Limits = Limits { rows: 1_000, columns: 512, cells: 100_000, bytes: 2_000_000 };

    /// A workbook with these parts, in addition to those that every workbook has.
    fn book(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut out = ZipWriter::new(Cursor::new(Vec::new()));
        let usual = [
            ("[Content_Types].xml", "<Types/>"),
            (
                "_rels/.rels",
                "<Relationships><Relationship Id=\"r\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>",
            ),
            (
                "xl/workbook.xml",
                "<workbook xmlns:r=\"r\"><sheets><sheet name=\"Cover\" sheetId=\"1\" r:id=\"rId1\"/><sheet name=\"Guests\" sheetId=\"2\" r:id=\"rId2\"/></sheets></workbook>",
            ),
            (
                "xl/_rels/workbook.xml.rels",
                "<Relationships><Relationship Id=\"rId1\" Type=\"worksheet\" Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"rId2\" Type=\"worksheet\" Target=\"worksheets/sheet2.xml\"/></Relationships>",
            ),
            (
                "xl/styles.xml",
                "<styleSheet><cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"22\"/></cellXfs></styleSheet>",
            ),
            ("xl/worksheets/sheet1.xml", "<worksheet><sheetData/></worksheet>"),
        ];
        for (name, text) in usual.iter().filter(|(name, _)| !parts.iter().any(|(one, _)| one == name)).chain(parts) {
            out.start_file(*name, SimpleFileOptions::default()).unwrap();
            out.write_all(text.as_bytes()).unwrap();
        }
        out.finish().unwrap().into_inner()
    }
    fn message(bytes: &[u8]) -> String {
        read_any(bytes, &LIMITS, &Hints::default()).unwrap_err().0
    }

    const GUESTS: &str = "<worksheet><dimension ref=\"A1:XFD1048576\"/><sheetData>\
        <row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>name</t></is></c><c r=\"B1\" t=\"s\"><v>0</v></c><c r=\"D1\" t=\"inlineStr\"><is><t>code</t></is></c></row>\
        <row r=\"3\"><c r=\"A3\" t=\"inlineStr\"><is><t> Zoë </t></is></c><c r=\"B3\" s=\"1\"><v>46354.5</v></c><c r=\"D3\"><v>23820220588971</v></c></row>\
        <row r=\"4\"><c r=\"A4\" t=\"e\"><v>#REF!</v></c><c r=\"B4\" s=\"1\"><v>46354</v></c><c r=\"D4\"><v>12345678901234567890</v></c></row>\
        </sheetData></worksheet>";
    const TEXTS: &str = "<sst count=\"1\" uniqueCount=\"99999999999999\"><si><t>valid_from</t></si></sst>";

    #[test]
    fn a_sheet_is_read_as_its_csv_would_be() {
        let rows = read_any(
            &book(&[("xl/worksheets/sheet2.xml", GUESTS), ("xl/sharedStrings.xml", TEXTS)]),
            &LIMITS,
            &Hints::default(),
        )
        .unwrap();
        assert_eq!(rows.format, Format::Workbook { sheet: "Guests".into(), others: vec!["Cover".into()] });
        let cells: Vec<(u64, Vec<&str>)> =
            rows.lines.iter().map(|line| (line.number, line.cells.iter().map(String::as_str).collect())).collect();
        assert_eq!(
            cells,
            [
                (1, vec!["name", "valid_from", "", "code"]),
                (3, vec!["Zoë", "2026-11-28T12:00:00", "", "23820220588971"]),
                (4, vec!["#REF!", "2026-11-28", "", "1.2345678901234567E+19"]),
            ]
        );
    }

    #[test]
    fn what_is_no_table_says_what_to_do() {
        assert!(message(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").contains("XLSX"));
        assert!(message(b"%PDF-1.7").contains("PDF"));
        assert!(message(b"\n<!DOCTYPE html><table>").contains("web page"));
        assert!(message(b"PK\x03\x04 and nothing").contains("save it again"));
        let empty = message(&book(&[("xl/worksheets/sheet2.xml", "<worksheet/>")]));
        assert!(empty.contains("empty"), "{empty}");
        assert!(message(&book(&[("xl/workbook.xml", "<workbook/>")])).contains("sheet"));
    }

    #[test]
    fn an_entity_of_the_file_is_never_resolved() {
        let sheet = |cell: &str| {
            format!(
                "<!DOCTYPE x [<!ENTITY file SYSTEM \"file:///etc/hostname\"><!ENTITY own \"swollen\">]><worksheet><sheetData>\
                 <row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>name</t></is></c></row>\
                 <row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t>Ana {cell}</t></is></c></row></sheetData></worksheet>"
            )
        };
        let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        for entity in ["&file;", "&own;"] {
            let read = read_any(&book(&[("xl/worksheets/sheet2.xml", &sheet(entity))]), &LIMITS, &Hints::default());
            let told = format!("{read:?}");
            assert!(!told.contains("swollen"), "{told}");
            assert!(hostname.trim().is_empty() || !told.contains(hostname.trim()), "{told}");
        }
    }

    #[test]
    fn a_bomb_is_refused_before_it_takes_memory() {
        let zeros = format!("<worksheet>{}</worksheet>", " ".repeat(3_000_000));
        let bomb = book(&[("xl/worksheets/sheet2.xml", &zeros)]);
        assert!(bomb.len() < 20_000, "{} bytes", bomb.len());
        assert!(message(&bomb).contains("unpacks to more than 2 MB"));
        // One long text, and many cells that refer to it.
        let cells: String =
            (1..=900).map(|row| format!("<row r=\"{row}\"><c r=\"A{row}\" t=\"s\"><v>0</v></c></row>")).collect();
        let sheet = format!("<worksheet><sheetData>{cells}</sheetData></worksheet>");
        let texts = format!("<sst uniqueCount=\"1\"><si><t>{}</t></si></sst>", "x".repeat(30_000));
        let many = book(&[("xl/worksheets/sheet2.xml", &sheet), ("xl/sharedStrings.xml", &texts)]);
        assert!(message(&many).contains("MB of text"));
        let far = "<worksheet><sheetData><row r=\"1\"><c r=\"XFD1\"><v>1</v></c></row></sheetData></worksheet>";
        assert!(message(&book(&[("xl/worksheets/sheet2.xml", far)])).contains("16384 columns in line 1"));
    }
}
